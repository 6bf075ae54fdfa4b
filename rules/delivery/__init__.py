"""What is handed out, or taken in: the file of the best variant, and a person's own kernel."""
