"""The outputs of a step: its report and its depfile; and the command line that all steps share."""
