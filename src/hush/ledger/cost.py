"""What a curve costs in a budget: the filter that stays valid under adaptive choice.

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
from hush.ledger.budget import Budget, Units, exponent, grains_up

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
        return grains_up(first, self.powers[0]), grains_up(second, self.powers[1])


def exact_cost(
    notion: str, curve: "Curve", delta: float | None, share: Fraction
) -> tuple[Fraction, Fraction]:
    """Return the exact amounts a curve adds to the sums of a notion."""
    from hush.privacy import Approx, filters

    if notion == "rho":
        _finite("rho", curve.rho, curve)
        return _something(filters.cost(curve, _rule(notion))[0], curve), Fraction(0)
    if notion == "mu":
        _finite("mu", curve.mu, curve)
        return _something(filters.cost(curve, _rule(notion))[0], curve), Fraction(0)
    point = Approx(*_point(curve, delta, share))
    first, second = filters.cost(point, _rule(notion))
    return first, second


@functools.cache
def _rule(notion: str) -> "Curve":
    """Return a budget of the notion: its kind, not its size, picks the sums."""
    from hush.privacy import GDP, ZCDP, Approx

    known = {"rho": ZCDP(rho=1.0), "mu": GDP(mu=1.0), "epsilon": Approx(1.0, 0.5)}
    return known[notion]


def _point(curve: "Curve", delta: float | None, share: Fraction) -> tuple[float, float]:
    """Return the (ε, δ) at which an account of ε reads a curve."""
    if delta is None:
        pure = float(curve.epsilon_at(0.0))
        if math.isfinite(pure):
            return pure, 0.0
        delta = getattr(curve, "delta", None)  # an (ε, δ) claim names its own
        if not isinstance(delta, float) or not 0 < delta < 1:
            delta = float(share)
    else:
        checks.real("delta", delta, at_least=0, below=1)
        delta = float(delta)
    epsilon = float(curve.epsilon_at(delta))
    if not delta and not math.isfinite(epsilon):
        raise BudgetExceeded(
            f"{curve!r} needs a delta above 0, and none is to be had. Open a budget "
            "with a delta, or use a mechanism that is pure."
        )
    _finite("epsilon", epsilon, curve, delta)
    return epsilon, delta


def _something(amount: Fraction, curve: "Curve") -> Fraction:
    """Return `amount`, or a trace where a loss is so small that it underflowed."""
    if not amount and float(curve.epsilon_at(0.0)) > 0:
        return Fraction(5e-324)
    return amount


def _finite(
    name: str, value: float, curve: "Curve", delta: float | None = None
) -> None:
    if not math.isfinite(value):
        at = "" if delta is None else f" at delta {delta:g}"
        raise NoBound(
            f"{curve!r} has no finite {name}{at}, so a budget of {name} cannot hold "
            "it. Charge it to a budget of another notion, or name a larger delta."
        )
