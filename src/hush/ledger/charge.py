"""A charge: what a plan will take from which accounts, in the words of the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

from hush.ledger.batch import SCHEME, Plan, Spend
from hush.ledger.budget import Units
from hush.ledger.hash_chain import Entry, canonical
from hush.ledger.privacy_filter import Grid
from hush.legacy_formats import current_spelling

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
    plan: Plan | Spend

    def is_that_of(self, charge: Entry) -> bool:
        """Whether a charge on record was made by this request.

        Before tags requests were described by names that may have changed since. One
        of those is the same if it states the same facts to the same accounts: the
        mechanism, the query, its sensitivity, the data version and all else of a
        receipt. What a function of a user's own does is in no fact: it is known by its
        code, as it was then.
        """
        known = charge.content
        if known["request"] == self.digest:
            return True
        if isinstance(self.plan, Spend) or known["request"].startswith(SCHEME):
            return False
        # As it was charged: what it costs today may be computed more tightly.
        paid = {name: known["costs"].get(name) for name in self.payers}
        old = self.plan.digest(self.payers, paid, None, before_tags=True)
        if old == known["request"]:
            return True
        before, now = ({**each, "library": ""} for each in (known["facts"], self.facts))
        return not self.plan.own and current_spelling(canonical(before)) == canonical(
            now
        )

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
        digest=plan.digest(payers, {name: costs[name] for name in payers}, delta),
        costs=costs,
        grids={name: (grid.notion, *grid.powers) for name, grid in grids},
        facts={**plan.facts, "library": library},
        what=plan.what,
        plan=plan,
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
