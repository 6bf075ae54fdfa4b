"""A device's own times, from the traces of JAX's profiler."""
