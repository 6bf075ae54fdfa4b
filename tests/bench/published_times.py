"""A collector of times that tokamax measured on TPU v7x, and of the compiler's dumps of the same kernels.

    PYTHON tests/bench/published_times.py FOLDER [--only TEXT] [--most N] [--tables FOLDER]
    evolve model validate FOLDER/times.json

PYTHON is the Python of an environment with tokamax and this repository's jax and libtpu:

    python3 -m venv ENV && ENV/bin/pip install -r rules/requirements.lock && ENV/bin/pip install tokamax

tokamax comes with tables of its autotuning's measurements: an operation's arguments, a configuration, and five times.
This program compiles each row's kernel with libtpu for one core of a TPU v7x, on any machine. It keeps the dumps in
FOLDER, so that another run goes on where this run ended. It prints each row that does not compile, with the reason.
Large tiles take a minute. `--only` takes the rows whose family has TEXT in its name. `--most` takes N rows of each
family, spread over its table. `--tables` reads the tables of another version: a folder with the files `*.json`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import re
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.update(
    JAX_PLATFORMS="cpu",
    TPU_SKIP_MDS_QUERY="1",
    ALLOW_MULTIPLE_LIBTPU_LOAD="1",
    # The dump folder cannot be changed later. So it is the current folder, which _compile() changes.
    LIBTPU_INIT_ARGS="--xla_jf_dump_to=. --xla_jf_dump_llo_pass_label_regex=^(packed-bundles-post-ra|vmem_report)$",
)
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "rules"))

import jax
import numpy as np

from judge import operands
from programs import wire

OPS = "tokamax._src.ops"
# For each table of tokamax: the module and the class of its operation.
TABLES = {
    "ragged_dot": (f"{OPS}.ragged_dot.pallas_mosaic_tpu", "PallasMosaicTpuRaggedDot"),
    "flash_attention": (f"{OPS}.attention.pallas_mosaic_tpu", "PallasMosaicTpuFlashAttention"),
    "flash_attention_vjp": (f"{OPS}.attention.pallas_mosaic_tpu_vjp", "PallasMosaicTpuFlashAttentionVjp"),
    "linear_softmax_cross_entropy_loss": (
        f"{OPS}.linear_softmax_cross_entropy_loss.pallas_mosaic_tpu",
        "PallasMosaicTpuLinearSoftmaxCrossEntropyLoss",
    ),
    "linear_softmax_cross_entropy_loss_vjp": (
        f"{OPS}.linear_softmax_cross_entropy_loss.pallas_mosaic_tpu",
        "PallasMosaicTpuLinearSoftmaxCrossEntropyLossVjp",
    ),
}

# The peak of one core for bfloat16, in operations per second.
PEAK_FLOPS = 1153.5e12

# What the name of a family says of the form of a grouped matmul, by the dimensions that the matmul contracts.
_FORMS = {"[[1],[1]]": "", "[[1],[2]]": ", transposed", "[[0],[0]]": ", of weights"}


class Row(NamedTuple):
    """A published time, in seconds, of an operation with these arguments and this configuration."""

    table: str
    family: str
    arguments: str  # JSON
    config: str  # JSON
    seconds: float
    is_even: bool = False  # all groups have one size

    @property
    def name(self) -> str:
        """The name of the row's folder."""
        what = f"{self.arguments}{self.config}{' even' if self.is_even else ''}"
        digest = hashlib.sha256(what.encode()).hexdigest()[:12]
        return f"{self.table}-{digest}"


def _family(table: str, arguments: dict[str, Any]) -> str:
    """Returns the row's family. Rows of one family are compiled from the same code."""
    if table == "ragged_dot":
        contracted = json.dumps(
            arguments["ragged_dot_dimension_numbers"]["dot_dimension_numbers"][0], separators=(",", ":")
        )
        return table + _FORMS.get(contracted, f", {contracted}")
    mask = arguments.get("mask")
    if isinstance(mask, dict):
        return table + (", causal" if mask.get("is_causal") else ", not causal")
    return table


def _rows(folder: Path) -> Iterator[Row]:
    """Yields the rows of all tables, in order."""
    for table in TABLES:
        content = json.loads((folder / f"pallas_mosaic_tpu_{table}.json").read_text())
        for arguments, configs in content.items():
            family = _family(table, json.loads(arguments))
            for config, measured in configs.items():
                times = measured.get("evaluation_times_ms", [])
                if times:
                    yield Row(table, family, arguments, config, statistics.median(times) / 1e3)


def _drawn_sizes(rows: int, groups: int) -> Any:
    """Draws group sizes as tokamax does for a table that has only their number and sum."""
    return np.bincount(np.random.default_rng(0).choice(groups, (rows,), replace=True), minlength=groups)


def _least_seconds(row: Row) -> float:
    """Returns the time that a core's matrix units need for a grouped matmul's tiles of rows if its sizes are drawn."""
    arguments, config = json.loads(row.arguments), json.loads(row.config)
    shapes = [[int(extent) for extent in re.findall(r"\d+", arguments[key].split("[")[1])] for key in ("lhs", "rhs")]
    (rows, contracted), columns = shapes[0], shapes[1][-1]
    if "transposed" in row.family:
        columns = shapes[1][-2]
    ends = np.cumsum(_drawn_sizes(rows, arguments["group_sizes"]["num_groups"]))
    starts = np.concatenate([[0], ends[:-1]])
    tile = config["tile_m"]
    tiles = int(np.sum((-(-ends // tile) - starts // tile)[ends > starts]))
    return float(2.0 * tiles * tile * contracted * columns / PEAK_FLOPS)


def _with_sizes(rows: list[Row]) -> list[Row]:
    """Marks the grouped matmuls that were measured with groups of one size. Their tables do not show this.

    A time that is shorter than the matrix units need for groups of drawn sizes belongs to even groups. So do the other
    times with the same rows and the same number of groups.
    """

    def task(row: Row) -> tuple[str, int]:
        arguments = json.loads(row.arguments)
        return arguments["lhs"].split(",")[0], arguments["group_sizes"]["num_groups"]

    grouped = [row for row in rows if row.table == "ragged_dot"]
    even = {task(row) for row in grouped if row.seconds < _least_seconds(row)}
    return [row._replace(is_even=row.table == "ragged_dot" and task(row) in even) for row in rows]


def _spread(rows: list[Row], most: int) -> list[Row]:
    """Returns at most `most` rows of each family, spread over all of its rows."""
    families: dict[str, list[Row]] = {}
    for row in rows:
        families.setdefault(row.family, []).append(row)
    return [
        family[round(at)]
        for family in families.values()
        for at in np.linspace(0, len(family) - 1, min(most, len(family)))
    ]


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype") and not isinstance(leaf, np.ndarray)


class Program(NamedTuple):
    """The timed program: a function of arrays only."""

    call: Any
    arrays: list[jax.ShapeDtypeStruct]


def _program(row: Row) -> Program:
    adapter_of = importlib.import_module(f"{OPS}.op")._get_arg_spec_adapter  # tokamax's own reader of its tables
    module, name = TABLES[row.table]
    operation = getattr(importlib.import_module(module), name)()
    arguments = adapter_of(operation).validate_json(row.arguments)
    if row.is_even:
        sizes = arguments["group_sizes"].value
        even = np.full_like(sizes, sizes.sum() // sizes.size)
        arguments["group_sizes"] = type(arguments["group_sizes"])(even, tuple(even.tolist()))
    config = importlib.import_module("pydantic").TypeAdapter(operation.config_cls).validate_json(row.config)
    bound = operation.bind(**arguments)
    leaves, tree = jax.tree.flatten(dict(bound.arguments), is_leaf=_is_array)
    arrays = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves if _is_array(leaf)]

    def call(*given: Any) -> Any:
        values = iter(given)
        merged = [next(values) if _is_array(leaf) else leaf for leaf in leaves]
        out, residuals = operation._fwd(**jax.tree.unflatten(tree, merged), config=config)
        return (out, residuals) if bound.arguments.get("return_residuals") else out

    return Program(call, arrays)


def _write_operands(file: Path, program: Program) -> None:
    inputs = [
        {"name": f"x{i}", "shape": list(one.shape), "dtype": one.dtype.name, "range": [0, 127]}
        for i, one in enumerate(program.arrays)
    ]
    packed = wire.pack(jax.make_jaxpr(program.call)(*program.arrays))
    file.write_text(json.dumps(operands.operands_of(packed, {"inputs": inputs})))


def _compile(row: Row, folder: Path, sharding: Any) -> None:
    """Writes the row's folder completely or not at all."""
    now = folder / "now"
    shutil.rmtree(now, ignore_errors=True)
    (now / "dumps").mkdir(parents=True)
    os.chdir(now / "dumps")
    program = _program(row)
    _write_operands(now / "operands.json", program)
    placed = [jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=sharding) for one in program.arrays]
    jax.jit(program.call).lower(*placed).compile()
    jax.clear_caches()
    os.chdir(folder)
    now.rename(folder / row.name)


def _entry(row: Row) -> dict[str, Any]:
    from importlib.metadata import version  # noqa: PLC0415

    return {
        "dumps": f"{row.name}/dumps",
        "operands": f"{row.name}/operands.json",
        "seconds": row.seconds,
        "group": row.arguments,
        "family": row.family,
        "config": row.config,
        "even_groups": row.is_even,
        "libtpu": version("libtpu"),
    }


def main() -> int:
    """Returns 1 if any row does not compile, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="families with this in their names")
    parser.add_argument("--most", type=int, default=1 << 20, help="rows of each family")
    parser.add_argument("--tables", type=Path, help="a folder of another version's tables")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    from jax._src.pallas.mosaic import tpu_info  # noqa: PLC0415

    # Kernels look up the chip that they are compiled for by the device of this machine, which is a CPU.
    tpu_info.registry["cpu"] = lambda: tpu_info._get_tpu_info_impl(tpu_info.ChipVersion.TPU_7X, 1)
    from jax.experimental import topologies  # noqa: PLC0415

    device = topologies.get_topology_desc(platform="tpu", topology_name="tpu7x:2x2x1").devices[0]
    sharding = jax.sharding.SingleDeviceSharding(device)
    tokamax = Path(str(importlib.import_module("tokamax").__file__)).parent
    tables = options.tables.resolve() if options.tables else tokamax / "data" / "autotuning" / "tpu7x"
    rows = [row for row in _with_sizes(list(_rows(tables))) if options.only in row.family]
    entries, refused = [], 0
    for row in _spread(rows, options.most):
        start = time.monotonic()
        if not (folder / row.name).exists():
            try:
                _compile(row, folder, sharding)
            except Exception as error:  # noqa: BLE001 - a kernel may raise anything
                refused += 1
                message = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")[:300]
                print(f"{row.name} ({row.family}, {row.config}): {message}", flush=True)
                continue
            print(f"{row.name} ({row.family}): {time.monotonic() - start:.0f} s", flush=True)
        entries.append(_entry(row))
        (folder / "times.json").write_text(json.dumps(entries, indent=1))
    print(f"{len(entries)} rows are in {folder / 'times.json'}, {refused} do not compile")
    return min(refused, 1)


if __name__ == "__main__":
    sys.exit(main())
