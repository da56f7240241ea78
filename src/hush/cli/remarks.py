"""What is to be known beside an answer: who is protected, what is cut off, the cost.

Remarks go to standard error, and `--quiet` drops them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hush.cli.config import Config

HARDLY = 10.0  # above it, e^ε is over 20,000: no promise to speak of
_RELATIONS = {
    "add-remove": "one person more or less",
    "replace-one": "one person exchanged for another",
}


def _named(answer: Any, *kinds: type) -> list[str]:
    """Return the aggregates of an answer that are of some kinds."""
    whole = getattr(answer, "answer", answer)  # before HAVING, ORDER BY and LIMIT
    return [n for n, each in whole.query.aggregates.items() if isinstance(each, kinds)]


def protection(about: "Config", answer: Any, epsilon: float | None) -> list[str]:
    """Return who is protected, and what that costs the answer."""
    who = protected_by(about, answer.receipt)
    if about.person is None:
        return [who, *weak_epsilon(epsilon)]
    return [who, *_short(about, answer, most_rows(about)), *weak_epsilon(epsilon)]


def protected_by(about: "Config", receipt: Any) -> str:
    """Return who is protected, by what a receipt says."""
    relation = f"{receipt.neighbors} ({_RELATIONS[receipt.neighbors]})"
    if about.person is None:
        return f"Protected: one row, {relation}."
    return f"Protected: one {receipt.unit} with at most {most_rows(about)}, {relation}."


def most_rows(about: "Config") -> str:
    """Return how many rows one person counts for."""
    return "1 row" if about.rows == 1 else f"{about.rows} rows"


def _short(about: "Config", answer: Any, most: str) -> list[str]:
    """Return by what counts and sums fall short; an interval does not cover it."""
    from hush.tables.aggregates.aggregate import Count, Sum
    from hush.tables.aggregates.histogram_aggregates import Histogram

    names = _named(answer, Count, Histogram, Sum)
    if not names:
        return []
    return [
        f"A person with more than {most} counted as {about.rows}: if there are such "
        f"people, {', '.join(names)} fell short. Set rows in {about.path.name}."
    ]


def weak_epsilon(epsilon: float | None) -> list[str]:
    """Return what is to be said of an ε that is too large to protect.

    Example:
        >>> weak_epsilon(12)
        ['At epsilon 12 one person hardly has any protection.']
        >>> weak_epsilon(1)
        []
    """
    if epsilon is None or not epsilon > HARDLY:
        return []
    return [f"At epsilon {epsilon:g} one person hardly has any protection."]


def uninformative(found: Any, *, untyped: bool = False) -> list[str]:
    """Return what is to be said of a plan or answer with an interval that is no news.

    Of a file without types, values may be missing because they were not understood.

    Example:
        >>> uninformative(True)[0][:34]
        'An interval as wide as its bounds '
        >>> uninformative(False)
        []
    """
    if not found:
        return []
    said = [
        "An interval as wide as its bounds says nothing: take more epsilon, or coarser "
        "groups."
    ]
    if untyped:
        said.append(
            "Or the file spells its values in another way than the types of hush.toml: "
            "AVG(x IS NULL) says what share of a column was not understood."
        )
    return said


def payment(receipt: Any, before: float) -> str:
    """Return what was paid; `before` counts the entries that stood already."""
    if receipt.sequence < before:
        where = f"entry {receipt.sequence} ({receipt.hash[:12]}…)"
        return f"Stored answer of {where}; nothing was paid now."
    return f"Paid: {receipt}"
