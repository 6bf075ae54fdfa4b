"""The interpreter of jaxprs and kernels: whole, by steps of a grid, or at places. It checks accesses to memory."""
