"""A run of a kernel under JAX, as a user runs it, checked against its folder's oracle: best.py FOLDER KERNEL.py."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import numpy as np
from conftest import task_of
from corpus import SECRET

from judge import comparison, judge_inputs
from programs import program
from steps import expect


def main(folder: Path, kernel: str) -> None:
    """Raises comparison.Refusal if an output is wrong."""
    task = task_of(folder)
    signature = next(case.files["signature"] for case in task.cases if "ci" in case.tags)
    tolerance = next(case.files["tolerance"] for case in task.cases if "ci" in case.tags)
    expected = expect.expected(expect.functions(str(folder / "reference.py"), task.entry), signature, SECRET)
    function = program.with_gradients(getattr(expect.load(kernel), task.entry), signature)
    outputs = jax.jit(function)(*judge_inputs.draw(signature))
    for number, (leaf, declared) in enumerate(zip(jax.tree.leaves(outputs), signature["outputs"], strict=True)):
        output = comparison.output_of(np.asarray(leaf), expected, judge_inputs.PUBLIC, number, declared)
        comparison.check_output(output, tolerance)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
