"""Safe processes: children under limits, the sandbox, the warm worker, and the surroundings that their code sees."""
