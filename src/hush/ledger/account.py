"""Who pays: the data set, the people in it, the analyst who asks.

An account is named "dataset:visits", "unit:patients" or "analyst:ana". A charge goes to
every account of its scope or to none of them.
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, final

from hush.display import grid
from hush.errors import InvalidArgument
from hush.ledger.budget import Budget, Units, below, promise, root
from hush.ledger.privacy_filter import Grid

if TYPE_CHECKING:
    from hush.privacy import Curve

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


def spent_before(balance: Balance, units: Units, data: str) -> str:
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
        return grid("Budget", heads, rows)


__all__ = ["Balance", "Budget", "Left", "Remaining", "account", "readable", "shortfall"]
