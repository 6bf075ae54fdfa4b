"""Depfiles: which of our own modules a step imported. That is how an edit of one is seen."""

from __future__ import annotations

import os
import sys

from verdict import write_file


def write_depfile(path: str | None, output: str) -> None:
    """Writes a Makefile rule from `output` to the modules imported from this folder; no path, no file."""
    if path is None:
        return
    folder = os.path.dirname(os.path.abspath(__file__))
    files = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and os.path.dirname(os.path.abspath(file)) == folder:
            # Relative where it is below the current folder; anywhere else that would name this machine's folders.
            relative = os.path.relpath(file)
            files.add(os.path.abspath(file) if relative.startswith("..") else relative)
    names = " ".join(name.replace("$", "$$").replace(" ", "\\ ") for name in sorted(files))
    write_file(path, f"{output.replace(' ', chr(92) + ' ')}: {names}\n".encode())
