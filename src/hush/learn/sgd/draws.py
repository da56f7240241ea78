"""Exact lattice noise by the million: tables on the device, exceptions by hand.

The candidates are those of `hush.noise.gaussian`: a block by a table of 65536 buckets,
a place in it uniformly, kept with the ratio of two weights. Here the bits are drawn as
ever and a compiled loop does the look-up and the comparison. What float32 cannot decide
(undecided buckets, a test within its error) goes to the exact sampler with the bits it
has; what is rejected is replaced by later candidates.
"""

from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from hush.noise import SECURE, Source, discrete_gaussian
from hush.noise.gaussian import GaussianSampler

_PIECE = 1 << 16  # candidates of one compiled call
_SMALL = 1 << 13  # below it the host is as fast
_MARGIN = 2.0  # of 2^16: float32 errs by less than 0.2 here

Steps = NDArray[np.int32]


@partial(jax.jit, static_argnames=("bits", "scale"))
def _judge(
    table: jax.Array,
    sure: jax.Array,
    buckets: jax.Array,
    rest: jax.Array,
    tests: jax.Array,
    *,
    bits: int,
    scale: float,
) -> tuple[jax.Array, jax.Array]:
    """Return candidates and verdicts: 0 kept, 1 rejected, 2 open."""
    at = buckets.astype(jnp.int32)
    block = table.at[at].get(mode="promise_in_bounds")
    decided = sure.at[at].get(mode="promise_in_bounds")
    place = (rest >> (32 - bits)).astype(jnp.int32)
    sign = block >> 31
    start = ((block ^ sign) << bits) - sign
    # u(2·start + u)/(2σ²), as in the exact sampler.
    u = place.astype(jnp.float32)
    gap = u * (2.0 * start.astype(jnp.float32) + u) * scale
    kept = 65536.0 * jnp.exp(-gap)
    test = tests.astype(jnp.float32)
    verdict = jnp.where(
        test + 1.0 <= kept - _MARGIN, 0, jnp.where(test >= kept + _MARGIN, 1, 2)
    )
    value = (((block ^ sign) << bits) | place) ^ sign
    return value, jnp.where(decided, verdict, 2).astype(jnp.int8)


@final
class Draws:
    """Discrete Gaussian noise of one width, 2^16 to 2^25 lattice steps."""

    def __init__(self, deviation: Fraction) -> None:
        self._sampler = GaussianSampler(deviation)
        decided, block = self._sampler._ladder.decided
        self._table = jnp.asarray(np.where(decided, block, 0).astype(np.int32))
        self._sure = jnp.asarray(decided)
        self._scale = float(1 / (2 * deviation**2))

    def _candidates(self, source: Source) -> tuple[Steps, Steps]:
        """Return one piece of candidates, and which of them were rejected."""
        buckets = source.words(_PIECE, np.uint16)
        rest = source.words(_PIECE, np.uint32)
        tests = source.words(_PIECE, np.uint16)
        bits = self._sampler._low_bits
        value, verdict = _judge(
            self._table, self._sure, buckets, rest, tests, bits=bits, scale=self._scale
        )
        found, verdicts = np.array(value), np.asarray(verdict)
        odd = np.flatnonzero(verdicts)
        which = verdicts[odd]
        open_ = odd[which == 2]
        found[open_] = self._sampler._mended(
            buckets[open_],
            (rest[open_] >> np.uint32(32 - bits)).astype(np.int64),
            tests[open_],
            source,
        )
        return found, odd[which == 1]

    def fill(self, into: Any, source: Source) -> None:
        """Fill an int32 array with independent draws."""
        filled, spare = 0, np.empty(0, np.int32)
        while filled < into.size:
            found, rejected = self._candidates(source)
            need = min(_PIECE, into.size - filled)
            holes = rejected[rejected < need]
            if need < _PIECE:  # the rest of the piece is spare
                kept = np.ones(_PIECE, np.bool_)
                kept[rejected] = False
                kept[:need] = False
                spare = np.concatenate([spare, found[kept]])
            into[filled : filled + need] = found[:need]
            while spare.size < holes.size:
                more, bad = self._candidates(source)
                spare = np.concatenate([spare, np.delete(more, bad)])
            into[filled + holes] = spare[: holes.size]
            spare = spare[holes.size :]
            filled += need


@lru_cache(maxsize=8)
def _draws(deviation: Fraction) -> Draws:
    return Draws(deviation)


def steps(
    deviation: Fraction, size: int | tuple[int, ...], source: Source = SECURE
) -> Steps:
    """Return independent discrete Gaussian noise as 32-bit lattice steps.

    Guarantee: the exact law of `hush.noise.discrete_gaussian`; wider than 64 standard
    deviations has a chance below 1e-800.
    """
    shape = size if isinstance(size, tuple) else (size,)
    total = int(np.prod(shape))
    if total < _SMALL or deviation < 2**10:
        return np.asarray(discrete_gaussian(deviation, shape, source=source)).astype(
            np.int32
        )
    result = np.empty(total, np.int32)
    _draws(deviation).fill(result, source)
    return result.reshape(shape)
