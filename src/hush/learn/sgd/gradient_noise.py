"""Exact lattice noise for many parameters at once, coded on the host."""

import math
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

from hush.noise import SECURE, Source, discrete_gaussian
from hush.noise import gaussian_codes as coding

_WIDEST = Fraction(1 << 22)  # wider noise has no codes


def steps(
    deviation: Fraction, size: int | tuple[int, ...], source: Source = SECURE
) -> NDArray[np.int32]:
    """Return independent discrete Gaussian noise as 32-bit lattice steps.

    Guarantee: the exact law; a deviation is at most 2^25, so that more than 32 bits
    would be 64 standard deviations, which have a chance below 1e-800.
    """
    drawn = discrete_gaussian(deviation, size, source=source)
    return np.asarray(drawn).astype(np.int32)


def code_buffer(size: tuple[int, int]) -> NDArray[np.uint32]:
    """Return room for `codes`."""
    return coding.aligned_buffer(math.prod(size)).reshape(size)


def codes(deviation: Fraction, room: NDArray[np.uint32], source: Source) -> Any:
    """Return the same noise for `decode`: codes, or steps where there are no codes.

    Codes lie in `code_buffer`.
    """
    if deviation >= _WIDEST:
        return steps(deviation, room.shape, source)
    return coding.codes_of(deviation).draw(room.ravel(), source).reshape(room.shape)


def decode(deviation: Fraction, noise: jax.Array) -> jax.Array:
    """Return the steps that `codes` stand for, on the device that asks."""
    if noise.dtype != jnp.uint32:
        return noise
    law = coding.codes_of(deviation)
    noise = lax.optimization_barrier(noise)  # looking up is faster in a loop of its own
    bucket = (noise >> coding.PLACE).astype(jnp.int32)
    block = jnp.asarray(law.table).at[bucket].get(mode="promise_in_bounds")
    place = (noise & ((1 << coding.PLACE) - 1)) >> (coding.PLACE - law.low)
    sign = block.astype(jnp.int32) >> 31
    number = (((block ^ sign) << law.low) | place.astype(jnp.int32)) ^ sign
    found: jax.Array = lax.optimization_barrier(number)
    return found
