"""Starts the program `evolve` that lies in this package."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Runs `evolve` in place of this process. By default, its steps run in the virtual environment of this Python."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "evolve", "evolve")
    if sys.prefix != sys.base_prefix:
        os.environ["VIRTUAL_ENV"] = sys.prefix
    os.execv(program, ["evolve", *sys.argv[1:]])  # noqa: S606 - a shell has no part in this
