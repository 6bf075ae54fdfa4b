"""The files of a new kernel, in this project's form, from a user's function. Their texts are in templates/."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import jax

from init import blocks
from init.blocks import Cut
from init.dimensions import Axis, Task, Tensor
from init.flops import bytes_formula, flops_formula, summed
from init.project import Place
from init.source import Case, Given

_TEMPLATES = Path(__file__).with_name("templates")
# The user's function gets this name in kernel.py, because the entry has the function's own name there.
_ON_BLOCK = "on_block"


@dataclass(frozen=True)
class Source:
    """The user's file: its imports, and the rest except for its docstring and the part that runs it as a program."""

    path: str
    imports: str
    body: str
    entry: str
    summary: str  # the first line of the function's docstring, or its name
    in_kernel: str = ""  # the body in kernel.py, if that body differs


def read_source(text: str, path: str, entry: str, givers: Sequence[str]) -> Source:
    """Reads a source, without the functions that give example inputs. Raises SyntaxError."""
    lines = text.splitlines()
    imports, body, summary = [], [], entry
    for number, node in enumerate(ast.parse(text, path).body):
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        piece = "\n".join(lines[first - 1 : node.end_lineno])
        is_docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_program = isinstance(node, ast.If) and "'__name__'" in ast.dump(node.test)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.append(piece)
        elif not is_docstring and not is_program and getattr(node, "name", "") not in givers:
            body.append(piece)
        if isinstance(node, ast.FunctionDef) and node.name == entry:
            summary = (ast.get_docstring(node) or entry).splitlines()[0].rstrip(".")
    # `__future__` imports are left out: they must be in a file's first lines, and a kernel runs without them.
    imports = [line for line in imports if not line.startswith("from __future__")]
    return Source(path, "\n".join(imports), "\n\n\n".join(body), entry, summary)


def renamed(source: Source, name: str) -> str:
    """Returns the kernel's body with the function renamed everywhere."""
    body = source.in_kernel or source.body
    lines = body.splitlines()
    places = []
    for node in ast.walk(ast.parse(body)):
        if isinstance(node, ast.FunctionDef) and node.name == source.entry:
            places.append((node.lineno, node.col_offset + len("def ")))
        elif isinstance(node, ast.Name) and node.id == source.entry:
            places.append((node.lineno, node.col_offset))
    for line, column in sorted(places, reverse=True):
        text = lines[line - 1]
        lines[line - 1] = text[:column] + name + text[column + len(source.entry) :]
    return "\n".join(lines)


def files_of(
    place: Place, source: Source, function: Callable[..., Any], task: Task, cut: Cut, given: Given
) -> dict[str, str]:
    """Returns the texts of the kernel's files by name; the pipeline has the name "". `cut`: the seed's cut."""
    name, spec = place.name, place.from_pipeline("spec.yaml")
    flops, moved = flops_formula(function, task), bytes_formula(task)
    words = {
        "name": name,
        "path": source.path,
        "entry": source.entry,
        "summary": source.summary,
        "imports": source.imports,
        "others": _others(source.imports),
        "body": source.body,
        "arguments": ", ".join(one.name for one in task.inputs),
        "pipeline": f"pipelines/{name}-v7x.yaml",
        "spec": spec,
        "written_by": given.written_by,
        "select": f"\nselect:\n  policy: {given.policy}\n" if given.policy else "",
        "learn": f"\nlearn:\n  file: {given.learnings}\n" if given.learnings else "",
        "opening": f"\n  opening: {given.opening}               # rounds of people's proposals"
        if given.opening
        else "",
    }
    words |= {"rtol": f"{given.tolerance.rtol:g}", "atol": f"{given.tolerance.atol:g}"}
    words |= {key: str(getattr(given, key)) for key in ("rounds", "variants", "top_k", "mutator")}
    fixed = sorted({axis for one in task.inputs for axis in one.axes if isinstance(axis, int) and axis != 1})
    files = {
        "spec.yaml": filled("spec.yaml", words | _spec_words(source, function, task, cut, flops, moved, given)),
        "kernel.py": given.seed or filled("kernel.py", words | _kernel_words(source, task, cut, flops, moved, name)),
        "reference.py": given.reference or filled("reference.py", words),
        "xla.py": given.reference or filled("xla.py", words),
        "README.md": filled(
            "README.md", words | {"fixed": f" ({', '.join(map(str, fixed))} are fixed)" if fixed else ""}
        ),
        "": filled("pipeline.yaml", words),
    }
    # An imported kernel gets no api.py: the API needs BlockSizes, which an imported kernel may not have.
    return files if given.seed else files | {"api.py": filled("api.py", words | _api_words(task))}


def _others(imports: str) -> str:
    """Returns the imports that the template of a kernel does not have."""
    own = (_TEMPLATES / "kernel.py.template").read_text().splitlines()
    return "".join(f"{line}\n" for line in imports.splitlines() if line not in own)


def filled(template: str, words: dict[str, str]) -> str:
    """Returns the text of a template."""
    return Template((_TEMPLATES / f"{template}.template").read_text()).substitute(words)


def _spec_words(
    source: Source,
    function: Callable[..., Any],
    task: Task,
    cut: Cut,
    flops: str,
    moved: str,
    given: Given,
) -> dict[str, str]:
    parameters = {one.parameter: one.values for one in cut.blocks} | given.parameters
    constraints = [f"  - {text}" for text in given.constraints]
    if cut.blocks:
        constraints.append(
            "  # Blocks in VMEM, with their buffers, at the given sizes; the rest is for intermediate arrays."
        )
        constraints.append(f"  - {_vmem_formula(task, cut)}")
    listed = "\n".join(f"  {parameter}: {{ values: {list(values)} }}" for parameter, values in parameters.items())
    search = f"parameters:\n{listed}\n" if listed else ""
    search += "constraints:\n" + "\n".join(constraints) + "\n" if constraints else ""
    quoted = source.summary.replace("\\", "\\\\").replace('"', "'")
    return {
        "formula": f'"{quoted}"',
        "dimensions": ", ".join(task.sizes),
        "inputs": _tensors(task.inputs),
        "outputs": _tensors(task.outputs),
        "cases": _cases(function, task, given),
        "search": search,
        "contract": _contract(given.contract),
        "flops": flops,
        "bytes": moved,
    }


def _contract(terms: dict[str, float | list[str]]) -> str:
    if not terms:
        return ""
    listed = ", ".join(
        f"{name}: [{', '.join(value)}]" if isinstance(value, list) else f"{name}: {value:g}"
        for name, value in terms.items()
    )
    return f"# What the seed does outside of kernels; a better one may do with less.\ncontract: {{ {listed} }}\n\n"


def _cases(function: Callable[..., Any], task: Task, given: Given) -> str:
    """Returns the timed cases, and small ones for a CPU; an imported kernel may not take ragged sizes."""
    timed = given.cases or (Case("given", task.sizes),)
    small = [("small", blocks.halved_sizes(task))]
    if not given.seed:
        small = [(label, blocks.small_sizes(function, task, label == "ragged")) for label in ("small", "ragged")]
    checked = [sizes for _, sizes in small]
    cases = [
        (one.name, one.sizes, "bench, check, ci" if one.sizes in checked else "bench", one.weight) for one in timed
    ]
    for label, sizes in small:
        if sizes not in [known for _, known, _, _ in cases]:
            cases.append((label, sizes, "check, ci", 1))
    return "\n".join(
        f"  - {{ name: {label}, dims: {{ {', '.join(f'{d}: {n}' for d, n in sizes.items())} }}, tags: [{tags}]"
        + (f", weight: {weight:g} }}" if weight != 1 else " }")
        for label, sizes, tags, weight in cases
    )


def _tensors(found: Sequence[Tensor]) -> str:
    return "\n".join(
        f"  {one.name}: {{ shape: [{', '.join(map(str, one.axes))}], dtype: {one.dtype}"
        + (f", range: [{one.range}] }}" if one.range else " }")
        for one in found
    )


def _vmem_formula(task: Task, cut: Cut) -> str:
    """Returns a bound for the parameters; other dimensions have the given sizes."""
    parameters: dict[Axis, str] = {one.dimension: one.parameter for one in cut.blocks}
    # If rows are too long for MOST_BYTES, only the seed's blocks are within the bound.
    most = max(blocks.MOST_BYTES, blocks.bytes_of(task, task.sizes, cut.seeds, cut.buffers))
    terms = []
    for one in task.tensors:
        number = (cut.buffers if one in task.inputs else blocks.BUFFERS) * jax.numpy.dtype(one.dtype).itemsize
        names = [parameters[axis] for axis in one.axes if axis in parameters]
        for axis, size in zip(one.axes, blocks.shape_of(one.axes, task.sizes), strict=True):
            number *= 1 if axis in parameters else size
        terms.append(" * ".join([str(number), *names]))
    return f"{summed(terms)} <= {most}"


def _python(formula: Axis) -> str:
    """Returns a formula over dimensions as kernel.py writes it."""
    return re.sub(r"[A-Za-z]\w*", lambda name: f"size_{name[0].lower()}", str(formula))


def _tuple(items: Iterable[str]) -> str:
    listed = list(items)
    return ", ".join(listed) + ("," if len(listed) == 1 else "")


def _lines(items: Iterable[str]) -> str:
    return "\n".join(f"            {item}," for item in items)


def _wide(items: list[str], filling: str) -> list[str]:
    """Pads the axes to two: arrays in VMEM have at least two."""
    return [filling] * (2 - len(items)) + items


def _kernel_words(source: Source, task: Task, cut: Cut, flops: str, moved: str, name: str) -> dict[str, str]:
    grid = {one.dimension: f"g{at}" for at, one in enumerate(cut.blocks)}
    lambda_of = ", ".join(grid.values()) or "_"

    single = ", pipeline_mode=pl.Buffered(1)" if cut.buffers == 1 else ""

    def block_spec(axes: Sequence[Axis], mode: str = "") -> str:
        shape = [f"block_{str(axis).lower()}" if axis in grid else _python(axis) for axis in axes]
        index = [grid.get(str(axis), "0") for axis in axes]
        return f"pl.BlockSpec(({_tuple(_wide(shape, '1'))}), lambda {lambda_of}: ({_tuple(_wide(index, '0'))}){mode})"

    sizes = [f"size_{d.lower()} = {one}.shape[{at}]" for d, (one, at) in _places(task).items()]
    sizes += [
        f"block_{one.dimension.lower()} = min(sizes.{one.parameter.lower()}, size_{one.dimension.lower()})"
        for one in cut.blocks
    ]
    if not cut.blocks:
        sizes.append("del sizes  # there is one block alone")
    returned = [_narrow(f"results[{at}]", one) for at, one in enumerate(task.outputs)]
    return {
        "parameters": "".join(f"{one.parameter} = {one.seed}\n" for one in cut.blocks),
        "fields": "\n".join(f"    {one.parameter.lower()}: int = {one.parameter}" for one in cut.blocks) or "    pass",
        "body": renamed(source, _ON_BLOCK),
        "refs": ", ".join(f"{one.name}_ref" for one in task.tensors),
        "loads": ", ".join(_load(one) for one in task.inputs),
        "stores": "\n".join(f"    {_store(one, at)}" for at, one in enumerate(task.outputs)),
        "sizes": textwrap.indent("\n".join(sizes), "    "),
        "out_shapes": _lines(
            f'jax.ShapeDtypeStruct(({_tuple(_wide([_python(axis) for axis in one.axes], "1"))}), "{one.dtype}")'
            for one in task.outputs
        ),
        "grid": _tuple(
            [f"pl.cdiv(size_{d}, block_{d})" for d in (one.dimension.lower() for one in cut.blocks)] or ["1"]
        ),
        "in_specs": _lines(block_spec(one.axes, single) for one in task.inputs),
        "out_specs": _lines(block_spec(one.axes) for one in task.outputs),
        "semantics": _tuple(['"parallel"'] * max(len(cut.blocks), 1)),
        "flops": _python(flops),
        "bytes": _python(moved),
        "given": ", ".join(_widened(one) for one in task.inputs),
        "returned": returned[0] if len(returned) == 1 else f"({', '.join(returned)})",
        "name": name,
    }


def _places(task: Task) -> dict[str, tuple[str, int]]:
    """Returns, for each dimension, the first input that has it, and on which axis."""
    found: dict[str, tuple[str, int]] = {}
    for one in task.inputs:
        for at, axis in enumerate(one.axes):
            if isinstance(axis, str):
                found.setdefault(axis, (one.name, at))
    return found


def _load(one: Tensor) -> str:
    return f"{one.name}_ref[{('0, 0', '0, :')[len(one.axes)] if len(one.axes) < 2 else '...'}]"


def _store(one: Tensor, number: int) -> str:
    if len(one.axes) == 0:
        return f"{one.name}_ref[...] = jnp.full((1, 1), values[{number}], {one.name}_ref.dtype)"
    where = "0, :" if len(one.axes) == 1 else "..."
    return f"{one.name}_ref[{where}] = values[{number}].astype({one.name}_ref.dtype)"


def _widened(one: Tensor) -> str:
    return one.name if len(one.axes) > 1 else f"{one.name}.reshape(1, -1)"


def _narrow(result: str, one: Tensor) -> str:
    if len(one.axes) > 1:
        return result
    return f"{result}.reshape({_python(one.axes[0]) if one.axes else '()'})"


def _api_words(task: Task) -> dict[str, str]:
    return {
        "dtype": task.inputs[0].dtype,
        "typed": ",\n    ".join(f"{one.name}: jax.Array" for one in task.inputs),
        "dims": ", ".join(f'"{d}": {one}.shape[{at}]' for d, (one, at) in _places(task).items()),
        "first": task.inputs[0].name,
    }
