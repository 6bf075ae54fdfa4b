"""Tests of rewrites: which are legal, which are not proposed, and which variants a round makes of them."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Run
from rewritten import (
    FOOTER,
    HEADER,
    LOOP,
    NARROW_SCRATCH,
    SEED,
    SUM_IN_OUTPUT,
    SUM_IN_SCRATCH,
    in_block,
    wholly_in_block,
    with_blocks,
)

from rewrites.rewrite_choice import Parent, propose, source_digest
from rewrites.rewrites import KINDS, rewrites
from source import normalise
from source.source_text import Edit, Source
from steps import rewrite

HONEST = sorted((ROOT / "tests" / "steps" / "honest").glob("*/*.py"))


def found(text: str, kind: str) -> dict[str, str]:
    """Returns the rewrites of a kind, as a dictionary from description to text."""
    return {one.description: one.text for one in rewrites(text).get(kind, [])}


def changed(source: str, *changes: tuple[str, str]) -> str:
    """Returns the source with each text replaced. The source must have each text."""
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    return source


# The grid.


def test_a_grid_s_order_changes_in_the_grid_its_index_maps_its_indices_and_its_semantics() -> None:
    source = changed(SEED, ("pl.program_id(2)", "pl.program_id(axis=2) + 0 * pl.program_id(0)"))
    source = changed(source, ("grid=(pl.cdiv(m, bm), pl.cdiv(n, bn), pl.cdiv(k, bk))", "grid=(a, b, c)"))
    (text,) = found(source, "grid order").values()
    assert "grid=(b, a, c)" in text
    assert "lambda j, i, k: (i, k)" in text
    assert "lambda j, i, k: (k, j)" in text
    assert "lambda j, i, k: (i, j)" in text
    assert "pl.program_id(axis=2) + 0 * pl.program_id(1)" in text


NOT_REORDERED = {
    "an axis that may carry": (
        changed(SEED, ("acc_ref[...] +=", "acc_ref[...] = acc_ref[...] +")),
        ('("parallel", "parallel", "arbitrary")', '("parallel", "arbitrary", "arbitrary")'),
    ),
    "an axis that is computed": (SEED, ("pl.program_id(2)", "pl.program_id(1 + 1)")),
    "an axis that there is not": (SEED, ("pl.num_programs(2)", "pl.num_programs(3)")),
    "an index map that is made elsewhere": (SEED, ("lambda i, j, k: (i, k)", "functools.partial(at, 0)")),
    "a grid that is named": (SEED, ("grid=(pl.cdiv(m, bm), pl.cdiv(n, bn), pl.cdiv(k, bk))", "grid=GRID")),
    "semantics that are named": (SEED, ('("parallel", "parallel", "arbitrary")', "SEMANTICS")),
    "an aliased output": (SEED, ('name="matmul"', 'name="matmul", input_output_aliases={0: 0}')),
    "a kernel that has another user": (SEED, ("# EVOLVE-BLOCK-END", "other = matmul_kernel\n# EVOLVE-BLOCK-END")),
    "a function that asks for the axis": (
        SEED,
        ("# EVOLVE-BLOCK-END", "def at():\n    return pl.program_id(1)\n\n\n# EVOLVE-BLOCK-END"),
    ),
    "scratch that is not a sum's": (SUM_IN_SCRATCH, ("sum_ref[...] +=", "sum_ref[...] = sum_ref[...] +")),
    "an output's block that would be come back to": (
        SUM_IN_OUTPUT,
        ("lambda i, j, k: (i, j)", "lambda i, j, k: (j, 0)"),
    ),
    "an output's block of all of j's steps": (SEED, ("lambda i, j, k: (i, j)", "lambda i, j, k: (i, 0)")),
    "an output's block of several steps": (SUM_IN_OUTPUT, ("lambda i, j, k: (i, j)", "lambda i, j, k: (i // 2, j)")),
}


@pytest.mark.parametrize("name", NOT_REORDERED)
def test_a_grid_keeps_its_order(name: str) -> None:
    source, change = NOT_REORDERED[name]
    assert found(source, "grid order")
    assert not found(changed(source, change), "grid order")


def test_an_index_map_with_a_name_is_reordered_where_it_serves_one_call() -> None:
    named = changed(
        SEED,
        ("lambda i, j, k: (i, k)", "of_x"),
        ("def matmul(x, y):", "def of_x(i, j, k):\n    return i, k\n\n\ndef matmul(x, y):"),
    )
    (text,) = found(named, "grid order").values()
    assert "def of_x(j, i, k):\n    return i, k\n" in text
    twice = changed(named, ("# EVOLVE-BLOCK-END", "other = of_x\n# EVOLVE-BLOCK-END"))
    assert not found(twice, "grid order")


def test_index_maps_keep_what_scalar_prefetch_gives_them() -> None:
    scalars = changed(
        SEED,
        ("def matmul_kernel(x_ref", "def matmul_kernel(order_ref, x_ref"),
        ("        grid=(pl", "        grid_spec=pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(pl"),
        ("scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],", "scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)]),"),
        ("lambda i, j, k: (i, k)", "lambda i, j, k, order: (order[i], k)"),
        ("lambda i, j, k: (k, j)", "lambda i, j, k, order: (k, j)"),
        ("lambda i, j, k: (i, j)", "lambda i, j, k, order: (order[i], j)"),
    )
    (text,) = found(scalars, "grid order").values()
    assert "lambda j, i, k, order: (order[i], k)" in text
    # Two steps of i may have the same block, so only the author may say that they need no order.
    said = changed(scalars, ('("parallel", "parallel", "arbitrary")', '("arbitrary", "arbitrary", "arbitrary")'))
    assert not found(said, "grid order")
    assert not found(said, "semantics")


def test_an_axis_becomes_parallel_where_each_of_its_steps_has_output_blocks_of_its_own() -> None:
    texts = found(SUM_IN_OUTPUT, "semantics")
    assert sorted(texts) == ["axis i: arbitrary -> parallel", "axis j: arbitrary -> parallel"]
    wanted = 'compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary", "arbitrary"))'
    assert wanted in texts["axis i: arbitrary -> parallel"]
    summed = changed(SUM_IN_SCRATCH, ("lambda i, j, k: (i, j)", "lambda i, j, k: (k, j)"))
    assert list(found(summed, "semantics")) == ["axis j: arbitrary -> parallel"], "sums are carried along k"


@pytest.mark.parametrize(
    ("source", "change"),
    [
        (SUM_IN_OUTPUT, ("lambda i, j, k: (i, j)", "lambda i, j, k: (i // 2, j // 2)")),
        (SUM_IN_SCRATCH, ("sum_ref[...] = jnp.zeros_like(sum_ref)", "sum_ref[...] = sum_ref[...] * 0")),
        (SUM_IN_SCRATCH, ("@pl.when(k == 0)", "@pl.when(pl.program_id(0) + k == 0)")),
        (SUM_IN_OUTPUT, ("grid=", "compiler_params=PARAMETERS, grid=")),
        (SUM_IN_OUTPUT, ("    # The product of", "    pltpu.prng_seed(0)\n    # The product of")),
    ],
)
def test_an_axis_whose_steps_may_need_each_other_stays_as_it_is(source: str, change: tuple[str, str]) -> None:
    assert found(source, "semantics")
    assert not found(changed(source, change), "semantics")


def test_a_parallel_axis_may_become_arbitrary() -> None:
    texts = found(SEED, "semantics")
    assert '("arbitrary", "parallel", "arbitrary")' in texts["axis i: parallel -> arbitrary"]
    assert not any(name.startswith("axis k") for name in texts), "sums are carried along k"


def test_blocks_get_other_numbers_of_buffers() -> None:
    texts = found(SEED, "buffering")
    assert list(texts) == ["out_ref: 2 -> 1 buffers"], "those of x and y change with each step"
    text = texts["out_ref: 2 -> 1 buffers"]
    assert "pl.BlockSpec((bm, bn), lambda i, j, k: (i, j), pipeline_mode=pl.Buffered(1))" in text
    assert found(text, "buffering")["out_ref: 1 -> 2 buffers"].count("pl.Buffered(2)") == 1
    pipeline = (ROOT / "tests" / "steps" / "honest" / "matmul" / "pipeline.py").read_text()
    assert "x_ref: 2 -> 3 buffers" in found(wholly_in_block(pipeline), "buffering")
    spec = "pl.BlockSpec((bm, bn), lambda i, j, k: (i, j))"
    named = changed(SEED, (spec, "spec"), ("    return pl.", f"    spec = {spec}\n    return pl."))
    assert found(named, "buffering")
    assert not found(changed(named, ("    return pl.", "    note(spec)\n    return pl.")), "buffering")


# Sums.


def test_a_float32_sum_moves_into_the_output_s_block_and_back() -> None:
    (text,) = found(SUM_IN_SCRATCH, "accumulator").values()
    assert "sum_ref" not in text
    assert "def kernel(x_ref, y_ref, out_ref):" in text
    assert "scratch_shapes=[]" in text
    (back,) = found(SUM_IN_OUTPUT, "accumulator").values()
    assert "def kernel(x_ref, y_ref, out_ref, acc_ref):" in back
    assert "scratch_shapes=[pltpu.VMEM((128, 128), jnp.float32)]" in back
    assert "@pl.when(pl.program_id(2) == pl.num_programs(2) - 1)" in back
    assert "# The product of one step." in back


@pytest.mark.parametrize(
    "change",
    [
        ("ShapeDtypeStruct((m, n), jnp.float32)", "ShapeDtypeStruct((m, n), x.dtype)"),
        ("ShapeDtypeStruct((m, n), jnp.float32)", "ShapeDtypeStruct((m, n), jnp.bfloat16)"),
        ("pltpu.VMEM((128, 128), jnp.float32)", "pltpu.VMEM((128, 256), jnp.float32)"),
        ("sum_ref[...].astype(out_ref.dtype)", "sum_ref[...] * 2"),
        ("pl.num_programs(2) - 1", "pl.num_programs(1) - 1"),
        ("sum_ref[...] += jnp.dot", "sum_ref[...] -= jnp.dot"),
        ("sum_ref[...] += jnp.dot", "out_ref[...] = sum_ref[...]\n    sum_ref[...] += jnp.dot"),
    ],
)
def test_a_sum_stays_where_the_output_cannot_hold_it(change: tuple[str, str]) -> None:
    assert not found(changed(SUM_IN_SCRATCH, change), "accumulator")


def test_a_narrow_accumulator_is_never_proposed() -> None:
    for source in (SEED, SUM_IN_SCRATCH, SUM_IN_OUTPUT, LOOP):
        for of_kind in rewrites(source).values():
            for one in of_kind:
                assert "bfloat16)" not in one.text
                assert one.text.count("preferred_element_type=jnp.float32") >= source.count(
                    "preferred_element_type=jnp.float32"
                )


def test_the_first_step_writes_and_the_last_one_adds_on_the_way_out() -> None:
    first, last, both = found(SEED, "end steps").values()
    assert "zeros_like" not in first
    assert "        acc_ref[...] = block_product()\n" in first
    assert "@pl.when(k != 0)\n" in first
    assert "out_ref[...] = (acc_ref[...] + block_product()).astype(out_ref.dtype)" in last
    assert "@pl.when(k != pl.num_programs(2) - 1)\n" in last
    assert "@pl.when((k != 0) & (k != pl.num_programs(2) - 1))\n" in both
    assert "@pl.when((k == pl.num_programs(2) - 1) & (k == 0))\n    def _store_only():\n" in both
    assert len(found(SUM_IN_OUTPUT, "end steps")) == 1, "an output is where it is"


@pytest.mark.parametrize(
    "change",
    [
        ("    acc_ref[...] += jnp.dot(", "    acc_ref[...] += 1 * jnp.dot("),  # of unknown shape
        ("    acc_ref[...] += jnp.dot(", "    noted = x\n    out_ref[...] = noted\n    acc_ref[...] += jnp.dot("),
        ("out_ref[...] = acc_ref[...].astype", "out_ref[...] = x + acc_ref[...].astype"),
        ("@pl.when(k == 0)", "@pl.when(k <= 0)"),
        ("    x, y = x_ref[...], y_ref[...]\n", "    x, y = x_ref[...], y_ref[...]\n    check(x)\n"),
    ],
)
def test_steps_are_not_told_apart_where_more_hangs_on_the_product(change: tuple[str, str]) -> None:
    source = changed(SEED, change)
    texts = found(source, "end steps").values()
    # Statements before the one that adds stay before it.
    assert all("block_product():\n        x, y" not in text for text in texts)


@pytest.mark.parametrize(
    "changes",
    [
        [("    x, y = x_ref", "    peek = acc_ref[0, 0]\n    x, y = x_ref")],
        [("    k = pl.program_id(2)\n", "    k = pl.program_id(2)\n    left = k\n")],
        [
            ("    x, y = x_ref", "    spare = y_ref[...]\n    x, y = x_ref"),
            ("        out_ref[...] =", "        out_ref[...] = x"),
        ],
        [("    x, y = x_ref", "    scale = out_ref[...]\n    x, y = x_ref")],
        [("    x, y = x_ref", "    fill(y_ref)\n    x, y = x_ref")],
        [("@pl.when(k == 0)", "@pl.when(pl.program_id(1) == 0)")],
    ],
)
def test_steps_are_not_told_apart_where_memory_or_names_have_other_users(changes: list[tuple[str, str]]) -> None:
    assert not found(changed(SEED, *changes), "end steps")


def test_scratch_is_widened_where_everything_is_cast() -> None:
    (text,) = found(NARROW_SCRATCH, "scratch type").values()
    assert "pltpu.VMEM((128, 128), jnp.float32)" in text
    assert not found(
        changed(NARROW_SCRATCH, ("product_ref[...].astype(out_ref.dtype)", "product_ref[...]")), "scratch type"
    )
    assert not found(SUM_IN_SCRATCH, "scratch type")


# Masks.


def test_only_ragged_blocks_are_masked() -> None:
    (text,) = found(SEED, "ragged edge").values()
    assert "@pl.when((k + 1) * block_k <= k_size)" in text
    assert "        if is_ragged:\n            left = k_size - k * block_k\n" in text


@pytest.mark.parametrize(
    "change",
    [
        ("block_k=bk", "block_k=bm"),  # a size other than the block's
        ("x.shape, 1) < left, x, 0)", "x.shape, 1) < left, x, 1)"),
        ("x.shape, 1) < left", "x.shape, 1) <= left"),
        ("x.shape, 1) < left", "x.shape, 0) < left"),
        ("y.shape, 0) < left", "y.shape, 0) < left - 1"),
        ("left = k_size - k * block_k", "left = k_size - (k + 1) * block_k"),
        ("k = pl.program_id(2)", "k = pl.program_id(2) // 2"),
    ],
)
def test_a_mask_that_is_not_seen_to_be_true_of_whole_blocks_stays(change: tuple[str, str]) -> None:
    assert not found(changed(SEED, change), "ragged edge")


# Rewrites of products and of loops.


def test_products_are_cut_where_parts_are_whole_tiles() -> None:
    of_seed = found(with_blocks(SEED, 512, 512, 1024), "parts")
    assert sorted(re.sub("^product x by y: ", "", name) for name in of_seed) == [
        "columns in 2 parts",
        "contracted in 2 parts",
        "contracted in 4 parts",
        "rows in 2 parts",
        "rows in 4 parts",
    ]
    text = of_seed["product x by y: contracted in 4 parts"]
    assert "step = contracted // 4 if contracted % 1024 == 0 else contracted" in text
    assert "acc_ref[...] += jnp.dot(x[:, part], y[part, :], preferred_element_type=jnp.float32)" in text


@pytest.mark.parametrize(
    "change",
    [
        ("x, y = x_ref[...], y_ref[...]", "x, y = x_ref[...], y_ref[...].T"),  # of unknown shape
        ("(bm, bk), lambda", "(bm, 1, bk), lambda"),
        ("(bm, bk), lambda", "(None, bm), lambda"),
        (
            "jnp.dot(x, y, preferred_element_type=jnp.float32)",
            "jnp.dot(x, y, precision=p, preferred_element_type=jnp.float32)",
        ),
        ("jnp.dot(x, y, preferred_element_type=jnp.float32)", "jnp.dot(x, y)"),
        ("import jax.numpy as jnp", "import another.numpy as jnp"),
    ],
)
def test_what_may_be_no_product_of_matrices_stays(change: tuple[str, str]) -> None:
    source = changed(SEED, change)
    assert not [kind for kind in ("parts", "loop", "operand order") if found(source, kind)]


def test_a_product_becomes_a_loop_where_its_operands_are_loaded_whole() -> None:
    (text,) = found(SUM_IN_SCRATCH, "loop").values()
    assert "jax.lax.fori_loop(0, contracted // step, add_part, 0)" in text
    assert "unrolling" in rewrites(text)
    assert not found(SEED, "loop"), "its operands may be masked"


def test_operands_are_swapped() -> None:
    (text,) = found(SEED, "operand order").values()
    assert "jax.lax.dot_general(y, x, (((0,), (1,)), ((), ())), preferred_element_type=jnp.float32).T" in text


def test_loops_are_unrolled_where_their_length_is_known() -> None:
    assert [name.removeprefix("loop of add: ") for name in found(LOOP, "unrolling")] == [
        "unrolled by 2",
        "unrolled by 4",
        "unrolled by 8",
        "fully unrolled",
    ]
    four = changed(LOOP, ("fori_loop(0, steps,", "fori_loop(0, 4,"))
    assert [name.removeprefix("loop of add: ") for name in found(four, "unrolling")] == [
        "unrolled by 2",
        "fully unrolled",
    ]
    assert not found(changed(LOOP, ("fori_loop(0, steps,", "fori_loop(0, x_ref[0, 0],")), "unrolling")
    assert not found(changed(LOOP, ("steps=k // 128", "steps=x[0, 0]")), "unrolling")


def test_what_a_loop_makes_anew_is_made_before_it() -> None:
    (text,) = found(LOOP, "hoisting").values()
    assert text.index("    kept = ") < text.index("    def add(")
    for change in (
        ("128), 1) < 128", "128), 1) < 128 * step"),
        ("128), 1) < 128", "128), 1) < x_ref[0, 0]"),
        ("total = jax.lax", "kept = 1\n    total = jax.lax"),
    ):
        assert not found(changed(LOOP, change), "hoisting")


# Rewrites of all kinds.


@pytest.mark.parametrize("path", HONEST, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_rewrite_of_an_honest_kernel_parses_and_is_another_source(path: Path) -> None:
    source = wholly_in_block(path.read_text())
    forms = [normalise.canonical(source, "k")]
    for transform in KINDS.values():
        forms += [normalise.canonical(one.text, "k") for one in transform(Source(source))]
    assert len(set(forms)) == len(forms)
    assert not rewrites(path.read_text()), "it has no EVOLVE block"


FIELDS = """BLOCK_K = 512


@dataclass(frozen=True)
class BlockSizes:
    m: int = BLOCK_M
    n: int = BLOCK_N
    k: int = BLOCK_K
"""
WITH_BLOCK_SIZES = (
    ("BLOCK_K = 512\n", FIELDS),
    ("def matmul(x, y):", "def matmul(x, y, *, block_sizes=None):"),
    ("min(BLOCK_M, m), min(BLOCK_N, n), min(BLOCK_K, k)", "min(sizes.m, m), min(sizes.n, n), min(sizes.k, k)"),
    ("    (m, k), n =", "    sizes = block_sizes or BlockSizes()\n    (m, k), n ="),
)


def test_block_sizes_that_callers_may_choose_are_their_defaults() -> None:
    def count(source: str) -> dict[str, int]:
        return {kind: len(of_kind) for kind, of_kind in rewrites(source).items()}

    chosen = changed(SEED, *WITH_BLOCK_SIZES)
    assert count(chosen) == count(SEED)
    # Block sizes are unknown if they are passed in or have no defaults.
    for change in (("BlockSizes()", "BlockSizes(k=7)"), ("k: int = BLOCK_K", "k: int")):
        assert "ragged edge" not in count(changed(chosen, change))


@pytest.mark.parametrize(
    "text", ["def f(:\n", "x = 1\n", HEADER, "a\r\n" + SEED, in_block("x = 1\n"), in_block("pl.pallas_call()\n")]
)
def test_what_is_not_understood_has_no_rewrites(text: str) -> None:
    assert rewrites(text) == {}


def test_an_edit_stays_within_the_block_and_off_the_parameters() -> None:
    for of_kind in rewrites(SEED).values():
        for one in of_kind:
            assert one.text.startswith(SEED[: SEED.index("def matmul_kernel")])
            assert one.text.endswith(FOOTER)
            ast.parse(one.text)
    before, rest = SEED.split("# EVOLVE-BLOCK-START\n")
    kernel, call = rest.split("def matmul(x, y):")
    outside = f"{before}{kernel}# EVOLVE-BLOCK-START\ndef matmul(x, y):{call}"
    assert set(rewrites(outside)) == {"grid order", "semantics", "buffering"}
    moved = changed(outside, ("pl.program_id(2)", "pl.program_id(2) + 0 * pl.program_id(0)"))
    assert set(rewrites(moved)) == {"semantics", "buffering"}


def test_an_edit_elsewhere_or_of_a_parameter_is_none() -> None:
    source = Source(SEED)

    def edit(old: str, new: str) -> Edit:
        return Edit(SEED.index(old), SEED.index(old) + len(old), new)

    ours = edit("left = k_size", "left = k_size + 0")
    assert source.edited([ours]) == SEED.replace("left = k_size", "left = k_size + 0")
    assert source.edited([ours, ours]) == source.edited([ours])
    assert source.edited([ours, edit("left", "right")]) is None
    assert source.edited([edit("import functools", "import os")]) is None
    assert source.edited([edit("BLOCK_M = 512", "BLOCK_M = 256")]) is None
    assert source.edited([edit("BLOCK_M = 512", "BLOCK_M = 512")]) == SEED
    assert source.edited([edit("    left = k", "    spare = 3\n    left = k")]) is None


def test_comments_and_layout_stay_and_columns_are_counted_in_characters() -> None:
    commented = changed(
        SEED,
        ("        grid=(", "        # Größe ≥ 1\n        grid=("),
        ("dimension_semantics=", 'note="éé", dimension_semantics='),
        ("lambda i, j, k: (k, j)),", "lambda i, j, k: (k, j)),  # ä"),
        ('name="matmul"', 'name="ü",   backend="é"'),
    )
    (text,) = found(commented, "grid order").values()
    lines = [(a, b) for a, b in zip(commented.splitlines(), text.splitlines(), strict=True) if a != b]
    assert len(lines) == 4
    assert "# Größe ≥ 1" in text
    said = found(commented, "semantics")["axis i: parallel -> arbitrary"]
    assert 'note="éé", dimension_semantics=("arbitrary", "parallel", "arbitrary")' in said
    assert "lambda j, i, k: (k, j)),  # ä" in text


# The step.


def step(run_step: Run, folder: Path, places: str, ids: str, **flags: Any) -> list[dict[str, Any]]:
    (folder / "spec.json").write_text(
        json.dumps({"parameters": [{"name": n} for n in ("BLOCK_M", "BLOCK_N", "BLOCK_K")]})
    )
    (folder / "seed.py").write_text(SEED)
    flags = {"round": 1, "random_seed": 1, "spec": "spec.json", "seed": "seed.py", "round_dir": "out", **flags}
    done = run_step("rewrite", places=places, ids=ids, **flags)
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / flags["round_dir"] / id_ / "variant.json").read_text()) for id_ in ids.split(",")]


def test_a_round_s_variants_are_rewrites_of_the_seed(run_step: Run, tmp_path: Path) -> None:
    variants = step(run_step, tmp_path, "2,5,7", "v0003,v0006,v0008")
    for variant in variants:
        kernel = (tmp_path / "out" / variant["id"] / "kernel.py").read_text()
        assert variant["parents"] == ["v0000"]
        assert variant["parameters"] == {"BLOCK_M": 512, "BLOCK_N": 512, "BLOCK_K": 512}
        assert (variant["mutator"], variant["round"]) == ("rewrite", 1)
        assert kernel in {one.text for of_kind in rewrites(SEED).values() for one in of_kind}
    kernels = [(tmp_path / "out" / variant["id"] / "kernel.py").read_text() for variant in variants]
    assert len({normalise.canonical(kernel, "k") for kernel in kernels}) == 3
    text = (tmp_path / "out" / "v0003" / "variant.json").read_text()
    assert text == json.dumps(variants[0], indent=2, sort_keys=True) + "\n"


def test_the_same_seed_gives_the_same_variants_and_another_one_others(run_step: Run, tmp_path: Path) -> None:
    places, ids = "0,1,2", "v0001,v0002,v0003"
    notes = [
        [one["note"] for one in step(run_step, tmp_path, places, ids, round_dir=f"r{seed}", random_seed=seed)]
        for seed in (1, 1, 2)
    ]
    assert notes[0] == notes[1] != notes[2]
    parents = [Parent("v0000", SEED)] * 3
    assert [one.note for one in propose(parents, 1, [0, 1, 2], 1, set())] == notes[0]
    assert [one.note for one in propose(parents, 2, [0, 1, 2], 1, set())] != notes[0]


def test_the_parent_is_the_survivor_that_the_place_was_given_to(tmp_path: Path) -> None:
    survivors = [
        {"variant": "v0004", "parameters": {"BLOCK_M": 1024}},
        {"variant": "v0002", "parameters": {"BLOCK_M": 256}},
    ]
    selection = {"survivors": survivors, "places": [1, 2, 2, 1]}
    (tmp_path / "selection.json").write_text(json.dumps(selection))
    (tmp_path / "spec.json").write_text('{"parameters": [{"name": "BLOCK_M"}]}')
    files = {"seed.py": 512, "one.py": 1024, "two.py": 256}
    for name, block in files.items():
        (tmp_path / name).write_text(with_blocks(SEED, block, 512, 512))
    at = {name: str(tmp_path / name) for name in ("spec.json", "selection.json", *files)}
    arguments = ["--spec", at["spec.json"], "--seed", at["seed.py"], "--selection", at["selection.json"]]
    arguments += ["--lineage", at["one.py"], "--lineage", at["two.py"], "--round", "2", "--random-seed", "1"]
    arguments += ["--places", "0,1,3", "--ids", "v0011,v0012,v0014", "--round-dir", str(tmp_path)]
    assert rewrite.main(arguments) == 0
    variants = [json.loads((tmp_path / id_ / "variant.json").read_text()) for id_ in ("v0011", "v0012", "v0014")]
    assert [one["parents"] for one in variants] == [["v0004"], ["v0002"], ["v0004"]]
    assert [one["parameters"]["BLOCK_M"] for one in variants] == [1024, 256, 1024]


def test_what_is_known_is_not_proposed_then_pairs_are_and_then_the_parent_is_repeated() -> None:
    parent = Parent("v0003", NARROW_SCRATCH)
    singles = {source_digest(one.text) for of_kind in rewrites(NARROW_SCRATCH).values() for one in of_kind}
    kept = sorted(singles)[0]
    (last,) = propose([parent], 1, [0], 1, singles - {kept})
    assert last.source == kept
    (pair,) = propose([parent], 1, [0], 1, singles)
    assert pair.note.count("; ") == 1
    assert pair.source not in singles
    nothing = Parent("v0003", in_block("X = 1\n"))
    (repeated,) = propose([nothing], 1, [0], 1, set())
    assert (repeated.note, repeated.text) == ("nothing new is left: repeats v0003", nothing.text)


def test_kinds_come_first_so_that_one_with_many_rewrites_does_not_crowd_out_others() -> None:
    kinds = {one.text: kind for kind, of_kind in rewrites(SUM_IN_SCRATCH).items() for one in of_kind}
    parent = Parent("v0000", SUM_IN_SCRATCH)
    drawn = [kinds[propose([parent], 1, [0], seed, set())[0].text] for seed in range(60)]
    counts = {kind: drawn.count(kind) for kind in set(kinds.values())}
    assert min(counts.values()) >= 1
    assert max(counts.values()) <= 15


def test_what_is_in_the_history_is_not_proposed(run_step: Run, tmp_path: Path) -> None:
    (first,) = step(run_step, tmp_path, "0", "v0001")
    kernel = (tmp_path / "out" / "v0001" / "kernel.py").read_text()
    # The select step writes the digest of the canonical source.
    digest = hashlib.sha256(normalise.canonical(kernel, "kernel.py").encode()).hexdigest()
    (tmp_path / "history.jsonl").write_text(
        json.dumps({"source": digest, "note": "a\u2028b"}, ensure_ascii=False) + "\n"
    )
    (other,) = step(run_step, tmp_path, "0", "v0001", history="history.jsonl")
    assert other["note"] != first["note"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"ids": "v0001"}, "--ids: expected 2, as many as --places, got 1"),
        ({"spec": "none.json"}, "none.json: No such file or directory"),
        ({"seed": "spec.json"}, "v0000: no EVOLVE block"),
        ({"selection": "seed.py"}, "seed.py: not JSON"),
        ({"selection": "spec.json"}, "spec.json: not a selection"),
        ({"history": "seed.py"}, "seed.py: not a history"),
    ],
)
def test_wrong_inputs_are_told(run_step: Run, tmp_path: Path, flags: dict[str, str], message: str) -> None:
    (tmp_path / "spec.json").write_text('{"parameters": [{"name": "BLOCK_M"}]}')
    (tmp_path / "seed.py").write_text(SEED)
    given = {"spec": "spec.json", "seed": "seed.py", "ids": "v0001,v0002", **flags}
    done = run_step("rewrite", places="0,1", round=1, random_seed=1, round_dir="out", **given)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "out").exists()
