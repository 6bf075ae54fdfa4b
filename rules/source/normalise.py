"""Step normalise: canonical Python source, without comments, docstrings and layout.

Two sources that differ only in these have the same canonical form, so an edit of a comment re-runs this step and no
later step. Runs without JAX.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import stat
import sys
from pathlib import Path

# The marks of the EVOLVE block in a canonical source. The author's source may have other marks.
START = "# EVOLVE-BLOCK-START"
END = "# EVOLVE-BLOCK-END"

# The maximum number of bytes of a source: more than any kernel has, and few enough for all code that reads a source.
_MOST_BYTES = 2**20

# The declaration that Python looks for in the first two lines (PEP 263).
_COOKIE = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


def decoded(source: bytes, name: str) -> str:
    """Returns the text of a source. Raises SyntaxError if it is not UTF-8, or if it declares any encoding."""
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = source[: error.start].split(b"\n")
        column = len(before[-1].decode("utf-8-sig")) + 1
        raise SyntaxError("a source must be UTF-8, but this byte is not", (name, len(before), column, None)) from error
    for number, line in enumerate(re.split("\r\n|\r|\n", text, maxsplit=2)[:2], 1):
        if found := _COOKIE.match(line):
            message = f"a source must be UTF-8: remove the line that declares '{found[1]}'"
            raise SyntaxError(message, (name, number, found.start(1) + 1, line))
        if line.strip() and not line.lstrip().startswith("#"):
            break
    return text


class NoSource(Exception):
    """A path does not lead to a source; the message says why."""


def read_source(path: str) -> bytes:
    """Reads a regular file, also if the path is a link to one. Raises NoSource, and OSError."""
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    # The kind is checked before the file is opened, because opening may block, or do something to a device.
    kind = stat.S_IFMT(os.stat(path).st_mode)
    if kind != stat.S_IFREG:
        raise NoSource(f"a source must be a regular file, but this is {kinds.get(kind, 'a device')}")
    # The file may have been replaced since. A file such as those in /proc may have no end, or claim to be empty.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    content = bytearray()
    try:
        while piece := os.read(descriptor, _MOST_BYTES + 1 - len(content)):
            content += piece
    finally:
        os.close(descriptor)
    if len(content) > _MOST_BYTES:
        raise NoSource(f"a source may have at most {_MOST_BYTES // 2**10} KiB, but this one has more")
    return bytes(content)


class _DocstringRemover(ast.NodeTransformer):
    """Removes the string that opens a module, class or function."""

    def _strip(self, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
            if not node.body and not isinstance(node, ast.Module):
                node.body = [ast.Pass()]
        return node

    visit_Module = visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = _strip


def _split_at_markers(source: str, markers: tuple[str, str]) -> list[tuple[str, str]]:
    """Splits a source into pieces, each with the marker line that opens it ("" for the first)."""
    pieces: list[tuple[str, str]] = [("", "")]
    for line in source.splitlines(keepends=True):
        marker = next((kept for text, kept in zip(markers, (START, END), strict=True) if text in line), None)
        if marker is not None and line.startswith("#"):
            pieces.append((f"{marker}\n", ""))
        else:
            opening, body = pieces[-1]
            pieces[-1] = (opening, body + line)
    return pieces


def canonical(source: str, name: str, markers: tuple[str, str] | None = None) -> str:
    """Returns the canonical form of `source`. Raises SyntaxError.

    `markers`: the texts that mark the EVOLVE block's first and last line. Those lines are kept, at top level, as START
    and END.
    """
    tree = ast.parse(source, name)
    if markers is None:
        return ast.unparse(ast.fix_missing_locations(_DocstringRemover().visit(tree))) + "\n"
    pieces = _split_at_markers(source, markers)
    for marker, kept in zip(markers, (START, END), strict=True):
        if not any(opening == f"{kept}\n" for opening, _ in pieces):
            raise ValueError(f"no EVOLVE block: no comment at the start of a line has '{marker}'")
    out = ""
    for opening, body in pieces:
        part = ast.unparse(_DocstringRemover().visit(ast.parse(body, name)))
        out += opening + (part + "\n" if part else "")
    return out


def why_unparsed(error: Exception) -> str:
    """Returns why a source cannot be parsed or written. A MemoryError of Python's parser means deep nesting."""
    if isinstance(error, (RecursionError, MemoryError)):
        return "it is nested too deeply"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(getattr(error, "msg", error))


def describe(error: Exception, name: str) -> str:
    """Returns the error in evolve's form: place, message, and for a syntax error the line and a caret."""
    if not isinstance(error, SyntaxError):
        return f"evolve: error: {name}: {why_unparsed(error)}"
    text = f"evolve: error: {name}:{error.lineno}:{error.offset}: syntax error: {error.msg}"
    if error.text:
        line = error.text.rstrip("\n").expandtabs(1)[:72]
        number = f"{error.lineno:5} | "
        text += f"\n{number}{line}\n{' ' * (len(number) - 2)}| {' ' * max(0, (error.offset or 1) - 1)}^"
    return text


def write_file(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all."""
    temporary = Path(f"{path}.tmp{os.getpid()}")
    temporary.write_bytes(content)
    os.replace(temporary, path)


class _Documenter(ast.NodeTransformer):
    """Gives a docstring to each module, class and function that has none."""

    def _document(self, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        if ast.get_docstring(node, clean=False) is None:
            node.body.insert(0, ast.Expr(ast.Constant("What it is for.\n\nAnd how.\n")))
        return node

    visit_Module = visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = _document


def documented(tree: ast.Module) -> str:
    """Returns a source of the same program with docstrings and comments in it, so that its lines move."""
    text = ast.unparse(ast.fix_missing_locations(_Documenter().visit(tree)))
    return "# A comment.\n\n" + text + "\n"


def main(argv: list[str]) -> int:
    """Runs the step; the exit code is 2 if a trusted source has a syntax error."""
    parser = argparse.ArgumentParser(prog="normalise")
    parser.add_argument("--source", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--markers", nargs=2, metavar=("START", "END"), help="keep the EVOLVE block's marks")
    parser.add_argument(
        "--on-error",
        choices=["fail", "keep"],
        default="fail",
        help="keep: leave a source that does not parse, or the reason why it is not a source, for lower to judge",
    )
    args = parser.parse_args(argv)
    try:
        source = read_source(args.source)
    except (NoSource, OSError) as error:
        if args.on_error == "fail" or isinstance(error, OSError):
            print(describe(error, args.source), file=sys.stderr)
            return 2
        # The output is a program whose error says what is wrong, so that the step lower judges it.
        write_file(Path(args.out), f"raise SyntaxError({str(error)!r})\n".encode())
        return 0
    try:
        text = decoded(source, args.source)
        content = canonical(text, args.source, tuple(args.markers) if args.markers else None).encode()
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if args.on_error == "fail":
            print(describe(error, args.source), file=sys.stderr)
            return 2
        content = source
    write_file(Path(args.out), content)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
