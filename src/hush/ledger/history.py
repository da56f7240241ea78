"""The history as people read it: one line per entry."""

from dataclasses import dataclass
from typing import Any, final

from hush.ledger.entry import OPENING, Entry, Kind


@final
@dataclass(frozen=True, repr=False)
class Record:
    """One entry of the history; `state` says what became of a charge."""

    sequence: int
    kind: str
    accounts: str
    key: str
    at: str
    hash: str
    state: str
    content: Any

    def __str__(self) -> str:
        what = self.content.get("facts", {}).get("mechanism", "")
        return f"{self.sequence:>6}  {self.at}  {self.state:<9} {self.key}  {what}"

    def __repr__(self) -> str:
        key = f", key={self.key!r}" if self.key else ""
        return f"Record({self.sequence}, {self.kind}, {self.state}{key})"


def records(entries: list[Entry]) -> tuple[Record, ...]:
    """Return every entry with the state its charge has reached."""
    state: dict[tuple[str, str], str] = {}
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
        if entry.kind in words:
            state[entry.scope, entry.key] = words[entry.kind]

    def of(entry: Entry) -> str:
        if entry.kind in OPENING:
            return state[entry.scope, entry.key]
        return words.get(entry.kind, str(entry.kind))

    return tuple(
        Record(
            each.seq,
            str(each.kind),
            each.scope,
            each.key,
            each.at,
            each.hash,
            of(each),
            each.content,
        )
        for each in entries
    )
