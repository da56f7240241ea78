"""Choosing among candidates: softmax (Gumbel) and the exponential race.

Adding Gumbel noise of a scale and taking the largest is the same law as choosing i with
probability ∝ exp(score_i/scale); adding exponential noise is the same as keeping each i
with probability exp((score_i - max)/scale) and choosing uniformly among the kept. Both
are drawn in that second form, exactly.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.checks import fraction, number_array
from hush.errors import InvalidArgument
from hush.noise.bernoulli import coin_flips
from hush.noise.inversion import (
    WORD,
    Bracket,
    Floats,
    Integers,
    Ladder,
    Word,
    exp_bracket,
)
from hush.noise.laplace import identity
from hush.noise.source import BLOCK, SECURE, Size, Source, checked_source, filled_array
from hush.noise.uniform import integers

Scores = NDArray[Any] | Sequence[float]
_FAR = 1000  # scales below the best: e^-1000 is no float any more
_FAN = 1024  # children of a node: few enough that float sums stay inside ERROR


def gaps(scores: NDArray[Any], best: Any, scale: Fraction) -> Floats:
    """Return how far scores lie below `best` in units of `scale`, rounded once."""
    if scores.dtype.kind == "O":
        top = fraction(best)
        inside = (None if each == -math.inf else fraction(each) for each in scores)
        exact = (_FAR if x is None else (top - x) / scale for x in inside)
        return np.array([float(min(x, _FAR)) for x in exact])
    rate = float(1 / scale)
    if scores.dtype.kind in "iu":  # modular: exact where int64 would overflow
        wide: Floats = best.astype(np.uint64) - scores.astype(np.uint64)
        return wide.astype(np.float64) * rate
    floats = scores.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        # Halves: a difference may be twice the largest float.
        found: Floats = (float(best) / 2 - floats / 2) * rate * 2
    found[np.isneginf(floats)] = _FAR
    return found


@final
class _Candidates:
    """Scores as exact gaps below the best one, in units of the scale."""

    def __init__(self, name: str, scores: Scores, scale: Fraction) -> None:
        array = number_array(name, scores)
        if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iufO":
            raise InvalidArgument(f"{name} must be a non-empty vector of numbers.")
        if array.dtype.kind in "fO" and not np.all(array < np.inf):  # nor NaN
            raise InvalidArgument(f"{name} must not contain NaN or +inf.")
        best = array.max()
        if best == -np.inf:
            raise InvalidArgument(f"{name} must have at least one entry above -inf.")
        self._given, self._best, self._scale = array, fraction(best), scale
        # Rounding of a gap is relative and x·e^-x < 1/2, so chances stay inside ERROR.
        self.chance: Floats = np.exp(-np.minimum(gaps(array, best, scale), 800.0))

    def exact(self, place: int, digits: int) -> Bracket:
        """Return a bracket of exp(-gap/scale) at one place."""
        score = self._given[place]
        if score == -math.inf:
            return Fraction(0), Fraction(0)
        return exp_bracket((self._best - fraction(score)) / self._scale, digits)

    def total(self, start: int, stop: int, digits: int) -> tuple[int, int]:
        """Return integers around 10^digits times the sum of a range of weights."""
        unit, low, high = 10**digits, 0, 0
        for place in range(start, min(stop, self.chance.size)):
            each = self.exact(place, digits)
            low, high = (
                low + math.floor(each[0] * unit),
                high + math.ceil(each[1] * unit),
            )
        return low, high


class Weights(Protocol):
    """Weights that can be summed as exactly as asked."""

    chance: Floats  # relative to a common factor, good to ERROR

    def total(self, start: int, stop: int, digits: int) -> tuple[int, int]:
        """Return integers around 10^digits times the sum of a range of weights."""


@final
class SoftmaxSampler:
    """A tree of partial sums; each node is a ladder of at most 1024 children."""

    def __init__(self, candidates: Weights, word: Word = WORD) -> None:
        self._candidates = candidates
        self._word = word
        self._levels = [candidates.chance]
        while self._levels[-1].size > _FAN:
            below = self._levels[-1]
            padded = np.zeros(-(-below.size // _FAN) * _FAN)
            padded[: below.size] = below
            self._levels.append(padded.reshape(-1, _FAN).sum(axis=1))

    def _ladder(self, level: int, node: int) -> Ladder:
        start = node * _FAN
        children = self._levels[level][start : start + _FAN]
        span = _FAN**level  # leaves under one child
        sums = np.cumsum(children)
        # A node whose weights all underflow has no usable floats: everything is a tie.
        cuts = sums[:-1] / sums[-1] if sums[-1] > 0 else np.ones(children.size - 1)

        def exact(i: int, digits: int) -> Bracket:
            if i >= children.size:
                return Fraction(1), Fraction(1)
            first, last = start * span, (start + children.size) * span
            while True:
                middle = first + i * span
                head = self._candidates.total(first, middle, digits)
                tail = self._candidates.total(middle, last, digits)
                if head[0] + tail[0] > 0:
                    break
                digits *= 2  # weights below 10^-digits: look closer
            low = Fraction(head[0], head[0] + tail[1]) if head[0] else Fraction(0)
            high = Fraction(head[1], head[1] + tail[0]) if head[1] else Fraction(0)
            return low, high

        return Ladder(cuts, exact, identity, self._word)

    def draw(self, count: int, source: Source) -> Integers:
        """Return `count` independent places."""
        return self._descend(len(self._levels) - 1, 0, count, source)

    def _descend(self, level: int, node: int, count: int, source: Source) -> Integers:
        child = node * _FAN + self._ladder(level, node).draw(count, source)
        if level == 0:
            return child
        result = np.empty(count, dtype=np.int64)
        for each in np.unique(child):
            here = np.flatnonzero(child == each)
            result[here] = self._descend(level - 1, int(each), here.size, source)
        return result


def categorical(
    log_weights: Scores, size: Size = None, *, source: Source = SECURE
) -> Any:
    """Return places i with probability ∝ exp(log_weights[i]).

    Guarantee: the law is exact for the given floats, however far apart; -inf is never
    chosen.

    Example:
        >>> categorical([-1e9, 0.0, -1e9])
        1
    """
    checked_source(source)
    candidates = _Candidates("log_weights", log_weights, Fraction(1))
    sampler = SoftmaxSampler(candidates)
    return filled_array(size, np.int64, lambda count: sampler.draw(count, source))


def gumbel_argmax(scores: Scores, scale: Any = 1, *, source: Source = SECURE) -> int:
    """Return the place of the largest score after Gumbel noise of `scale`.

    Guarantee: place i has probability exactly ∝ exp(scores[i]/scale).

    Example:
        >>> gumbel_argmax([0, 10**6, 3], scale=0.5)
        1

    Reference: [MT07]; Gumbel-max is the exponential mechanism.
    """
    candidates = _Candidates("scores", scores, checks.rational("scale", scale))
    return int(SoftmaxSampler(candidates).draw(1, source)[0])


def exponential_argmax(
    scores: Scores, scale: Any = 1, *, source: Source = SECURE
) -> int:
    """Return the place of the largest score after exponential noise of `scale`.

    Guarantee: exactly the law of permute-and-flip: each place is kept with probability
    exp((score - max)/scale) and one of the kept is chosen uniformly.

    Example:
        >>> exponential_argmax([0, 10**6, 3], scale=0.5)
        1

    Reference: [MS20] permute-and-flip; [DKSSW21] its exponential race.
    """
    candidates = _Candidates("scores", scores, checks.rational("scale", scale))
    kept: list[Integers] = []
    for start in range(0, candidates.chance.size, BLOCK):
        chance = candidates.chance[start : start + BLOCK]

        def exact(place: int, digits: int, start: int = start) -> Bracket:
            return candidates.exact(start + place, digits)

        kept.append(start + np.flatnonzero(coin_flips(chance, exact, source)))
    places = np.concatenate(kept)
    return int(places[integers(places.size, source=source)])


# -- A place in a piecewise-constant density: how many cells, and how likely each ------


@final
class _Pieces:
    """Pieces by their weight, cells·e^(score/scale), relative to the heaviest."""

    def __init__(
        self, scores: NDArray[Any], cells: NDArray[Any], scale: Fraction
    ) -> None:
        inside = np.asarray(cells > 0, dtype=np.bool_)
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
    piece = weighted(scores, cells, scale, source=source)
    return piece, integers(int(cells[piece]), source=source)


def weighted(
    scores: NDArray[Any],
    weights: NDArray[Any],
    scale: Any = 1,
    *,
    source: Source = SECURE,
) -> int:
    """Return a place with probability ∝ weight·e^(score/scale).

    Guarantee: the law is exact for whole weights of any size that a float can hold; a
    weight of 0 is never chosen, however high its score.

    Example:
        >>> weighted(np.array([0, 10**6]), np.array([5, 0]))
        0
    """
    exact = checks.rational("scale", scale)
    if scores.shape != weights.shape or not np.any(weights > 0):
        raise InvalidArgument("weights must name one for every score, and one above 0.")
    sampler = SoftmaxSampler(_Pieces(scores, weights, exact))
    return int(sampler.draw(1, source)[0])
