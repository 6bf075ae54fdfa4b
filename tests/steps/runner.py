"""A runner of steps in their own folders, each in a fork of one process that has imported JAX, as the worker does.

A line on stdin is a request {"folder": …, "arguments": [packages, step, …]}. A line on stdout is its answer {"code": …,
"said": …}: the exit code, and what the step printed to both streams.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "rules"))

from process import worker


def main() -> None:
    """Answers requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker._warm_up()
    for line in sys.stdin:
        request = json.loads(line)
        packages, step = request["arguments"][:2]
        worker.start_beside(packages, step)
        worker._warm_up_for(step)

        def life(folder: str = request["folder"], arguments: list[str] = request["arguments"]) -> int:
            os.chdir(folder)
            return worker._run_step(arguments)

        code, said = worker._Child(life).end()
        print(json.dumps({"code": code, "said": said}), file=answers, flush=True)


if __name__ == "__main__":
    main()
