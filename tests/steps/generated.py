"""Kernels whose trip counts and bytes have closed forms, compiled by libtpu for tpu7x with their dumps.

Run as a program with a folder as its argument, it compiles all of them in this process and leaves the dumps there. The
work of a kernel is counted by markers: operations on one register that nothing else in the kernel has. The arrays are
larger than VMEM, because XLA would put smaller arrays there.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental import topologies
from jax.experimental.pallas import tpu as pltpu

ROWS = 1 << 18  # rows of a float32 array of 128 columns: 128 MiB
BLOCK = 8 * 128 * 4  # bytes of a block

# JAX operations, and the instruction on one register for each operation.
MARKERS = {"rsqrt": "vrsqrt.f32", "exp2": "vpow2.f32", "tanh": "vtanh.f32"}


@dataclass
class Expected:
    """The effects of one run of a kernel: executed markers by operation, and bytes and transfers from and to HBM."""

    operands: dict[str, Any] = field(default_factory=dict)
    markers: dict[str, int] = field(default_factory=dict)
    loads: int | None = None
    stores: int | None = None
    load_bytes: int | None = None
    store_bytes: int | None = None


@dataclass
class Kernel:
    name: str
    make: Callable[[], tuple[Callable[..., Any], list[Any]]]
    runs: list[Expected]


def changes(values: list[Any]) -> int:
    """Returns how often a block is fetched, given its index in each step: once, and at each change of the index."""
    return 1 + sum(a != b for a, b in pairwise(values))


def _blocks(count: int) -> dict[str, int]:
    return {"loads": count, "load_bytes": count * BLOCK}


def _written(count: int) -> dict[str, int]:
    return {"stores": count, "store_bytes": count * BLOCK}


F32 = jnp.float32
BIG = jax.ShapeDtypeStruct((ROWS, 128), F32)
HBM = pl.BlockSpec(memory_space=pl.ANY)
OPERATIONS = {"rsqrt": lax.rsqrt, "exp2": jnp.exp2, "tanh": jnp.tanh}

Made = tuple[Callable[..., Any], list[Any]]


def block(index: Callable[..., Any]) -> Any:
    return pl.BlockSpec((8, 128), index)


def mark(ref: Any, name: str) -> None:
    ref[...] = OPERATIONS[name](ref[...])


def gridded(
    name: str, body: Any, grid: Any, inward: Any, outward: Any, table: tuple[int, ...] | None = None
) -> Callable[[], Made]:
    """Returns a kernel with a grid, a block of input and of output in each step, and maybe a prefetched table."""

    def make() -> Made:
        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=0 if table is None else 1, grid=grid, in_specs=[block(inward)], out_specs=block(outward)
        )
        call = pl.pallas_call(body, grid_spec=spec, out_shape=BIG, name=name)
        return call, [*([] if table is None else [jax.ShapeDtypeStruct(table, jnp.int32)]), BIG]

    return make


def copied(name: str, body: Any, scratch: list[Any], table: int = 0) -> Callable[[], Made]:
    """Returns a kernel that moves its data itself, and may have a table."""

    def make() -> Made:
        smem = pl.BlockSpec(memory_space=pltpu.SMEM)
        call = pl.pallas_call(
            body,
            in_specs=[*([smem] if table else []), HBM],
            out_specs=HBM,
            out_shape=BIG,
            scratch_shapes=scratch,
            name=name,
        )
        return call, [*([jax.ShapeDtypeStruct((table,), jnp.int32)] if table else []), BIG]

    return make


def step(x: Any, o: Any) -> None:
    o[...] = lax.rsqrt(x[...])


def grid_kernels() -> Iterator[Kernel]:
    """Yields kernels with grids of one and more dimensions. A block that stays for some steps is moved once."""
    for n in (1, 2, 7, 40):
        yield Kernel(
            f"grid_{n}",
            gridded(f"grid_{n}", step, (n,), lambda i: (i, 0), lambda i: (i, 0)),
            [Expected(markers={"rsqrt": n}, **_blocks(n), **_written(n))],
        )
    for n, m in ((3, 5), (6, 2)):
        yield Kernel(
            f"rows_{n}_{m}",
            gridded(f"rows_{n}_{m}", step, (n, m), lambda i, j: (i, 0), lambda i, j, m=m: (i * m + j, 0)),
            [Expected(markers={"rsqrt": n * m}, **_blocks(n), **_written(n * m))],
        )
        yield Kernel(
            f"columns_{n}_{m}",
            gridded(f"columns_{n}_{m}", step, (n, m), lambda i, j: (j, 0), lambda i, j: (i, 0)),
            [Expected(markers={"rsqrt": n * m}, **_blocks(n * m), **_written(n))],
        )
    yield Kernel(
        "cube",
        gridded("cube", step, (2, 3, 4), lambda i, j, k: (j, 0), lambda i, j, k: (i * 3 + j, 0)),
        [Expected(markers={"rsqrt": 24}, **_blocks(6), **_written(6))],
    )
    yield Kernel(
        "constant",
        gridded("constant", step, (9,), lambda i: (4, 0), lambda i: (0, 0)),
        [Expected(markers={"rsqrt": 9}, **_blocks(1), **_written(1))],
    )


def conditional_kernels() -> Iterator[Kernel]:
    """Yields kernels whose bodies run only in some steps."""

    def first_and_last(x: Any, o: Any) -> None:
        i = pl.program_id(0)
        o[...] = x[...]
        pl.when(i == 0)(lambda: mark(o, "rsqrt"))
        pl.when(i == pl.num_programs(0) - 1)(lambda: mark(o, "tanh"))

    def every_third(x: Any, o: Any) -> None:
        o[...] = x[...]
        pl.when(pl.program_id(0) % 3 == 1)(lambda: mark(o, "rsqrt"))

    def nested(x: Any, o: Any) -> None:
        i, j = pl.program_id(0), pl.program_id(1)
        o[...] = x[...]

        @pl.when(j <= i)
        def _() -> None:
            mark(o, "rsqrt")
            pl.when(i * 2 > 5)(lambda: mark(o, "tanh"))

    yield Kernel(
        "first_and_last",
        gridded("first_and_last", first_and_last, (11,), lambda i: (i, 0), lambda i: (i, 0)),
        [Expected(markers={"rsqrt": 1, "tanh": 1}, **_blocks(11), **_written(11))],
    )
    yield Kernel(
        "every_third",
        gridded("every_third", every_third, (17,), lambda i: (i, 0), lambda i: (i, 0)),
        [Expected(markers={"rsqrt": sum(i % 3 == 1 for i in range(17))}, **_blocks(17), **_written(17))],
    )
    yield Kernel(
        "nested",
        gridded("nested", nested, (6, 6), lambda i, j: (i, 0), lambda i, j: (i, 0)),
        [
            Expected(
                markers={"rsqrt": 21, "tanh": sum(i + 1 for i in range(6) if i * 2 > 5)}, **_blocks(6), **_written(6)
            )
        ],
    )


def loop_kernels() -> Iterator[Kernel]:
    """Yields kernels with loops: with a known length, with an operand as the length, and nested."""

    def loops(n: int, m: int) -> Any:
        def body(x: Any, o: Any) -> None:
            o[...] = x[...]

            def inner(_: Any, __: Any) -> None:
                mark(o, "tanh")

            def outer(_: Any, __: Any) -> None:
                mark(o, "rsqrt")
                lax.fori_loop(0, m, inner, None)

            lax.fori_loop(0, n, outer, None)

        return body

    for n, m in ((4, 3), (100, 1), (5, 50)):
        yield Kernel(
            f"loops_{n}_{m}",
            gridded(f"loops_{n}_{m}", loops(n, m), (2,), lambda i: (i, 0), lambda i: (i, 0)),
            [Expected(markers={"rsqrt": 2 * n, "tanh": 2 * n * m}, **_blocks(2), **_written(2))],
        )

    def counted(s: Any, x: Any, o: Any) -> None:
        o[...] = x[...]
        lax.fori_loop(0, s[pl.program_id(0)], lambda _, __: mark(o, "rsqrt"), None)

    yield Kernel(
        "counted",
        gridded("counted", counted, (5,), lambda i, s: (i, 0), lambda i, s: (i, 0), (5,)),
        [
            Expected(operands={"0": table}, markers={"rsqrt": sum(table)}, **_blocks(5), **_written(5))
            for table in ([0, 0, 0, 0, 0], [3, 1, 4, 1, 5], [0, 1000, 0, 0, 7])
        ],
    )

    def matrix(s: Any, x: Any, o: Any) -> None:
        o[...] = x[...]
        i = pl.program_id(0)
        lax.fori_loop(s[i, 3], s[i, 150], lambda _, __: mark(o, "rsqrt"), None)

    table = [[(i + 2 * j) % 7 if j == 3 else (i * j) % 23 for j in range(200)] for i in range(12)]
    yield Kernel(
        "matrix",
        gridded("matrix", matrix, (12,), lambda i, s: (i, 0), lambda i, s: (i, 0), (12, 200)),
        [
            Expected(
                operands={"0": table},
                markers={"rsqrt": sum(max(0, row[150] - row[3]) for row in table)},
                **_blocks(12),
                **_written(12),
            )
        ],
    )

    def halved(s: Any, x: Any, o: Any) -> None:
        o[...] = x[...]

        def halve(value: Any) -> Any:
            mark(o, "rsqrt")
            return value // 2

        lax.while_loop(lambda value: value > 0, halve, s[0])
        lax.fori_loop(0, s[0] // s[1] + s[0] % 15, lambda _, __: mark(o, "tanh"), None)

    yield Kernel(
        "halved",
        gridded("halved", halved, (1,), lambda i, s: (i, 0), lambda i, s: (i, 0), (2,)),
        [
            Expected(operands={"0": [a, b]}, markers={"rsqrt": a.bit_length(), "tanh": a // b + a % 15})
            for a, b in ((1, 1), (1000, 3), (77, 78))
        ],
    )


def table_kernels() -> Iterator[Kernel]:
    """Yields kernels whose blocks a table names."""

    def gathered(s: Any, x: Any, o: Any) -> None:
        o[...] = lax.rsqrt(x[...])

    yield Kernel(
        "gathered",
        gridded("gathered", gathered, (8,), lambda i, s: (s[i], 0), lambda i, s: (i, 0), (8,)),
        [
            Expected(operands={"0": table}, markers={"rsqrt": 8}, **_blocks(changes(table)), **_written(8))
            for table in ([0, 1, 2, 3, 4, 5, 6, 7], [3, 3, 3, 3, 3, 3, 3, 3], [5, 5, 1, 1, 5, 0, 0, 0])
        ],
    )
    yield Kernel(
        "scattered",
        gridded("scattered", gathered, (8,), lambda i, s: (i, 0), lambda i, s: (s[i], 0), (8,)),
        [
            Expected(operands={"0": table}, markers={"rsqrt": 8}, **_blocks(8), **_written(changes(table)))
            for table in ([7, 6, 5, 4, 3, 2, 1, 0], [2, 2, 2, 2, 9, 9, 9, 9])
        ],
    )


def dynamic_kernels() -> Iterator[Kernel]:
    """Yields kernels with grids whose size is an operand."""

    def dynamic(two: bool) -> Any:
        def make() -> tuple[Callable[..., Any], list[Any]]:
            def program(n: Any, x: Any) -> Any:
                grid = (3, n) if two else (n,)
                index = (lambda i, j: (j, 0)) if two else (lambda i: (i, 0))
                name = "dynamic_2" if two else "dynamic_1"
                call = pl.pallas_call(
                    step, grid=grid, in_specs=[block(index)], out_specs=block(index), out_shape=BIG, name=name
                )
                return call(x)

            return program, [jax.ShapeDtypeStruct((), jnp.int32), BIG]

        return make

    yield Kernel(
        "dynamic_1",
        dynamic(False),
        [Expected(operands={"0": n}, markers={"rsqrt": n}, **_blocks(n), **_written(n)) for n in (1, 2, 3, 500)],
    )
    yield Kernel(
        "dynamic_2",
        dynamic(True),
        [Expected(operands={"0": n}, markers={"rsqrt": 3 * n}, **_blocks(3 * n), **_written(3 * n)) for n in (2, 9)],
    )


def copy_kernels() -> Iterator[Kernel]:
    """Yields kernels with DMAs by hand: one after another, together, strided, or as many as an operand says."""

    def one_by_one(x: Any, o: Any, v: Any, sem: Any) -> None:
        def copy(i: Any, _: Any) -> None:
            pltpu.async_copy(x.at[pl.ds(i * 16, 16)], v, sem).wait()
            mark(v, "rsqrt")

        lax.fori_loop(0, 12, copy, None)
        pltpu.async_copy(v, o.at[pl.ds(0, 16)], sem).wait()

    yield Kernel(
        "one_by_one",
        copied("one_by_one", one_by_one, [pltpu.VMEM((16, 128), F32), pltpu.SemaphoreType.DMA]),
        [Expected(markers={"rsqrt": 24}, loads=12, load_bytes=24 * BLOCK, **{"stores": 1, "store_bytes": 2 * BLOCK})],
    )

    def together(x: Any, o: Any, v: Any, sem: Any) -> None:
        for i in range(4):
            pltpu.make_async_copy(x.at[pl.ds(i * 64, 8)], v.at[i], sem.at[i]).start()
        for i in range(4):
            pltpu.make_async_copy(x.at[pl.ds(i * 64, 8)], v.at[i], sem.at[i]).wait()
            pltpu.async_copy(v.at[i], o.at[pl.ds(i * 8, 8)], sem.at[i]).wait()

    yield Kernel(
        "together",
        copied("together", together, [pltpu.VMEM((4, 8, 128), F32), pltpu.SemaphoreType.DMA((4,))]),
        [Expected(**_blocks(4), **_written(4))],
    )

    def as_many(s: Any, x: Any, o: Any, v: Any, sem: Any) -> None:
        def copy(i: Any, _: Any) -> None:
            pl.when(i % 2 == 0)(lambda: pltpu.async_copy(x.at[pl.ds(i * 8, 8)], v, sem).wait())
            pltpu.async_copy(v, o.at[pl.ds(i * 8, 8)], sem).wait()

        lax.fori_loop(0, s[1], copy, None)

    yield Kernel(
        "as_many",
        copied("as_many", as_many, [pltpu.VMEM((8, 128), F32), pltpu.SemaphoreType.DMA], 2),
        [Expected(operands={"0": [9, n]}, **_blocks((n + 1) // 2), **_written(n)) for n in (0, 1, 33)],
    )

    def within(x: Any, o: Any, sem: Any) -> None:
        def copy(i: Any, _: Any) -> None:
            pltpu.async_copy(x.at[pl.ds(i * 64, 64)], o.at[pl.ds(i * 64, 64)], sem).wait()

        lax.fori_loop(0, 5, copy, None)

    yield Kernel(
        "within",
        copied("within", within, [pltpu.SemaphoreType.DMA]),
        [Expected(loads=5, stores=5, load_bytes=40 * BLOCK, store_bytes=40 * BLOCK)],
    )


def pipeline_kernels() -> Iterator[Kernel]:
    """Yields kernels with a pipeline inside."""

    def piped(n: int) -> Any:
        def body(x: Any, o: Any) -> None:
            pltpu.emit_pipeline(
                step, grid=(n,), in_specs=[block(lambda i: (i, 0))], out_specs=[block(lambda i: (i, 0))]
            )(x, o)

        return body

    for n in (1, 6, 25):
        yield Kernel(
            f"piped_{n}",
            copied(f"piped_{n}", piped(n), []),
            [Expected(markers={"rsqrt": n}, **_blocks(n), **_written(n))],
        )


def product_kernels() -> Iterator[Kernel]:
    """Yields kernels with products."""

    def product(x: Any, y: Any, o: Any) -> None:
        o[...] = jnp.dot(x[...], y[...], preferred_element_type=F32)

    def products() -> tuple[Callable[..., Any], list[Any]]:
        wide = jax.ShapeDtypeStruct((ROWS, 256), jnp.bfloat16)
        call = pl.pallas_call(
            product,
            grid=(10,),
            in_specs=[pl.BlockSpec((128, 256), lambda i: (i, 0)), pl.BlockSpec((256, 256), lambda i: (0, 0))],
            out_specs=pl.BlockSpec((128, 256), lambda i: (i, 0)),
            out_shape=jax.ShapeDtypeStruct((ROWS, 256), F32),
            name="products",
        )
        return call, [wide, wide]

    yield Kernel(
        "products",
        products,
        [
            Expected(
                markers={"matmul": 10 * 128 // 16},
                loads=11,
                load_bytes=10 * 128 * 256 * 2 + 256 * 256 * 2,
                stores=10,
                store_bytes=10 * 128 * 256 * 4,
            )
        ],
    )


def kernels() -> list[Kernel]:
    """Returns all kernels."""
    groups = (
        grid_kernels,
        conditional_kernels,
        loop_kernels,
        table_kernels,
        dynamic_kernels,
        copy_kernels,
        pipeline_kernels,
        product_kernels,
    )
    return [kernel for group in groups for kernel in group()]


def compile_all(folder: str) -> None:
    """Compiles all kernels, and leaves the dumps in the folder."""
    passes = "packed-bundles-post-ra|vmem_report"
    os.environ.update(
        JAX_PLATFORMS="cpu",
        TPU_SKIP_MDS_QUERY="1",
        ALLOW_MULTIPLE_LIBTPU_LOAD="1",
        LIBTPU_INIT_ARGS=f"--xla_jf_dump_to={folder} --xla_jf_dump_llo_pass_label_regex=^({passes})$",
    )
    from jax._src.pallas.mosaic import tpu_info  # noqa: PLC0415

    # Pallas's pipelines ask which device they run on, so the answer for a CPU is a TPU 7x.
    tpu_info.registry["cpu"] = lambda: tpu_info._get_tpu_info_impl(tpu_info.ChipVersion.TPU_7X, 1)
    topology = topologies.get_topology_desc(platform="tpu", topology_name="tpu7x:2x2x1")
    sharding = jax.sharding.SingleDeviceSharding(topology.devices[0])
    for kernel in kernels():
        program, arguments = kernel.make()
        specs = [jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=sharding) for one in arguments]
        jax.jit(program).lower(*specs).compile()


def loop_of(schedule: str) -> tuple[int, int]:
    """Counts the bundles outside of a schedule's only loop, and those of a pass with the bundles after the branch."""
    addresses = [
        int(line.split(":")[0].split()[0], 0) for line in schedule.splitlines() if re.match(r" *0.*:.*\{", line)
    ]
    branches = [
        (int(line.split(":")[0].split()[0], 0), int(target))
        for line in schedule.splitlines()
        for target in re.findall(r"sbr\.rel.*?target bundleno = (\d+)", line)
    ]
    ((at, target),) = branches
    length = at + 6 - target + 1
    return len(addresses) - length, length


if __name__ == "__main__":
    compile_all(sys.argv[1])
