"""Whole numbers on a device: 32 bits where they suffice, else 32 high and 16 low bits.

Adding them is exact and does not depend on order, so sums may be taken over groups,
passes and devices. Beyond 2^31 or 2^47 they wrap around: a function of the exact sum
still.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Whole(NamedTuple):
    """The number `high`; or high·2^16 + low with 0 <= low < 2^16, if there is a low."""

    high: jax.Array
    low: jax.Array | None


def zeros(size: int, *, wide: bool) -> Whole:
    """Return `size` zeros."""
    none = jnp.zeros(size, jnp.int32)
    return Whole(none, none if wide else None)


def _carry(high: jax.Array, low: jax.Array) -> Whole:
    return Whole(high + (low >> 16), low & 0xFFFF)


def rounded_sum(sums: jax.Array, inverse: float, *, wide: bool) -> Whole:
    """Return Σ_k rint(sums[k]·inverse): groups are rounded, then added exactly.

    Clipped sums are below 2^31 steps by the choice of the lattice.
    """
    steps = jnp.rint(sums * inverse).astype(jnp.int32)
    if not wide:
        return Whole(jnp.sum(steps, axis=0), None)
    return _carry(jnp.sum(steps >> 16, axis=0), jnp.sum(steps & 0xFFFF, axis=0))


def add(one: Whole, two: Whole) -> Whole:
    """Return the sum."""
    if one.low is None or two.low is None:
        return Whole(one.high + two.high, None)
    return _carry(one.high + two.high, one.low + two.low)


def add_steps(one: Whole, steps: jax.Array) -> Whole:
    """Return the sum with 32-bit whole numbers."""
    if one.low is None:
        return Whole(one.high + steps, None)
    return _carry(one.high + (steps >> 16), one.low + (steps & 0xFFFF))


def floats(number: Whole, step: float) -> jax.Array:
    """Return multiples of `step` as floats: rounded once below 2^40 steps."""
    if number.low is None:
        return number.high.astype(jnp.float32) * step
    high = number.high.astype(jnp.float32) * 65536.0
    total: jax.Array = high + number.low.astype(jnp.float32)
    return total * step
