"""A place in a piecewise-constant density: how many cells, and how likely each."""

import math
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.noise.categorical import SoftmaxSampler, gaps
from hush.noise.exact import exp_bracket
from hush.noise.given import fraction
from hush.noise.ladder import Floats, Integers
from hush.noise.source import SECURE, Source
from hush.noise.uniform import integers


@final
class _Pieces:
    """Pieces by their weight, cells·e^(score/scale), relative to the heaviest."""

    def __init__(self, scores: NDArray[Any], cells: Integers, scale: Fraction) -> None:
        inside = cells > 0
        self._scores, self._cells, self._scale = scores, cells, scale
        best = scores[inside].max()
        self._best = fraction(best)
        log = np.full(scores.shape, -np.inf)
        log[inside] = np.log(cells[inside].astype(np.float64))
        log[inside] -= gaps(scores[inside], best, scale)
        # A gap is rounded relatively and x·e^-x < 1/2: chances stay inside ERROR.
        self.chance: Floats = np.exp(log - log.max())

    def total(self, start: int, stop: int, digits: int) -> tuple[int, int]:
        """Return integers around 10^digits times the sum of a range of weights."""
        unit, low, high = 10**digits, 0, 0
        for place in range(start, min(stop, self.chance.size)):
            count = int(self._cells[place])
            if not count:
                continue
            gap = self._best - fraction(self._scores[place])
            least, most = exp_bracket(gap / self._scale, digits)
            low += math.floor(count * least * unit)
            high += math.ceil(count * most * unit)
        return low, high


def piecewise(
    scores: NDArray[Any], cells: Integers, scale: Any = 1, *, source: Source = SECURE
) -> tuple[int, int]:
    """Return (piece, cell in it): each cell of piece i has weight e^(score_i/scale).

    Guarantee: the law is exact for the given numbers; a piece without cells is never
    chosen, however high its score.

    Example:
        >>> piecewise(np.array([0, 10**6]), np.array([5, 0]))[0]
        0
    """
    exact = checks.rational("scale", scale)
    if scores.shape != cells.shape or not np.any(cells > 0):
        raise InvalidArgument(
            "cells must name a size for every score, and one above 0."
        )
    sampler = SoftmaxSampler(_Pieces(scores, cells, exact))
    piece = int(sampler.draw(1, source)[0])
    return piece, integers(int(cells[piece]), source=source)
