"""Depfiles: the names of our own modules that a step imported, by which a build sees that one was edited."""

from __future__ import annotations

import os
import re
import sys

from verdict import write_file


def write_depfile(path: str | None, output: str) -> None:
    """Writes a Makefile rule from `output` to the modules imported from this folder; `path` None: no file."""
    if path is None:
        return
    folder = os.path.dirname(os.path.abspath(__file__))
    files = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and os.path.dirname(os.path.abspath(file)) == folder:
            # Paths below the current folder are relative, so that they do not name this machine's folders.
            relative = os.path.relpath(file)
            files.add(os.path.abspath(file) if relative.startswith("..") else relative)
    names = " ".join(_escaped(name) for name in sorted(files))
    write_file(path, os.fsencode(f"{_escaped(output)}: {names}\n"))


def _escaped(name: str) -> str:
    """Escapes a name for engine/graph/depfile.cc: "$^" is a newline."""
    name = name.replace("$", "$$").replace("\n", "$^").replace("#", "\\#")
    return re.sub(r"(\\*) ", r"\1\1\\ ", name)
