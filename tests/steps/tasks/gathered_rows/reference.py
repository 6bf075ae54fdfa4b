"""Rows of a table."""


def gathered_rows(table, ids):
    """Twice as large."""
    return 2 * table[ids]
