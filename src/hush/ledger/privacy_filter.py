"""The privacy filter: what a curve costs in a budget, whatever is chosen on the way.

Only four sums may be trusted when the next mechanism depends on past answers: Σε with
Σδ, Σρ, Σμ², and Rényi divergence at an order fixed in advance (ρ covers it here). Tight
composition of whatever happened to be run is not among them; it serves one batch that
was declared before its first answer.
"""

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from hush import checks
from hush.errors import BudgetExceeded, NoBound
from hush.ledger.budget import Budget, Units, decimal, exponent, grains_up, strict

if TYPE_CHECKING:
    from hush.privacy import Curve

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
        first, second = exact_cost(self.notion, curve, delta, self.delta * SHARE)
        return grains_up(first, self.powers[0]), strict(second, self.powers[1])[1]


def exact_cost(
    notion: str, curve: "Curve", delta: float | None, share: Fraction
) -> tuple[Fraction, Fraction]:
    """Return the exact amounts a curve adds to the sums of a notion."""
    from hush.privacy import Approx
    from hush.privacy.rules import filters

    if notion == "rho":
        _bounded("rho", curve.rho, curve)
        return _something(filters.cost(curve, _rule(notion))[0], curve), Fraction(0)
    if notion == "mu":
        _bounded("mu", curve.mu, curve)
        return _something(filters.cost(curve, _rule(notion))[0], curve), Fraction(0)
    epsilon, second = _point(curve, delta, share)
    first, _ = filters.cost(Approx(epsilon, float(second)), _rule(notion))
    return first, second


@functools.cache
def _rule(notion: str) -> "Curve":
    """Return a budget of the notion: its kind, not its size, picks the sums."""
    from hush.privacy import GDP, ZCDP, Approx

    known = {"rho": ZCDP(rho=1.0), "mu": GDP(mu=1.0), "epsilon": Approx(1.0, 0.5)}
    return known[notion]


def _point(
    curve: "Curve", delta: float | None, share: Fraction
) -> tuple[float, Fraction]:
    """Return the (ε, δ) at which an account of ε reads a curve."""
    if delta is not None:
        checks.real("delta", delta, at_least=0, below=1)
        share = decimal(delta)
    else:
        from hush.privacy import Approx

        pure = float(curve.epsilon_at(0.0))
        if math.isfinite(pure):
            return pure, Fraction(0)
        if isinstance(curve, Approx) and 0 < curve.delta < 1:  # it names its own δ
            own = curve.delta
            return _finite(curve, own), max(decimal(own), Fraction(own))
    # Read where the float is no more than the δ that is charged.
    at = float(share)
    at = at if Fraction(at) <= share else math.nextafter(at, 0.0)
    if not at and not math.isfinite(float(curve.epsilon_at(at))):
        raise BudgetExceeded(
            f"{curve!r} needs a delta above 0, and this budget has none. Open one with "
            "a delta, as in hush.Budget(epsilon=1, delta=1e-6), or use a mechanism "
            "that is pure.",
            code="delta-missing",
        )
    return _finite(curve, at), share


def _finite(curve: "Curve", delta: float) -> float:
    """Return ε at δ, or refuse a curve that has none."""
    epsilon = float(curve.epsilon_at(delta))
    _bounded("epsilon", epsilon, curve, f" at delta {delta:g}")
    return epsilon


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
