"""Starts a program of these packages: python rules PACKAGE.MODULE ARGUMENTS."""

from __future__ import annotations

import importlib
import os
import sys


def main() -> int:
    """Runs the program. Returns its exit code."""
    if len(sys.argv) < 2:
        print("rules: no program given: python rules PACKAGE.MODULE ARGUMENTS", file=sys.stderr)
        return 2
    # The search path is made absolute: a program may change its current folder before it has imported everything.
    sys.path[0] = os.path.dirname(os.path.abspath(__file__))
    _, name, *arguments = sys.argv
    sys.argv = [name, *arguments]
    code: int = importlib.import_module(name).main(arguments)
    return code


if __name__ == "__main__":
    sys.exit(main())
