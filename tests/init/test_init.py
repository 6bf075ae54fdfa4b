"""Tests of `evolve init`: the dimensions and blocks of a function, and a kernel with the same outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from init import blocks, dimensions, folder, init, trial
from init.dimensions import Task, Tensor, Unclear
from init.flops import bytes_formula, flops_formula

SIZE = 256


def task_of(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Task:
    given = tuple(Tensor(f"x{i}", "float32", shape) for i, shape in enumerate(shapes))
    inputs, sizes = dimensions.named(function, given)
    return Task(inputs, dimensions.outputs_of(function, inputs, sizes), sizes)


def axes_of(task: Task) -> list[tuple[Any, ...]]:
    return [one.axes for one in task.tensors]


def softmax(x: Any) -> Any:
    return jax.nn.softmax(x, axis=-1)


def product(x: Any, y: Any) -> Any:
    return x @ y


def heads(x: Any) -> Any:
    return x.reshape(*x.shape[:-1], 4, 64).sum(-1)


def joined(x: Any, y: Any) -> Any:
    return jnp.concatenate([x, y], axis=0)


def gram(x: Any) -> Any:
    return x @ x.T


def with_bias(x: Any, bias: Any) -> Any:
    return x + bias, x.sum(-1)


def running(x: Any) -> Any:
    return jnp.cumsum(x, axis=0)


def layers(x: Any, *weights: Any) -> Any:
    for weight in weights:
        x = x + x @ weight
    return x


@pytest.mark.parametrize(
    ("function", "shapes", "axes"),
    [
        # Many sizes are the same number, but two sizes are the same dimension only if they must be equal.
        (product, [(SIZE, SIZE), (SIZE, SIZE)], [("D0", "D1"), ("D1", "D2"), ("D0", "D2")]),
        (softmax, [(8, SIZE)], [("D0", "D1"), ("D0", "D1")]),
        (with_bias, [(SIZE, SIZE), (SIZE,)], [("D0", "D1"), ("D1",), ("D0", "D1"), ("D0",)]),
        (heads, [(SIZE, SIZE)], [("D0", SIZE), ("D0", "4")]),
        (joined, [(SIZE, 8), (SIZE, 8)], [("D0", "D1"), ("D2", "D1"), ("D0 + D2", "D1")]),
        (gram, [(SIZE, 8)], [("D0", "D1"), ("D0", "D0")]),
        (layers, [(SIZE, SIZE)] * 9, [("D0", "D1"), *[("D1", "D1")] * 8, ("D0", "D1")]),
    ],
)
def test_sizes_that_go_together_are_one_dimension(
    function: Callable[..., Any], shapes: list[tuple[int, ...]], axes: list[tuple[Any, ...]]
) -> None:
    assert axes_of(task_of(function, *shapes)) == axes


def test_a_size_without_a_formula_is_told() -> None:
    with pytest.raises(Unclear, match="neither a product nor a sum of D0"):
        task_of(lambda x: x[: x.shape[0] // 3 * 2 + 1], (SIZE,))


def test_what_is_to_be_computed_is_a_formula() -> None:
    task = task_of(product, (64, 32), (32, 16))
    assert flops_formula(product, task) == "2 * D0 * D1 * D2"
    assert bytes_formula(task) == "4 * D0 * D1 + 4 * D1 * D2 + 4 * D0 * D2"
    twice = task_of(lambda x: lax.fori_loop(0, 3, lambda _, y: y @ x, x), (64, 64))
    assert flops_formula(lambda x: lax.fori_loop(0, 3, lambda _, y: y @ x, x), twice) == "6 * D0 * D0 * D0"
    assert flops_formula(softmax, task_of(softmax, (8, SIZE))) == "D0 * D1"


def cut(function: Callable[..., Any], *shapes: tuple[int, ...]) -> list[str]:
    return [one.dimension for one in blocks.cut_of(function, task_of(function, *shapes)).blocks]


def test_the_grid_walks_what_is_independent_and_nothing_else() -> None:
    assert cut(softmax, (SIZE, 512)) == ["D0"]
    assert cut(product, (SIZE, SIZE), (SIZE, SIZE)) == ["D0", "D2"]
    assert cut(running, (SIZE, 512)) == ["D1"]
    assert cut(gram, (SIZE, 512)) == []
    assert cut(with_bias, (SIZE, 512), (512,)) == ["D0"]


def test_a_seed_fits_vmem_where_any_does() -> None:
    task = task_of(softmax, (8192, 16384))
    cut = blocks.cut_of(softmax, task)
    (block,) = cut.blocks
    assert blocks.bytes_of(task, task.sizes, {"D0": block.seed}) <= blocks.SEED_BYTES
    assert max(block.values) > block.seed
    assert (cut.buffers, blocks.excess_of(task, cut)) == (2, "")


def test_rows_that_do_not_fit_vmem_twice_are_there_once_or_refused() -> None:
    task = task_of(softmax, (4096, 393216))
    cut = blocks.cut_of(softmax, task)
    assert (cut.seeds, cut.buffers, blocks.excess_of(task, cut)) == ({"D0": 8}, 1, "")
    task = task_of(softmax, (4096, 4 * 393216))
    assert blocks.excess_of(task, blocks.cut_of(softmax, task)) == (
        "a block of its arrays takes 144 MiB at the given sizes; VMEM has 56 MiB; "
        "the function cannot be computed in parts along D1"
    )


KERNEL = """\
import jax
from jax.experimental import pallas as pl


def f(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = BODY

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(4,), in_specs=[block], out_specs=block
    )(x)
"""


@pytest.mark.parametrize(
    ("body", "why", "instead"),
    [
        ("2 * x_ref[...]", None, None),
        ("3 * x_ref[...]", "its values differ from the function's at D0 = 32", "compare them"),
        ("jax.lax.sort(x_ref[...])", "sort", "a table of replacements"),
    ],
)
def test_a_seed_that_the_judge_would_refuse_is_told_with_what_to_write(
    body: str, why: str | None, instead: str | None
) -> None:
    task = task_of(lambda x: 2 * x, (32, 128))
    refusal = trial.refusal_of(KERNEL.replace("BODY", body), task, "f", task.sizes, lambda x: 2 * x)
    if why is None:
        assert refusal is None
    else:
        assert refusal is not None
        assert why in refusal.why
        assert instead is not None
        assert instead in refusal.instead


def test_who_has_too_large_a_block_is_told_which_axis_to_walk() -> None:
    task = task_of(softmax, (4096, 4 * 393216))
    refusal = trial.refusal_of("", task, "f", task.sizes, softmax, blocks.cut_of(softmax, task))
    assert refusal is not None
    assert refusal.instead.startswith("in kernel.py, walk D1 in blocks")


USER = '''\
"""What a user has."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import math

HALF = 0.5

def scaled(x):
    return x * HALF * math.sqrt(4)

def layer(x, w, bias):
    """Two outputs, one of them a row's number.

    And more words.
    """
    h = scaled(x) @ w + bias
    return jax.nn.gelu(h), h.sum(1) + 0 * layer.__name__.count("?")

def get_inputs():
    return [jnp.zeros((512, 128)), jnp.zeros((128, 512)), jnp.zeros(512)]

if __name__ == "__main__":
    raise SystemExit(1)
'''


@pytest.fixture
def made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    def make(*words: str, text: str = USER) -> dict[str, Any]:
        (tmp_path / "user.py").write_text(text)
        code = init.main([f"--from={tmp_path / 'user.py'}:layer", "--name=layer", f"--root={tmp_path}", *words])
        said = capsys.readouterr()
        return {
            "code": code,
            "said": said.err.strip(),
            **json.loads(said.out or "{}"),
            "folder": tmp_path / "kernels/layer",
        }

    return make


def test_a_kernel_is_made_that_gives_what_the_function_gives(made: Callable[..., dict[str, Any]]) -> None:
    report = made()
    assert (report["code"], report["dimensions"]) == (0, {"D0": 512, "D1": 128, "D2": 512})
    kernel = (report["folder"] / "kernel.py").read_text()
    assert kernel.startswith('"""Two outputs, one of them a row\'s number: computed block by block')
    assert "import math" in kernel
    assert "get_inputs" not in kernel
    assert "SystemExit" not in kernel
    module: dict[str, Any] = {"__name__": "seed"}
    exec(compile(kernel, "kernel.py", "exec", dont_inherit=True), module)
    user: dict[str, Any] = {"__name__": "user"}
    exec(compile(USER, "user.py", "exec", dont_inherit=True), user)
    generator = np.random.default_rng(1)
    inputs = [generator.standard_normal(shape, np.float32) for shape in ((300, 70), (70, 200), (200,))]
    for got, expected in zip(module["layer"](*inputs), user["layer"](*inputs), strict=True):
        assert got.shape == expected.shape
        assert np.allclose(got, expected, 1e-4, 1e-4)


def test_inputs_may_be_given_by_their_names(made: Callable[..., dict[str, Any]]) -> None:
    given = "{'bias': jnp.zeros(512), 'w': jnp.zeros((128, 512)), 'x': jnp.zeros((512, 128))}"
    report = made(text=re.sub(r"return \[jnp.*", f"return {given}", USER))
    assert report["code"] == 0, report["said"]
    assert "def layer(x, w, bias, *" in (report["folder"] / "kernel.py").read_text()


def test_inputs_that_are_said_name_the_dimensions(made: Callable[..., dict[str, Any]]) -> None:
    report = made("--input=x=bfloat16[M=1024,K=256]", "--input=w=bfloat16[K, N=512]", "--input=bias=float32[N]")
    assert report["dimensions"] == {"M": 1024, "K": 256, "N": 512}
    spec = (report["folder"] / "spec.yaml").read_text()
    assert "out1: { shape: [M], dtype: " in spec
    assert "flops: 2 * M * K * N" in spec


ROTARY = """
import jax.numpy as jnp


def layer(x, cos, sin):
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)
"""


def test_a_size_that_hangs_on_another_stays_as_it_is(made: Callable[..., dict[str, Any]]) -> None:
    tables = [f"--input={name}=float32[T,H=64]" for name in ("cos", "sin")]
    report = made("--input=x=float32[T=512,D=128]", *tables, text=ROTARY)
    assert report["code"] == 0, report["said"]
    assert report["dimensions"] == {"T": 512}
    assert report["notices"] == [
        "'layer' takes no other D: it is always 128",
        "'layer' takes no other H: it is always 64",
    ]


@pytest.mark.parametrize(
    ("words", "text", "said"),
    [
        (["--input=x"], USER, "init: --input 'x': expected NAME=DTYPE[SIZES], such as x=bfloat16[M=4096, K=1024]"),
        (["--input=x=float33[8]"], USER, "init: --input 'x=float33[8]': 'float33' is not a dtype"),
        (["--input=x=bf16[8]"], USER, "init: --input 'x=bf16[8]': 'bf16' is not a dtype: write bfloat16"),
        (["--input=x=int8[M=8, M=9]"], USER, "init: --input 'x=int8[M=8, M=9]': M is 8 already"),
        (["--input=x=int8[M]"], USER, "init: --input: no size is given for M, such as M=1024"),
        (["--input=x=int8[-1]"], USER, "init: --input 'x=int8[-1]': '-1' is not a size such as 1024, M or M=1024"),
        ([], USER.replace("get_inputs", "examples"), "init: the inputs are unknown: give --input for each"),
        (
            [],
            USER.replace("def layer", "def other"),
            "no function 'layer'; its functions: scaled, other, get_inputs",
        ),
        ([], USER.replace("128, 512", "64, 512"), "init: 'layer' does not take these inputs: TypeError"),
        ([], USER.replace("jnp.zeros(512)]", "3]"), "init: get_inputs() gives 3 for 'bias': expected an array"),
        (
            [],
            USER.replace("return [jnp.zeros((512", "return [1 / 0, jnp.zeros((512"),
            "get_inputs(): ZeroDivisionError",
        ),
        (
            [],
            USER.replace("return [jnp.zeros((512, 128)), ", "return {'y': 1} or ["),
            "gives 'y', but 'layer' takes x, w",
        ),
        (
            [],
            USER.replace("import math", "import beside"),
            "user.py: it imports beside, a file next to it: the file has to",
        ),
        ([], USER + "\n1 / 0\n", "ZeroDivisionError: division by zero"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_written(
    made: Callable[..., dict[str, Any]], tmp_path: Path, words: list[str], text: str, said: str
) -> None:
    (tmp_path / "beside.py").write_text("")
    report = made(*words, text=text)
    assert report["code"] == 2
    assert said in report["said"]
    assert not report["folder"].exists()


def test_imports_and_helpers_come_along() -> None:
    source = folder.read_source(USER, "user.py", "layer", ("get_inputs",))
    assert source.imports == "import jax\nimport jax.numpy as jnp\nimport math"
    assert "def on_block(x, w, bias):" in folder.renamed(source, "on_block")
    assert "on_block.__name__" in folder.renamed(source, "on_block")
