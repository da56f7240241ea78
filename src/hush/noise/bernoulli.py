"""Coins: true with an exact probability, rational or the exponential of a rational."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.noise.inversion import (
    WORD,
    Bracket,
    Floats,
    Uniform,
    Word,
    below,
    exp_bracket,
)
from hush.noise.source import BLOCK, SECURE, Size, Source, checked_source, filled_array


def coin_flips(
    chance: Floats,
    exact: Callable[[int, int], Bracket],
    source: Source,
    word: Word = WORD,
) -> NDArray[np.bool_]:
    """Return one fresh coin for each chance, as in `below`."""
    words = source.words(chance.size, np.uint64) >> np.uint64(64 - word.bits)
    return below(words, chance, exact, source, word)


def _rational_flips(
    p: Fraction, count: int, source: Source, word: Word
) -> NDArray[np.bool_]:
    """Return coins of one rational chance; the cut is exact, so ties are one word."""
    cut, rest = divmod(p.numerator << word.bits, p.denominator)
    if cut >> word.bits:
        return np.ones(count, dtype=np.bool_)
    words = source.words(count, np.uint64) >> np.uint64(64 - word.bits)
    result = words < np.uint64(cut)
    if rest:
        for place in np.flatnonzero(words == np.uint64(cut)):
            uniform = Uniform(cut, word.bits, source)
            result[place] = uniform.below(lambda _: (p, p))
    return result


def bernoulli(
    p: Any, size: Size = None, *, source: Source = SECURE, word: Word = WORD
) -> Any:
    """Return coins that are true with probability exactly `p`.

    `p` is a fraction, or a float taken as the binary rational it is, or an array of
    floats (then `size` is left out and each entry is flipped once).

    Guarantee: each coin is independent and has probability exactly `p`.

    Example:
        >>> bernoulli(1), bernoulli(0.0)
        (True, False)
    """
    checked_source(source)
    if isinstance(p, (np.ndarray, list, tuple)):
        if size is not None:
            raise InvalidArgument("size must be left out when p is an array.")
        chances = np.asarray(p, dtype=np.float64)
        if not np.all((chances >= 0) & (chances <= 1)):  # also refuses NaN
            raise InvalidArgument("p must have entries in [0, 1].")
        flat = chances.ravel()

        def exact(place: int, _: int) -> Bracket:
            value = Fraction(float(flat[place]))
            return value, value

        return coin_flips(flat, exact, source, word).reshape(chances.shape)
    chance = checks.probability("p", p)
    return filled_array(
        size, np.bool_, lambda n: _rational_flips(chance, n, source, word)
    )


def bernoulli_exp(
    x: Any, size: Size = None, *, source: Source = SECURE, word: Word = WORD
) -> Any:
    """Return coins that are true with probability exactly e^(-x), x >= 0.

    `x` is a fraction, a float taken as the binary rational it is, or an array of floats
    (then `size` is left out and each entry is flipped once).

    Guarantee: each coin is independent and has probability exactly e^(-x).

    Example:
        >>> bernoulli_exp(0)
        True
    """
    checked_source(source)
    if isinstance(x, (np.ndarray, list, tuple)):
        if size is not None:
            raise InvalidArgument("size must be left out when x is an array.")
        exponents = np.asarray(x, dtype=np.float64)
        if not np.all(exponents >= 0):
            raise InvalidArgument("x must have non-negative entries.")
        return exponential_flips(exponents, Fraction(1), source, word)
    checks.real("x", x, at_least=0)
    exponent = checks.rational("x", x, above=None)
    chance = math.exp(-float(exponent))

    def coins(count: int) -> NDArray[np.bool_]:
        return coin_flips(
            np.full(count, chance),
            lambda _, digits: exp_bracket(exponent, digits),
            source,
            word,
        )

    return filled_array(size, np.bool_, coins)


def exponential_flips(
    x: ArrayLike, scale: Fraction, source: Source, word: Word = WORD
) -> NDArray[np.bool_]:
    """Return coins of chance e^(-x/scale) for an array of floats x >= 0, in blocks."""
    values = np.asarray(x, dtype=np.float64)
    flat = values.ravel()
    result = np.empty(flat.size, dtype=np.bool_)
    rate = float(1 / scale)
    for start in range(0, flat.size, BLOCK):
        piece = flat[start : start + BLOCK]

        def exact(place: int, digits: int, piece: Floats = piece) -> Bracket:
            value = float(piece[place])
            if math.isinf(value):
                return Fraction(0), Fraction(0)
            return exp_bracket(Fraction(value) / scale, digits)

        # The exponent is rounded by 2^-52 relative, and x e^-x < 1/2: inside ERROR.
        chance = np.exp(-np.minimum(piece * rate, 800.0))
        result[start : start + BLOCK] = coin_flips(chance, exact, source, word)
    return result.reshape(values.shape)
