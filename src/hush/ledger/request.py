"""A request: what a plan will take from which accounts, in the words of the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

from hush.ledger.budget import Units
from hush.ledger.cost import Grid
from hush.ledger.entry import canonical
from hush.ledger.plan import Plan, Spend

_MOST = 64  # analysts and accounts that one plan remembers
Grids = tuple[tuple[str, Grid], ...]  # the accounts that pay, and their grains


@final
@dataclass(frozen=True)
class Request:
    """A charge as it will be written, under any key: who pays what, for what."""

    payers: tuple[str, ...]  # as asked: data set and analyst, sorted
    digest: str  # of the plan, the data version and the payers
    costs: dict[str, Units]  # payers and the people their data sets are tied to
    grids: dict[str, tuple[str, int, int]]  # the notion and grains of each cost
    facts: dict[str, Any]
    what: str

    @cached_property
    def body(self) -> str:
        """The text of the entry."""
        return canonical(
            {
                "request": self.digest,
                "costs": self.costs,
                "grids": self.grids,
                "facts": self.facts,
            }
        )

    @cached_property
    def names(self) -> list[str]:
        """Everybody who pays, in the order in which accounts are locked."""
        return sorted(self.costs)

    @cached_property
    def storable(self) -> bool:
        """Whether a store can hold its costs: none beyond 64 bits could be paid."""
        return all(unit < 1 << 63 for cost in self.costs.values() for unit in cost)

    @cached_property
    def scope(self) -> str:
        """The name space of the key."""
        return scope_of(self.payers)


def scope_of(payers: Sequence[str]) -> str:
    """Return the text that stands for the accounts of a charge."""
    return canonical(list(payers))


def _ask(
    plan: Plan | Spend,
    payers: tuple[str, ...],
    grids: Grids,
    delta: float | None,
    library: str,
) -> Request:
    costs = {name: plan.cost(grid, delta) for name, grid in grids}
    return Request(
        payers=payers,
        digest=plan.digest(payers, {name: costs[name] for name in payers}),
        costs=costs,
        grids={name: (grid.notion, *grid.powers) for name, grid in grids},
        facts={**plan.facts, "library": library},
        what=plan.what,
    )


def ask(
    plan: Plan | Spend,
    payers: tuple[str, ...],
    grids: Grids,
    delta: float | None,
    library: str,
) -> Request:
    """Return what `plan` asks of its payers; a repeated plan is not priced again.

    What was asked is kept by the plan itself and goes with it: a plan may hold a query,
    and a query may hold data.
    """
    if isinstance(plan, Spend):
        return _ask(plan, payers, grids, delta, library)
    terms = (payers, grids, delta, library)
    found = plan.asked.get(terms)
    if found is None:
        if len(plan.asked) >= _MOST:
            plan.asked.clear()
        found = plan.asked[terms] = _ask(plan, *terms)
    return found
