"""A release for people: one line, a table for terminals, a table for notebooks."""

from typing import TYPE_CHECKING, Any

import numpy as np

from hush import markup

if TYPE_CHECKING:
    from hush.ledger.release import Release


def _values(values: Any) -> str:
    if isinstance(values, tuple):
        return "(" + ", ".join(map(_values, values)) + ")"
    if isinstance(values, np.ndarray):
        return np.array2string(values, threshold=8, edgeitems=3)
    text = repr(values.item() if isinstance(values, np.generic) else values)
    return text if len(text) <= 200 else text[:197] + "..."


def rows(release: "Release") -> list[tuple[str, str]]:
    """Return what every view shows, as name and text."""
    receipt = release.receipt
    found = [
        ("values", _values(release.values)),
        ("curve", str(release.curve)),
        ("mechanism", receipt.mechanism),
        ("query", receipt.query),
        ("unit", receipt.unit),
        ("neighbors", receipt.neighbors),
        ("bounds", "" if receipt.bounds is None else str(receipt.bounds)),
        ("group keys", receipt.keys),
        ("receipt", str(receipt)),
        ("data version", receipt.version),
        ("library", receipt.library),
        ("randomness", "SEEDED: a rehearsal" if receipt.seeded else "secure"),
    ]
    return [(name, text) for name, text in found if text]


def line(release: "Release") -> str:
    """Return a release in one line."""
    seeded = ", seeded=True" if release.seeded else ""
    receipt = release.receipt
    return f"Release({_values(release.values)}, entry {receipt.sequence}{seeded})"


def table(release: "Release") -> Any:
    """Return a table for `rich`."""
    from rich.table import Table
    from rich.text import Text

    made = Table(title="Release", show_header=False)
    for name, text in rows(release):
        made.add_row(Text(name, style="bold"), Text(text))
    return made


def html(release: "Release") -> str:
    """Return a table for notebooks; every text is escaped."""
    return markup.facts("Release", rows(release))
