"""What libtpu says when it turns a program down, as a verdict with one line that tells a person why."""

from __future__ import annotations

import re

import verdict

# What the compiler's message says, and the verdict it stands for; the first that matches counts.
_KINDS = (
    (re.compile(r"RESOURCE_EXHAUSTED.*(?:ScopedVmemOom|\bvmem\b)", re.I | re.S), "vmem_oom"),
    (re.compile(r"RESOURCE_EXHAUSTED.*\bsmem\b", re.I | re.S), "smem_oom"),
    (re.compile(r"RESOURCE_EXHAUSTED.*\bhbm\b", re.I | re.S), "hbm_oom"),
    (re.compile(r"mosaic|unsupported|failed to legalize", re.I), "mosaic_error"),
)

# A line with sizes or a rule says more than the one with the error's class.
_TELLING = re.compile(
    r"exceed|limit|Used .* of|must be|not implemented|unsupported|invalid|cannot|failed to|unproven",
    re.I,
)
_PREFIX = re.compile(
    r"^(?:\w*Error|\w*Exception): |^(?:INTERNAL|INVALID_ARGUMENT|RESOURCE_EXHAUSTED|UNIMPLEMENTED): |^E\d+: ?\w*: ?"
)


def kind(message: str) -> str:
    """The kind of verdict that a message of the compiler stands for."""
    return next((name for pattern, name in _KINDS if pattern.search(message)), "compiler_error")


def telling_line(message: str) -> str:
    """The first line of a message that tells what was wrong, without the names of the error's classes."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line)]
    line = (telling or lines or ["no message"])[0]
    while _PREFIX.search(line):
        line = _PREFIX.sub("", line, count=1)
    return line or message.splitlines()[0]


def report(message: str) -> verdict.Report:
    """The report on a program that the compiler turned down."""
    return verdict.rejected(kind(message), telling_line(message))
