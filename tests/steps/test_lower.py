"""Tests of lower: which sources give the same program, and which verdicts hostile candidates get."""

from __future__ import annotations

import os
import re
from pathlib import Path

import jax
import pytest
from conftest import SMALL, Lower
from jax._src import core

from programs import wire

SEED = (SMALL / "kernel.py").read_text()

NOBODY = 65534
IS_THOROUGH_ROOT = os.geteuid() == 0 and "THOROUGH" in os.environ

RENAMED = (
    SEED.replace("matmul_kernel", "inner")
    .replace("acc_ref", "accumulator")
    .replace("bm, bn, bk", "rows, columns, depth")
    .replace("(bm, bk)", "(rows, depth)")
    .replace("(bk, bn)", "(depth, columns)")
    .replace("(bm, bn)", "(rows, columns)")
    .replace("cdiv(m, bm), pl.cdiv(n, bn), pl.cdiv(k, bk)", "cdiv(m, rows), pl.cdiv(n, columns), pl.cdiv(k, depth)")
    .replace("block_k=bk", "block_k=depth")
    .replace('name="matmul"', 'name="another"')
)


def test_names_comments_and_layout_do_not_make_another_program(lower: Lower, tmp_path: Path) -> None:
    programs = []
    for name, source in {"seed": SEED, "renamed": RENAMED, "commented": "# new\n\n" + SEED}.items():
        assert lower(source, name)["verdict"] == "ok"
        programs.append(((tmp_path / f"{name}.device").read_bytes(), (tmp_path / f"{name}.judge").read_bytes()))
    assert programs[0] == programs[1] == programs[2]


def test_another_block_size_is_another_program(lower: Lower, tmp_path: Path) -> None:
    lower(SEED, "a")
    lower(re.sub("BLOCK_M = .*", "BLOCK_M = 128", SEED), "b")
    assert (tmp_path / "a.device").read_bytes() != (tmp_path / "b.device").read_bytes()
    assert (tmp_path / "a.judge").read_bytes() != (tmp_path / "b.judge").read_bytes()


def test_the_report_names_programs_and_kernels(lower: Lower, tmp_path: Path) -> None:
    report = lower(SEED)
    assert report["custom_calls"] == 1
    assert report["programs"]["device"]["bytes"] == len((tmp_path / "k.device").read_bytes())
    dependencies = (tmp_path / "k.d").read_text()
    assert "sandbox.py" in dependencies
    assert "compile.py" not in dependencies


def test_a_kernel_that_asks_for_the_chip_is_told_the_target_s(lower: Lower) -> None:
    size = "BLOCK_M = 128 if chips.get_tpu_info().generation == 6 else 256"
    asked = re.sub("BLOCK_M = .*", f"from jax.experimental.pallas import tpu as chips\\n{size}", SEED)
    report = lower(re.sub("BLOCK_M = .*", "BLOCK_M = 128", SEED), "small")
    assert report["target"] == {"platform": "tpu", "device_kind": "TPU7x"}
    assert lower(asked, "v7x")["programs"] != report["programs"]
    assert lower(asked, "v6e", device_kind="TPU v6 lite")["programs"] == report["programs"]


def test_a_source_is_a_module_in_which_a_dataclass_finds_itself(lower: Lower) -> None:
    sizes = (
        "\n\nfrom dataclasses import dataclass\n\n@dataclass(frozen=True, slots=True)\nclass Sizes:\n    m: int = 1\n"
    )
    assert lower(SEED + sizes)["verdict"] == "ok"


def test_a_gradient_through_a_cast_has_a_form_on_the_wire() -> None:
    # JAX gives the transposed cast a sharding over no devices, which needs a form on the wire, too.
    def cast(x: jax.Array) -> jax.Array:
        return x.astype("bfloat16").astype("float32")

    def gradient(x: jax.Array) -> jax.Array:
        return jax.vjp(cast, x)[1](x)[0]

    closed = jax.make_jaxpr(gradient)(jax.ShapeDtypeStruct((4, 8), "float32"))
    packed = wire.pack(closed)
    assert wire.pack(wire.unpack(packed)) == packed
    x = jax.numpy.arange(32.0).reshape(4, 8)
    assert (core.jaxpr_as_fun(wire.unpack(packed))(x)[0] == gradient(x)).all()


# Modules that no kernel needs. If a spec allows them, only the sandbox stops a candidate.
ANY = ("builtins", "ctypes", "os", "resource", "signal", "socket", "sys", "threading")

HOSTILE = {
    "a syntax error": ("def matmul(:\n", "lower-error", "line 1, column 12: invalid syntax"),
    "no such function": ("x = 1\n", "lower-error", "there is no function 'matmul'"),
    "an exception": ("def matmul(x, y):\n    raise KeyError('no')\n", "lower-error", "KeyError: 'no'"),
    "its line": ("def matmul(x, y):\n    raise KeyError('no')\n", "lower-error", "source: raise KeyError('no'))"),
    "a block of one row": (
        """
import jax
from jax.experimental import pallas as pl
def copy(x_ref, out_ref):
    out_ref[...] = x_ref[:, :136]
def matmul(x, y):
    spec = lambda n: pl.BlockSpec((None, 1, n), lambda i: (0, i, 0))
    shape = jax.ShapeDtypeStruct((1, 200, 136), x.dtype)
    call = pl.pallas_call(copy, grid=(200,), in_specs=[spec(300)], out_specs=spec(136), out_shape=shape)
    return call(x[None])[0]
""",
        "lower-error",
        "a block of shape (None, 1, 300) of an array of shape (1, 200, 300)",
    ),
    "half a character": ("raise ValueError('no \\ud800\\x1b[2J\\u202e')\n", "lower-error", "ValueError: no ??[2J?"),
    "a wrong shape": ("def matmul(x, y):\n    return x\n", "contract", "'out' has shape [200, 300]"),
    "a wrong dtype": ("def matmul(x, y):\n    return (x @ y).astype('float32')\n", "contract", "float32"),
    "two outputs": ("def matmul(x, y):\n    return x @ y, x\n", "contract", "2 outputs"),
    "sys.exit": ("import sys\nsys.exit(0)\n", "crash", "sys.exit(0)"),
    "os._exit": ("import os\nos._exit(0)\n", "crash", "exit code 0"),
    "a crash": ("import ctypes\nctypes.string_at(0)\n", "crash", "SIGSEGV"),
    "an endless loop": ("while True:\n    pass\n", "timeout", "3 s of CPU time"),
    "hoarding": ("x = []\nwhile True:\n    x.append(bytearray(1 << 28))\n", "out-of-memory", "2500 MiB"),
    "endless recursion": ("def f():\n    f()\nf()\n", "lower-error", "RecursionError"),
    "the network": (
        "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)\n",
        "lower-error",
        "not permitted",
    ),
    "a write to the tree": ("open('/etc/stolen', 'w')\n", "lower-error", "Read-only"),
    "undoing the sandbox": (
        "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "if libc.umount2(b'/tmp', 2) == 0 or libc.mount(b'none', b'/', None, 32 | 4096, None) == 0:\n"
        "    raise SystemExit('undone')\nraise OSError(ctypes.get_errno(), 'held')\n",
        "lower-error",
        "held",
    ),
    "a fork bomb": ("import os\nwhile True:\n    os.fork()\n", "lower-error", "not permitted"),
    "a thread bomb": (
        "import threading\nheld = threading.Event()\n"
        "while True:\n    threading.Thread(target=held.wait, daemon=True).start()\n",
        "lower-error",
        "can't start new thread",
    ),
    "another program": ("import os\nos.execv('/bin/sh', ['sh'])\n", "lower-error", "not permitted"),
    "ptrace": (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "raise OSError(ctypes.get_errno(), f'{libc.ptrace(0, 0, 0, 0)}')\n",
        "lower-error",
        "-1",
    ),
    "the processes of others": (
        "import os\nraise OSError(str(sorted(p for p in os.listdir('/proc') if p.isdigit())))\n",
        "lower-error",
        "OSError: ['1']",
    ),
    "the judge's files": (
        f"open({str(SMALL / 'spec.yaml')!r})\n",
        "lower-error",
        "No such file",
    ),
    "100 GB of files": (
        "for i in range(100):\n    with open(f'/tmp/{i}', 'wb') as f:\n"
        "        for _ in range(64):\n            f.write(bytes(1 << 20))\n",
        "lower-error",
        "No space left",
    ),
    "100 GB that are no files": (
        "import os\nfor i in range(100):\n    os.truncate(os.memfd_create('x'), 1 << 30)\n",
        "lower-error",
        "not permitted",
    ),
    "100 GB of answers": (
        "import os\nfor fd in range(3, 64):\n    try:\n        os.fstat(fd)\n        while True:\n"
        "            os.write(fd, b'\\xff' * (1 << 20))\n    except OSError:\n        pass\n",
        "crash",
        "wrote more than 64 MiB of results",
    ),
    "outliving its judge": (
        "import ctypes, signal\nfor s in (signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU):\n"
        "    signal.signal(s, signal.SIG_IGN)\n"
        "ctypes.CDLL(None).prctl(1, 0)\nwhile True:\n    signal.pause()\n",
        "timeout",
        "12 s of wall time",
    ),
    "its own end, as if from outside": (
        "import os, resource, signal\nfor s in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP):\n"
        "    os.kill(0, s)\n    os.kill(os.getpid(), s)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.1)\nsignal.sigtimedwait([], 0.3)\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\n",
        "lower-error",
        "ValueError: not allowed",
    ),
    "a forged answer": (
        "import os\nfor fd in range(3, 64):\n    try:\n        os.write(fd, b'x' * 100)\n    except OSError:\n"
        "        pass\nos._exit(0)\n",
        "crash",
        "exit code 0",
    ),
}


# Without root, namespaces need a user namespace, and processes outside of it run as the same user. So each candidate
# is tried as nobody, too.
USERS = [None, pytest.param(NOBODY, marks=pytest.mark.skipif(not IS_THOROUGH_ROOT, reason="THOROUGH=1, as root"))]


@pytest.mark.parametrize("user", USERS, ids=["", "as nobody"])
@pytest.mark.parametrize("what", HOSTILE)
def test_a_candidate_cannot_do_harm(lower: Lower, tmp_path: Path, what: str, user: int | None) -> None:
    source, kind, reason = HOSTILE[what]
    # To touch the memory up to its limit takes a while on a slow machine, so this candidate gets more CPU time.
    report = lower(source, imports=ANY, cpu_seconds=30 if what == "hoarding" else 3, memory_mib=2500, user=user)
    assert report["verdict"] == "rejected"
    assert report["kind"] == kind
    assert reason in report["reason"]
    assert (tmp_path / "k.device").read_bytes() == b""
    assert (tmp_path / "k.judge").read_bytes() == b""
    assert not Path("/etc/stolen").exists()


def test_the_judge_is_not_seen_from_the_sandbox(lower: Lower) -> None:
    # A candidate finds itself as process 1 of an empty machine, with none of the judge's environment.
    source = "import os\nassert os.getpid() == 1 and 'PYTEST_CURRENT_TEST' not in os.environ\n"
    assert lower(source, imports=["os"])["reason"] == "there is no function 'matmul'"
