"""A high power."""


def ninth_power(x):
    """By cubes."""
    cube = x * x * x
    return cube * cube * cube
