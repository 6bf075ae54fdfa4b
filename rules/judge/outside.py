"""The operations that a candidate may have outside of its kernels: a closed list, and those that a spec allows.

Shapes may be changed there, arrays sliced, padded and put together, elements computed one by one and reduced. Any other
operation is work that belongs in a kernel, or gives other values on a TPU than on a CPU. It needs a word in the spec's
`contract.outside`. No word allows a branch or a loop around kernels that depends on floating-point values. (settle.py
has already settled all else that a TPU would compute differently.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax._src import core
from jax._src.interpreters import partial_eval

from programs import jaxprs, program

# The operations that each word in a spec's contract.outside allows.
WORDS: dict[str, frozenset[str]] = {
    word: frozenset(names.split())
    for word, names in {
        "bitcasts": "bitcast_convert_type",
        "conditionals": "cond",
        "cumulative": "cumlogsumexp cummax cummin cumprod cumsum",
        "fft": "fft",
        "gathers": "gather dynamic_slice",
        "loops": "scan while",
        "products": "conv_general_dilated dot_general ragged_dot_general",
        "random": """
            random_bits random_clone random_fold_in random_seed random_split random_unwrap random_wrap threefry2x32
        """,
        "scatters": "dynamic_update_slice scatter scatter-add scatter-max scatter-min scatter-mul scatter-sub",
        "sorts": "sort top_k",
        "special": """
            bessel_i0e bessel_i1e digamma igamma igamma_grad_a igammac lgamma polygamma regularized_incomplete_beta zeta
        """,
        "windows": "reduce_window reduce_window_max reduce_window_min reduce_window_sum",
    }.items()
}
_WORD_OF = {name: word for word, names in WORDS.items() for name in names}

# The operations that are allowed without a word.
_FREE = frozenset(
    """
    broadcast_in_dim concatenate convert_element_type copy iota name optimization_barrier pad reduce_precision reshape
    rev slice split squeeze stack stop_gradient tile transpose unstack with_memory_space_constraint
    abs acos acosh add add_any and asin asinh atan atan2 atanh cbrt ceil clamp clz complex conj cos cosh div eq eq_to
    erf erf_inv erfc exp exp2 expm1 floor ge gt imag integer_pow is_finite le le_to log log1p logistic lt lt_to max min
    mul mulhi ne neg nextafter not or pallas_call population_count pow real rem round rsqrt select_n shift_left
    shift_right_arithmetic shift_right_logical sign sin sinh sqrt square sub tan tanh xor
    argmax argmin reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_xor
    """.split()
) | frozenset(jaxprs.CALLS)

# These operations need a word only if their index is not known before the program runs. The operands from this number
# on are the index.
_FIRST_INDEX = {"dynamic_slice": 1, "dynamic_update_slice": 2}


class Refused(Exception):
    """An operation is not allowed outside of kernels; the reason says what would allow it."""

    def __init__(self, reason: str, kind: str = "contract") -> None:
        super().__init__(reason)
        self.kind = kind


class Fact(NamedTuple):
    """Whether a value depends on floating-point numbers, and whether it depends on any input at all."""

    floats: bool = False
    varies: bool = False

    def __or__(self, other: tuple[Any, ...]) -> Fact:
        return Fact(*(one or another for one, another in zip(self, other, strict=True)))


def check(jaxpr: core.Jaxpr, allowed: Iterable[str], narrowest: int) -> None:
    """Raises Refused if a program has an operation that neither the list nor the words allow.

    `narrowest`: the fewest bits of a significand that floating-point values may be rounded to.
    """
    found = survey(jaxpr, narrowest)
    missing = sorted(set(found) - set(allowed))
    if missing:
        raise Refused(
            f"'{found[missing[0]]}' is outside the kernels; "
            f"a spec can allow it: contract: {{ outside: [{', '.join(sorted({*allowed, *missing}))}] }}"
        )


def survey(jaxpr: core.Jaxpr, narrowest: int = 0) -> dict[str, str]:
    """Returns the words that a program needs, each with the first operation that needs it.

    Unused operations do not count.

    Raises Refused for an operation that no word allows.
    """
    jaxpr, _ = partial_eval.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)
    walk = _Walk(narrowest)
    walk.jaxpr(jaxpr, [Fact(varies=True)] * len(jaxpr.invars))
    return walk.words


class _Walk:
    def __init__(self, narrowest: int) -> None:
        self._narrowest = narrowest
        self.words: dict[str, str] = {}

    def jaxpr(self, jaxpr: core.Jaxpr, given: Sequence[Fact]) -> list[Fact]:
        """Returns the facts of the outputs, from those of the inputs."""
        known: dict[Any, Fact] = dict(zip(jaxpr.invars, given, strict=True))

        def read(atom: Any) -> Fact:
            # The only fact of a constant is its type.
            fact = Fact() if isinstance(atom, core.Literal) else known.get(atom, Fact())
            return fact | Fact(floats=_is_float(atom.aval))

        for equation in jaxpr.eqns:
            results = self._equation(equation, [read(atom) for atom in equation.invars])
            known.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _equation(self, equation: Any, operands: list[Fact]) -> Sequence[Fact]:
        name, params = equation.primitive.name, equation.params
        self._ask(equation, operands)
        if name in jaxprs.CALLS:
            body = params[jaxprs.CALLS[name]]
            return self.jaxpr(getattr(body, "jaxpr", body), operands)
        if name == "cond":
            return self._cond(params, operands)
        if name == "while":
            return self._while(params, operands)
        if name == "scan":
            return self._scan(params, operands)
        everything = _joined(operands)
        if name != "pallas_call":
            for inner in core.jaxprs_in_params(params):
                self.jaxpr(inner, [everything] * len(inner.invars))
        return [everything] * len(equation.outvars)

    def _ask(self, equation: Any, operands: list[Fact]) -> None:
        """Notes the word that an operation needs."""
        name = equation.primitive.name
        word = _WORD_OF.get(name)
        if word is None and name not in _FREE:
            raise Refused(f"'{name}' may not be outside the kernels")
        if name in _FIRST_INDEX and not any(fact.varies for fact in operands[_FIRST_INDEX[name] :]):
            word = None
        if word is not None:
            self.words.setdefault(word, name)
        rounded = _rounded_to(equation)
        if rounded is not None and rounded < self._narrowest:
            reason = f"'{name}' outside of the kernels rounds values to {rounded} bits, fewer than the spec allows"
            raise Refused(f"{reason} (contract.operand)", "precision")

    def _cond(self, params: dict[str, Any], operands: list[Fact]) -> list[Fact]:
        branches = [branch.jaxpr for branch in params["branches"]]
        if operands[0].floats and any(map(jaxprs.has_kernel, branches)):
            raise Refused(_CHOSEN.format("condition"))
        results = [self.jaxpr(branch, operands[1:]) for branch in branches]
        return [_joined([*each, operands[0]]) for each in zip(*results, strict=True)]

    def _while(self, params: dict[str, Any], operands: list[Fact]) -> list[Fact]:
        asked, done = params["cond_nconsts"], params["body_nconsts"]
        condition, body = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr
        of_condition, of_body, carry = operands[:asked], operands[asked : asked + done], operands[asked + done :]
        goes_on = Fact()
        while True:
            goes_on |= _joined(self.jaxpr(condition, [*of_condition, *carry]))
            again = [
                _joined([before, after, goes_on])
                for before, after in zip(carry, self.jaxpr(body, [*of_body, *carry]), strict=True)
            ]
            if again == carry:
                break
            carry = again
        if goes_on.floats and (jaxprs.has_kernel(body) or jaxprs.has_kernel(condition)):
            raise Refused(_CHOSEN.format("loop's condition"))
        return carry

    def _scan(self, params: dict[str, Any], operands: list[Fact]) -> list[Fact]:
        consts, count = params["num_consts"], params["num_carry"]
        fixed, carry, sliced = operands[:consts], operands[consts : consts + count], operands[consts + count :]
        while True:
            results = self.jaxpr(params["jaxpr"].jaxpr, [*fixed, *carry, *sliced])
            again = [before | after for before, after in zip(carry, results[:count], strict=True)]
            if again == carry:
                return results
            carry = again


_CHOSEN = "a {} depends on floating-point values and chooses between kernels: a TPU may choose another one than a CPU"


def _joined(facts: Iterable[Fact]) -> Fact:
    joined = Fact()
    for fact in facts:
        joined |= fact
    return joined


def _is_float(aval: Any) -> bool:
    return jnp.issubdtype(getattr(aval, "dtype", np.dtype(bool)), jnp.inexact)


def _significand(dtype: Any) -> int:
    return int(program.float_info(dtype).nmant) + 1


def _rounded_to(equation: Any) -> int | None:
    """Returns the bits of a significand that an operation rounds to; None: it does not round."""
    source = getattr(equation.invars[0].aval, "dtype", None) if equation.invars else None
    if source is None or not jnp.issubdtype(source, jnp.floating):
        return None
    name, params = equation.primitive.name, equation.params
    if name == "reduce_precision":
        bits = params["mantissa_bits"] + 1
    elif name == "convert_element_type" and jnp.issubdtype(params["new_dtype"], jnp.floating):
        bits = _significand(params["new_dtype"])
    else:
        return None
    return bits if bits < _significand(source) else None
