"""A receipt: what was paid, for what, and where the ledger says so."""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, final

from hush.ledger.budget import Grid, cost_text
from hush.ledger.hash_chain import Entry, joined, members


@final
@dataclass(frozen=True, repr=False)
class Receipt:
    """Proof of one charge; public, like the release it belongs to.

    Guarantee: `sequence` and `hash` are those of a durable entry of `ledger`, which
    commits to everything before it. Running times are not protected by hush; see the
    page on sharp edges.
    """

    ledger: str  # the ledger's identity
    sequence: int
    hash: str
    key: str
    cost: Mapping[str, tuple[Fraction, Fraction]]  # account -> (ε, δ), (ρ, 0), (μ², 0)
    notions: Mapping[str, str]  # account -> what its numbers are
    mechanism: str = ""
    query: str = ""
    sensitivity: Any = None
    unit: str = ""
    neighbors: str = ""
    bounds: Any = None
    keys: str = ""  # where group keys come from: "public", "private", or no groups
    version: str = ""  # of the data
    library: str = ""
    seeded: bool = False
    rehearsal: bool = False
    at: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        paid = "; ".join(
            f"{name} {cost_text(self.notions[name], amount)}"
            for name, amount in sorted(self.cost.items())
        )
        return f"entry {self.sequence} ({self.hash[:12]}…): {paid}"

    def __repr__(self) -> str:
        return f"Receipt({self})"

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as JSON types."""
        shown = {each.name: getattr(self, each.name) for each in fields(self)}
        shown["cost"] = {name: list(map(str, pair)) for name, pair in self.cost.items()}
        shown["notions"] = dict(self.notions)
        shown["notes"] = dict(self.notes)
        return shown

    @classmethod
    def from_dict(cls, shown: Mapping[str, Any]) -> "Receipt":
        """Return the receipt that `to_dict` wrote."""
        known = {each.name for each in fields(cls)}
        values = {name: value for name, value in shown.items() if name in known}
        cost = {
            name: (Fraction(pair[0]), Fraction(pair[1]))
            for name, pair in shown["cost"].items()
        }
        return cls(**{**values, "cost": cost})


def spent(
    content: Mapping[str, Any],
) -> dict[str, tuple[str, tuple[Fraction, Fraction]]]:
    """Return what each account paid by the body of a charge: its notion and amounts."""
    found = {}
    for name, units in content["costs"].items():
        notion, first, second = content["grids"][name]
        grid = Grid.plain(notion, first, second)
        found[name] = notion, grid.amounts((units[0], units[1]))
    return found


def _terms(body: str) -> dict[str, Any]:
    """Return what the text of a charge says: who paid what, for what."""
    content = json.loads(body)
    amounts = spent(content)
    notions = {name: notion for name, (notion, _) in amounts.items()}
    cost = {name: amount for name, (_, amount) in amounts.items()}
    people = [n.removeprefix("unit:") for n in amounts if n.startswith("unit:")]
    facts = content["facts"]
    if not facts.get("unit"):  # the query names none: say who was charged
        facts["unit"] = ", ".join(people)
    return {**facts, "notions": notions, "cost": cost}


def _own(opening: Entry, ledger: str, *, seeded: bool, rehearsal: bool) -> Any:
    """Return what tells this charge from an equal one."""
    return {
        "ledger": ledger,
        "sequence": opening.seq,
        "hash": opening.hash,
        "key": opening.key,
        "seeded": seeded,
        "rehearsal": rehearsal,
        "at": opening.at,
    }


def paid(opening: Entry, ledger: str, *, seeded: bool, rehearsal: bool) -> Receipt:
    """Return the receipt of the charge that an entry records."""
    own = _own(opening, ledger, seeded=seeded, rehearsal=rehearsal)
    return Receipt(**_terms(opening.body), **own)


@functools.lru_cache(maxsize=256)
def _common(body: str) -> dict[str, str]:
    blank = Receipt(ledger="", sequence=0, hash="", key="", **_terms(body))
    return members(blank.to_dict())


def paid_text(opening: Entry, ledger: str, *, seeded: bool, rehearsal: bool) -> str:
    """Return `canonical(paid(...).to_dict())`, to be written and not kept.

    Equal requests have equal texts, so most of it is computed once: a release is made
    between two commits, and should add little to them.
    """
    own = _own(opening, ledger, seeded=seeded, rehearsal=rehearsal)
    return joined({**_common(opening.body), **members(own)})
