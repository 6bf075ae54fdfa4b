"""The forms of a candidate: its source, its trace, the jaxpr as data, and the programs that are exported from it."""
