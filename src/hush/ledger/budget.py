"""A privacy budget: how much may ever be learnt about one person, in whole grains.

Amounts are integers on a decimal grid whose step is about 1e-12 of the budget, so sums
are exact, ten charges of 0.1 fill a budget of 1, and no charge is too small to count.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from hush import checks
from hush.checks import Spelled
from hush.display import facts
from hush.errors import InvalidArgument

if TYPE_CHECKING:
    from hush.privacy import Curve

# A float carries 53 bits. What exceeds a multiple of the grain by less than 2^-48 of
# itself is rounding, and counts as that multiple; promises are padded to cover it.
SNAP = 2**48
PAD = 1 + Fraction(1, 2**46)
_DIGITS = 12
_ZERO_EXPONENT = -18
MOST = 2**62

Units = tuple[int, int]


def exponent(limit: Fraction) -> int:
    """Return the power of ten that is the grain of `limit`."""
    if limit == 0:
        return _ZERO_EXPONENT
    power = math.floor(math.log10(limit.numerator) - math.log10(limit.denominator))
    while Fraction(10) ** (power + 1) <= limit:
        power += 1
    while Fraction(10) ** power > limit:
        power -= 1
    return power - _DIGITS


def _around(amount: Fraction, power: int, snap: int = SNAP) -> tuple[int, int]:
    """Return `amount` in grains rounded down and up, the same where it snaps."""
    top, bottom = amount.numerator, amount.denominator
    top, bottom = (top * 10**-power, bottom) if power < 0 else (top, bottom * 10**power)
    low, rest = divmod(top, bottom)
    if low and rest * snap <= top:
        return low, low
    if (bottom - rest) * snap <= top:
        return low + 1, low + 1
    return low, low + (rest > 0)


def grains_up(amount: Fraction, power: int) -> int:
    """Return `amount` in grains of 10^power, rounded up: what a charge takes.

    Example:
        >>> grains_up(Fraction(0.1), -12), grains_up(Fraction(5e-324), -12)
        (100000000000, 1)
    """
    return _around(amount, power)[1]


def grains_down(amount: Fraction, power: int) -> int:
    """Return `amount` in grains of 10^power, rounded down: what a budget gives."""
    return _around(amount, power)[0]


def strict(amount: Fraction, power: int) -> tuple[int, int]:
    """Return `amount` in grains of 10^power, rounded down and up without any slack.

    δ is counted so: a promise at δ says nothing about a δ that is smaller by a trace.
    """
    return _around(amount, power, 2**4096)


def decimal(value: float) -> Fraction:
    """Return the number a float stands for when people write it: 0.3 is 3/10."""
    return Fraction(repr(float(value)))


def _exact(name: str, value: Any, *, zero: bool = False) -> Fraction:
    checks.real(name, value, above=None if zero else 0, at_least=0 if zero else None)
    if isinstance(value, float):
        return decimal(value)
    return checks.rational(name, value, above=None)


@final
@dataclass(frozen=True)
class Budget(Spelled):
    """The most that may ever be spent: `epsilon` (and `delta`), or `rho`, or `mu`.

    The notion decides which sum is kept: Σε and Σδ, Σρ (zero-concentrated), or Σμ²
    (Gaussian). Each is a valid filter, also when the next mechanism is chosen after
    seeing the last answer.

    Guarantee: everything released under the budget, whatever was asked and whenever the
    asking stopped, satisfies `curve()`.

    Example:
        >>> Budget(epsilon=1, delta=1e-6)
        Budget(epsilon=1.0, delta=1e-06)
        >>> Budget(rho=0.5).notion
        'rho'

    Reference: [RRUV16] Theorem 5.1 (ε, δ); [FZ21] Theorem 4.3 (ρ); [ST22] (μ).
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    mu: float | None = None

    def __post_init__(self) -> None:
        named = [n for n in ("epsilon", "rho", "mu") if getattr(self, n) is not None]
        if len(named) != 1:
            raise InvalidArgument(
                f"a budget is one of epsilon, rho or mu; got {named or 'none'}. "
                "Write Budget(epsilon=1, delta=1e-6), Budget(rho=0.1) or Budget(mu=1)."
            )
        (name,) = named
        first = _exact(name, getattr(self, name))
        second = _exact("delta", self.delta, zero=True)
        checks.real("delta", self.delta, at_least=0, below=1)
        if second and name != "epsilon":
            raise InvalidArgument(
                f"delta belongs to a budget of epsilon; got delta={self.delta!r} with "
                f"{name}. Leave it out: {name} converts to every (epsilon, delta)."
            )
        object.__setattr__(self, "_amounts", (first, second))
        object.__setattr__(self, name, float(first))
        object.__setattr__(self, "delta", float(second))

    @property
    def notion(self) -> str:
        """The name of what is added up: "epsilon", "rho" or "mu"."""
        if self.epsilon is not None:
            return "epsilon"
        return "rho" if self.rho is not None else "mu"

    @property
    def limits(self) -> tuple[Fraction, Fraction]:
        """The exact sums that may not be exceeded: (ε, δ), (ρ, 0) or (μ², 0)."""
        first, second = self._amounts  # type: ignore[attr-defined]
        return (first * first if self.notion == "mu" else first), second

    def curve(self) -> "Curve":
        """Return the guarantee of everything released under this budget.

        Example:
            >>> round(Budget(rho=0.5).curve().epsilon_at(1e-6), 2)
            5.22
        """
        return promise(self.notion, *self.limits)

    def in_rho(self) -> "Budget":
        """Return the largest zCDP budget that keeps this (epsilon, delta) promise.

        Many small Gaussian releases go much further under it.

        Example:
            >>> Budget(epsilon=1, delta=1e-6).in_rho()
            Budget(rho=0.0243...)
        """
        from hush.privacy import ZCDP

        return Budget(rho=self._largest(lambda rho: ZCDP(rho=rho)))

    def in_mu(self) -> "Budget":
        """Return the largest Gaussian budget that keeps this (epsilon, delta) promise.

        Example:
            >>> Budget(epsilon=1, delta=1e-6).in_mu()
            Budget(mu=0.2367...)
        """
        from hush.privacy import GDP

        return Budget(mu=self._largest(lambda mu: GDP(mu=mu)))

    def _largest(self, notion: Any) -> float:
        if self.epsilon is None or self.delta == 0:
            raise InvalidArgument(
                f"in_rho and in_mu translate a budget of epsilon and delta > 0; got "
                f"{self!r}. Write Budget(epsilon=..., delta=...) first."
            )
        low, high = 0.0, 1.0
        while notion(high).delta_at(self.epsilon) <= self.delta:
            low, high = high, 2 * high
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            keeps = notion(middle).delta_at(self.epsilon) <= self.delta
            low, high = (middle, high) if keeps else (low, middle)
        # The promise is padded for rounding, so step below the boundary by as much.
        return low * (1 - 2.0**-40)

    def _repr_html_(self) -> str:
        promise = self.curve()
        ends = {delta: float(promise.epsilon_at(delta)) for delta in (1e-6, 1e-9)}
        rows = [(f"ε at δ = {delta:g}", f"{end:.6g}") for delta, end in ends.items()]
        return facts(repr(self), rows)

    def __repr__(self) -> str:
        name = self.notion
        delta = f", delta={self.delta!r}" if self.delta else ""
        return f"Budget({name}={getattr(self, name)!r}{delta})"


def promise(notion: str, first: Fraction, second: Fraction) -> "Curve":
    """Return the curve that sums up to `first` and `second` guarantee."""
    from hush.privacy import GDP, ZCDP, Approx, Pure

    if notion == "rho":
        return ZCDP(rho=above(first * PAD))
    if notion == "mu":
        return GDP(mu=above(root(first * PAD)))
    if second:
        return Approx(epsilon=above(first * PAD), delta=float(second))
    return Pure(epsilon=above(first * PAD))


def root(square: Fraction) -> Fraction:
    """Return a rational no smaller than √square, and closer than 2^-60 of it."""
    if square == 0:
        return Fraction(0)
    shift = max(0, 128 - (square.numerator // square.denominator).bit_length()) + 64
    shift += shift % 2
    shift += max(
        0, 2 * (square.denominator.bit_length() - square.numerator.bit_length())
    )
    scaled = math.isqrt(-((-square.numerator << shift) // square.denominator)) + 1
    return Fraction(scaled, 1 << (shift // 2))


def above(value: Fraction) -> float:
    """Return a float no smaller than `value`."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def below(value: Fraction) -> float:
    """Return a float no larger than `value`."""
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)
