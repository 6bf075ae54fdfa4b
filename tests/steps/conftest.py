"""The import path of the steps, and fixtures that run steps as the engine does, in forks of a warm process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "rules"
sys.path.insert(0, str(RULES))

SMALL = ROOT / "tests" / "data" / "small"

# Long tests, which run only in CI. The default run keeps one test of each subject.
THOROUGH = pytest.mark.skipif("THOROUGH" not in os.environ, reason="THOROUGH=1, as in CI")
# Tests that take too long for CI.
IS_FULL = os.environ.get("THOROUGH") == "all"
FULL = pytest.mark.skipif(not IS_FULL, reason="THOROUGH=all, as in .ci/full")

# Tests that judge in forks of this process. They come first, because after JAX has begun here, a fork may never end.
FORKS = pytest.mark.forks

ENVIRONMENT = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}

SIGNATURE = {
    "inputs": [
        {"name": "x", "shape": [200, 300], "dtype": "bfloat16"},
        {"name": "y", "shape": [300, 136], "dtype": "bfloat16"},
    ],
    "outputs": [{"name": "out", "shape": [200, 136], "dtype": "bfloat16"}],
}

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Lower = Callable[..., dict[str, Any]]


def _open_to_all(folder: Path) -> None:
    folder.chmod(0o777)
    for parent in folder.parents:
        if parent.stat().st_uid == os.getuid() and "pytest" in parent.name:
            parent.chmod(0o755)


_late_forks: list[bool] = []


def _note_fork() -> None:
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is not None and bridge._backends:
        _late_forks.append(True)


os.register_at_fork(before=_note_fork)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "forks: judges in forks of this process")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("forks") is None)


@pytest.fixture(autouse=True)
def _no_late_fork() -> Iterator[None]:
    _late_forks.clear()
    yield
    assert not _late_forks, "forked after JAX had begun in this process: mark the test with FORKS"


@pytest.fixture(scope="session")
def _runner() -> Iterator[Any]:
    """Starts the process whose forks run the steps of most tests."""
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("runner.py"))],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.stdin.close()  # type: ignore[union-attr]


def _run_as(user: int, folder: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs a step as a program of its own, as another user."""
    _open_to_all(folder)
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        user=user,
        group=user,
        extra_groups=[],
    )


@pytest.fixture
def run_step(_runner: Any, tmp_path: Path) -> Run:
    """Runs a step in the test's own folder, which holds a signature. If a user is given, the step runs as this user.

    A name without a dot is the name of a module in rules/steps.
    """
    (tmp_path / "signature.json").write_text(json.dumps(SIGNATURE))

    def run(step: str, user: int | None = None, **flags: Any) -> subprocess.CompletedProcess[str]:
        arguments = [str(RULES), step if "." in step else f"steps.{step}"]
        for name, value in flags.items():
            arguments.append(f"--{name.replace('_', '-')}")
            if value is not True:
                arguments.append(str(value))
        if user is not None:
            return _run_as(user, tmp_path, arguments)
        print(json.dumps({"folder": str(tmp_path), "arguments": arguments}), file=_runner.stdin, flush=True)
        answer = json.loads(_runner.stdout.readline())
        return subprocess.CompletedProcess(arguments, answer["code"], stderr=answer["said"])

    return run


@pytest.fixture
def lower(run_step: Run, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Lowers a source and returns the report; the programs are NAME.device and NAME.judge.

    `imports`: the modules that the spec lets the source import, besides those that every source may.
    """

    def run(source: str | bytes, name: str = "k", imports: Sequence[str] = (), **flags: Any) -> dict[str, Any]:
        flags = {"platform": "tpu", "device_kind": "TPU7x", **flags}
        (tmp_path / f"{name}.py").write_bytes(source if isinstance(source, bytes) else source.encode())
        (tmp_path / "signature.json").write_text(json.dumps({**SIGNATURE, "imports": list(imports)}))
        done = run_step(
            "lower",
            source=f"{name}.py",
            entry="matmul",
            signature="signature.json",
            device_out=f"{name}.device",
            judge_out=f"{name}.judge",
            jaxpr_out=f"{name}.jaxpr",
            operands_out=f"{name}.operands",
            out=f"{name}.json",
            depfile=f"{name}.d",
            **flags,
        )
        assert done.returncode == 0, done.stderr
        report: dict[str, Any] = json.loads((tmp_path / f"{name}.json").read_text())
        return report

    return run


@pytest.fixture
def worker(tmp_path: Path) -> Any:
    """Starts a persistent worker in the test's folder."""
    process = subprocess.Popen(
        [sys.executable, str(RULES / "process" / "worker.py"), "--persistent_worker"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.wait()


def ask(worker: Any, number: int, arguments: list[str]) -> dict[str, Any]:
    """Sends a request to a worker, and returns the response."""
    worker.stdin.write(json.dumps({"arguments": arguments, "requestId": number}) + "\n")
    worker.stdin.flush()
    response: dict[str, Any] = json.loads(worker.stdout.readline())
    assert response["requestId"] == number
    return response
