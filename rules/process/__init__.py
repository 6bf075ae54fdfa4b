"""Running things safely: children under limits, the sandbox, the warm worker, and what the code in them sees."""
