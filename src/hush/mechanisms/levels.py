"""Levels of quantiles: increasing shares as short fractions, asked middle first."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

from hush import checks
from hush.errors import InvalidArgument

FEW = 10**6  # denominators of levels: ranks times these stay whole and below 2^63

At = float | tuple[float, ...]


def fraction(level: Any) -> Fraction:
    """Return a level as the short fraction it means: 0.1 is 1/10.

    Example:
        >>> fraction(0.1)
        Fraction(1, 10)
    """
    return checks.probability("at", level).limit_denominator(FEW)


def checked(at: Any) -> At:
    """Return one level, or an increasing tuple of levels; refuse all else."""
    if not isinstance(at, (tuple, list)):
        checks.real("at", at, at_least=0, at_most=1)
        return checks.plain(at)  # type: ignore[no-any-return]
    levels = tuple(checks.real("at", each, at_least=0, at_most=1) for each in at)
    if not levels or any(a >= b for a, b in pairwise(levels)):
        raise InvalidArgument("at must be an increasing sequence of levels.")
    return levels


def fractions(at: At) -> tuple[Fraction, ...]:
    """Return all levels as short fractions."""
    return tuple(map(fraction, at if isinstance(at, tuple) else (at,)))


def between(low: Fraction, level: Fraction, high: Fraction) -> Fraction:
    """Return where `level` lies between two others, as a short fraction."""
    if high <= low:
        return Fraction(1, 2)
    return ((level - low) / (high - low)).limit_denominator(FEW)


def rounds(levels: tuple[Fraction, ...]) -> tuple[tuple[Fraction, ...], ...]:
    """Return, round by round, the relative levels asked of each part.

    The middle level is asked of all, the next ones of what it left on each side.

    Example:
        >>> rounds((Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)))
        ((Fraction(1, 2),), (Fraction(1, 2), Fraction(1, 2)))

    Reference: [KSS22].
    """
    found: list[list[Fraction]] = []

    def split(low: Fraction, high: Fraction, inner: Any, turn: int) -> None:
        if not inner:
            return
        if len(found) == turn:
            found.append([])
        half = len(inner) // 2
        found[turn].append(between(low, inner[half], high))
        split(low, inner[half], inner[:half], turn + 1)
        split(inner[half], high, inner[half + 1 :], turn + 1)

    split(Fraction(0), Fraction(1), levels, 0)
    return tuple(map(tuple, found))
