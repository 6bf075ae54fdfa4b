"""Kerlever's specs, of both generations: an operation by name, over shapes, for a GPU.

Its kernels are CUDA, and its adapters know two kinds of operations: products of matrices, and operations on each
element. Both have a meaning for any target. A spec's demands on a GPU have no meaning here, and the report names them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from init.dimensions import Tensor
from init.source import DTYPE_NAMES, Case, Given, Imported, Tolerance, Wrong, executed, number

_ONE = {
    "relu": "jax.nn.relu(x)",
    "gelu": "jax.nn.gelu(x)",
    "silu": "jax.nn.silu(x)",
    "swish": "jax.nn.silu(x)",
    "sigmoid": "jax.nn.sigmoid(x)",
    "tanh": "jnp.tanh(x)",
    "exp": "jnp.exp(x)",
    "sqrt": "jnp.sqrt(x)",
    "abs": "jnp.abs(x)",
    "square": "x * x",
}
_TWO = {"add": "x + y", "sub": "x - y", "mul": "x * y", "multiply": "x * y", "maximum": "jnp.maximum(x, y)"}
_PRODUCTS = ("matmul", "gemm")
# Keys that are not imported, each with the reason. Most of them are about another device.
_ELSEWHERE = {
    "target_gpu": "a pipeline's target is a TPU",
    "reference_kernel": "it is CUDA; the reference is written from op_name",
    "baseline_perf_us": "baselines are timed here, not given",
    "target_perf_us": "a time of another device; evolve run --until 'speedup>=1.3' stops at a gain",
    "target_metric_value": "a time of another device; evolve run --until 'speedup>=1.3' stops at a gain",
}
_TEXT = '''"""{summary}."""

import jax
import jax.numpy as jnp


def {name}({arguments}):
    """{summary}."""
    return {form}
'''


def read(path: Path, config: dict[str, Any]) -> Imported:
    """Reads the task of a spec."""
    name = re.sub(r"\W+", "_", str(config.get("op_name") or "")).strip("_").lower()
    if not name:
        raise Wrong(f"{path}: not a spec of Kerlever: it has no op_name")
    dtype = DTYPE_NAMES.get(str(config.get("dtype", "float32")).lower())
    if dtype is None:
        raise Wrong(f"{path}: dtype: '{config['dtype']}' is not supported here; supported: {', '.join(DTYPE_NAMES)}")
    notices = [f"'{key}' is not imported: {why}" for key, why in _ELSEWHERE.items() if key in config]
    shapes = _shapes(path, config, notices)
    inputs, form, extents = _operation(path, name, len(shapes[0][1]), dtype)
    odd = [dims for _, dims, _ in shapes if len(dims) != len(extents)]
    if odd:
        raise Wrong(f"{path}: shapes: {odd[0]} does not have {len(extents)} sizes, as the first has")
    cases = tuple(Case(label, dict(zip(extents, dims, strict=True)), weight) for label, dims, weight in shapes)
    summary = " ".join(str(config.get("op_semantics") or name).split()).rstrip(".").replace('"', "'").replace("\\", "/")
    text = _TEXT.format(summary=summary, name=name, arguments=", ".join(one.name for one in inputs), form=form)
    given = Given(
        cases=cases,
        tolerance=_tolerance(config),
        reference=text,
        rounds=int(config.get("max_rounds") or 3),
        written_by="evolve import kerlever",
    )
    function = getattr(executed(text, path.with_suffix(".py")), name)
    return Imported(name, name, str(path), function, inputs, cases[0].sizes, given, summary=summary, notices=notices)


def _shapes(path: Path, config: dict[str, Any], notices: list[str]) -> list[tuple[str, list[int], float]]:
    """Returns the name, the sizes and the weight of each case."""
    objective = config.get("objective") or {}
    if objective.get("aggregation", "weighted_mean") != "weighted_mean":
        notices.append(f"objective.aggregation: {objective['aggregation']} is not imported: cases have weights")
    if float(objective.get("regression_guard_pct") or 0) > 0:
        notices.append("objective.regression_guard_pct is not imported: see select.policy: pareto")
    found = []
    for at, one in enumerate(config.get("shape_cases") or config.get("shapes") or []):
        case = one if isinstance(one, dict) else {"dims": one}
        dims = case.get("dims")
        if not isinstance(dims, list) or not dims or not all(isinstance(size, int) and size > 0 for size in dims):
            raise Wrong(f"{path}: shapes: {dims} is not a list of sizes")
        label = re.sub(r"\W+", "_", str(case.get("shape_id") or f"shape{at}"))
        found.append((label, dims, number(f"{path}: weight", case.get("weight", 1))))
    if not found:
        raise Wrong(f"{path}: it has neither shape_cases nor shapes")
    return found


def _operation(path: Path, name: str, sizes: int, dtype: str) -> tuple[tuple[Tensor, ...], str, list[str]]:
    """Returns the inputs, the expression over them, and the names of a shape's sizes."""
    words = name.split("_")
    if any(word in _PRODUCTS for word in words):
        if sizes != 3:
            raise Wrong(f"{path}: a product of matrices has the sizes [M, N, K], but {sizes} are given")
        form = "jnp.dot(x, y, preferred_element_type=jnp.float32).astype(x.dtype)"
        return (Tensor("x", dtype, ("M", "K")), Tensor("y", dtype, ("K", "N"))), form, ["M", "N", "K"]
    extents = [f"D{at}" for at in range(sizes)]
    for known, names in ((_ONE, "x"), (_TWO, "xy")):
        for word in words:
            if word in known:
                return tuple(Tensor(one, dtype, tuple(extents)) for one in names), known[word], extents
    known_names = ", ".join([*_PRODUCTS, *_ONE, *_TWO])
    raise Wrong(f"{path}: op_name: '{name}' is not one of {known_names}: write it as a function, and use evolve init")


def _tolerance(config: dict[str, Any]) -> Tolerance:
    """Returns the narrowest tolerance, because all cases share one tolerance."""
    given = [case.get("correctness_tolerance") for case in config.get("shape_cases") or [] if isinstance(case, dict)]
    known = [number("tolerance", one) for one in (*given, config.get("tolerance")) if one is not None]
    return Tolerance(rtol=min(known), atol=min(known)) if known else Tolerance()
