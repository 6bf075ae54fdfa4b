"""Running a jaxpr and its kernels: whole, by steps of a grid, or at places, with an eye on memory and order."""
