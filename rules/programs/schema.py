"""The primitives that a traced candidate may have, and their parameters, outside of kernels and in them.

A primitive that is not named here is refused: either its effect is not known, or it does another thing on a CPU than on
a TPU. Every parameter is of a kind, and no kind is free text: a candidate's own texts (names, metadata, flags) never
reach a program.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax._src import core, named_sharding
from jax._src import mesh as mesh_lib
from jax._src.lax import slicing
from jax._src.pallas import core as pallas_core
from jax._src.pallas import primitives as pallas_primitives
from jax._src.pallas.mosaic import core as tpu_core
from jax._src.random import prng

# Fixed names, because with a candidate's own names two equal programs would differ.
KERNEL_NAME = "kernel"
INNER_NAME = "inner"

# Flags of the compiler that a kernel may be given. None of them changes what a kernel computes.
FLAGS = frozenset({"xla_tpu_force_lp_llo_scheduler"})

# No TPU has an array with more elements along an axis.
_MOST = 2**40


class Refused(Exception):
    """A candidate's program has a part that is not allowed, or not possible; the message is a sentence."""


def is_whole(value: Any, least: int = -(2**63), most: int = 2**63 - 1) -> bool:
    """Whether a value is a whole number within bounds; a boolean is not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and least <= int(value) <= most


def _is_size(value: Any) -> bool:
    return is_whole(value, 0, _MOST)


def _all(of: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: type(value) in (tuple, list) and all(map(of, value))


def _is_dtype(value: Any) -> bool:
    return isinstance(value, np.dtype)


def _is_dot(value: Any) -> bool:
    """Whether a value is ((axes, axes), (axes, axes)): the contracted axes, and the batch axes."""
    return _all(_all(_all(_is_size)))(value)


def _is_equation(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[a-zA-Z()]{1,64}->[a-zA-Z()]{1,64}", value) is not None


def _is_convolution(value: Any) -> bool:
    return isinstance(value, jax.lax.ConvDimensionNumbers) and _all(_all(_is_size))(tuple(value))


def _is_ragged(value: Any) -> bool:
    return (
        type(value) is jax.lax.RaggedDotDimensionNumbers
        and _is_dot(value.dot_dimension_numbers)
        and _all(_is_size)(value.lhs_ragged_dimensions)
        and _all(_is_size)(value.rhs_group_dimensions)
    )


def _is_gather(value: Any) -> bool:
    known = (jax.lax.GatherDimensionNumbers, jax.lax.ScatterDimensionNumbers)
    return isinstance(value, known) and _all(_all(_is_size))(tuple(value))


def _is_precision(value: Any) -> bool:
    known = (jax.lax.Precision, jax.lax.DotAlgorithm, type(None))
    return type(value) in known or (_all(lambda one: type(one) is jax.lax.Precision)(value) and len(value) == 2)


_MEMORIES = (core.MemorySpace, pallas_core.MemorySpace, tpu_core.MemorySpace)

_KINDS: dict[str, Callable[[Any], bool]] = {
    "none": lambda value: value is None,
    "nothing": lambda value: type(value) is tuple and not value,
    "nones": _all(lambda value: value is None),
    "flag": lambda value: type(value) is bool,
    "flags": _all(lambda value: type(value) is bool),
    "whole": is_whole,
    "wholes": _all(is_whole),
    "multiples": _all(lambda value: is_whole(value, 1, 2**31 - 1)),
    "pairs": _all(_all(is_whole)),
    "number": lambda value: isinstance(value, (bool, int, float, np.generic)) and not isinstance(value, str),
    "count": _is_size,
    "sizes": _all(_is_size),
    "dtype": _is_dtype,
    "key": lambda value: value is prng.prngs["threefry2x32"],
    "false": lambda value: value is False,
    "zero": lambda value: is_whole(value, 0, 0),
    "fixed": lambda value: value in (KERNEL_NAME, INNER_NAME),
    "closed": lambda value: type(value) is core.ClosedJaxpr,
    "closeds": lambda value: _all(lambda one: type(one) is core.ClosedJaxpr)(value) and len(value) > 0,
    "jaxpr": lambda value: type(value) is core.Jaxpr,
    "tree": lambda value: isinstance(value, jax.tree_util.PyTreeDef),
    "dot": _is_dot,
    "ragged": _is_ragged,
    "gather": _is_gather,
    "convolution": _is_convolution,
    "precision": _is_precision,
    "equation": _is_equation,
    "named sizes": _all(lambda one: type(one) is tuple and len(one) == 2 and _is_axis(one[0]) and _is_size(one[1])),
    "accuracy": lambda value: type(value) is jax.lax.AccuracyMode,
    "rounding": lambda value: type(value) is jax.lax.RoundingMethod,
    "fft": lambda value: type(value) is jax.lax.FftType,
    "mode": lambda value: type(value) is slicing.GatherScatterMode,
    "device id": lambda value: type(value) is pallas_primitives.DeviceIdType,
    "memory": lambda value: type(value) in _MEMORIES,
    "unspecified": _all(lambda value: value is named_sharding.UNSPECIFIED),
    "no mesh": lambda value: isinstance(value, (mesh_lib.Mesh, mesh_lib.AbstractMesh)) and value.empty,
    "no transforms": _all(lambda value: type(value) is tuple and not value),
    # wire.py makes these values, because derivatives are not sent.
    "made": lambda _: True,
    # consistent.py checks these values, with the rest of a kernel's description.
    "of a kernel": lambda _: True,
}


def _is_axis(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[a-zA-Z]", value) is not None


def _read(text: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Reads a table: by primitive, its parameters, and the kinds that each may be."""
    table: dict[str, dict[str, tuple[str, ...]]] = {}
    # A line that is indented further continues the line before.
    for line in re.sub(r"\n {5,}", " ", text.strip()).splitlines():
        names, _, said = line.partition(":")
        params = {}
        for one in filter(None, (part.strip() for part in said.split(","))):
            name, _, kinds = one.partition("=")
            params[name] = tuple(kind.strip() for kind in kinds.split("|"))
            assert set(params[name]) <= set(_KINDS), one
        table |= dict.fromkeys(names.split(), params)
    return table


_ANYWHERE = _read("""
    abs add add_any and atan2 ceil clamp clz copy div eq erf erf_inv floor ge gt is_finite le lt max min ne
        neg nextafter not or population_count pow rem select_n shift_left shift_right_arithmetic
        shift_right_logical sign square stop_gradient sub xor:
    cos exp exp2 expm1 log log1p logistic rsqrt sin sqrt tan tanh cbrt: accuracy=none|accuracy
    argmax argmin: axes=sizes, index_dtype=dtype
    bitcast_convert_type: new_dtype=dtype
    broadcast_in_dim: shape=sizes, broadcast_dimensions=sizes, sharding=none
    checkpoint remat2: jaxpr=jaxpr, prevent_cse=flag, differentiated=flag, policy=made
    closed_call: call_jaxpr=closed
    concatenate: dimension=count
    cond: branches=closeds
    convert_element_type: new_dtype=dtype, weak_type=flag, sharding=none
    cumlogsumexp cummax cummin cumprod cumsum: axis=count, reverse=flag
    custom_jvp_call: call_jaxpr=closed, jvp_jaxpr_fun=made, num_consts=count, symbolic_zeros=made
    custom_vjp_call: call_jaxpr=closed, fwd_jaxpr_thunk=made, bwd=made, num_consts=count,
        out_trees=made, symbolic_zeros=made
    dot_general: dimension_numbers=dot, precision=precision, preferred_element_type=dtype|none, out_sharding=none
    dynamic_slice: slice_sizes=sizes
    dynamic_update_slice:
    gather: dimension_numbers=gather, slice_sizes=sizes, indices_are_sorted=flag, unique_indices=flag, mode=mode,
        fill_value=none|number
    integer_pow: y=whole
    iota: dtype=dtype, shape=sizes, dimension=count, sharding=none
    jit: jaxpr=closed, in_shardings=unspecified, out_shardings=unspecified, in_layouts=nones, out_layouts=nones,
        donated_invars=flags, ctx_mesh=no mesh, name=fixed, keep_unused=flag, inline=flag, compiler_options_kvs=nothing
    mul: out_dtype=none|dtype
    name: name=fixed
    optimization_barrier:
    pad: padding_config=pairs
    reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_xor: axes=sizes, out_sharding=none
    reduce_precision: exponent_bits=count, mantissa_bits=count
    reduce_sum: axes=sizes, out_sharding=none
    reshape: new_sizes=sizes, dimensions=none, sharding=none
    rev: dimensions=sizes
    round: rounding_method=rounding
    scan: jaxpr=closed, length=count, reverse=flag, num_consts=count, num_carry=count, unroll=count
    slice: start_indices=sizes, limit_indices=sizes, strides=none|sizes
    split: sizes=sizes, axis=count
    squeeze: dimensions=sizes
    stack unstack: axis=count
    tile: reps=sizes
    transpose: permutation=sizes
    while: cond_jaxpr=closed, body_jaxpr=closed, cond_nconsts=count, body_nconsts=count
""")

_OUTSIDE = _read("""
    acos acosh asin asinh atan atanh bessel_i0e bessel_i1e complex cosh digamma erfc eq_to igamma igamma_grad_a igammac
        imag le_to lgamma lt_to mulhi polygamma random_clone random_fold_in random_unwrap real
        regularized_incomplete_beta sinh threefry2x32 zeta:
    conj: input_dtype=dtype
    conv_general_dilated: window_strides=sizes, padding=pairs, lhs_dilation=sizes, rhs_dilation=sizes,
        dimension_numbers=convolution, feature_group_count=count, batch_group_count=count, precision=precision,
        preferred_element_type=dtype|none, out_sharding=none
    fft: fft_type=fft, fft_lengths=sizes
    pallas_call: jaxpr=jaxpr, grid_mapping=of a kernel, mesh=none, input_output_aliases=pairs, debug=false,
        interpret=false, compiler_params=of a kernel, cost_estimate=of a kernel, out_avals=of a kernel, metadata=none,
        name=fixed
    ragged_dot_general: ragged_dot_dimension_numbers=ragged, precision=precision, preferred_element_type=dtype|none,
        group_offset=none, out_sharding=none
    random_bits: bit_width=count, shape=sizes
    random_seed random_wrap: impl=key
    random_split: shape=sizes
    reduce_window: jaxpr=jaxpr, consts=nothing, window_dimensions=sizes, window_strides=sizes, padding=pairs,
        base_dilation=sizes, window_dilation=sizes
    reduce_window_max reduce_window_min reduce_window_sum: window_dimensions=sizes, window_strides=sizes,
        padding=pairs, base_dilation=sizes, window_dilation=sizes
    scatter scatter-add scatter-max scatter-min scatter-mul scatter-sub: dimension_numbers=gather,
        indices_are_sorted=flag, unique_indices=flag, mode=mode, update_jaxpr=none|jaxpr, update_consts=nothing
    sort: dimension=count, is_stable=flag, num_keys=count
    top_k: k=count, axis=count
    with_memory_space_constraint: memory_space=memory
""")

# JAX's name of `touch` is add_dependency.
_INSIDE = _read("""
    add_dependency:
    bitcast: ty=dtype
    broadcast_to: shape=sizes, sharding=none
    delay:
    dma_start: tree=tree, device_id_type=device id, priority=count, add=flag
    dma_wait: tree=tree, device_id_type=device id, insert_dummy_device=false
    einshape_lo: equation=equation, sizes=named sizes, assert_is_tile_preserving=flag
    get swap addupdate: tree=tree
    iota_2x32_shape: shape=sizes
    masked_load: args_tree=tree, cache_modifier=none, eviction_policy=none, is_volatile=flag
    masked_swap: args_tree=tree, eviction_policy=none
    multiple_of: values=multiples
    num_programs program_id: axis=count
    pack_elementwise: packed_dtype=dtype
    reciprocal: approx=flag, full_range=flag
    roll: axis=count, stride=none|whole, stride_axis=none|count
    run_scoped: jaxpr=jaxpr, collective_axes=nothing, ref_transforms=no transforms
    semaphore_signal: args_tree=tree, device_id_type=device id|none
    semaphore_wait: args_tree=tree
    stochastic_round: target_dtype=dtype
    unpack_elementwise: index=count, packed_dtype=dtype, unpacked_dtype=dtype
""")

_TABLES = {False: _ANYWHERE | _OUTSIDE, True: _ANYWHERE | _INSIDE}


def check(equation: core.JaxprEqn, is_inside: bool) -> None:
    """Raises Refused if an equation is not allowed there, or has parameters that are not allowed."""
    name, params = equation.primitive.name, equation.params
    known = _TABLES[is_inside].get(name)
    if known is None:
        where = "inside of kernels" if is_inside else "outside of kernels"
        raise Refused(f"'{name}' is not an operation that a candidate may use {where}")
    for unknown in sorted(set(params) - set(known)):
        raise Refused(f"'{name}' has no parameter '{unknown}'")
    for parameter, kinds in known.items():
        if parameter in params and not any(_KINDS[kind](params[parameter]) for kind in kinds):
            raise Refused(f"'{name}' may not have this value for '{parameter}'")
