"""A comparison of stock ninja and `evolve ninja` on small projects: output, exit codes and files must be the same.

ninja_cases.py [PATTERN]: runs the cases of ninja_cases.txt whose names contain PATTERN. Deliberate differences
(engine/README.md) have no case. The text before the first case runs before each case.
"""

from __future__ import annotations

import concurrent.futures
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Files in which ninja and evolve keep records. They are not files of the project.
_RECORDS = re.compile(r"(^|/)\.(ninja_(log|deps|lock)|evolve)")


def _answer(program: str, script: str, folder: Path) -> str:
    """Returns the whole output, and the files that exist in the end."""
    bin_folder, project = folder / "bin", folder / "project"
    for made in (bin_folder, project):
        made.mkdir(parents=True)
    (bin_folder / "ninja").symlink_to(program)
    environment = {"PATH": f"{bin_folder}:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["bash", "-c", script],
        check=False,
        cwd=project,
        env=environment,
        stdout=-1,
        stderr=subprocess.STDOUT,
        timeout=60,
    )
    said = done.stdout.decode(errors="backslashreplace").replace(str(project), "HERE")
    said = re.sub(r"mtime \d+", "mtime N", said)
    said = re.sub(r"\b1\.1[34]\.[0-9][\w.-]*", "VERSION", said)
    for path in sorted(project.rglob("*")):
        name = str(path.relative_to(project))
        if not _RECORDS.search(name):
            said += f"{name}: {path.read_bytes()!r}\n" if path.is_file() else f"{name}/\n"
    return said


def main() -> int:
    """Returns 1 if an answer differs."""
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    prelude, *parts = re.split(r"(?m)^### (.*)\n", (Path(__file__).parent / "ninja_cases.txt").read_text())
    cases = [(name, prelude + script) for name, script in zip(parts[::2], parts[1::2], strict=True) if pattern in name]
    programs = [str(ROOT / ".venv/bin/ninja"), os.environ.get("EVOLVE", str(ROOT / "build/release/evolve"))]
    if missing := [program for program in programs if not os.access(program, os.X_OK)]:
        print(f"{missing[0]} is not there")
        return 1
    different = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:

        def answers(number: int) -> list[str]:
            places = [Path(folder, str(number), who) for who in ("stock", "evolve")]
            return [_answer(program, cases[number][1], at) for program, at in zip(programs, places, strict=True)]

        for (name, _), (stock, ours) in zip(cases, pool.map(answers, range(len(cases))), strict=True):
            if stock != ours:
                different += 1
                print(f"FAILED: {name}")
                print(
                    *difflib.unified_diff(stock.splitlines(), ours.splitlines(), "ninja", "evolve", lineterm="", n=1),
                    sep="\n",
                )
    print(f"{len(cases) - different} passed, {different} failed")
    return 1 if different or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
