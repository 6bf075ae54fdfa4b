"""The contract as a filter of rewrites: a rewrite whose jaxpr is sure to be refused is not proposed.

A rewrite is traced for every case in the sandbox, as the step lower does it, and checked by the contract's own code.
Checks that need the exported programs are left to the steps that export them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judge import contract, lower
from process import sandbox
from process.child import Limits
from programs.candidate import DEFAULT_TARGET, Rejection, Target
from programs.elsewhere import open_answer
from rewrites.rewrites import canonical

# A trace has the limits of the step `lower`, and the contract's checks have those of the step `contract`.
_TRACE = Limits(15, 60, 3072 * 2**20, answer_bytes=64 * 2**20)
_CHECKS = Limits(60, 240, 4096 * 2**20)

# The maximum number of sources that are checked in a round: a kernel that takes long to trace must not hold up a round
# for ever.
_MOST = 64


@dataclass(frozen=True)
class Case:
    """A case of the spec: its signature, and the terms that candidates are held to."""

    name: str
    signature: dict[str, Any]
    terms: dict[str, Any]
    is_checked: bool


class Permits:
    """The contract's decisions on whether sources may be proposed."""

    def __init__(
        self, entry: str, cases: Sequence[Case], is_sandboxed: bool = True, target: Target = DEFAULT_TARGET
    ) -> None:
        self._entry, self._cases, self._target = entry, cases, target
        self._trace, self._checks = (replace(limits, is_sandboxed=is_sandboxed) for limits in (_TRACE, _CHECKS))
        self._known: dict[str, bool] = {}
        # By parent, the parent's jaxprs for the cases; empty: the parent itself is refused.
        self._of_parents: dict[str, list[bytes]] = {}

    def permits(self, parent: str, text: str) -> bool:
        """Whether a rewrite of a parent may be proposed. It must be another program, and within the contract.

        Any rewrite may be proposed if the parent itself is refused. Raises ChildFault where the sandbox cannot be made.
        """
        if not self._cases:
            return True
        if parent not in self._of_parents:
            self._of_parents[parent] = self._permitted(parent)
        programs = self._of_parents[parent]
        if not programs:
            return True
        if text not in self._known:
            if len(self._known) >= _MOST:
                return False
            self._known[text] = self._permitted(text) not in ([], programs)
        return self._known[text]

    def _permitted(self, text: str) -> list[bytes]:
        """Returns the jaxpr of a source for each case; empty: the checks that are possible here refuse it."""
        source = canonical(text).encode(errors="surrogateescape")
        try:
            packed = [self._traced(source, case.signature) for case in self._cases]
        except Rejection:
            return []
        ending = sandbox.run(lambda: b"ok" if self._is_within(packed) else b"", self._checks)
        return packed if ending.how == "answered" and ending.answer else []

    def _traced(self, source: bytes, signature: dict[str, Any]) -> bytes:
        work: Callable[[], bytes] = lambda: lower.traced(source, self._entry, signature, self._target)  # noqa: E731
        _, packed = open_answer(sandbox.run(work, self._trace, is_trusted=False), self._trace)
        return packed

    def _is_within(self, packed: Sequence[bytes]) -> bool:
        """Whether the contract is kept in every case."""
        checked = tuple(
            contract.Checked(jaxpr, case.signature)
            for case, jaxpr in zip(self._cases, packed, strict=True)
            if case.is_checked
        )
        for case, jaxpr in zip(self._cases, packed, strict=True):
            traced = contract.Traced(jaxpr, () if case.is_checked else checked)
            try:
                contract.check(traced, case.signature, case.terms)
            except MemoryError:
                raise
            except Exception:  # noqa: BLE001 - what the contract cannot read, it refuses
                return False
        return True
