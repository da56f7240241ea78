"""The history as people read it: one line per entry."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from hush.errors import InvalidArgument
from hush.ledger.hash_chain import OPENING, Entry, Kind, charged_scope
from hush.ledger.release import Release

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


def stored(history: Iterable[Record], names: Iterable[str], key: str) -> Release:
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
