"""What the charges of one account must agree on, or their sum guarantees nothing.

A sum over add-remove and replace-one protects under neither relation. A sum over people
and rows of one data set, or of data sets of the same people, protects rows alone: the ε
of the account would be said of people, and be too small. So for edges of a graph, of
which a person has many. A charge that does not say what it is about is refused where
others have said it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from hush.errors import InvalidArgument
from hush.ledger.budget import readable
from hush.ledger.transaction import Transaction
from hush.units import SMALL_UNITS


@final
@dataclass(frozen=True)
class Agreed:
    """A fact of every charge, and the accounts that keep to one value of it."""

    fact: str
    accounts: str  # how their names begin
    why: str
    by_size: bool = False  # whether columns of people may have several names

    def unlike(self, value: str, other: str) -> bool:
        """Whether two charges of one account must not have these values."""
        if self.by_size and not {value, other} & SMALL_UNITS:
            return False
        return value != other

    def refusal(self, value: str, known: str, names: Any) -> InvalidArgument:
        """Return what is said of a charge that disagrees."""
        return InvalidArgument(
            f"{self.fact} of this charge is {value!r}, and "
            f"{', '.join(map(readable, names))} was charged for {known!r} before: "
            f"{self.why}"
        )


_ONE_UNIT = (
    "their sum protects the smaller one alone. Keep to one unit: where each row "
    "or record of a charge is another person, say so by unit= in fit and train, or "
    "by notes={'unit': ...} in a release of your own."
)

# An analyst works with many data sets. Data sets of the same people may name them by
# different columns, but rows and edges are not people: somebody may have many.
AGREED: Final = (
    Agreed(
        "neighbors",
        "",
        "their sum guarantees neither, so an account keeps the relation of its first "
        "charge for good. Keep to one relation: tables take "
        "neighbors='replace-one' in hush.open, DP-SGD takes sampling='fixed-size', "
        "queries take neighbors=; models of hush.learn are for replace-one.",
    ),
    Agreed("unit", "dataset:", _ONE_UNIT),
    Agreed("unit", "unit:", _ONE_UNIT, by_size=True),
)

Terms = dict[str, str]


def terms(facts: Mapping[str, Any]) -> Terms:
    """Return what a charge says of the facts to agree on; what it leaves open is not.

    Example:
        >>> terms({"neighbors": "add-remove", "unit": "", "query": "count"})
        {'neighbors': 'add-remove'}
    """
    found = {each.fact: str(facts.get(each.fact) or "") for each in AGREED}
    return {fact: value for fact, value in found.items() if value}


def settled(stated: Terms, known: Terms, names: Any) -> bool:
    """Whether all that is stated is known already; refuse what contradicts it."""
    for each in AGREED:
        value = stated.get(each.fact)
        before = known.get(each.fact, value)
        if value is not None and before is not None and value != before:
            raise each.refusal(value, before, names)
    return stated.items() <= known.items()


def complete(stated: Terms) -> bool:
    """Whether a charge states every fact that accounts agree on."""
    return all(each.fact in stated for each in AGREED)


def refuse_silence(t: Transaction, stated: Terms, paying: Any, since: int) -> None:
    """Refuse a charge that leaves open what an earlier one of its accounts states.

    `since` is the last entry up to which this was found not to be so.
    """
    known: Terms = {}
    names: set[str] = set()
    for each in AGREED:
        mine = {name for name in paying if name.startswith(each.accounts)}
        if each.fact in stated or each.fact in known or not mine:
            continue
        for entry in t.charged_unlike(each.fact, "", since):
            content = entry.content
            both = mine & _counted(t, content["costs"])
            if both:
                known[each.fact] = content["facts"][each.fact]
                names |= both
                break
    if known:
        raise InvalidArgument(
            f"this charge does not state its {' and '.join(known)}, and "
            f"{', '.join(map(readable, sorted(names)))} was charged for "
            f"{' and '.join(map(repr, known.values()))} before: a sum over both would "
            f"guarantee nothing. State it, as in notes={known!r}, if that is what it "
            "is about."
        )


def _counted(t: Transaction, costs: Mapping[str, Any]) -> set[str]:
    """Return the accounts that a charge counts in, by links made after it as well."""
    return {*costs, *(people for paid in costs for people in t.links(paid))}


def compare(t: Transaction, stated: Terms, paying: Any) -> None:
    """Refuse a charge that disagrees with an earlier one of an account that pays."""
    for each in AGREED:
        value = stated.get(each.fact)
        if value is None:
            continue
        mine = {name for name in paying if name.startswith(each.accounts)}
        for entry in t.charged_unlike(each.fact, value) if mine else ():
            content = entry.content
            both = sorted(mine & _counted(t, content["costs"]))
            other = content["facts"][each.fact]
            if both and each.unlike(value, other):
                raise each.refusal(value, other, both)
