"""Completes command lines of `evolve` in real shells, through a terminal: bash, zsh and fish.

A test types a part of a line and the tab key. Then it puts "printf '<%s>'" in front of the line and presses enter, so
that the shell itself prints the words that it made of the line.

    tests/shells/complete.py EVOLVE     the path of the program
"""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What is typed, and the words that must become of it.
LINES = [
    ("evolve bui", ["evolve", "build"]),
    ("evolve learnings acc", ["evolve", "learnings", "accept"]),
    ("evolve build --dry", ["evolve", "build", "--dry-run"]),
    ("evolve best --color al", ["evolve", "best", "--color", "always"]),
    ("evolve build -p pipelines/rms", ["evolve", "build", "-p", "pipelines/rms_norm-v7x.yaml"]),
    ("evolve kernel check rms", ["evolve", "kernel", "check", "rms_norm"]),
    (
        "evolve log -p pipelines/rms_norm-v7x.yaml round-2",
        ["evolve", "log", "-p", "pipelines/rms_norm-v7x.yaml", "round-2"],
    ),
    # A path, because any may stand there.
    (
        "evolve init new --from kernels/rms_norm/refer",
        ["evolve", "init", "new", "--from", "kernels/rms_norm/reference.py"],
    ),
]
SECONDS = 60
TAB, TO_THE_START, TO_THE_END, ENTER = "\t", "\x01", "\x05", "\r"


class Shell:
    """An interactive shell behind a terminal, with the completion of `evolve`."""

    def __init__(self, words: list[str], home: Path, evolve: Path) -> None:
        environment = {
            "HOME": str(home),
            "PATH": f"{evolve.parent}:{os.environ['PATH']}",
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            "PS1": "",
        }
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.chdir(ROOT)
            os.execvpe(words[0], words, environment)
        self._seen = ""

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def read_until(self, pattern: str) -> re.Match[str]:
        """Reads what the shell prints until it matches, and forgets it."""
        deadline = time.monotonic() + SECONDS
        while (found := re.search(pattern, self._seen, re.DOTALL)) is None:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._fd], [], [], left)[0]:
                raise TimeoutError(f"no {pattern!r} in {self._seen!r}")
            self._seen += os.read(self._fd, 4096).decode(errors="replace")
        self._seen = self._seen[found.end() :]
        return found

    def close(self) -> None:
        os.close(self._fd)
        os.waitpid(self._pid, 0)


def main(argv: list[str]) -> int:
    """Runs all lines in all shells. Returns the exit code."""
    evolve = Path(argv[0]).resolve()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in ("bash", "zsh", "fish"):
            script = subprocess.run([evolve, "completion", name], check=True, capture_output=True, text=True).stdout
            (home / f"evolve.{name}").write_text(script)
        commands = {
            "bash": ["bash", "--norc", "--noprofile", "-i"],
            "zsh": ["zsh", "-f", "-i"],
            "fish": ["fish", "--no-config", "-i"],
        }
        prepare = {"bash": "", "zsh": "autoload -Uz compinit && compinit -u -D; ", "fish": ""}
        for name, words in commands.items():
            shell = Shell(words, home, evolve)
            shell.type(f"{prepare[name]}. {home}/evolve.{name}; echo rea''dy{ENTER}")
            shell.read_until("ready")
            for line, expected in LINES:
                shell.type(line + TAB)
                shell.read_until(re.escape(expected[-1]))
                # The quotes keep the line that is typed from looking like the one that is printed.
                shell.type(f"{TO_THE_START}printf '<%s>' {TO_THE_END} e''nd{ENTER}")
                got = re.findall("<([^<>]*)>", shell.read_until("(<evolve>(<[^<>]*>)*)<end>").group(1))
                if got != expected:
                    print(f"FAILED: {name}: {line!r} becomes {got}, not {expected}")
                    failures += 1
            shell.close()
    print(f"{len(LINES)} lines in {len(commands)} shells, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
