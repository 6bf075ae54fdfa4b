"""Tests of programs from the wire: values that can be computed are not trusted, and unknown values are refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import conftest  # noqa: F401 - finds the steps
import jax
import jax.numpy as jnp
import pytest
from jax._src import core
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from published import PROGRAMS

from interpreter import writes
from programs import candidate, program, schema, wire

F32, I32 = jnp.float32, jnp.int32
TABLE = jax.ShapeDtypeStruct((4,), I32)
ARRAY = jax.ShapeDtypeStruct((32, 128), F32)


def _body(table: Any, x: Any, kept: Any, out: Any, carry: Any) -> None:
    carry[...] = x[...] * 2.0
    out[...] = carry[...] + kept[...] + table[pl.program_id(0)].astype(F32)


def _kernel(table: jax.Array, x: jax.Array, kept: jax.Array, **more: Any) -> jax.Array:
    block = pl.BlockSpec((8, 128), lambda i, table: (i, 0))
    return pl.pallas_call(
        _body,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(4,),
            in_specs=[pl.BlockSpec((8, 128), lambda i, table: (table[i], 0)), block],
            out_specs=block,
            scratch_shapes=[pltpu.VMEM((8, 128), F32)],
        ),
        out_shape=ARRAY,
        input_output_aliases={2: 0},
        cost_estimate=pl.CostEstimate(flops=3, bytes_accessed=5, transcendentals=0),
        **more,
    )(table, x, kept)


def _program(table: jax.Array, x: jax.Array) -> jax.Array:
    params = pltpu.CompilerParams(dimension_semantics=("arbitrary",), vmem_limit_bytes=2**20)
    called = jax.jit(lambda x: _kernel(table, x, x + 1, compiler_params=params))
    return called(x) + jnp.asarray([[1.0] * 128])


@pytest.fixture
def document() -> Any:
    """Returns the program as it is sent. A test may change the document."""
    return json.loads(wire.pack(jax.make_jaxpr(_program)(TABLE, ARRAY)))


def _parts(value: Any) -> Iterator[Any]:
    yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _parts(item)


def _field(document: Any, record: str, name: str) -> list[Any]:
    """Returns the field `name` of the first record of the class `record`, as [name, value]."""
    records = (one for one in _parts(document) if isinstance(one, list) and one[:2] == ["record", record])
    found: list[Any] = next(field for one in records for field in one[2] if field[0] == name)
    return found


def _equation(document: Any, name: str) -> Any:
    return next(one for one in _parts(document) if isinstance(one, dict) and one.get("primitive") == name)


def _set(record: str, name: str, value: Any) -> Callable[[Any], None]:
    return lambda document: _field(document, record, name).__setitem__(1, value)


def _param(primitive: str, name: str, value: Any) -> Callable[[Any], None]:
    return lambda document: _equation(document, primitive)["params"].__setitem__(name, value)


def _aval(*shape: int, dtype: str = "float32") -> list[Any]:
    space = ["enum", "jax._src.core.MemorySpace", "Device"]
    return ["aval", ["tuple", *shape], ["dtype", dtype], False, space]


def _other_memory(document: Any) -> None:
    """Indexes the table as if it were longer."""
    tree = next(one for one in _parts(document) if isinstance(one, list) and one[:2] == ["tree", "NDIndexer"])
    (_, _, shape, _) = tree[2]
    assert shape == ["tuple", 4]
    shape[1] = 4096


def _no_effects(document: Any) -> None:
    _equation(document, "swap")["effects"] = []


def _other_result(document: Any) -> None:
    (number,) = _equation(document, "jit")["outvars"]
    document["vars"][number] = _aval(64, 128)


def _other_operand(document: Any) -> None:
    """Calls a function with fewer operands than it takes."""
    _equation(document, "jit")["invars"].pop()


def _other_constant(document: Any) -> None:
    constant = next(one for one in _parts(document) if isinstance(one, list) and one[:1] == ["array"])
    constant[2] = [128, 1]


def _rename(document: Any) -> None:
    _equation(document, "add")["primitive"] = "cholesky"


def _inside_out(document: Any) -> None:
    """Puts an operation of kernels outside of all kernels."""
    add = document["jaxprs"][-1]["eqns"][-1]
    add["primitive"], add["params"], add["invars"] = "multiple_of", {"values": ["tuple", 8]}, add["invars"][:1]


FORGERIES: dict[str, Callable[[Any], None]] = {
    "array": _set("BlockMapping", "array_aval", _aval(8, 128)),
    "array's type": _set("BlockMapping", "array_aval", _aval(32, 128, dtype="int32")),
    "block": _set("BlockMapping", "block_shape", ["tuple", ["record", "Blocked", [["block_size", 16]]]] * 2),
    "transforms": _set("BlockMapping", "transforms", ["tuple", ["record", "TransposeTransform", []]]),
    "buffers": _set("BlockMapping", "pipeline_mode", ["record", "Buffered", [["buffer_count", "2"]]]),
    "grid": _set("GridMapping", "grid", ["tuple", -4]),
    "grid of text": _set("GridMapping", "grid", ["tuple", "4"]),
    "grid's names": _set("GridMapping", "grid_names", ["tuple", "x"]),
    "inputs": _set("GridMapping", "num_inputs", 1),
    "outputs": _set("GridMapping", "num_outputs", 2),
    "prefetched": _set("GridMapping", "num_index_operands", 0),
    "scratch": _set("GridMapping", "scratch_avals", ["tuple"]),
    "index map's operands": _set("GridMapping", "index_map_avals", ["tuple"]),
    "vmapped": _set("GridMapping", "vmapped_dims", ["tuple", 3]),
    "results": _param("pallas_call", "out_avals", ["tuple", _aval(8, 128)]),
    "alias of none": _param("pallas_call", "input_output_aliases", ["tuple", ["tuple", 7, 0]]),
    "alias of another shape": _param("pallas_call", "input_output_aliases", ["tuple", ["tuple", 0, 0]]),
    "alias twice": _param("pallas_call", "input_output_aliases", ["tuple", ["tuple", 1, 0], ["tuple", 2, 0]]),
    "mesh": _param("pallas_call", "mesh", ["mesh", True]),
    "order": _set("CompilerParams", "dimension_semantics", ["tuple", "subcore_parallel"]),
    "order of more axes": _set("CompilerParams", "dimension_semantics", ["tuple", "parallel", "parallel"]),
    "VMEM as text": _set("CompilerParams", "vmem_limit_bytes", "1048576"),
    "VMEM as a boolean": _set("CompilerParams", "vmem_limit_bytes", True),
    "VMEM below nothing": _set("CompilerParams", "vmem_limit_bytes", -1),
    "internal scratch": _set("CompilerParams", "internal_scratch_in_bytes", 2**62),
    "format": _set("CompilerParams", "serialization_format", 2),
    "format as text": _set("CompilerParams", "serialization_format", "1}"),
    "side effects": _set("CompilerParams", "has_side_effects", "true"),
    "collective": _set("CompilerParams", "collective_id", 1),
    "fusion": _set("CompilerParams", "allow_input_fusion", ["tuple", "a"]),
    "flag": _set("CompilerParams", "flags", ["frozendict", ["xla_tpu_unknown", True]]),
    "flag's value": _set("CompilerParams", "flags", ["frozendict", ["xla_tpu_force_lp_llo_scheduler", 1]]),
    "cost": _set("CostEstimate", "flops", -1),
    "options": _param("jit", "compiler_options_kvs", ["tuple", ["tuple", "xla_a", "b"]]),
    "donated": _param("jit", "donated_invars", ["tuple", "a"]),
    "no such parameter": _param("add", "accuracy", None),
    "indexer": _other_memory,
    "effects": _no_effects,
    "result": _other_result,
    "operand": _other_operand,
    "constant": _other_constant,
    "operation": _rename,
    "place": _inside_out,
}


def _sent(document: Any) -> bytes:
    return json.dumps(document).encode()


def test_what_is_not_forged_comes_back(document: Any) -> None:
    made = wire.unpack(_sent(document))
    assert wire.pack(wire.unpack(wire.pack(made))) == wire.pack(made)


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_document_is_refused(forge: Callable[[Any], None], document: Any) -> None:
    before = _sent(document)
    forge(document)
    assert _sent(document) != before
    with pytest.raises((schema.Refused, core.JaxprTypeError, TypeError, ValueError)):
        wire.unpack(_sent(document))


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"arbitrary"', b'"\\ud800"'), (b'"arbitrary"', '"é"'.encode()), (b'"vars":', b'"vars":[],"vars":')],
)
def test_no_characters_but_those_that_are_needed(old: bytes, new: bytes, document: Any) -> None:
    packed = json.dumps(document, separators=(",", ":")).encode()
    assert old in packed
    with pytest.raises(wire.Unsendable):
        wire.unpack(packed.replace(old, new, 1))


def test_what_is_for_people_is_not_sent() -> None:
    def plain(table: Any, x: Any) -> Any:
        return _kernel(table, x, x)

    def talkative(table: Any, x: Any) -> Any:
        return _kernel(table, x, x, name='a "name"', metadata={"block": "8"}, interpret=True)

    assert wire.pack(jax.make_jaxpr(plain)(TABLE, ARRAY)) == wire.pack(jax.make_jaxpr(talkative)(TABLE, ARRAY))


def test_a_scheduler_may_be_chosen() -> None:
    def program(table: Any, x: Any) -> Any:
        params = pltpu.CompilerParams(flags={"XLA_TPU_FORCE_LP_LLO_SCHEDULER": True})
        return _kernel(table, x, x, compiler_params=params)

    wire.unpack(wire.pack(jax.make_jaxpr(program)(TABLE, ARRAY)))


def test_random_numbers_are_the_same_everywhere() -> None:
    def drawn(x: Any, generator: str) -> Any:
        return x + jax.random.normal(jax.random.key(0, impl=generator), x.shape)

    wire.unpack(wire.pack(jax.make_jaxpr(lambda x: drawn(x, "threefry2x32"))(ARRAY)))
    with pytest.raises(wire.Unsendable, match="threefry"):
        wire.pack(jax.make_jaxpr(lambda x: drawn(x, "rbg"))(ARRAY))


@pytest.mark.parametrize("name", PROGRAMS)
def test_jaxs_own_kernels_come_over(name: str) -> None:
    candidate.known_tpu_on_cpu()
    function, arguments = PROGRAMS[name]()
    closed = wire.unpack(wire.pack(jax.make_jaxpr(function)(*arguments)))
    writes.check_inputs(closed.jaxpr)
    assert program.custom_calls(program.export_program(closed, list(arguments), "tpu")) > 0


@pytest.mark.parametrize(
    "name", ["elu", "gelu", "leaky_relu", "log_softmax", "relu", "sigmoid", "silu", "softmax", "softplus"]
)
def test_activations_come_over(name: str) -> None:
    activation = getattr(jax.nn, name)

    def kernel(x: Any, out: Any) -> None:
        out[...] = activation(x[...])

    def program(x: Any) -> Any:
        return activation(pl.pallas_call(kernel, out_shape=ARRAY)(x))

    wire.unpack(wire.pack(jax.make_jaxpr(program)(ARRAY)))
