"""Tests of the worker: its protocol, the same bytes as without a worker, and no remains of a request."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from conftest import RULES, SMALL, Lower, Run, ask


def _lower_arguments(name: str) -> list[str]:
    flags = {
        "source": "k.py",
        "entry": "matmul",
        "signature": "signature.json",
        "platform": "tpu",
        "device-kind": "TPU7x",
        "device-out": f"{name}.device",
        "judge-out": f"{name}.judge",
        "jaxpr-out": f"{name}.jaxpr",
        "operands-out": f"{name}.operands",
        "out": f"{name}.json",
    }
    return [
        str(RULES),
        "steps.lower",
        *(word for flag, value in flags.items() for word in (f"--{flag}", value)),
    ]


def test_one_worker_gives_what_the_programs_give(worker: Any, lower: Lower, tmp_path: Path) -> None:
    lower((SMALL / "kernel.py").read_text())
    for number in (1, 2):
        assert ask(worker, number, _lower_arguments("w")) == {
            "exitCode": 0,
            "output": "",
            "requestId": number,
        }
        for kind in ("device", "judge", "jaxpr", "json"):
            assert (tmp_path / f"w.{kind}").read_bytes() == (tmp_path / f"k.{kind}").read_bytes()


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_the_second_interpreter_is_started_again_where_it_has_ended(worker: Any, run_step: Run, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text((SMALL / "kernel.py").read_text())
    assert ask(worker, 1, _lower_arguments("w"))["exitCode"] == 0
    (second,) = _children(worker.pid)
    os.kill(second, signal.SIGKILL)
    while Path(f"/proc/{second}/status").read_text().split("State:")[1].split()[0] != "Z":
        time.sleep(0.01)
    assert ask(worker, 2, _lower_arguments("w")) == {"exitCode": 0, "output": "", "requestId": 2}
    assert _children(worker.pid) not in ([], [second])


def test_a_fault_is_told_in_a_line_and_the_worker_goes_on(worker: Any, run_step: Run) -> None:
    response = ask(worker, 1, [str(RULES), "steps.compile", "--nonsense"])
    assert response["exitCode"] == 2
    assert "Traceback" not in response["output"]
    response = ask(worker, 2, [str(RULES), "steps.nothing"])
    assert response == {
        "exitCode": 1,
        "output": "steps.nothing: ModuleNotFoundError: No module named 'steps.nothing'\n",
        "requestId": 2,
    }


def test_the_end_of_stdin_is_the_workers_end(worker: Any) -> None:
    worker.stdin.close()
    assert worker.wait(timeout=60) == 0


def test_a_killed_worker_takes_its_step_along(worker: Any, run_step: Run, tmp_path: Path) -> None:
    # The step's process holds the write end of a pipe. So the end of the pipe shows the end of the process.
    (tmp_path / "held.py").write_text(
        "import os\n\n\ndef main(argv):\n    fd = os.open(argv[0], os.O_WRONLY)\n    os.write(fd, b'here')\n"
        "    while True:\n        pass\n"
    )
    os.mkfifo(tmp_path / "pipe")
    worker.stdin.write(json.dumps({"arguments": [str(tmp_path), "held", "pipe"], "requestId": 1}) + "\n")
    worker.stdin.flush()
    with open(tmp_path / "pipe", "rb") as pipe:
        assert pipe.read(4) == b"here"
        worker.send_signal(signal.SIGKILL)
        assert pipe.read() == b""


def test_a_child_that_was_ended_while_it_waited_fails_no_request(worker: Any, tmp_path: Path) -> None:
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps" / "compile.py").write_text(
        "import os\n\n\ndef main(argv):\n    print(os.getpid())\n    return 0\n"
    )
    first, second = (ask(worker, number, [str(tmp_path), "steps.compile"]) for number in (1, 2))
    assert first["output"] == second["output"]
    os.kill(int(first["output"]), signal.SIGKILL)
    third = ask(worker, 3, [str(tmp_path), "steps.compile"])
    assert third["exitCode"] == 0
    assert third["output"] != first["output"]
