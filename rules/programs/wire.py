"""The wire: a traced candidate leaves its process as a jaxpr in JSON, from which a new jaxpr is made.

The process that ran a candidate is not trusted: what it sends is data. The judge builds a jaxpr from it, out of a
closed list of classes and of primitives that JAX itself lowers, and exports the programs in a process that has never
seen the candidate. So both programs come from one jaxpr, whatever the candidate did to JAX in its own process. Parts
that have no such form (a callback, a primitive of the candidate's own, devices, meshes) cannot leave.

A document is {"vars": [aval…], "jaxprs": [jaxpr…], "consts": [array…]}; the last jaxpr is the program's, `consts` are
its constants. Values: null, booleans, strings and whole numbers are themselves; any other value is a list that begins
with a tag. A document's content is checked (consistent.py, schema.py) and settled (settle.py) before anything else uses
it.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax._src import core, effects, frozen_dict, literals, named_sharding, tree_util
from jax._src import linear_util as lu
from jax._src import mesh as mesh_lib
from jax._src.interpreters import mlir
from jax._src.lax import slicing
from jax._src.numpy import scalar_types
from jax._src.pallas import core as pallas_core
from jax._src.pallas import primitives as pallas_primitives
from jax._src.pallas.mosaic import core as tpu_core
from jax._src.pallas.mosaic import lowering as tpu_lowering
from jax._src.random import prng
from jax._src.state import indexing
from jax._src.state import types as state_types
from jax.experimental.pallas import tpu as _registers_pallas  # noqa: F401 - its primitives and their lowerings

from programs import consistent, program, schema, settle

_ENUMS = {
    f"{enum.__module__}.{enum.__name__}": enum
    for enum in (
        core.MemorySpace,
        pallas_core.MemorySpace,
        tpu_core.MemorySpace,
        tpu_core.GridDimensionSemantics,
        tpu_core.SideEffectType,
        tpu_core.SemaphoreType,
        tpu_core.CoreType,
        pallas_primitives.DeviceIdType,
        slicing.GatherScatterMode,
        jax.lax.Precision,
        jax.lax.RoundingMethod,
        jax.lax.AccuracyMode,
        jax.lax.RandomAlgorithm,
        jax.lax.FftType,
    )
}

# Plain records, made by their constructors from their fields.
_RECORDS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        pallas_core.Blocked,
        pallas_core.BoundedSlice,
        pallas_core.Buffered,
        pallas_core.CostEstimate,
        pallas_core.Element,
        pallas_core.GridMapping,
        pallas_core.BlockMapping,
        pallas_core.Squeezed,
        tpu_core.CompilerParams,
        indexing.NDIndexer,
        indexing.Slice,
        state_types.BitcastTransform,
        state_types.ReshapeTransform,
        state_types.TransposeTransform,
        state_types.TransformedRef,
        jax.lax.ConvDimensionNumbers,
        jax.lax.GatherDimensionNumbers,
        jax.lax.RaggedDotDimensionNumbers,
        jax.lax.ScatterDimensionNumbers,
        jax.lax.DotAlgorithm,
    )
}

# The nodes that a tree of arguments may have.
_NODES: dict[str, type] = {"tuple": tuple, "list": list, "dict": dict, "NoneType": type(None), **_RECORDS}

# The effect of a kernel that signals or waits; it names no reference.
_SEMAPHORE_EFFECT = type(pallas_primitives.sem_effect).__name__
_EFFECTS = {cls.__name__: cls for cls in (state_types.ReadEffect, state_types.WriteEffect, state_types.AccumEffect)}

_SEMAPHORES = {
    cls.__name__: cls for cls in (pallas_core.Semaphore, pallas_core.BarrierSemaphore, tpu_core.DMASemaphore)
}

_SINGLETONS: dict[str, Any] = {
    "unspecified": named_sharding.UNSPECIFIED,
    "dynamic": pallas_core.dynamic_grid_dim,
}

_SCALARS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "int": (literals.TypedInt, int),
    "float": (literals.TypedFloat, float.fromhex),
    "plain": (None, float.fromhex),
}

# Parameters about differentiation, which nobody needs after the trace.
_DERIVATIVES = frozenset({"jvp_jaxpr_fun", "fwd_jaxpr_thunk", "bwd", "out_trees", "symbolic_zeros", "policy"})
_MOST_DEEP = 100

# Fields that are meant for people, and never sent.
_FOR_PEOPLE: dict[str, dict[str, Any]] = {"BlockMapping": {"origin": ""}}


class Unsendable(Exception):
    """A part of the program has no form on the wire."""


def _fields(cls: type) -> list[str]:
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls)]
    return list(cls._fields)  # type: ignore[attr-defined] # a NamedTuple


@functools.cache
def _primitives() -> dict[str, core.Primitive]:
    """Returns the primitives that JAX has a lowering for, by name."""
    tables: list[Any] = [mlir._lowerings]
    tables += [mlir._platform_specific_lowerings[platform] for platform in ("tpu", "cpu")]
    tables += tpu_lowering.lowering_rules.values()
    found: dict[str, core.Primitive] = {}
    for table in tables:
        for primitive in table:
            # If two primitives have the same name, the one of jax.lax counts.
            found.setdefault(primitive.name, primitive)
    return found


def _without_own_words(primitive: str, params: dict[str, Any]) -> dict[str, Any]:
    """Returns an equation's parameters with fixed names, and without those for profilers and debuggers."""
    if "name" in params:
        # The name of a function belongs to the candidate, and to no other program.
        params = dict(params, name=schema.KERNEL_NAME if primitive == "pallas_call" else schema.INNER_NAME)
    if primitive == "pallas_call":
        params = dict(params, debug=False, interpret=False, metadata=None)
    return params


def _check_random(implementation: Any) -> None:
    if implementation is not prng.prngs["threefry2x32"]:
        raise Unsendable("random numbers must come from threefry keys: other generators differ between a TPU and a CPU")


def _differentiated(*_: Any) -> Any:
    raise NotImplementedError("the program is already traced and cannot be differentiated")


_NO_DERIVATIVE = lu.wrap_init(_differentiated, debug_info=lu.DebugInfo("wire", "differentiated", None, None))


class _Packer:
    def __init__(self) -> None:
        self.vars: dict[core.Var, int] = {}
        self.avals: list[Any] = []
        self.jaxprs: list[Any] = []
        self._known: dict[int, int] = {}
        self._alive: list[Any] = []

    def closed(self, closed: core.ClosedJaxpr) -> list[Any]:
        return ["closed", self.jaxpr(closed.jaxpr), [self.value(const) for const in closed.consts]]

    def jaxpr(self, jaxpr: core.Jaxpr) -> int:
        """Returns the number of a jaxpr, which is sent once however often it is called."""
        if id(jaxpr) not in self._known:
            packed = {
                "constvars": [self.var(v) for v in jaxpr.constvars],
                "invars": [self.var(v) for v in jaxpr.invars],
                "eqns": [self.equation(e) for e in jaxpr.eqns],
                "outvars": [self.atom(a) for a in jaxpr.outvars],
                "effects": self.effects(jaxpr.effects),
            }
            self._known[id(jaxpr)] = len(self.jaxprs)
            self._alive.append(jaxpr)
            self.jaxprs.append(packed)
        return self._known[id(jaxpr)]

    def equation(self, equation: core.JaxprEqn) -> dict[str, Any]:
        if equation.ctx.compute_type is not None or equation.ctx.xla_metadata:
            raise Unsendable(f"'{equation.primitive.name}' has compute_on or XLA metadata: remove them")
        params = {name: value for name, value in equation.params.items() if name not in _DERIVATIVES}
        params = _without_own_words(equation.primitive.name, params)
        try:
            packed = {name: self.value(value) for name, value in sorted(params.items())}
        except Unsendable as error:
            raise Unsendable(f"{equation.primitive.name}: {error}") from None
        return {
            "primitive": equation.primitive.name,
            "invars": [self.atom(a) for a in equation.invars],
            "outvars": [self.var(v) for v in equation.outvars],
            "params": packed,
            "derivatives": sorted(set(equation.params) & _DERIVATIVES),
            "effects": self.effects(equation.effects),
        }

    def var(self, var: core.Var) -> int:
        if var not in self.vars:
            self.vars[var] = len(self.avals)
            self.avals.append(self.value(var.aval))
        return self.vars[var]

    def atom(self, atom: Any) -> Any:
        if isinstance(atom, core.Literal):
            return ["literal", self.value(atom.val), self.value(atom.aval)]
        return self.var(atom)

    def effects(self, found: Any) -> list[Any]:
        out: list[list[Any]] = []
        for effect in found:
            name = type(effect).__name__
            if name == _SEMAPHORE_EFFECT:
                out.append([name, None])
                continue
            if name not in _EFFECTS:
                raise Unsendable(f"the program has the effect {name}: only reading and writing memory is allowed")
            at = effect.input
            out.append([name, at if isinstance(at, int) else ["var", self.var(at)]])
        return sorted(out, key=str)

    def value(self, value: Any) -> Any:
        """Packs any parameter, type or constant."""
        if value is None or type(value) in (bool, int, str):
            return value
        if self._is_no_sharding(value):
            return None
        for name, singleton in _SINGLETONS.items():
            if value is singleton:
                return ["singleton", name]
        for pack in (self._scalar, self._container, self._type, self._record):
            packed = pack(value)
            if packed is not None:
                return packed
        raise Unsendable(f"the program holds a {type(value).__name__}, which is not allowed")

    def _scalar(self, value: Any) -> Any:
        if type(value) is literals.TypedInt:
            return ["int", int(value), value.dtype.name]
        if type(value) is literals.TypedFloat:
            return ["float", float(value).hex(), value.dtype.name]
        if type(value) is float:
            return ["plain", value.hex(), ""]
        if isinstance(value, (np.ndarray, np.generic, jax.Array)):
            array = np.asarray(value)
            content = base64.b64encode(array.tobytes()).decode()
            typed = [bool(value.aval.weak_type)] if isinstance(value, literals.TypedNdArray) else []
            tag = "number" if isinstance(value, np.generic) else "array"
            return [tag, array.dtype.name, list(array.shape), content, *typed]
        return None

    def _container(self, value: Any) -> Any:
        if type(value) is tuple:
            return ["tuple", *map(self.value, value)]
        if type(value) is list:
            return ["list", *map(self.value, value)]
        if type(value) in (set, frozenset):
            return ["frozenset", *sorted(map(self.value, value), key=str)]
        if type(value) in (dict, frozen_dict.FrozenDict):
            tag = "dict" if type(value) is dict else "frozendict"
            return [tag, *([str(name), self.value(value[name])] for name in sorted(value))]
        if isinstance(value, core.ClosedJaxpr):
            return self.closed(value)
        if isinstance(value, core.Jaxpr):
            return ["jaxpr", self.jaxpr(value)]
        if isinstance(value, jax.tree_util.PyTreeDef):
            return self._tree(value)
        return None

    def _tree(self, tree: Any) -> list[Any]:
        node = tree.node_data()
        if node is None:
            return ["tree", "leaf"]
        name = getattr(node[0], "__name__", "")
        if _NODES.get(name) is not node[0]:
            raise Unsendable(f"the program holds a pytree of {name}, which is not allowed")
        return ["tree", name, self.value(node[1]), [self._tree(child) for child in tree.children()]]

    def _type(self, value: Any) -> Any:
        if type(value) is core.ShapedArray:
            shape, dtype = self.value(tuple(value.shape)), self.value(value.dtype)
            return ["aval", shape, dtype, value.weak_type, self.value(value.memory_space)]
        if isinstance(value, state_types.AbstractRef):
            return ["ref", self.value(value.inner_aval), self.value(value.memory_space)]
        if type(value).__name__ in _SEMAPHORES:
            return ["semaphore", type(value).__name__]
        if isinstance(value, (np.dtype, scalar_types._ScalarMeta)):
            # Some parameters hold a type such as jnp.float32 as it was given. It means the same as its dtype.
            return ["dtype", np.dtype(value).name]
        if isinstance(value, (prng.PRNGImpl, prng.KeyTy)):
            implementation = value if isinstance(value, prng.PRNGImpl) else value._impl
            _check_random(implementation)
            return ["random", implementation.name, type(value) is prng.KeyTy]
        if isinstance(value, (mesh_lib.Mesh, mesh_lib.AbstractMesh)):
            if not value.empty:
                raise Unsendable("the program uses a mesh of devices: a kernel is judged on one device")
            return ["mesh", type(value) is mesh_lib.AbstractMesh]
        return None

    @staticmethod
    def _is_no_sharding(value: Any) -> bool:
        """Whether a value is a sharding over no devices, which transposed casts are given; it means None."""
        return type(value) is named_sharding.NamedSharding and value.mesh.empty and value.memory_kind is None

    def _record(self, value: Any) -> Any:
        cls = type(value)
        if _RECORDS.get(cls.__name__) is cls:
            sent = [name for name in _fields(cls) if name not in _FOR_PEOPLE.get(cls.__name__, ())]
            return ["record", cls.__name__, [[name, self.value(getattr(value, name))] for name in sent]]
        for name, enum in _ENUMS.items():
            if cls is enum:
                return ["enum", name, value.name]
        return None


class _Unpacker:
    """Makes a jaxpr from a document. If anything is wrong in it, raises Unsendable, or a constructor's error."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._vars: list[core.Var] = []
        self._jaxprs: list[core.Jaxpr] = []
        self._closed_alone: dict[int, core.ClosedJaxpr] = {}
        self._deep = 0
        self._by_tag: dict[str, Callable[..., Any]] = {
            "array": self._array,
            "aval": self._aval,
            "closed": self._closed,
            "dict": lambda *items: {name: self.value(item) for name, item in items},
            "dtype": program.dtype_of,
            "enum": lambda name, member: _ENUMS[name][member],
            "frozendict": lambda *items: frozen_dict.FrozenDict({name: self.value(item) for name, item in items}),
            "frozenset": lambda *items: frozenset(map(self.value, items)),
            "jaxpr": self._jaxpr,
            "list": lambda *items: [self.value(item) for item in items],
            "mesh": lambda is_abstract: mesh_lib.empty_abstract_mesh if is_abstract else mesh_lib.empty_concrete_mesh,
            "number": lambda *rest: self._array(*rest)[()],
            "random": self._random,
            "record": self._record,
            "ref": lambda aval, space: state_types.AbstractRef(self.value(aval), self.value(space)),
            "semaphore": lambda name: _SEMAPHORES[name](),
            "singleton": lambda name: _SINGLETONS[name],
            "tree": self._tree,
            "tuple": lambda *items: tuple(map(self.value, items)),
        }

    def closed(self) -> core.ClosedJaxpr:
        self._vars = [core.Var(self.value(aval)) for aval in self._document["vars"]]
        for packed in self._document["jaxprs"]:
            self._jaxprs.append(self._make_jaxpr(packed))
        return core.ClosedJaxpr(self._jaxprs[-1], [self.value(const) for const in self._document["consts"]])

    def value(self, packed: Any) -> Any:
        if packed is None or isinstance(packed, (bool, int, str)):
            return packed
        tag, *rest = packed
        if tag in _SCALARS:
            typed, read = _SCALARS[tag]
            number = read(rest[0])
            return number if typed is None else typed(number, np.dtype(rest[1]))
        if tag not in self._by_tag:
            raise Unsendable(f"no such tag: {tag}")
        self._deep += 1
        if self._deep > _MOST_DEEP:
            raise Unsendable("nested too deeply")
        made = self._by_tag[tag](*rest)
        self._deep -= 1
        return made

    def _closed(self, number: int, consts: list[Any]) -> core.ClosedJaxpr:
        if consts:
            return core.ClosedJaxpr(self._jaxpr(number), [self.value(const) for const in consts])
        # A jaxpr without constants is closed once, so that a function that is called twice is exported once.
        return self._closed_alone.setdefault(number, core.ClosedJaxpr(self._jaxpr(number), []))

    def _jaxpr(self, number: int) -> core.Jaxpr:
        # Only jaxprs before this one are known, so no jaxpr calls itself.
        return self._jaxprs[range(len(self._jaxprs))[number]]

    def _record(self, name: str, fields: list[Any]) -> Any:
        return _RECORDS[name](**{key: self.value(item) for key, item in fields} | _FOR_PEOPLE.get(name, {}))

    def _random(self, name: str, is_type: bool) -> Any:
        implementation = prng.prngs[name]
        _check_random(implementation)
        return prng.KeyTy(implementation) if is_type else implementation

    def _tree(self, name: str, auxiliary: Any = None, children: Sequence[Any] = ()) -> Any:
        if name == "leaf":
            return jax.tree_util.tree_structure(0)
        # Only tracing_registry knows all types with which kernels are traced.
        return jax.tree_util.PyTreeDef.from_node_data_and_children(
            tree_util.tracing_registry,
            (_NODES[name], self.value(auxiliary)),
            [self.value(child) for child in children],
        )

    def _array(self, dtype: str, shape: list[int], content: str, weak: bool | None = None) -> Any:
        array = np.frombuffer(base64.b64decode(content), dtype=program.dtype_of(dtype)).reshape(shape)
        if weak is None:
            return array
        return literals.TypedNdArray(array, core.ShapedArray(array.shape, array.dtype, weak_type=weak))

    def _aval(self, shape: Any, dtype: Any, weak: bool, space: Any) -> core.ShapedArray:
        return core.ShapedArray(self.value(shape), self.value(dtype), weak_type=weak, memory_space=self.value(space))

    def _make_jaxpr(self, packed: dict[str, Any]) -> core.Jaxpr:
        return core.Jaxpr(
            [self._vars[number] for number in packed["constvars"]],
            [self._vars[number] for number in packed["invars"]],
            [self._atom(atom) for atom in packed["outvars"]],
            [self._equation(equation) for equation in packed["eqns"]],
            self._effects(packed["effects"]),
        )

    def _atom(self, packed: Any) -> Any:
        if isinstance(packed, int):
            return self._vars[packed]
        tag, value, aval = packed
        if tag != "literal":
            raise Unsendable(f"not an atom: {tag}")
        return core.Literal(self.value(value), self.value(aval))

    def _equation(self, packed: dict[str, Any]) -> core.JaxprEqn:
        primitive = _primitives().get(packed["primitive"])
        if primitive is None:
            raise Unsendable(f"JAX does not lower '{packed['primitive']}'")
        params = {name: self.value(value) for name, value in packed["params"].items()}
        params = _without_own_words(primitive.name, params)
        if primitive.name == "platform_index" or params.get("branches_platforms") is not None:
            raise Unsendable(
                "the program depends on the platform: the one that is checked must be the one that is timed"
            )
        if primitive.name == "semaphore_read":
            raise Unsendable(
                "a kernel reads a semaphore's value, which an interpreter does not have as a TPU does: wait for it"
            )
        if primitive.name == "semaphore_signal":
            numbers = range(len(packed["invars"]))
            *_, device, of_core = tree_util.tree_unflatten(params["args_tree"], list(numbers))
            if device is not None or of_core is not None:
                raise Unsendable("a kernel signals another core or device, but it is judged on one core")
        for name in packed["derivatives"]:
            if name not in _DERIVATIVES:
                raise Unsendable(f"not a derivative: {name}")
            params[name] = {"symbolic_zeros": False, "policy": None}.get(name, _NO_DERIVATIVE)
        return core.new_jaxpr_eqn(
            [self._atom(atom) for atom in packed["invars"]],
            [self._vars[number] for number in packed["outvars"]],
            primitive,
            params,
            self._effects(packed["effects"]),
        )

    def _effects(self, packed: list[Any]) -> set[effects.Effect]:
        def effect(name: str, at: Any) -> effects.Effect:
            if name == _SEMAPHORE_EFFECT:
                return pallas_primitives.sem_effect
            return _EFFECTS[name](at if isinstance(at, int) else self._vars[at[1]])

        return {effect(name, at) for name, at in packed}


def pack(closed: core.ClosedJaxpr) -> bytes:
    """Returns a traced candidate as bytes. Raises Unsendable."""
    packer = _Packer()
    number = packer.jaxpr(closed.jaxpr)
    assert number == len(packer.jaxprs) - 1
    document = {
        "vars": packer.avals,
        "jaxprs": packer.jaxprs,
        "consts": [packer.value(const) for const in closed.consts],
    }
    return json.dumps(document, separators=(",", ":")).encode()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unsendable("a document has an entry twice")
    return found


def _no_constant(name: str) -> Any:
    raise Unsendable(f"{name} is not a number that a document may have")


def _check_characters(packed: bytes) -> None:
    """Raises Unsendable for quotes in a text, or characters beyond ASCII, because no text for people is sent."""
    if not packed.isascii() or b"\\" in packed:
        raise Unsendable("a name or another text in it has quotes, backslashes or characters beyond ASCII")


def _decoded(packed: bytes) -> Any:
    """Decodes a document from bytes that are not trusted."""
    _check_characters(packed)
    return json.loads(packed, object_pairs_hook=_once, parse_constant=_no_constant)


def unpack(packed: bytes) -> core.ClosedJaxpr:
    """Makes the jaxpr from bytes that are not trusted. Raises an error if anything is wrong with them."""
    closed = _Unpacker(_decoded(packed)).closed()
    consistent.check(closed)
    return settle.settled(closed)
