"""Draws from a table of dyadic probabilities: one word, one look-up, exact."""

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidArgument
from hush.law import Finite
from hush.noise.shape import Size, shaped
from hush.noise.source import SECURE, Source


@lru_cache(maxsize=64)
def _cuts(law: Finite) -> NDArray[np.uint64]:
    total, cuts = Fraction(0), []
    for p in law.probabilities[:-1]:
        total += p
        cut = total * 2**64
        if cut.denominator != 1:
            raise InvalidArgument("probabilities must be multiples of 2^-64.")
        cuts.append(int(cut))
    # Outcomes after the whole mass is used up are never reached.
    return np.array([min(cut, 2**64 - 1) for cut in cuts], dtype=np.uint64)


def table(law: Finite, size: Size = None, *, source: Source = SECURE) -> Any:
    """Return draws of a finite law whose probabilities are multiples of 2^-64.

    Guarantee: the law is exact.

    Example:
        >>> coin = Finite((Fraction(1, 2), Fraction(1, 2)), start=7)
        >>> int(table(coin, size=9).max()) <= 8
        True
    """
    cuts = _cuts(law)

    def fill(count: int) -> NDArray[np.int64]:
        words = source.words(count, np.uint64)
        return np.searchsorted(cuts, words, side="right") + law.start

    return shaped(size, np.int64, fill)
