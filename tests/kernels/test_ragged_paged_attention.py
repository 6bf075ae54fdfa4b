"""Tests of attention over a paged cache, for any whole numbers: the rows of a sequence, and the positions they see."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from kernels.ragged_paged_attention import api, kernel, reference

ROWS, HEADS, GROUPS, WIDTH = 12, 4, 2, 128
PAGES, PAGE, TABLE = 6, 8, 3
# For each sequence: its number of positions, and its number of queries.
BATCHES = {
    "decode": ([24, 1, 9, 16], [1, 1, 1, 1]),
    "prefill": ([12], [12]),
    "mixed": ([24, 7, 20], [5, 1, 6]),
    "rows_that_are_nobodys": ([3, 5], [2, 3]),
    "too_many_queries": ([24, 24, 24], [7, 9, 4]),
    "more_queries_than_positions": ([2, 17], [9, 3]),
    "some_without_queries": ([5, 24, 3, 8], [0, 4, 0, 2]),
    "nothing_that_there_is": ([-5, 99, 0, 24], [3, -2, 2, 99]),
}

of_all = pytest.mark.parametrize("batch", BATCHES)


def rows_of(batch: str) -> list[tuple[int, int]]:
    """Returns the sequence of each row, and the row's position in the sequence."""
    rows: list[tuple[int, int]] = []
    for sequence, (positions, queries) in enumerate(zip(*BATCHES[batch], strict=True)):
        length = min(max(positions, 0), TABLE * PAGE)
        count = min(max(queries, 0), length, ROWS - len(rows))
        rows += [(sequence, length - count + number) for number in range(count)]
    return rows


def inputs_of(batch: str) -> list[Any]:
    generator = np.random.default_rng(1)
    positions, queries = (jnp.array(numbers, jnp.int32) for numbers in BATCHES[batch])
    # Some indices do not name a page.
    indices = jnp.array(generator.integers(-2, PAGES + 2, (positions.shape[0], TABLE)), jnp.int32)
    q = jnp.array(generator.standard_normal((ROWS, HEADS, WIDTH)), jnp.float32)
    kv_pages = jnp.array(generator.standard_normal((PAGES, 2, GROUPS, PAGE, WIDTH)), jnp.float32)
    return [q, kv_pages, positions, indices, queries]


def row_by_row(batch: str) -> np.ndarray[Any, Any]:
    q, kv_pages, _, indices, _ = (np.asarray(one) for one in inputs_of(batch))
    out = np.zeros_like(q)
    for row, (sequence, position) in enumerate(rows_of(batch)):
        pages = kv_pages[np.clip(indices[sequence], 0, PAGES - 1)]
        keys, values = (np.moveaxis(pages[:, which], 1, 0).reshape(GROUPS, -1, WIDTH) for which in (0, 1))
        for head in range(HEADS):
            group = head // (HEADS // GROUPS)
            weights = np.exp(keys[group, : position + 1] @ q[row, head] * WIDTH**-0.5)
            out[row, head] = weights @ values[group, : position + 1] / weights.sum()
    return out


@of_all
@pytest.mark.parametrize("implementation", ["reference", "xla"])
def test_each_row_sees_its_own_sequence_up_to_itself(batch: str, implementation: str) -> None:
    out = api.ragged_paged_attention(*inputs_of(batch), implementation=implementation)
    np.testing.assert_allclose(np.asarray(out), row_by_row(batch), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batch", ["mixed", "nothing_that_there_is"])
def test_a_kernel_of_many_small_blocks_sees_the_same(batch: str) -> None:
    sizes = kernel.BlockSizes(block_q=4, block_kv=8, rows=8, copies=1)
    out = api.ragged_paged_attention(*inputs_of(batch), implementation="pallas_interpret", block_sizes=sizes)
    np.testing.assert_allclose(np.asarray(out), row_by_row(batch), rtol=1e-4, atol=1e-5)


@of_all
def test_kernel_and_reference_divide_the_rows_alike(batch: str) -> None:
    positions, queries = (jnp.array(numbers, jnp.int32) for numbers in BATCHES[batch])
    starts, ends, lengths = reference.spans(positions, queries, ROWS, TABLE * PAGE)
    borders, of_kernel = kernel.spans(positions, queries, ROWS, TABLE * PAGE)
    assert borders.tolist() == [*starts.tolist(), ends.tolist()[-1]]
    assert of_kernel.tolist() == lengths.tolist()


def test_heads_go_side_by_side_in_equal_parts() -> None:
    assert [kernel.heads_of(512, rows, 8) for rows in (8, 128, 256, 512, 1024)] == [8, 4, 2, 1, 1]
    assert kernel.heads_of(512, 100, 6) == 3


def test_blocks_of_queries_are_as_long_as_sequences_have_queries() -> None:
    # A block has at least eight rows of queries and heads, which fill a register, unless there are fewer.
    assert kernel.queries_of_block(64, 128, 128, 4) == 2
    assert kernel.queries_of_block(64, 128, 128, 1) == 8
    assert kernel.queries_of_block(64, 4096, 16, 4) == 64
    assert kernel.queries_of_block(64, 300, 30, 4) == 8
    assert kernel.queries_of_block(64, 3, 1, 1) == 3


def test_of_heads_that_cannot_be_shared_there_are_words() -> None:
    q, kv_pages, *rest = inputs_of("mixed")
    with pytest.raises(ValueError, match="3 heads of q have to be a multiple of the 2 of keys"):
        api.ragged_paged_attention(q[:, :3], kv_pages, *rest)
