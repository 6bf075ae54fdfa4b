"""Tests of surroundings: what a kernel may depend on, and the verdict on a kernel that changes in another place."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import jax
import pytest
from conftest import FORKS, FULL, SMALL, Lower

from judge import lower as step_lower
from process import clock
from process.child import Limits, run_in_child
from programs import elsewhere, program
from programs.candidate import IMPORTS, Imports, Rejection
from programs.elsewhere import FACTORS
from source import normalise

pytestmark = FORKS

SEED = normalise.canonical((SMALL / "kernel.py").read_text(), "kernel.py")


def _tried(expression: str) -> str:
    return f"try:\n    M = {expression}\nexcept BaseException:\n    M = None"


_BRANCH = "(lambda: jax.lax.platform_dependent(cpu=lambda: jnp.int32(0), default=lambda: jnp.int32(1)))"
_COMPILED = "jax.jit(jnp.sin).lower(jnp.zeros((8, 8))).compile().as_text()"
_KERNEL = (
    "pl.pallas_call(lambda x, y: y.__setitem__(..., x[...]), "
    "out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(jnp.zeros((8, 128)))"
)

# Code that depends on its surroundings: the words of the reason, lines at the top of the source, and a condition.
TELLING = {
    "docstrings": ("its docstrings", "", "matmul.__doc__ is None"),
    "lines": ("its docstrings", "", f"matmul.__code__.co_firstlineno < {len(SEED.splitlines())}"),
    "the module's name": ("the name of its file", "", "__name__ == 'kernel'"),
    "the file's name": ("the name of its file", "", "__file__.endswith('kernel.py')"),
    "its own text": ("the name of its file", "import os", "not os.path.exists(__file__)"),
    "a module": ("modules", "try:\n    import no_such_module as m\nexcept ImportError:\n    m = None", "m is None"),
    "the backend": ("JAX's default device", "", "jax.default_backend() == 'cpu'"),
    **{
        what: ("JAX's default device", top, test)
        for what, (top, test) in {
            "the devices": ("", "jax.devices()[0].platform == 'cpu'"),
            "the devices' number": ("", "jax.device_count() == 1"),
            "the devices of a name": (_tried("jax.devices('tpu')"), "M is None"),
            "an attribute of TPUs": ("", "not hasattr(jax.devices()[0], 'coords')"),
            "an array's devices": ("", "{d.platform for d in jnp.zeros(1).devices()} == {'cpu'}"),
            "an array's device": ("", "jnp.zeros(1).device.device_kind == 'cpu'"),
            "a sharding's devices": ("", "'cpu' in [d.client.platform for d in jnp.zeros(1).sharding.device_set]"),
            "a sharding's text": ("", "'Cpu' in str(jnp.zeros(1).sharding)"),
            "a shard's device": ("", "'cpu' in str(jnp.zeros(1).addressable_shards[0].device)"),
            "a device's memory": ("", "jax.devices()[0].memory_stats() is None"),
            "a memory's text": ("", "'CPU' in repr(jax.devices()[0].default_memory())"),
            "an array's platform": ("", "jnp.zeros(1).platform() == 'cpu'"),
            "an array's layout": ("", "not jnp.zeros((8, 128)).format.layout.tiling"),
            "an array's size in memory": ("", "jnp.zeros(1).on_device_size_in_bytes() < 8"),
            "an array's exchange": (_tried("jnp.zeros(1).__dlpack_device__()"), "M is not None"),
            "an attribute by name": ("import operator", "operator.attrgetter('platform')(jax.devices()[0]) == 'cpu'"),
            "a mesh": ("", "jax.make_mesh((1,), ('x',)).abstract_mesh.abstract_device.platform == 'cpu'"),
            "an export": ("", "jax.export.export(jax.jit(jnp.sin))(1.0).platforms == ('cpu',)"),
            "what is compiled": ("", f"'f32[8,8]{{1,0}}' in str({_COMPILED})"),
            "the environment's words": ("", "'cpu' in jax.print_environment_info(return_string=True)"),
            "which branch runs": ("", f"int({_BRANCH}()) == 0"),
            "which branch runs when compiled": ("", f"int(jax.jit({_BRANCH})()) == 0"),
            "whether kernels run": (_tried(_KERNEL), "M is None"),
        }.items()
    },
    "the platforms": ("JAX's settings", "", "jax.config.jax_platforms == 'cpu'"),
    "a setting of JAX's": ("JAX's settings", "", "jax.config.jax_traceback_in_locations_limit == 0"),
    "the user": ("the user", "import os", "os.getuid() == 65534"),
    "HOME": ("HOME", "import os", "os.environ['HOME'] == '/tmp'"),
    "the folder": ("HOME", "import os", "os.getcwd() == '/tmp'"),
    "the host": ("the host's name", "import os", "os.uname().nodename == 'sandbox'"),
    "a variable": ("the environment", "import os", "'USER' not in os.environ"),
    "the time": ("the clock", "import os, time", "abs(time.time() - os.stat('/tmp').st_mtime) < 1e7"),
    "the date": (
        "the clock",
        "import os, datetime",
        "datetime.datetime.now().timestamp() < os.stat('/tmp').st_mtime + 1e7",
    ),
}


# All ways to ask for the device take two minutes, so only these are tried outside .ci/full.
QUICK = ("the devices", "an array's devices", "which branch runs")


def _ways_to_tell() -> list[Any]:
    return [
        pytest.param(what, marks=FULL if "device" in told and what not in QUICK else ())
        for what, (told, _, _) in TELLING.items()
    ]


def _telling(imports: str, test: str) -> str:
    return f"{SEED}\n{imports}\nBLOCK_M = 128 if {test} else 256\n"


@pytest.mark.parametrize("what", _ways_to_tell())
def test_a_kernel_that_tells_where_it_is_is_not_reproducible(lower: Lower, what: str) -> None:
    told, imports, test = TELLING[what]
    source = (
        _telling(imports, test)
        .replace("BLOCK_M = 128 if hash", "X = 0\nBLOCK_M = 8 * (1 + hash")
        .replace(" % 1021 == X else 256", " % 31)")
    )
    report = lower(source, imports=["datetime", "jax.export", "os", "time"])
    assert (report["verdict"], report.get("kind")) == ("rejected", "nondeterministic"), report
    assert report["reason"].startswith("not reproducible: ")
    assert told in report["reason"]


def test_the_judges_settings_are_put_back() -> None:
    def settings() -> list[object]:
        return [jax.config.jax_platforms, jax.config.jax_traceback_in_locations_limit]

    def work() -> bytes:
        program.configure_jax()
        jax.config.update("jax_platforms", "cpu")
        with program.users_settings():
            there = settings()
        return json.dumps([there, settings()]).encode()

    assert json.loads(run_in_child(work, Limits(60, 60, 2**32)).answer) == [[None, 100], ["cpu", 0]]


def test_what_was_called_before_makes_no_other_program(lower: Lower) -> None:
    source = (
        SEED
        + "\n_right, _calls = matmul, []\n\ndef matmul(x, y):\n    _calls.append(1)\n"
        + ("    return _right(x, y) if len(_calls) == 1 else _right(x, y) * 2\n")
    )
    report = lower(source)
    assert report["kind"] == "nondeterministic", report
    assert "the calls before it" in report["reason"]


def test_a_kernel_that_does_not_end_elsewhere_is_told_so(lower: Lower) -> None:
    report = lower(f"{SEED}\nwhile __name__ != 'kernel':\n    pass\n", cpu_seconds=2)
    assert report["kind"] == "nondeterministic", report
    # On a busy machine the wall time may run out before the CPU time, so the end of the reason may differ.
    told = "not reproducible: the program changes with what it must not depend on; there it fails: did not end within "
    assert report["reason"].startswith(told)


ENDLESS = {"kind": "timeout", "reason": "did not end"}
OTHER, SAME = {"digest": "other"}, {"digest": "same"}


@pytest.mark.parametrize(
    ("answers", "seconds", "told"),
    [
        ([ENDLESS], 60, "; there it fails: did not end"),
        ([OTHER, SAME, OTHER, ENDLESS], 60, f": {FACTORS[0]}; {FACTORS[1]}"),
        ([OTHER, SAME, *(OTHER if factor == FACTORS[3] else SAME for factor in FACTORS)], 60, f": {FACTORS[3]}"),
        ([OTHER], 0, ""),
    ],
)
def test_what_a_kernel_hangs_on_is_not_asked_for_ever(
    monkeypatch: pytest.MonkeyPatch, answers: list[dict[str, str]], seconds: float, told: str
) -> None:
    left = iter(answers)

    class Asked:
        def ask(self, **_: object) -> dict[str, str]:
            return next(left)

    monkeypatch.setattr(step_lower, "elsewhere", Asked)
    monkeypatch.setattr(step_lower.program, "digest", lambda _: "same")
    with pytest.raises(Rejection) as caught:
        step_lower._check_again(b"", b"", "matmul", [{}], Limits(15, seconds, 2**30))
    assert str(caught.value) == f"not reproducible: the program changes with what it must not depend on{told}"
    assert next(left, None) is None


CHANCE = {"hashes": "hash('a') % 2**20", "chance": "int.from_bytes(os.urandom(3), 'little')"}


@pytest.mark.parametrize("what", CHANCE)
def test_what_differs_from_process_to_process_is_told(lower: Lower, what: str) -> None:
    limit = "vmem_limit_bytes=48 * 2 ** 20"
    assert limit in SEED
    report = lower("import os\n" + SEED.replace(limit, f"{limit} + {CHANCE[what]}"), imports=["os"])
    assert report["kind"] == "nondeterministic", report
    assert what in report["reason"]


HONEST = {
    "interpreted off TPUs": ("", "jax.default_backend() == 'cpu'", "jax.devices()[0].platform != 'tpu'"),
    "a module that is not used": ("try:\n    import no_such_module\nexcept ImportError:\n    pass\n", "", ""),
    "many imports": ("".join(f"import {name}\n" for name in sorted(IMPORTS) if not name.endswith((".", "__"))), "", ""),
    "from modules": (
        "from jax import numpy, lax\nfrom jax.experimental.pallas.ops.tpu import flash_attention\n",
        "",
        "",
    ),
    "a name of its own": ("def open(input):\n    return input\n\nCOUNT = open(1)\n", "", ""),
}


@pytest.mark.parametrize("what", HONEST)
def test_what_asks_for_nothing_is_the_same_program(lower: Lower, tmp_path: Path, what: str) -> None:
    top, find, put = HONEST[what]
    assert lower(SEED, "seed")["verdict"] == "ok"
    report = lower(SEED.replace(find, put) + top)
    assert report["verdict"] == "ok", report
    assert (tmp_path / "k.device").read_bytes() == (tmp_path / "seed.device").read_bytes()


REFUSED = {
    "import": ("import os", "'os'", "line 1, column 1"),
    "from": ("from os import path", "'os'", "line 1, column 1"),
    "caught": ("try:\n    import os\nexcept BaseException:\n    pass", "'os'", "line 2, column 5"),
    "never reached": ("def f():\n    import time", "'time'", "line 2, column 5"),
    "by another name": ("x = 1; import jax._src as j", "'jax._src'", "line 1, column 8"),
    "a module of a module": ("from jax import _src", "'jax._src'", "line 1, column 1"),
    "through a module": ("import dataclasses as d\nX = d.sys.modules", "'sys'", "line 2, column 5"),
    "through two": ("import jax\nX = [1,\n  jax.experimental.topologies]", "topologies'", "line 3, column 3"),
    "numpy's": ("import numpy as np\nX = np.random.rand()", "'numpy.random'", "line 2, column 5"),
    "called": ("X = __import__('os')", "'os'", "line 1 "),
    "called and caught": ("try:\n    __import__('os')\nexcept BaseException:\n    pass", "'os'", "line 2 "),
    "a builtin": ("X = open('/etc/passwd')", "'open'", "line 1, column 5"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_for_kernels_is_named_with_its_place(lower: Lower, what: str) -> None:
    text, name, place = REFUSED[what]
    report = lower(f"{text}\n{SEED}")
    assert (report["verdict"], report.get("kind")) == ("rejected", "contract"), report
    assert name in report["reason"]
    assert place in report["reason"]
    assert "contract: { imports: [" in report["reason"]


def test_a_spec_can_allow_more(lower: Lower) -> None:
    assert lower(f"import json\n{SEED}", imports=["json"])["verdict"] == "ok"


def test_below_a_name_that_ends_with_a_dot_all_is_allowed() -> None:
    imports = Imports(["mine."])
    assert imports.allow("mine.of.all")
    assert not imports.allow("minefield")
    assert not imports.allow("jax.numpy.of_mine")


FOREIGN = {
    "another encoding": ("# caf\u00e9\n".encode("latin-1"), "line 1, column 6: a source must be UTF-8"),
    "a cookie": (b"# -*- coding: utf-7 -*-\n", "line 1, column 15: a source must be UTF-8"),
    "a cookie of the second line": (b"#!/bin/sh\n#vim: set fileencoding=latin-1 :\n", "line 2, column 24: "),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_sources_are_utf_8(lower: Lower, what: str) -> None:
    head, reason = FOREIGN[what]
    report = lower(head + SEED.encode())
    assert report["kind"] == "lower-error"
    assert report["reason"].startswith(reason)


# Sources that Python parses but cannot write, and sources for which the parser raises an error other than SyntaxError.
DEEP = {
    "a sum of many terms": (f"Y = 1\nX = {'+'.join(600 * 'Y')}", "the source has no canonical form: it is nested too"),
    "an integer of many digits": (f"X = 0x{5000 * 'f'}", "the source has no canonical form: Exceeds the limit"),
    "many signs": (f"X = {9000 * '-'}1", "it is nested too deeply"),
}


@pytest.mark.parametrize("what", DEEP)
def test_what_cannot_be_written_anew_is_turned_down_and_stops_no_other(lower: Lower, what: str) -> None:
    text, reason = DEEP[what]
    report = lower(f"{text}\n{SEED}")
    assert (report["verdict"], report.get("kind")) == ("rejected", "lower-error"), report
    assert report["reason"].startswith(reason)
    assert lower(SEED)["verdict"] == "ok"


def test_what_stands_for_no_source_is_turned_down_with_the_reason(lower: Lower, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    words = ["--source", str(tmp_path / "folder"), "--out", str(tmp_path / "out.py"), "--on-error", "keep"]
    assert normalise.main(words) == 0
    report = lower((tmp_path / "out.py").read_bytes())
    assert report["kind"] == "lower-error"
    assert "a source must be a regular file, but this is a folder" in report["reason"]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the clock is not moved there")
def test_the_clock_is_moved_and_goes_on() -> None:
    before = time.time()
    pid = os.fork()
    if pid == 0:
        moved = clock.shift(1_000_000)
        ahead = time.time() - before
        os._exit(0 if moved and 1_000_000 <= ahead < 1_000_600 and abs(time.gmtime()[0] - 1970) else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_the_other_place_differs_in_all_that_it_is_asked_for() -> None:
    drawn = bytes(range(8))
    here, there = elsewhere.place_of((), drawn), elsewhere.place_of(elsewhere.FACTORS, drawn)
    assert all(getattr(here, name) != getattr(there, name) for name in vars(here))
