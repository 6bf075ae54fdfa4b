"""Depfiles: the names of our own modules that a step imported, by which a build sees that a module was edited."""

from __future__ import annotations

import os
import re
import sys

from reports.verdict import write_file


def write_depfile(path: str | None, output: str) -> None:
    """Writes a Makefile rule from `output` to the modules of our packages that are imported; `path` None: no file."""
    if path is None:
        return
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    files = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        # `__main__` is left out, because it is another file if the worker runs the step.
        if file and name != "__main__" and os.path.abspath(file).startswith(packages):
            # Paths below the current folder are relative, so that they do not name this machine's folders.
            relative = os.path.relpath(file)
            files.add(os.path.abspath(file) if relative.startswith("..") else relative)
    names = " ".join(_escaped(name) for name in sorted(files))
    write_file(path, os.fsencode(f"{_escaped(output)}: {names}\n"))


def _escaped(name: str) -> str:
    """Escapes a name for engine/graph/depfile.cc: "$^" is a newline."""
    name = name.replace("$", "$$").replace("\n", "$^").replace("#", "\\#")
    return re.sub(r"(\\*) ", r"\1\1\\ ", name)
