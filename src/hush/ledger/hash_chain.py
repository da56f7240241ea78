"""The hash chain: a line of the history, chained to the one before by SHA-256."""

import datetime
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, final

GENESIS = "0" * 64


class Kind(StrEnum):
    """What an entry records."""

    GENESIS = "genesis"  # the ledger begins
    GRANT = "grant"  # an account is opened, or its limit raised
    LINK = "link"  # a data set is tied to the people it speaks of
    CHARGE = "charge"  # spent, with nothing to draw
    RESERVE = "reserve"  # spent; the draw may begin at once
    HOLD = "hold"  # spent; the draw has not begun and may still be given up
    START = "start"  # the draw of a held charge begins, or a draw begins once more
    SEAL = "seal"  # the answer
    FAIL = "fail"  # the draw raised; the charge stands
    VOID = "void"  # a held charge was given back by an administrator
    UNLOCK = "unlock"  # failures up to here no longer count


OPENING = (Kind.CHARGE, Kind.RESERVE, Kind.HOLD)
CLOSING = (Kind.SEAL, Kind.FAIL, Kind.VOID)


def resumed_scope(scope: str, times: int) -> str:
    """Return the scope under which the start of a draw that is resumed is written.

    A key has one entry of each kind in its scope, so that each resumption has a scope
    of its own: the text of the accounts, a number sign, and how often.
    """
    return f"{scope}#{times}"


def charged_scope(scope: str) -> str:
    """Return the scope of the charge that an entry belongs to.

    Example:
        >>> charged_scope(resumed_scope('["dataset:a#b"]', 3))
        '["dataset:a#b"]'
    """
    accounts, bracket, _ = scope.rpartition("]")
    return accounts + bracket if bracket else scope


_encoder = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True
)


def canonical(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, no NaN."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if type(value) is int:  # the encoder has no short way for one number
        return str(value)
    return _encoder.encode(value)


def members(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the text of every member, to be put together by `joined`."""
    return {name: canonical(value) for name, value in values.items()}


def joined(texts: Mapping[str, str]) -> str:
    """Return `canonical` of an object, given the texts of its members.

    Names are fields of ours: plain letters, which JSON does not escape.
    """
    return "{" + ",".join([f'"{name}":{texts[name]}' for name in sorted(texts)]) + "}"


def now() -> str:
    """Return the wall time, for people to read; nothing is decided by it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


@final
@dataclass(frozen=True)
class Entry:
    """One immutable line of the history.

    Guarantee: `hash` binds this line and, through `prev`, every line before it.
    """

    seq: int
    kind: Kind
    scope: str
    key: str
    at: str
    body: str
    prev: str
    hash: str

    @classmethod
    def after(
        cls, head: "tuple[int, str]", kind: Kind, scope: str, key: str, body: str
    ) -> "Entry":
        """Return the entry that follows `head`, a (sequence, hash) pair."""
        seq, prev, at = head[0] + 1, head[1], now()
        hash = digest(seq, kind, scope, key, at, body, prev)
        return cls(seq, kind, scope, key, at, body, prev, hash)

    @property
    def content(self) -> Any:
        """The body as values."""
        return json.loads(self.body)

    def sound(self) -> bool:
        """Whether the stored hash is that of the stored line."""
        found = digest(
            self.seq, self.kind, self.scope, self.key, self.at, self.body, self.prev
        )
        return found == self.hash


def digest(
    seq: int, kind: str, scope: str, key: str, at: str, body: str, prev: str
) -> str:
    """Return the hash of a line; each field is preceded by its length."""
    fields = (str(seq), str(kind), scope, key, at, body, prev)
    text = "".join(f"{len(field)}:{field}" for field in fields)
    return hashlib.sha256(text.encode()).hexdigest()
