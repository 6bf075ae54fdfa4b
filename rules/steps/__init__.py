"""The step programs: each is run by the edges of one rule of steps.ninja."""
