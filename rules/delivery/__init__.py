"""Files that leave or enter evolve: the file of the best variant, and a person's own kernel."""
