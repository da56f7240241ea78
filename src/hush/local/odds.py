"""The odds e^ε as an exact rational, rounded towards more privacy."""

import math
from fractions import Fraction
from functools import lru_cache

from hush import checks
from hush.noise.exact import exp_bracket

_BITS = 40  # a relative 10^-12 of e^ε is given away, and no more
LEAST, MOST = 1e-6, 50.0


@lru_cache(maxsize=256)
def odds(epsilon: float) -> Fraction:
    """Return a rational just below e^ε with denominator 2^40.

    Guarantee: at most e^ε and above 1, the same on every machine: decimal arithmetic
    and not the platform's `exp` decides it.

    Example:
        >>> float(odds(1.0))
        2.71828182845...
    """
    checks.real("epsilon", epsilon, at_least=LEAST, at_most=MOST)
    _, most = exp_bracket(Fraction(float(epsilon)), 60)
    return Fraction(math.floor(2**_BITS / most), 2**_BITS)
