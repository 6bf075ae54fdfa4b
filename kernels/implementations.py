"""The choice of a kernel's implementation that serves a call.

A kernel's api.py names its implementations, and those that are tried by default, in their order. An implementation that
cannot serve a call raises `Unsupported` and says why; the next one is tried, with a warning. A caller that names a
single implementation gets that one, or an error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

Implementation = Callable[..., Any]
# A name, a function of the caller's own, or several of both in the order in which they are tried.
Choice = str | Implementation | Sequence[str | Implementation]


class Unsupported(Exception):
    """An implementation cannot serve a call; the message says why."""


def on_backend(name: str, implementation: Implementation) -> Implementation:
    """Returns the implementation, which raises Unsupported if JAX's default backend is another one."""

    def call_there(*arguments: Any) -> Any:
        backend = jax.default_backend()
        if backend != name:
            raise Unsupported(f"it needs the backend '{name}', and JAX's default here is '{backend}'")
        return implementation(*arguments)

    return call_there


def call(known: Mapping[str, Implementation], choice: Choice, *arguments: Any) -> Any:
    """Returns what the first implementation that can serve the call returns.

    Raises ValueError if a single one was chosen and cannot serve it, or if a name is not known. Raises an
    ExceptionGroup of all reasons if several were tried. Other errors of an implementation are not caught.
    """
    chosen = _chosen(known, choice)
    reasons: list[Unsupported] = []
    for name, implementation in chosen:
        try:
            return implementation(*arguments)
        except Unsupported as why:
            if len(chosen) == 1:
                raise ValueError(f"implementation '{name}': {why}") from why
            reasons.append(Unsupported(f"implementation '{name}': {why}"))
            if len(reasons) < len(chosen):
                warnings.warn(f"{reasons[-1]}; trying '{chosen[len(reasons)][0]}'", stacklevel=3)
    raise ExceptionGroup("all implementations failed", reasons)


def _chosen(known: Mapping[str, Implementation], choice: Choice) -> list[tuple[str, Implementation]]:
    if isinstance(choice, str) or callable(choice):
        choice = [choice]
    if not choice:
        raise ValueError("no implementation given")
    unknown = [one for one in choice if isinstance(one, str) and one not in known]
    if unknown:
        raise ValueError(f"unknown implementation '{unknown[0]}'; known: {', '.join(known)}")
    return [(one, known[one]) if isinstance(one, str) else (_name_of(one), one) for one in choice]


def _name_of(function: Implementation) -> str:
    return getattr(function, "__name__", repr(function))
