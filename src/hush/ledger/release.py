"""A release: what came out, how wrong it is, what it cost, and a receipt."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hush import display, legacy_formats, serialization
from hush.errors import InvalidArgument, NoBound
from hush.ledger.charge import OWN
from hush.ledger.hash_chain import canonical, joined
from hush.ledger.receipt import Receipt

if TYPE_CHECKING:
    from hush.privacy import Curve


@final
@dataclass(frozen=True, eq=False)
class Release:
    """Noisy values with their error law, curve, cost and receipt; public for ever.

    Guarantee: holds no raw data and no way back to it. It is a fixed text: reading,
    printing, plotting or storing it draws nothing and costs nothing.
    """

    text: str
    finish: Callable[[Any], Any] | None = field(default=None, repr=False)

    @classmethod
    def make(cls, values: Any, receipt: str, frame: Mapping[str, str]) -> "Release":
        """Return the release of `values` with a receipt, in a `frame` of texts."""
        shown = {
            **frame,
            "values": canonical(serialization.encode(values, classes=True)),
            "receipt": receipt,
        }
        return cls(joined(shown))

    @cached_property
    def _shown(self) -> dict[str, Any]:
        return json.loads(self.text)  # type: ignore[no-any-return]

    @cached_property
    def values(self) -> Any:
        """The noisy values: a number, an array, a dict; a tuple for a batch.

        A query whose `finish` is a function of your own is finished here: what the
        ledger stores are the noisy coordinates before it.
        """
        found = serialization.decode(self._shown["values"])
        return found if self.finish is None else self.finish(found)

    @cached_property
    def receipt(self) -> Receipt:
        """What was paid, for what, and where the ledger says so."""
        return Receipt.from_dict(self._shown["receipt"])

    @property
    def seeded(self) -> bool:
        """Whether the noise can be repeated: then this was a rehearsal."""
        return self.receipt.seeded

    @cached_property
    def curve(self) -> "Curve":
        """The guarantee of this release alone."""
        from hush.privacy import Curve

        return Curve.from_json(canonical(self._shown["curve"]))

    @property
    def cost(self) -> Mapping[str, tuple[Fraction, Fraction]]:
        """What each account paid: (ε, δ), (ρ, 0) or (μ², 0), exactly."""
        return self.receipt.cost

    @cached_property
    def mechanisms(self) -> tuple[Any, ...]:
        """The mechanisms that ran, one per step; None for one that is not of hush."""
        found = self._shown["mechanisms"]
        return tuple(None if each is None else _thawed(each) for each in found)

    @cached_property
    def error(self) -> Any:
        """The law of released minus true value; a tuple for a batch."""
        found = self._shown["errors"]
        if any(each is None for each in found):
            raise NoBound(
                f"the error of {self.receipt.mechanism} is not a law of its noise "
                "alone, so the release does not hold it. Ask the mechanism for parts."
            )
        laws = tuple(
            ran.error if each == OWN else _thawed(each)
            for ran, each in zip(self.mechanisms, found, strict=True)
        )
        return laws if isinstance(self.values, tuple) else laws[0]

    def interval(self, level: float = 0.95) -> Any:
        """Return bounds that hold the noiseless value with probability `level`.

        For an array they hold for all coordinates at once; for a batch there is one
        pair per step, each at that level by itself.
        """
        if isinstance(self.values, tuple):
            pairs = zip(self.values, self.error, strict=True)
            return tuple(_around(value, law, level) for value, law in pairs)
        return _around(self.values, self.error, level)

    def to_json(self) -> str:
        """Return the release as JSON text, the same every time."""
        return self.text

    @classmethod
    def from_json(cls, text: str) -> "Release":
        """Return the release that `to_json` wrote."""
        shown = serialization.parse(text, "what to_json wrote of a release")
        if not isinstance(shown, dict) or shown.get("hush") != "release":
            raise InvalidArgument("text must be what to_json wrote of a release.")
        return cls(canonical(shown))

    def plot(self, *, level: float = 0.95, axes: Any = None) -> Any:
        """Draw the values with their intervals; return the axes."""
        from hush import plots

        return plots.release(self, level=level, axes=axes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:

        return line(self)

    def __rich__(self) -> Any:

        return table(self)

    def _repr_html_(self) -> str:

        return html(self)


def _thawed(value: Any) -> Any:
    """Return a mechanism or an error law from its text, of before tags or after."""
    old = legacy_formats.is_untagged(value, "class")
    return legacy_formats.thaw(value) if old else serialization.decode(value)


def _around(value: Any, law: Any, level: float) -> tuple[Any, Any]:
    from hush.mechanisms.error import Error

    if not isinstance(law, Error):
        raise NoBound(
            f"a {type(law).__name__} does not bound the distance to a true value; read "
            "release.error for what it does bound."
        )
    if isinstance(value, np.ndarray):
        law = law.joint(max(1, value.size))
    low, high = law.interval(level)
    return value - high, value - low


# -- A release for people: one line, a table for terminals, a table for notebooks ------


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
    return display.facts("Release", rows(release))
