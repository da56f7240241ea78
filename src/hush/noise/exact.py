"""A uniform real number compared exactly with a real number known by brackets.

A 64-bit word decides almost every comparison; on a tie the uniform number is given
more bits and the other number more digits, until they differ. This is what makes
every sampler of the package exact instead of close.
"""

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from hush.noise.source import Source

Bracket = tuple[Fraction, Fraction]


def exp_bracket(x: Fraction, digits: int) -> Bracket:
    """Return rationals around e^(-x), x >= 0, about `digits` decimals apart.

    Guarantee: the first is at most e^(-x) and the second at least. `Decimal.exp` is
    correctly rounded, so one unit in the last place covers it.
    """
    if x == 0:
        return Fraction(1), Fraction(1)
    context = Context(prec=digits, Emin=-(10**17), Emax=10**17)
    context.rounding = ROUND_CEILING
    largest = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    context.rounding = ROUND_FLOOR
    smallest = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    # Not `-largest`: the operator would round to the precision of another context.
    low = context.next_minus(context.exp(largest.copy_negate()))
    high = context.next_plus(context.exp(smallest.copy_negate()))
    return Fraction(low), Fraction(min(high, Decimal(1)))


class Uniform:
    """A uniform real in [0, 1) whose first bits are known; more come on demand."""

    def __init__(self, prefix: int, bits: int, source: Source) -> None:
        self._prefix = prefix
        self._bits = bits
        self._source = source

    def below(self, bracket: Callable[[int], Bracket]) -> bool:
        """Return whether it lies below the number that `bracket(digits)` encloses."""
        digits = 40
        while True:
            low, high = bracket(digits)
            if self._prefix + 1 <= low * 2**self._bits:
                return True
            if self._prefix >= high * 2**self._bits:
                return False
            self._prefix = (self._prefix << 64) | self._source.bits(64)
            self._bits += 64
            while 10**digits < 2**self._bits:
                digits *= 2
