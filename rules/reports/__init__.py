"""What a step leaves behind: its report, its depfile, and the command line that all steps share."""
