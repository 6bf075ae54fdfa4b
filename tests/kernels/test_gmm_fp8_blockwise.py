"""Tests of the grouped matmul in 8-bit floats: the rows of each group, and the scales."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from kernels.gmm_fp8_blockwise import api, kernel, reference

ROWS = 768
SIZES = [
    [256, 256, 256],
    [0, 0, 0],
    [1, 0, 130, 0, 637],
    [500, 500, 500],
    [768, 9, 9],
    [0, 5, 0, 0],
    [-3, 300, 8],
]


def owners_of(sizes: list[int]) -> list[int]:
    """Returns the group of each row."""
    rows = [group for group, size in enumerate(sizes) for _ in range(size)]
    return [*rows, *[len(sizes) - 1] * ROWS][:ROWS]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_reference_gives_each_row_to_one_group(sizes: list[int]) -> None:
    is_owner = np.asarray(reference.owners(jnp.array(sizes), ROWS))
    assert (is_owner.sum(axis=0) == 1).all()
    assert is_owner.argmax(axis=0).tolist() == owners_of(sizes)


@pytest.mark.parametrize("of_groups", [False, True])
@pytest.mark.parametrize("block", [128, 256, ROWS])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_visits_cover_each_row_once_and_blocks_of_the_result_one_after_another(
    sizes: list[int], block: int, of_groups: bool
) -> None:
    table = kernel.visits_of(jnp.array(sizes, jnp.int32), ROWS, block, of_groups)
    group, tile, low, high, edge = map(np.asarray, table)
    covered = [(row, g) for g, first, end in zip(group, low, high, strict=True) for row in range(first, end)]
    assert covered == list(enumerate(owners_of(sizes)))
    assert all(t * block <= first and end <= (t + 1) * block for t, first, end in zip(tile, low, high, strict=True))
    of_result = (group if of_groups else tile).tolist()
    blocks = len(sizes) if of_groups else ROWS // block
    assert [one for one, bits in zip(of_result, edge, strict=True) if bits & 1] == list(range(blocks))
    assert [one for one, bits in zip(of_result, edge, strict=True) if bits & 2] == list(range(blocks))
    assert of_result == sorted(of_result)


@pytest.mark.parametrize("largest", [448.0, np.nextafter(np.float32(448), np.float32(449)), 447.9, 0.4375, 3e38, 1e-30])
def test_a_scale_is_the_least_power_of_two_that_is_enough(largest: float) -> None:
    scale, inverse = map(float, kernel.scales_of(jnp.float32(largest)))
    assert np.log2(scale).is_integer()
    assert scale * inverse == 1
    assert 224 < float(np.float32(largest)) / scale <= 448
    tile = jnp.full((128, 128), largest, jnp.float32)
    rounded = np.asarray(jnp.float32(largest * inverse).astype(jnp.float8_e4m3fn).astype(jnp.float32)) * scale
    assert (np.asarray(reference.quantised(tile, 128, 128)) == rounded).all()


def test_of_sizes_that_are_not_whole_tiles_there_are_words() -> None:
    with pytest.raises(ValueError, match="M, K and N have to be multiples of 128"):
        api.gmm_fp8_blockwise(jnp.zeros((100, 128)), jnp.zeros((2, 128, 128)), jnp.array([50, 50]))
