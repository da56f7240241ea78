"""A release and its receipt: what came out, how wrong it is, what it cost, for what.

Both are public for ever, and the history of a ledger is made of them.
"""

import functools
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final
from weakref import WeakKeyDictionary

import numpy as np

from hush import display, legacy_formats, serialization
from hush.errors import InvalidArgument, LedgerError, NoBound
from hush.ledger.budget import Grid, cost_text
from hush.ledger.charge import OWN
from hush.ledger.hash_chain import (
    OPENING,
    Entry,
    Kind,
    canonical,
    charged_scope,
    joined,
    members,
    without_sums,
)
from hush.ledger.stores import Store
from hush.ledger.two_phase import Transaction

if TYPE_CHECKING:
    from hush.privacy import Curve


# -- A receipt: what was paid, for what, and where the ledger says so ------------------


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


def amounts_paid(
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
    amounts = amounts_paid(content)
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


def receipt_of(
    opening: Entry, ledger: str, *, seeded: bool, rehearsal: bool
) -> Receipt:
    """Return the receipt of the charge that an entry records."""
    own = _own(opening, ledger, seeded=seeded, rehearsal=rehearsal)
    return Receipt(**_terms(opening.body), **own)


@functools.lru_cache(maxsize=256)
def _common(body: str) -> dict[str, str]:
    blank = Receipt(ledger="", sequence=0, hash="", key="", **_terms(body))
    return members(blank.to_dict())


def receipt_text(opening: Entry, ledger: str, *, seeded: bool, rehearsal: bool) -> str:
    """Return `canonical(receipt_of(...).to_dict())`, to be written and not kept.

    Equal requests have equal texts, so most of it is computed once: a release is made
    between two commits, and should add little to them.
    """
    own = _own(opening, ledger, seeded=seeded, rehearsal=rehearsal)
    return joined({**_common(without_sums(opening.body)), **members(own)})


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


# -- The history as people read it: one line per entry ---------------------------------

_LATER: dict[str, str] = {
    Kind.START: "draw of entry {} begins",
    Kind.SEAL: "answer of entry {}",
    Kind.FAIL: "failure of entry {}",
    Kind.VOID: "entry {} given back",
}


@final
@dataclass(frozen=True, repr=False)
class Record:
    """One entry of the history; `state` says what became of a charge.

    A charge is one entry, its answer another: `charge` is the sequence of the entry
    that an answer, a failure or a gift back belongs to.
    """

    sequence: int
    kind: str
    accounts: str
    key: str
    at: str
    hash: str
    state: str
    content: Any
    charge: int | None = None

    @property
    def what(self) -> str:
        """The mechanism of a charge; of a later entry, which charge it speaks of."""
        if self.charge is not None:
            return _LATER[self.kind].format(self.charge)
        return str(self.content.get("facts", {}).get("mechanism", ""))

    def __str__(self) -> str:
        return f"{self.sequence:>6}  {self.at}  {self.state:<9} {self.key}  {self.what}"

    def __repr__(self) -> str:
        state = self.state if self.charge is None else self.what
        key = f", key={self.key!r}" if self.key else ""
        return f"Record({self.sequence}, {self.kind}, {state}{key})"


def records(entries: list[Entry]) -> tuple[Record, ...]:
    """Return every entry with the state its charge has reached."""
    state: dict[tuple[str, str], str] = {}
    opened: dict[tuple[str, str], int] = {}
    charge: dict[int, int | None] = {}
    words = {
        Kind.CHARGE: "charged",
        Kind.RESERVE: "reserved",
        Kind.HOLD: "held",
        Kind.START: "reserved",
        Kind.SEAL: "released",
        Kind.FAIL: "failed",
        Kind.VOID: "voided",
    }
    for entry in entries:
        event = (charged_scope(entry.scope), entry.key)
        if entry.kind in words:
            state[event] = words[entry.kind]
        if entry.kind in OPENING:
            opened[event] = entry.seq
        elif entry.kind in _LATER:
            charge[entry.seq] = opened.get(event)

    def of(entry: Entry) -> str:
        if entry.kind in OPENING:
            return state[entry.scope, entry.key]
        return words.get(entry.kind, str(entry.kind))

    return tuple(
        Record(
            each.seq,
            str(each.kind),
            charged_scope(each.scope),
            each.key,
            each.at,
            each.hash,
            of(each),
            each.content,
            charge.get(each.seq),
        )
        for each in entries
    )


def stored_release(
    history: Iterable[Record], names: Iterable[str], key: str
) -> Release:
    """Return what was released under a key to those who paid from these accounts."""
    mine = set(names)
    sealed = [each for each in history if each.kind == Kind.SEAL and each.key == key]
    paid = [(set(json.loads(each.accounts)), each) for each in sealed]
    found = [(names != mine, each) for names, each in paid if mine <= names]
    if found:  # one's own before that of an analyst who paid from the account as well
        _, first = min(found, key=lambda pair: pair[0])
        return Release.from_json(json.dumps(first.content))
    raise InvalidArgument(
        f"no answer of {', '.join(sorted(mine))} is stored under key {key!r}. The keys "
        "are in ledger.history(), and `hush budget` lists them.",
        code="no-stored-answer",
    )


# -- Facts about data, named in receipts by a key that never leaves the ledger ---------
#
# A receipt is public. An unkeyed hash of what is known about a file would let anybody
# try sizes until one fits. Keyed with a secret word of the ledger, it says no more than
# whether two receipts speak of the same state.

# Beside the history, not in it: what `history` shows may be published.
_SECRET_TABLE = (
    "CREATE TABLE IF NOT EXISTS hush_secret (word TEXT NOT NULL PRIMARY KEY, "
    "place INTEGER NOT NULL UNIQUE CHECK (place = 0))"
)
_READ_SECRET = "SELECT word FROM hush_secret"
_WRITE_SECRET = (
    "INSERT INTO hush_secret (word, place) SELECT ?, 0 "
    "WHERE NOT EXISTS (SELECT 1 FROM hush_secret)"
)
_DIGITS = 32

_words: WeakKeyDictionary[Store, bytes] = WeakKeyDictionary()


def keyed_name(store: Store, facts: str) -> str:
    """Return a name for facts: the same for the same facts, in this ledger alone.

    Guarantee: without the secret of the ledger, names of other facts look the same;
    the secret is neither in the history nor in a receipt.

    Example:
        >>> from hush.ledger.ledger import open_store
        >>> one, two = open_store("memory://"), open_store("memory://")
        >>> keyed_name(one, "a file") == keyed_name(one, "a file")
        True
        >>> keyed_name(one, "a file") == keyed_name(two, "a file")
        False
    """
    word = _secret_word(store)
    return hmac.new(word, facts.encode(), hashlib.sha256).hexdigest()[:_DIGITS]


def _secret_word(store: Store) -> bytes:
    found = _words.get(store)
    if found is None:
        try:
            rows = store.read(lambda t: t.rows(_READ_SECRET))
        except LedgerError:  # a ledger that was begun without one
            rows = []
        word = rows[0][0] if rows else store.run(_new_secret_word)
        found = _words[store] = str(word).encode()
    return found


def _new_secret_word(transaction: Transaction) -> str:
    """Write the secret, unless another process was first; return what is there."""
    new = (
        (_SECRET_TABLE, ()),
        (_WRITE_SECRET, (secrets.token_hex(32),)),
        (_READ_SECRET, ()),
    )
    return str(transaction.batch(new)[-1][0][0])
