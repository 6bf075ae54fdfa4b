"""A variant as its author would have written it: the seed's own text wherever the variant has the same statements.

evolve runs this file; it is not a step. Variants are made from the seed's canonical form, without comments, docstrings
and layout (normalise.py). A user who takes a variant wants the seed's comments, docstrings and layout. Only the
statements that differ are taken from the variant. The result must have the variant's canonical form; otherwise the
variant's text is returned.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from source.normalise import END, START, canonical

# Statements that contain other statements below their first line.
_Block = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.For | ast.While | ast.If | ast.With


@dataclass(frozen=True)
class _Edit:
    """A replacement: lines of the author's text, from `start` up to before `end`, counted from 0, and the new lines."""

    start: int
    end: int
    lines: list[str]


class _Source:
    """A text and its statements."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines(keepends=True)
        self.body = _statements(ast.parse(text).body)

    def lines_of(self, node: ast.stmt) -> tuple[int, int]:
        """Returns a statement's first line and the line after its last line, counted from 0."""
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        return first - 1, node.end_lineno or node.lineno

    def text_of(self, node: ast.stmt, indent: int) -> list[str]:
        """Returns a statement's lines with that indentation; a comment after the statement stays there."""
        start, end = self.lines_of(node)
        shift = indent - node.col_offset
        lines = [line if line.endswith("\n") else line + "\n" for line in self.lines[start:end]]
        if shift >= 0:
            return [" " * shift + line if line.strip() else line for line in lines]
        return [line[-shift:] if line[:-shift].isspace() else line for line in lines]


def _statements(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Returns the statements without a docstring, which a canonical source does not have."""
    is_documented = body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return list(body[1:] if is_documented and isinstance(body[0].value.value, str) else body)  # type: ignore[attr-defined]


def _same(node: ast.AST) -> str:
    """Returns a text that is the same for statements that differ only in layout, comments and docstrings."""
    return ast.unparse(ast.parse(canonical(ast.unparse(node), "")))


def _first_line(node: ast.stmt) -> str | None:
    """Returns a block's text before its statements; None: the node is not a block, or has an `else`."""
    if not isinstance(node, _Block) or getattr(node, "orelse", []):
        return None
    bare = type(node)(**{**dict(ast.iter_fields(node)), "body": [ast.Pass()]})
    return ast.unparse(ast.fix_missing_locations(bare))


def _trailing_comment(source: _Source, node: ast.stmt) -> str:
    line = source.lines[(node.end_lineno or node.lineno) - 1].encode()[node.end_col_offset :].decode().rstrip("\n")
    return line if line.lstrip().startswith("#") else ""


def _edits(author: _Source, variant: _Source, old: list[ast.stmt], new: list[ast.stmt]) -> list[_Edit]:
    """Returns the edits that turn the author's statements into the variant's."""
    found: list[_Edit] = []
    matcher = difflib.SequenceMatcher(None, [_same(one) for one in old], [_same(one) for one in new], autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            continue
        if b - a == d - c:
            for was, now in zip(old[a:b], new[c:d], strict=True):
                found += _edit_of_one(author, variant, was, now)
            continue
        indent = (old[0] if old else new[0]).col_offset
        written = [line for one in new[c:d] for line in variant.text_of(one, indent)]
        if a < b:
            start, end = author.lines_of(old[a])[0], author.lines_of(old[b - 1])[1]
        else:
            start = end = _place_for(author, variant, old, a, new, c)
        found.append(_Edit(start, end, written))
    return found


def _place_for(author: _Source, variant: _Source, old: list[ast.stmt], at: int, new: list[ast.stmt], first: int) -> int:
    """Returns the author's line before which new statements are inserted in front of `old[at]`.

    The line is after as many marks of the EVOLVE block as in the variant, or else after the statement before. Raises
    ValueError if there is no such line.
    """
    if not old:
        raise ValueError("nothing but a docstring")
    begin = author.lines_of(old[at - 1])[1] if at > 0 else 0
    end = author.lines_of(old[at])[0] if at < len(old) else len(author.lines)
    before = variant.lines_of(new[first - 1])[1] if first > 0 else 0
    passed = len(_marks(variant.lines, before, variant.lines_of(new[first])[0]))
    marks = _marks(author.lines, begin, end)
    if passed > len(marks):
        raise ValueError("the EVOLVE block's marks are elsewhere")
    if passed:
        return marks[passed - 1] + 1
    # Comments between two statements stay with the second one; comments at the top of the text stay there.
    return begin if at > 0 else end


def _marks(lines: list[str], begin: int, end: int) -> list[int]:
    return [at for at in range(begin, end) if lines[at].startswith("#") and ("EVOLVE-BLOCK-" in lines[at])]


def _edit_of_one(author: _Source, variant: _Source, was: ast.stmt, now: ast.stmt) -> list[_Edit]:
    head = _first_line(was)
    if head is not None and head == _first_line(now):
        return _edits(author, variant, _statements(was.body), _statements(now.body))  # type: ignore[attr-defined]
    start, end = author.lines_of(was)
    lines = variant.text_of(now, was.col_offset)
    comment = _trailing_comment(author, was)
    if comment and not _trailing_comment(variant, now):
        lines[-1] = lines[-1].rstrip("\n") + comment + "\n"
    return [_Edit(start, end, lines)]


def _are_one(text: str, variant: str) -> bool:
    """Whether two texts are the same kernel.

    If the variant marks an EVOLVE block, the content of the block must be the same, too.
    """
    is_marked = any(line.startswith(START) for line in variant.splitlines())
    markers = (START, END) if is_marked else None
    return canonical(text, "", markers) == canonical(variant, "", markers)


def authored(seed: str, variant: str) -> str:
    """Returns the variant with the seed's own text; or the variant's text, if that would be another program."""
    try:
        author, made = _Source(seed), _Source(variant)
        lines = list(author.lines)
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        for edit in sorted(_edits(author, made, author.body, made.body), key=lambda one: one.start, reverse=True):
            lines[edit.start : edit.end] = edit.lines
        text = "".join(lines)
        return text if _are_one(text, variant) else variant
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError):
        return variant


def main(argv: list[str]) -> int:
    """Prints a variant as its author would have written it."""
    parser = argparse.ArgumentParser(prog="authored")
    parser.add_argument("--seed", type=Path, required=True, help="the seed as its author wrote it")
    parser.add_argument("--variant", type=Path, required=True)
    args = parser.parse_args(argv)
    sys.stdout.write(authored(*(one.read_text(encoding="utf-8") for one in (args.seed, args.variant))))
    return 0
