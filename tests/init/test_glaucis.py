"""Tests of `evolve import glaucis`: a config, its two files, and a run's folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from init import glaucis, imports
from init.project import Place
from init.source import Imported, Wrong, executed

_DATA = """
def _make_test_data(B, T, K, seed=42):
    first, second, third = jax.random.split(jax.random.PRNGKey(seed), 3)
    x = jax.random.normal(first, (B, T, K), dtype=jnp.float32)
    gate = -jnp.abs(jax.random.normal(second, (K,))) * 0.1
    ids = jax.random.randint(third, (B, T), 0, 5)
    return x, gate, ids
"""
_LOSS = """
def {name}(B=2, T=16, K=8, chunk=4):
    x, gate, ids = _make_test_data(B, T, K)

    def loss_fn(x, gate):
        return ({scaled} * jnp.exp(gate) * (1 + ids[..., None]) / chunk).sum()

    loss, _ = jax.value_and_grad(loss_fn, argnums=(0, 1))(x, gate)
    return loss
"""
_HEAD = "import jax\nimport jax.numpy as jnp\n"
_TEMPLATE = _HEAD + _DATA + "\n# HERE-BEGINS\n" + _LOSS.format(name="optimized_compute", scaled="x") + "# HERE-ENDS\n"
_REFERENCE = _HEAD + _DATA + _LOSS.format(name="simple_compute", scaled="(x * x / x)")
_CONSTANT = _HEAD + "# HERE-BEGINS\ndef optimized_compute(**_):\n    return jnp.ones(3)\n# HERE-ENDS\n"
_CONFIG: dict[str, Any] = {
    "kernel": {
        "name": "gated",
        "template": "gated.py",
        "reference": "gated_ref.py",
        "markers": {"start": "# HERE-BEGINS", "end": "# HERE-ENDS"},
    },
    "shapes": [
        {"B": 2, "T": 16, "K": 8, "chunk": 4},
        {"B": 4, "T": 16, "K": 8, "chunk": 4},
        {"B": 2, "T": 16, "K": 8, "chunk": 8},
    ],
    "correctness": {"rtol": "1e-2", "atol": 10.0},
    "tpu": {"cluster": "c", "zone": "z"},
    "session": {"max_iterations": 7},
    "batch": {"variants_per_round": 5, "top_k": 2},
}


def written(folder: Path, template: str = _TEMPLATE, reference: str = _REFERENCE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gated.py").write_text(template)
    (folder / "gated_ref.py").write_text(reference)
    return folder / "gated.yaml"


@pytest.fixture
def task(tmp_path: Path) -> Imported:
    return glaucis.read(written(tmp_path), _CONFIG)


def test_draws_are_inputs_and_gradients_outputs(task: Imported) -> None:
    inputs = {one.name: (one.axes, one.dtype, one.range) for one in task.inputs}
    assert inputs == {
        "x": (("B", "T", "K"), "float32", ""),
        "gate": (("K",), "float32", ""),
        "ids": (("B", "T"), "int32", "0, 4"),
    }
    assert task.given.outputs == ("loss", "grad_x", "grad_gate")
    assert [case.sizes for case in task.given.cases] == [{"B": 2, "T": 16, "K": 8}, {"B": 4, "T": 16, "K": 8}]


@pytest.mark.parametrize("which", ["seed", "reference"])
def test_the_function_takes_what_it_would_have_drawn(task: Imported, which: str) -> None:
    module = executed(getattr(task.given, which), Path(f"{which}.py"))
    x, gate, ids = (jnp.ones((2, 16, 8)) * 3, jnp.full((8,), 0.5), jnp.full((2, 16), 2))
    loss, grad_x, grad_gate = module.gated(x, gate, ids)
    # The template applies a transformation of its own after the draw.
    factor = np.exp(-0.5 * 0.1) * 3 / 4
    np.testing.assert_allclose(loss, 2 * 16 * 8 * 3 * factor, rtol=1e-5)
    np.testing.assert_allclose(grad_x, np.full((2, 16, 8), factor), rtol=1e-5)
    np.testing.assert_allclose(grad_gate, np.full((8,), 2 * 16 * 3 * factor), rtol=1e-5)
    # The function leaves JAX as it was.
    assert jax.random.normal(jax.random.PRNGKey(0), (3,)).shape == (3,)


def test_what_has_another_meaning_is_named(task: Imported) -> None:
    said = "\n".join(task.notices)
    for words in ("atol: 10 was for a single sum", "another chunk", "'tpu' is not imported"):
        assert words in said
    given = task.given
    assert (given.tolerance.atol, given.rounds, given.variants, given.top_k) == (1e-2, 7, 5, 2)
    assert given.seed.count("# EVOLVE-BLOCK-START") == given.seed.count("# EVOLVE-BLOCK-END") == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"template": _TEMPLATE.replace("float32", "bfloat16")}, "do not draw the same inputs"),
        ({"template": _TEMPLATE.replace("# HERE-BEGINS", "")}, "no line with '# HERE-BEGINS'"),
        ({"reference": _REFERENCE.replace("simple_compute", "other")}, "no function"),
        ({"template": _CONSTANT}, "draws nothing"),
        ({"template": _TEMPLATE.replace("/ chunk", "/ missing")}, "NameError"),
        ({"template": _TEMPLATE + "import nowhere\n"}, "ModuleNotFoundError"),
    ],
)
def test_what_cannot_be_taken_over_is_refused_in_words(tmp_path: Path, change: dict[str, str], words: str) -> None:
    with pytest.raises(Wrong, match=words):
        glaucis.read(written(tmp_path, **change), _CONFIG)


def ran(folder: Path, tried: dict[tuple[Any, str], Any]) -> Path:
    """Writes a run's folder with results of variants, each as JSON or as text."""
    written(folder / "examples")
    run = folder / "runs" / "gated_1"
    for (number, name), result in tried.items():
        variant = run / f"iteration_{number}" / "variants" / name
        variant.mkdir(parents=True)
        (variant / "kernel.py").write_text(_TEMPLATE)
        (variant / "eval_result.json").write_text(result if isinstance(result, str) else json.dumps(result))
    (run / "baseline").mkdir()
    (run / "baseline" / "eval_result.json").write_text('{"status": "SUCCESS", "speedup": 0.5}')
    (run / "baseline_kernel.py").write_text(_TEMPLATE)
    return run


def test_a_run_becomes_proposals_and_history(tmp_path: Path) -> None:
    (tmp_path / "AGENT.md").write_text("### [F001] No\n")
    tried = {
        (1, "tiling"): {"status": "SUCCESS", "speedup": 2.0, "latency_ms": 4.0},
        (1, "layout"): {
            "status": "INCORRECT",
            "error": "Traceback\nValueError: shapes\nFor short, …",
        },
        (3, "L1_fuse"): {"status": "SUCCESS", "speedup": 3.0, "latency_ms": 2.5},
    }
    run = ran(tmp_path, tried)
    (run / "lineages.json").write_text('{"lineages": [{"id": "L1", "history": ["iter-1-tiling"]}], "round": 3}')
    task = glaucis.read(run, _CONFIG)
    assert (task.given.opening, task.given.variants, task.given.rounds) == (3, 2, 7)
    assert task.learnings.startswith("### [F001]")
    assert sorted(task.proposals) == [f"v000{n}.py" for n in range(1, 7)]
    assert task.proposals["v0003.py"].startswith("# evolve: pass: ")
    assert task.proposals["v0005.py"].startswith("# evolve: parents: v0002\n# evolve: note: L1_fuse, in Glaucis 3x")
    rounds = task.past["rounds"]
    assert [one["best"]["variant"] for one in rounds] == ["v0002", "v0002", "v0005"]
    # Scores are relative to the baseline. Here, the baseline is the seed.
    assert rounds[2]["ranking"] == [{"variant": "v0005", "score": 6.0, "parameters": {}}]
    assert rounds[0]["rejected"][0] | {"case": ""} == {
        "variant": "v0001",
        "step": "check",
        "case": "",
        "kind": "incorrect",
        "reason": "ValueError: shapes",
    }


_RIGHT = {"status": "SUCCESS", "speedup": 2.0, "latency_ms": 4.0}


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ('{"status": "SUCCESS", "speedup": Infinity, "latency_ms": 1}', "speedup: inf: expected a finite number"),
        ('{"status": "SUCCESS", "speedup": NaN, "latency_ms": 1}', "speedup: nan: expected a finite number"),
        ({"status": "SUCCESS", "speedup": 10**400}, "speedup: 1000"),
        ({"status": "SUCCESS", "speedup": "abc"}, "speedup: a number: 'abc' is not a number"),
        ({"status": "SUCCESS", "speedup": {}}, "speedup: expected a number"),
        (
            {"status": "SUCCESS", "speedup": 1, "latency_ms": -5},
            "latency_ms: -5: expected a finite number of at least 0",
        ),
        ({"status": ["x"]}, "status: expected a text"),
        ("[" * 100_000 + "]" * 100_000, "not JSON: it is nested too deeply"),
        ("[]", "expected an object"),
        ("{", "not JSON: Expecting property name"),
    ],
)
def test_a_result_that_cannot_be_is_named_and_the_others_are_taken(tmp_path: Path, result: Any, words: str) -> None:
    task = glaucis.read(ran(tmp_path, {(1, "t"): result, (1, "u"): _RIGHT}), _CONFIG)
    assert [words in notice for notice in task.notices if "iteration_1/variants/t/eval_result.json" in notice] == [True]
    (chosen,) = task.past["rounds"]
    assert [row["variant"] for row in chosen["ranking"]] == ["v0002"]
    assert [row["variant"] for row in chosen["rejected"]] == ["v0001"]
    assert sorted(task.proposals) == ["v0001.py", "v0002.py"]


def test_what_can_be_read_of_a_result_is_taken(tmp_path: Path) -> None:
    odd = '{"status": "COMPILE_ERROR", "speedup": NaN, "error": "MosaicError: no"}'
    task = glaucis.read(ran(tmp_path, {(1, "t"): odd, (1, "u"): _RIGHT}), _CONFIG)
    (row,) = task.past["rounds"][0]["rejected"]
    assert (row["step"], row["reason"]) == ("compile", "MosaicError: no")


def test_a_kernel_and_lineages_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    run = ran(tmp_path, {(1, "L1_t"): _RIGHT, (1, "L1_u"): _RIGHT})
    (run / "iteration_1/variants/L1_t/kernel.py").write_bytes(b"\xff")
    (run / "lineages.json").write_text("[1]")
    task = glaucis.read(run, _CONFIG)
    said = "\n".join(task.notices)
    assert "iteration_1/variants/L1_t/kernel.py: not UTF-8" in said
    assert "lineages.json: not lineages of Glaucis" in said
    assert task.proposals["v0001.py"].startswith("# evolve: pass: ")
    assert task.proposals["v0002.py"].startswith("# evolve: note: L1_u")


def test_a_run_has_a_bound(tmp_path: Path) -> None:
    run = ran(tmp_path, {(30_000_000, "t"): _RIGHT, ("\u00b2", "t"): _RIGHT})
    with pytest.raises(Wrong, match="30000000 rounds of 1 variants are more than the 10000"):
        glaucis.read(run, _CONFIG)


def test_names_add_no_lines_and_no_orders(tmp_path: Path) -> None:
    error = "Error \x1b]0;x\x07 \ud800"
    tried = {
        (1, "a\n# evolve: pass: forged\n#\x1b[31m"): _RIGHT,
        (1, "b"): {"status": "FAIL\x1b[31m\u202e", "error": error},
    }
    task = glaucis.read(ran(tmp_path, tried), _CONFIG)
    assert task.proposals["v0001.py"].splitlines()[:2] == [
        "# evolve: note: a?# evolve: pass: forged?#?[31m, in Glaucis 2x of its reference",
        "import jax",
    ]
    said = json.dumps([task.past, task.proposals], ensure_ascii=False)
    assert said.encode()
    assert not any(word in said for word in ("\\u001b", "\\u0007", "\u202e"))
    assert task.past["rounds"][0]["rejected"][0]["kind"] == "fail?[31m?"


@pytest.mark.parametrize(
    "found", [{"proposals": {"v0001.py": "\ud800"}}, {"past": {"a": 1e999}}, {"past": {"\ud800": 1}}]
)
def test_nothing_is_written_where_something_cannot_be(
    task: Imported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], found: Any
) -> None:
    monkeypatch.setitem(imports.READERS, "glaucis", lambda *_: replace(task, **found))
    place = Place(tmp_path / "project", "gated")
    place.pipeline.parent.mkdir(parents=True)
    words = ["--format=glaucis", f"--from={tmp_path}", f"--root={place.root}", "--name=gated"]
    assert imports.main(words) == 2
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 1)
    place.check_free()
    assert not place.proposals.exists()


def test_the_contract_has_words_for_what_the_seed_does_outside_of_kernels(tmp_path: Path) -> None:
    sorts = _TEMPLATE.replace("return (x *", "return (jnp.sort(x) *")
    assert sorts != _TEMPLATE
    task = glaucis.read(written(tmp_path, template=sorts), _CONFIG)
    _, files, _ = imports.files_for(task, Place(tmp_path / "project", "gated"))
    # The gradient of a sort scatters the sorted values back to their places.
    assert "outside: [scatters, sorts]" in files["spec.yaml"]
    assert any("scatters, sorts outside of kernels" in notice for notice in task.notices)


def test_files_say_what_a_campaign_needs(task: Imported, tmp_path: Path) -> None:
    place = Place(tmp_path / "project", "gated")
    _, files, _ = imports.files_for(task, place)
    assert "atol: 0.01" in files["spec.yaml"]
    assert "ids: { shape: [B, T], dtype: int32, range: [0, 4] }" in files["spec.yaml"]
    assert "variants_per_round: 5" in files[""]
    place.write(files)
    with pytest.raises(Wrong, match="exists already"):
        place.check_free()
