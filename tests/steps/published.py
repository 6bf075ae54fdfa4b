"""JAX's own Pallas kernels for TPUs, compiled by libtpu for tpu7x with their dumps, and their operands.

Run as a program with a folder as its argument, it writes into this folder. For each kernel, it writes the dumps into
the folder NAME and the operands into NAME.json.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import topologies

OPS = "jax.experimental.pallas.ops.tpu"
BF16, F32, I32 = jnp.bfloat16, jnp.float32, jnp.int32


class Input(jax.ShapeDtypeStruct):
    """An input; `between` is the range of whole numbers."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, low: int = 0, high: int = 0) -> None:
        super().__init__(shape, dtype)
        self.between = [low, high]


Program = tuple[Callable[..., Any], list[Input]]


def _flash(causal: bool) -> Program:
    kernel = importlib.import_module(f"{OPS}.flash_attention")
    q = Input((1, 2, 1024, 128), BF16)
    return (lambda q, k, v: kernel.flash_attention(q, k, v, causal=causal, sm_scale=0.1)), [q, q, q]


def _splash(causal: bool) -> Program:
    kernel = importlib.import_module(f"{OPS}.splash_attention.splash_attention_kernel")
    masks = importlib.import_module(f"{OPS}.splash_attention.splash_attention_mask")
    one = masks.CausalMask((1024, 1024)) if causal else masks.FullMask((1024, 1024))
    blocks = kernel.BlockSizes(block_q=512, block_kv=512, block_kv_compute=512)
    attend = kernel.make_splash_mha(masks.MultiHeadMask([one] * 2), head_shards=1, q_seq_shards=1, block_sizes=blocks)
    q = Input((2, 1024, 128), BF16)
    return attend, [q, q, q]


def _grouped(form: str) -> Program:
    kernel = importlib.import_module(f"{OPS}.megablox.gmm")
    sizes = Input((4,), I32, 512, 512)
    more = {"preferred_element_type": BF16, "tiling": (256, 256, 256)}
    if form == "weights":
        left, right = Input((512, 2048), BF16), Input((2048, 512), BF16)
        return (lambda x, y, s: kernel.tgmm(x, y, s, **more)), [left, right, sizes]
    is_transposed = form == "transposed"
    arguments = [Input((2048, 512), BF16), Input((4, 512, 512), BF16), sizes]
    return (lambda x, y, s: kernel.gmm(x, y, s, transpose_rhs=is_transposed, **more)), arguments


def _paged() -> Program:
    kernel = importlib.import_module(f"{OPS}.paged_attention")
    pages = Input((2, 64, 16, 128), F32)
    arguments = [Input((4, 8, 128), F32), pages, pages, Input((4,), I32, 100, 200), Input((4, 16), I32, 0, 63)]
    return (lambda q, k, v, n, p: kernel.paged_attention(q, k, v, n, p, pages_per_compute_block=4)), arguments


def _ragged() -> Program:
    kernel = importlib.import_module(f"{OPS}.ragged_paged_attention.kernel")
    attend = kernel.ragged_paged_attention

    def program(q: Any, pages: Any, lengths: Any, indices: Any) -> Any:
        starts = jnp.arange(5, dtype=I32) * 32
        more = {"sm_scale": 0.1, "num_kv_pages_per_block": 4, "num_queries_per_block": 32}
        return attend(q, pages, lengths, indices, starts, jnp.array([4], I32), **more)

    pages = Input((64, 16, 2, 128), BF16)
    return program, [Input((128, 8, 128), BF16), pages, Input((4,), I32, 100, 200), Input((4, 16), I32, 0, 63)]


PROGRAMS: dict[str, Callable[[], Program]] = {
    "flash": lambda: _flash(False),
    "flash_causal": lambda: _flash(True),
    "splash": lambda: _splash(False),
    "splash_causal": lambda: _splash(True),
    "grouped": lambda: _grouped("forward"),
    "grouped_transposed": lambda: _grouped("transposed"),
    "grouped_weights": lambda: _grouped("weights"),
    "paged": _paged,
    "ragged_paged": _ragged,
}


def _write_operands(file: Path, program: Callable[..., Any], arguments: list[Input]) -> None:
    from judge import operands
    from programs import wire  # noqa: PLC0415

    signature = {
        "inputs": [
            {"name": f"x{i}", "shape": list(one.shape), "dtype": one.dtype.name, "range": one.between}
            for i, one in enumerate(arguments)
        ]
    }
    packed = wire.pack(jax.make_jaxpr(program)(*arguments))
    file.write_text(json.dumps(operands.operands_of(packed, signature)))


def main(folder: Path) -> None:
    """Compiles all programs, one after another; libtpu dumps into the current folder."""
    now = folder / "now"
    now.mkdir(parents=True)
    os.chdir(now)
    os.environ.update(
        JAX_PLATFORMS="cpu",
        TPU_SKIP_MDS_QUERY="1",
        ALLOW_MULTIPLE_LIBTPU_LOAD="1",
        LIBTPU_INIT_ARGS="--xla_jf_dump_to=. --xla_jf_dump_llo_pass_label_regex=^(packed-bundles-post-ra|vmem_report)$",
    )
    from jax._src.pallas.mosaic import tpu_info  # noqa: PLC0415

    # Kernels ask which chip they are compiled for, so the answer for a CPU is a TPU 7x.
    tpu_info.registry["cpu"] = lambda: tpu_info._get_tpu_info_impl(tpu_info.ChipVersion.TPU_7X, 1)
    device = topologies.get_topology_desc(platform="tpu", topology_name="tpu7x:2x2x1").devices[0]
    sharding = jax.sharding.SingleDeviceSharding(device)
    for name, make in PROGRAMS.items():
        program, arguments = make()
        _write_operands(folder / f"{name}.json", program, arguments)
        placed = [jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=sharding) for one in arguments]
        jax.jit(program).lower(*placed).compile()
        shutil.move(now, folder / name)
        now.mkdir()
        os.chdir(now)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "rules"))
    main(Path(sys.argv[1]))
