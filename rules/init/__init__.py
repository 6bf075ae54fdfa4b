"""New kernels: `evolve init`, and the importers of `evolve import`."""
