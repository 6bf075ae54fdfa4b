"""Step expect: the outputs of the reference on the judge's inputs, for one case.

The oracle is the reference evaluated at float64 on the same values, with float64 in place of narrower types in its
text. The error of the unchanged reference against the oracle shows how much rounding error an honest kernel may have.
Trusted code.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np

from interpreter import gradients, parts
from interpreter.regions import Region, indices_of
from judge import judge_inputs, places, whole_numbers
from judge.judge_inputs import Array
from programs import program
from reports import verdict
from reports.depfile import write_depfile

Function = Callable[..., Any]


class _Widened(ast.NodeTransformer):
    """Replaces narrow dtypes in a text by a wide one: `x.astype(jnp.float32)` would round the oracle, too.

    A value whose meaning depends on rounding uses `jax.lax.reduce_precision`, or has 8 bits.
    """

    def __init__(self, wide: str) -> None:
        self._wide = wide
        self._narrow = _NARROW[: _NARROW.index(wide)]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Leaves calls that ask for a dtype's limits or bits as they are, because they mean that dtype."""
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in _OF_A_DTYPE:
            return node
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Replaces `jnp.float32`, and `float32` of any module, because other modules may lack the wide dtype."""
        self.generic_visit(node)
        if node.attr not in self._narrow:
            return node
        return ast.copy_location(ast.Attribute(ast.Name(_NUMPY, ast.Load()), self._wide, node.ctx), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """Replaces `from ml_dtypes import bfloat16` by an import from JAX's module, under the text's own name."""
        if not any(alias.name in self._narrow for alias in node.names):
            return node
        wide = [ast.alias(self._wide, one.asname or one.name) for one in node.names if one.name in self._narrow]
        others = [one for one in node.names if one.name not in self._narrow]
        made = [ast.ImportFrom("jax.numpy", wide, 0)]
        return [*made, ast.ImportFrom(node.module, others, node.level)] if others else made  # type: ignore[return-value]

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Replaces a dtype that is given by its name."""
        return ast.copy_location(ast.Constant(self._widened(node.value)), node)

    def _widened(self, name: Any) -> Any:
        return self._wide if name in self._narrow else name


_OF_A_DTYPE = frozenset(("finfo", "bitcast_convert_type", "view"))
# The name of jax.numpy in a changed text.
_NUMPY = "_numpy_of_the_judge"
_NARROW = ("bfloat16", "float16", "float32", "float64")


def load(path: str, change: ast.NodeTransformer | None = None) -> ModuleType:
    """Loads the module of a file, as it stands or with its text changed."""
    tree = ast.parse(Path(path).read_bytes(), path)
    module = ModuleType("reference")
    module.__file__ = path
    setattr(module, _NUMPY, jax.numpy)
    changed = ast.fix_missing_locations(change.visit(tree)) if change else tree
    exec(compile(changed, path, "exec", dont_inherit=True), vars(module))
    return module


def _outputs(result: Any) -> list[Array]:
    return [np.asarray(leaf).astype(np.float64) for leaf in jax.tree_util.tree_leaves(result)]


def _wide(array: Array, wide: Any = np.float64) -> Array:
    return array.astype(wide) if jax.numpy.issubdtype(array.dtype, np.floating) else array


class Functions(NamedTuple):
    """A reference as it stands; the oracle; and the oracle of large cases whose outputs are narrow."""

    own: Function
    at_float64: Function
    at_float32: Function


def functions(path: str, entry: str) -> Functions:
    """Loads the functions of a reference's file."""
    with jax.enable_x64(True):
        doubled = load(path, _Widened("float64"))
    return Functions(*(getattr(one, entry) for one in (load(path), doubled, load(path, _Widened("float32")))))


def expected(reference: Functions, signature: dict[str, Any], secret: str) -> dict[str, Array]:
    """Returns the values for the step check, for each set S and output I, without sets whose oracle is not finite.

    "S.I.oracle": the oracle's values, as float64 for outputs of more than 16 bits, else as float32. They are whole, or
    at the places "S.I.places". "S.I.error": the root mean square of the reference's own error. "S.I.worst": the largest
    of its errors among elements up to each order of size (judge_inputs.order_of).
    """
    at_own, at_double = (jax.jit(program.with_gradients(one, signature)) for one in reference[:2])
    arrays: dict[str, Array] = {}
    for drawn in judge_inputs.sets_of(signature):
        inputs = judge_inputs.draw(signature, drawn, secret)
        own = _outputs(at_own(*inputs))
        with jax.enable_x64(True), jax.default_matmul_precision("highest"):
            right = _outputs(at_double(*map(_wide, inputs)))
        if len(own) != len(signature["outputs"]):
            raise ValueError(f"{len(own)} outputs, the spec declares {len(signature['outputs'])}")
        if all(np.isfinite(values).all() for values in (*own, *right)):
            for i, both in enumerate(zip(own, right, strict=True)):
                _add(arrays, f"{drawn.name}.{i}", *both, drawn, signature["outputs"][i], i, secret)
    if not any(name.startswith(f"{judge_inputs.PUBLIC.name}.") for name in arrays):
        raise ValueError("its outputs are not finite on normally distributed inputs")
    return arrays


def expected_at_places(reference: Functions, signature: dict[str, Any], secret: str) -> dict[str, Array]:
    """Returns the values for the step values, for a case that is too large to be computed whole.

    "S.I.G.oracle": the values of output I at the places of group G (places.py). "S.I.G.axisA": the indices of these
    places along axis A. "S.I.G.error" and "S.I.G.worst" are as in `expected`. S is the set of group G
    (judge_inputs.TIMED). If all outputs have at most 16 bits, the oracle is the reference at float32, else at float64.
    If the oracle of a group is not finite, S is judge_inputs.AGAIN; if it is not finite on that set either, nothing is
    returned.
    """
    is_narrow = all(program.dtype_of(one["dtype"]).itemsize <= 2 for one in signature["outputs"])
    wide = np.float32 if is_narrow else np.float64
    shapes = [one["shape"] for one in signature["outputs"]]

    def values(drawn: judge_inputs.InputSet, regions: list[Region]) -> tuple[list[Array], list[Array]] | None:
        inputs = judge_inputs.draw(signature, drawn, secret)
        own = _at(reference.own, inputs, signature, regions)
        with jax.enable_x64(not is_narrow), jax.default_matmul_precision("highest"):
            widened = [_wide(one, wide) for one in inputs]
            del inputs
            right = _at(reference.at_float32 if is_narrow else reference.at_float64, widened, signature, regions)
            del widened
        return (own, right) if all(np.isfinite(one).all() for one in (*own, *right)) else None

    arrays: dict[str, Array] = {}
    for group, (first, runs) in enumerate(zip(judge_inputs.TIMED, places.groups_of(shapes, secret), strict=True)):
        regions = [places.region_of(of_output, shape) for of_output, shape in zip(runs, shapes, strict=True)]
        for drawn in (first, judge_inputs.AGAIN):
            found = values(drawn, regions)
            if found is not None:
                break
        if found is None:
            return {}
        own, right = found
        for number, (got, want, region, shape) in enumerate(zip(own, right, regions, shapes, strict=True)):
            name = f"{drawn.name}.{number}.{group}"
            arrays[f"{name}.oracle"] = want.astype(wide)
            _add_own_error(arrays, name, got - want, want)
            for axis, (indices, size) in enumerate(zip(region, shape, strict=True)):
                arrays[f"{name}.axis{axis}"] = indices_of(indices, size)
    return arrays


def _at(function: Function, inputs: list[Array], signature: dict[str, Any], regions: list[Region]) -> list[Array]:
    """Returns a reference's outputs and gradients at regions."""
    by = signature.get("gradients", [])
    own = len(signature["outputs"]) - len(by)
    arguments, cotangents = (inputs[: len(inputs) - own], inputs[len(inputs) - own :]) if by else (inputs, [])
    closed = jax.make_jaxpr(function)(*arguments)
    shapes = [list(aval.shape) for aval in closed.out_avals]
    if shapes != [one["shape"] for one in signature["outputs"][:own]]:
        raise ValueError(f"its outputs have shapes {shapes}, the spec declares others")
    if by and gradients.has_own_rule(closed.jaxpr):
        together = jax.make_jaxpr(program.with_gradients(function, signature))(*inputs)
        return _outputs(jax.jit(lambda *given: parts.evaluate(together, given, regions))(*inputs))
    found = jax.jit(lambda *given: parts.evaluate(closed, given, regions[:own]))(*arguments)
    if by:
        found += gradients.gradients_at(function, arguments, by, cotangents, regions[own:])
    return _outputs(found)


# The share and the least number of the smallest elements. They share one largest error: that of a few says little.
_SMALLEST, _LEAST = 1 / 8, 256


def _add_own_error(arrays: dict[str, Array], name: str, difference: Array, oracle: Array) -> None:
    """Adds how far the reference is from the oracle."""
    arrays[f"{name}.error"] = np.sqrt(np.mean(difference * difference))
    orders = judge_inputs.order_of(oracle).reshape(-1)
    worst = np.zeros(judge_inputs.ORDERS)
    np.maximum.at(worst, orders, np.abs(difference).reshape(-1))
    worst = np.maximum.accumulate(worst)
    counts = np.cumsum(np.bincount(orders, minlength=judge_inputs.ORDERS))
    smallest = int(np.searchsorted(counts, min(oracle.size, max(_LEAST, _SMALLEST * oracle.size))))
    arrays[f"{name}.worst"] = np.maximum(worst, worst[smallest])


def _add(
    arrays: dict[str, Array],
    name: str,
    got: Array,
    right: Array,
    drawn: judge_inputs.InputSet,
    declared: dict[str, Any],
    number: int,
    secret: str,
) -> None:
    """Adds the expected values of one output for one set."""
    if list(right.shape) != declared["shape"]:
        raise ValueError(f"'{declared['name']}' has shape {list(right.shape)}, the spec declares {declared['shape']}")
    places = judge_inputs.sample(declared["shape"], drawn, number, secret)
    oracle = judge_inputs.picked(right, places)
    is_narrow = program.dtype_of(declared["dtype"]).itemsize <= 2
    arrays[f"{name}.oracle"] = oracle.astype(np.float32 if is_narrow else np.float64)
    _add_own_error(arrays, name, judge_inputs.picked(got, places) - oracle, oracle)
    if places is not None:
        arrays[f"{name}.places"] = places


def pack(arrays: dict[str, Array]) -> bytes:
    """Returns an .npz file without the time stamps that numpy.savez would put in it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, array in sorted(arrays.items()):
            content = io.BytesIO()
            np.save(content, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue())
    return packed.getvalue()


def main(argv: list[str]) -> int:
    """Runs the step; the exit code is non-zero for a fault only."""
    parser = argparse.ArgumentParser(prog="expect")
    for name in ("source", "entry", "signature", "secret", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--depfile")
    parser.add_argument("--at-places", choices=("0", "1"), default="0", help="1: the case is only timed")
    args = parser.parse_args(argv)
    signature = verdict.read_json(args.signature)
    secret = Path(args.secret).read_text(encoding="ascii")
    try:
        compute = expected_at_places if args.at_places == "1" else expected
        arrays = compute(functions(args.source, args.entry), signature, secret)
    except whole_numbers.Unsound as error:
        print(f"expect: the spec: {error}", file=sys.stderr)
        return 2
    except Exception as error:  # noqa: BLE001 - the reference is the user's code
        print(f"expect: {args.source}: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    verdict.write_file(args.out, pack(arrays))
    write_depfile(args.depfile, args.out)
    return 0
