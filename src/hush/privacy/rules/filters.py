"""Privacy filters: which sums stay valid when parameters are chosen on the way.

Tight composition of what happened to be run is not valid when the next parameter
depends on earlier answers; these sums are. A budget fixes the rule: (Σε, Σδ), Σρ, √Σμ²,
or the Rényi divergences at orders fixed in advance.
"""

from collections.abc import Sequence
from fractions import Fraction

from hush.errors import InvalidArgument, NoBound
from hush.privacy.curve import Curve, checked_curve, checked_curves
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.gdp import GDP
from hush.privacy.notions.pure import Pure
from hush.privacy.notions.rdp import RDP, OrderTable
from hush.privacy.notions.zcdp import ZCDP

Cost = tuple[Fraction, ...]


def cost(charge: Curve, budget: Curve) -> Cost:
    """Return what a charge adds to the exact sums that the budget's rule keeps.

    Example:
        >>> cost(Pure(epsilon=0.5), Approx(epsilon=1.0, delta=1e-6))
        (Fraction(1, 2), Fraction(0, 1))
    """
    if isinstance(budget, Pure | Approx):
        if isinstance(charge, Pure | Approx):
            return _exact(charge.epsilon, getattr(charge, "delta", 0.0))
        raise NoBound(
            f"an (ε, δ) budget adds ε and δ; {charge!r} has no single pair. Charge "
            "Approx(c.epsilon_at(δ), δ), or keep the budget as ρ or μ."
        )
    if isinstance(budget, ZCDP):
        return _exact(charge.rho)
    if isinstance(budget, GDP):
        (mu,) = _exact(charge.mu)
        return (mu * mu,)
    if isinstance(budget, RDP) and isinstance(budget.function, OrderTable):
        return _exact(*(charge.renyi_at(order) for order in budget.function.orders))
    raise InvalidArgument(
        f"no filter is known for {budget!r}; use Pure, Approx, ZCDP, GDP, or RDP.table "
        "with one order."
    )


def limit(budget: Curve) -> Cost:
    """Return the sums at which the budget is spent."""
    if isinstance(budget, RDP) and isinstance(budget.function, OrderTable):
        if len(budget.function.orders) != 1:
            raise NoBound(
                "a Rényi filter is proven for an order fixed in advance: give "
                "one order."
            )
        return _exact(*budget.function.epsilons)
    if isinstance(budget, Approx):
        return _exact(budget.epsilon, budget.delta)
    return cost(budget, budget)


def fits(budget: Curve, spent: Sequence[Curve], charge: Curve) -> bool:
    """Return whether a charge may still be made, whatever the answers so far.

    Guarantee: if every charge passes, the whole interaction satisfies the budget, even
    when each mechanism and its parameters depend on earlier answers.

    Example:
        >>> budget = ZCDP(rho=0.375)
        >>> fits(budget, [ZCDP(rho=0.125)] * 2, ZCDP(rho=0.125))
        True
        >>> fits(budget, [ZCDP(rho=0.125)] * 3, ZCDP(rho=0.125))
        False

    Reference: [RRUV16] sums; [FZ21], [WRRW23] zCDP and Rényi; [ST22], [KTH23] GDP.
    """
    ends = limit(checked_curve("budget", budget))
    charges = (*checked_curves("spent", spent), charge)
    costs = [cost(checked_curve("charge", each), budget) for each in charges]
    totals = [sum(column, Fraction()) for column in zip(*costs, strict=True)]
    return all(total <= end for total, end in zip(totals, ends, strict=True))


def _exact(*values: float) -> Cost:
    found = []
    for value in values:
        number = float(value)
        if not number < float("inf"):
            raise NoBound("a charge with infinite cost fits into no budget.")
        found.append(Fraction(number))
    return tuple(found)
