"""A privacy budget in whole grains, and the privacy filter that decides what fits it.

Amounts are integers on a decimal grid whose step is about 1e-12 of the budget, so sums
are exact, ten charges of 0.1 fill a budget of 1, and no charge is too small to count.
An account is named "dataset:visits", "unit:patients" or "analyst:ana"; a charge goes to
every account of its scope or to none of them.
"""

import functools
import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from hush import checks, display
from hush.checks import Spelled
from hush.errors import BudgetExceeded, InvalidArgument, NoBound

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
        return display.facts(repr(self), rows)

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


# -- The privacy filter: what a curve costs, whatever is chosen on the way -------------
#
# Only four sums may be trusted when the next mechanism depends on past answers: Σε with
# Σδ, Σρ, Σμ², and Rényi divergence at an order fixed in advance (ρ covers it here).
# Tight composition of whatever happened to be run is not among them; it serves one
# batch that was declared before its first answer.

SHARE = Fraction(1, 100)  # of a budget's delta, for a charge that names none


@final
@dataclass(frozen=True)
class Grid:
    """The notion and the grains in which one account counts."""

    notion: str
    powers: tuple[int, int]
    delta: Fraction  # the budget's total δ, from which unnamed shares are cut

    @classmethod
    def of(cls, budget: Budget) -> "Grid":
        """Return the grid of a new account."""
        first, second = budget.limits
        return cls(budget.notion, (exponent(first), exponent(second)), second)

    @classmethod
    def plain(cls, notion: str, first: int, second: int) -> "Grid":
        """Return a grid that only reads amounts."""
        return cls(notion, (first, second), Fraction(0))

    def amounts(self, units: Units) -> tuple[Fraction, Fraction]:
        """Return grains as exact amounts."""
        first, second = self.powers
        return units[0] * Fraction(10) ** first, units[1] * Fraction(10) ** second

    def charge(self, curve: "Curve", delta: float | None = None) -> Units:
        """Return what `curve` takes, in grains rounded up.

        Guarantee: no smaller than the curve's own (ε, δ), ρ or μ², apart from the
        rounding that `Budget.curve` covers; depends on the plan alone.
        """
        second = Fraction(0)
        if self.notion != "epsilon":
            first = _exact_cost(self.notion, curve)
        else:  # Σε and Σδ
            epsilon = float(curve.epsilon_at(0.0)) if delta is None else math.inf
            if not math.isfinite(epsilon):
                at, second = self._charged_delta(curve, delta)
                epsilon = float(curve.epsilon_at(at))
                _bounded("epsilon", epsilon, curve, f" at delta {at:g}")
            first = Fraction(epsilon)
        return grains_up(first, self.powers[0]), strict(second, self.powers[1])[1]

    def _charged_delta(
        self, curve: "Curve", delta: float | None
    ) -> tuple[float, Fraction]:
        """Return the δ > 0 at which a curve is read, and the δ that is charged."""
        if delta is not None:
            checks.real("delta", delta, at_least=0, below=1)
            share = decimal(delta)
        else:
            from hush.privacy import Approx

            share = self.delta * SHARE
            if isinstance(curve, Approx) and 0 < curve.delta < 1:  # it names its own δ
                return curve.delta, max(decimal(curve.delta), Fraction(curve.delta))
        # Read where the float is no more than the δ that is charged.
        at = float(share)
        at = at if Fraction(at) <= share else math.nextafter(at, 0.0)
        if not at and not math.isfinite(float(curve.epsilon_at(at))):
            raise BudgetExceeded(
                f"{curve!r} needs a delta above 0, and this budget has none. Open one "
                "with a delta, as in hush.Budget(epsilon=1, delta=1e-6), or use a "
                "mechanism that is pure.",
                code="delta-missing",
            )
        return at, share


def _exact_cost(notion: str, curve: "Curve") -> Fraction:
    """Return the exact amount a curve adds to the sum of ρ or μ²."""
    from hush.privacy.rules import filters

    _bounded(notion, curve.rho if notion == "rho" else curve.mu, curve)
    return _something(filters.cost(curve, _rule(notion))[0], curve)


@functools.cache
def _rule(notion: str) -> "Curve":
    """Return a budget of the notion: its kind, not its size, picks the sums."""
    from hush.privacy import GDP, ZCDP

    return ZCDP(rho=1.0) if notion == "rho" else GDP(mu=1.0)


def _something(amount: Fraction, curve: "Curve") -> Fraction:
    """Return `amount`, or a trace where a loss is so small that it underflowed."""
    if not amount and float(curve.epsilon_at(0.0)) > 0:
        return Fraction(5e-324)
    return amount


def _bounded(name: str, value: float, curve: "Curve", at: str = "") -> None:
    if not math.isfinite(value):
        raise NoBound(
            f"{curve!r} has no finite {name}{at}, so a budget of {name} cannot hold "
            "it. Charge it to a budget of another notion, or name a larger delta."
        )


# -- Who pays, and what is left to them ------------------------------------------------

KINDS = ("analyst", "dataset", "unit")


def account(kind: str, name: str) -> str:
    """Return the full name of an account."""
    if kind not in KINDS:
        raise InvalidArgument(f"an account is one of {', '.join(KINDS)}; got {kind!r}.")
    if not isinstance(name, str) or not name or not name.isprintable():
        raise InvalidArgument(
            f"{kind} must be a printable, non-empty name; got {name!r}."
        )
    return f"{kind}:{name}"


def readable(name: str) -> str:
    """Return the name of an account as people say it."""
    kind, _, rest = name.partition(":")
    return f"{kind} {rest!r}"


@final
@dataclass(frozen=True)
class Balance:
    """What one account has and has spent, in grains."""

    name: str
    grid: Grid
    limit: Units
    spent: Units

    @property
    def left(self) -> Units:
        """Grains that may still be spent."""
        return self.limit[0] - self.spent[0], self.limit[1] - self.spent[1]


@final
@dataclass(frozen=True, repr=False)
class Left:
    """What is left in one account, in its own notion; `curve` says it in all others.

    Guarantee: the numbers are limits of the filter for what is still to come. They are
    conversions of the budget; the sum of what happened to be run is never converted.
    """

    account: str
    notion: str
    limits: tuple[Fraction, Fraction]
    spent_exact: tuple[Fraction, Fraction]

    @classmethod
    def of(cls, balance: Balance) -> "Left":
        """Return a balance in exact amounts."""
        grid = balance.grid
        limits, spent = grid.amounts(balance.limit), grid.amounts(balance.spent)
        return cls(balance.name, grid.notion, limits, spent)

    @property
    def left_exact(self) -> tuple[Fraction, Fraction]:
        """What is left: (ε, δ), (ρ, 0) or (μ², 0)."""
        (a, b), (c, d) = self.limits, self.spent_exact
        return a - c, b - d

    def _own(self, notion: str, amounts: tuple[Fraction, Fraction]) -> float | None:
        if notion != self.notion:
            return None
        if notion == "mu":
            return below(root(amounts[0]) * (1 - Fraction(1, 2**58)))
        return below(amounts[0])

    @property
    def epsilon(self) -> float | None:
        """ε left, in an account of ε; None in others."""
        return self._own("epsilon", self.left_exact)

    @property
    def delta(self) -> float | None:
        """δ left, in an account of ε; None in others."""
        return below(self.left_exact[1]) if self.notion == "epsilon" else None

    @property
    def rho(self) -> float | None:
        """ρ left, in an account of ρ; None in others."""
        return self._own("rho", self.left_exact)

    @property
    def mu(self) -> float | None:
        """μ left (the root of what is left of μ²), in an account of μ."""
        return self._own("mu", self.left_exact)

    @property
    def curve(self) -> "Curve":
        """What all future releases together may cost, in every notion."""
        return promise(self.notion, *self.left_exact)

    @property
    def total(self) -> "Curve":
        """What all releases ever, past and future, may cost: the budget's promise."""
        return promise(self.notion, *self.limits)

    def __str__(self) -> str:
        return (
            f"{readable(self.account)}: "
            f"{left_text(self.notion, self.left_exact)} left of "
            f"{amounts_text(self.notion, self.limits)}"
        )

    __repr__ = __str__


_UP, _DOWN = (Context(prec=6, rounding=way) for way in (ROUND_CEILING, ROUND_FLOOR))


def _number(value: Fraction, rounding: Context | None) -> str:
    if rounding is None:
        return f"{float(value):.12g}"
    rounded = rounding.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{float(rounded):.12g}"


def amounts_text(
    notion: str, amounts: tuple[Fraction, Fraction], rounding: Context | None = None
) -> str:
    """Return amounts as people say them, as a budget states them."""
    first, second = amounts
    # The root of 0.09 is 0.3 up to rounding: its twelve digits stand for it.
    value = Fraction(f"{float(root(first)):.12g}") if notion == "mu" else first
    text = f"{notion} {_number(value, rounding)}"
    return f"{text}, delta {_number(second, rounding)}" if second else text


def cost_text(notion: str, amounts: tuple[Fraction, Fraction]) -> str:
    """Return what was or would be paid, rounded up to six digits."""
    return amounts_text(notion, amounts, _UP)


def left_text(notion: str, amounts: tuple[Fraction, Fraction]) -> str:
    """Return what is left, rounded down to six digits."""
    return amounts_text(notion, amounts, _DOWN)


def refused_link(balance: Balance, units: Units, data: str) -> str:
    """Return the sentence of a refused link: what was spent and what would hold it."""
    grid = balance.grid
    return (
        f"{readable(data)} has spent {cost_text(grid.notion, grid.amounts(units))}, "
        f"and {readable(balance.name)} has "
        f"{left_text(grid.notion, grid.amounts(balance.left))} left. Nothing was "
        f"linked. Give more to an account that is new, or enlarge it: "
        f"{_enlarging(balance, units)}."
    )


def shortfall(balance: Balance, units: Units, what: str) -> str:
    """Return the sentence of a refused charge: what it needs and what is left."""
    grid = balance.grid
    needs = cost_text(grid.notion, grid.amounts(units))
    left, limit = grid.amounts(balance.left), grid.amounts(balance.limit)
    has = left_text(grid.notion, left)
    if units[1] and not left[1]:
        has += ", delta 0"
    more = f"Use more noise, that is a smaller {grid.notion}"
    if units[1] > balance.left[1]:
        both = units[0] > balance.left[0]
        more = f"{'Epsilon and delta are' if both else 'Delta is'} short: use less of "
        more += "both" if both else "it, or a mechanism that needs none"
    squares = " (squares of mu add up)" if grid.notion == "mu" else ""
    enlarged = f"{_enlarging(balance, units)}."
    if grid.notion != "epsilon":
        enlarged += (
            f" Sampled training has a heavy tail and is dear in {grid.notion}: a "
            "budget of epsilon and delta holds more of it."
        )
    return (
        f"{what} needs {needs} of {readable(balance.name)}; {has} of "
        f"{amounts_text(grid.notion, limit)} is left{squares}. Nothing was "
        f"spent. {more}, or enlarge the budget: {enlarged}"
    )


def _enlarging(balance: Balance, units: Units) -> str:
    """Return how an account is given more, in Python and in a shell."""
    kind, _, name = balance.name.partition(":")
    # The new budget replaces the old one, so it must state its delta again.
    delta = ", delta=..." if balance.limit[1] or units[1] else ""
    budget = f"hush.Budget({balance.grid.notion}=...{delta})"
    call = f"raise_budget({budget}, {kind}={name!r})"
    shell = " or, with the new one in hush.toml, `hush budget --raise`"
    return f"ledger.{call}{shell if kind == 'dataset' else ''}"


@final
@dataclass(frozen=True, repr=False)
class Remaining:
    """What is left in every account that a charge would go to.

    A number is the smallest over the accounts of its notion, None where there is none.

    Example:
        >>> from hush.ledger import Budget, Ledger
        >>> Ledger.open("memory://", budget=Budget(epsilon=1)).remaining()
        dataset 'default': epsilon 1 left of epsilon 1
    """

    accounts: tuple[Left, ...]

    def _least(self, name: str) -> float | None:
        found = [getattr(each, name) for each in self.accounts]
        return min((value for value in found if value is not None), default=None)

    @property
    def epsilon(self) -> float | None:
        """ε that a single charge may still take."""
        return self._least("epsilon")

    @property
    def delta(self) -> float | None:
        """δ that a single charge may still take."""
        return self._least("delta")

    @property
    def rho(self) -> float | None:
        """ρ that a single charge may still take."""
        return self._least("rho")

    @property
    def mu(self) -> float | None:
        """μ that a single charge may still take."""
        return self._least("mu")

    def __getitem__(self, name: str) -> Left:
        for each in self.accounts:
            if each.account == name:
                return each
        raise KeyError(name)

    def __str__(self) -> str:
        return "\n".join(str(each) for each in self.accounts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        heads = ("account", "left", "spent", "budget")
        rows = (
            (
                readable(each.account),
                left_text(each.notion, each.left_exact),
                cost_text(each.notion, each.spent_exact),
                amounts_text(each.notion, each.limits),
            )
            for each in self.accounts
        )
        return display.grid("Budget", heads, rows)
