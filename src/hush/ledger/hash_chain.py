"""The hash chain: a history of entries, and the tables that keep it append-only.

An entry is chained to the one before by SHA-256.
"""

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


# -- The two tables of a ledger, and the triggers that keep its history append-only ----

# `entry` is the truth: a chain that only grows. `account` holds running sums that
# `verify` recomputes from it; its CHECKs are a second lock behind the first.

# Written out in every query that uses the index: SQLite asks for the very words.
RARE = "kind IN ('fail', 'link', 'unlock')"

# How many draws of a scope have failed since it was last unlocked.
FAILURES = (
    f"SELECT count(*) FROM hush_entry WHERE {RARE} AND kind = 'fail' AND scope = ? "
    "AND seq > (SELECT coalesce(max(seq), 0) FROM hush_entry "
    f"WHERE {RARE} AND kind = 'unlock' AND scope = ?)"
)

_TABLES = (
    """CREATE TABLE IF NOT EXISTS hush_entry (
        seq {integer} NOT NULL PRIMARY KEY,
        kind TEXT NOT NULL,
        scope TEXT NOT NULL,
        key TEXT NOT NULL,
        at TEXT NOT NULL,
        body TEXT NOT NULL,
        prev TEXT NOT NULL,
        hash TEXT NOT NULL
    ){strict}""",
    """CREATE TABLE IF NOT EXISTS hush_account (
        name TEXT NOT NULL PRIMARY KEY,
        notion TEXT NOT NULL,
        power1 {integer} NOT NULL,
        power2 {integer} NOT NULL,
        delta TEXT NOT NULL,
        limit1 {integer} NOT NULL,
        limit2 {integer} NOT NULL,
        spent1 {integer} NOT NULL DEFAULT 0 CHECK (spent1 BETWEEN 0 AND limit1),
        spent2 {integer} NOT NULL DEFAULT 0 CHECK (spent2 BETWEEN 0 AND limit2)
    ){strict}""",
    # A key is opened once and closed once.
    """CREATE UNIQUE INDEX IF NOT EXISTS hush_key ON hush_entry (scope, key, (CASE
        WHEN kind IN ('charge', 'reserve', 'hold') THEN 0
        WHEN kind IN ('seal', 'fail', 'void') THEN 2 ELSE 1 END))""",
    # The few entries that a charge has to look for; writing the others skips it.
    f"""CREATE INDEX IF NOT EXISTS hush_rare ON hush_entry (scope, kind, seq)
        WHERE {RARE}""",
)

_GRANT = ("name", "notion", "power1", "power2", "delta", "limit1", "limit2")
_CUT = " OR ".join(
    f"NEW.{each} {'<' if each.startswith('limit') else '<>'} OLD.{each}"
    for each in _GRANT
)

# When a trigger fires, what makes it fire, and what it says. A charge touches none of
# the columns of a grant, so that it does not even ask.
_RULES = (
    ("entry", "DELETE", "", "TRUE", "history is append-only"),
    ("entry", "UPDATE", "", "TRUE", "history is append-only"),
    ("account", "DELETE", "", "TRUE", "an account cannot be removed"),
    (
        "account",
        "UPDATE",
        f" OF {', '.join(_GRANT)}",
        _CUT,
        "a grant cannot be cut or changed",
    ),
)


# What must be there; when something is missing, everything is made that is not.
TABLE_NAMES = frozenset(
    {"hush_entry", "hush_account", "hush_key", "hush_rare"}
    | {f"hush_{table}_{event.lower()}" for table, event, *_ in _RULES}
)


def sqlite_tables() -> tuple[str, ...]:
    """Return the statements that make the tables in SQLite."""
    tables = tuple(each.format(integer="INTEGER", strict=" STRICT") for each in _TABLES)
    return tables + tuple(
        f"CREATE TRIGGER IF NOT EXISTS hush_{table}_{event.lower()} BEFORE "
        f"{event}{columns} ON hush_{table} WHEN {when} "
        f"BEGIN SELECT RAISE(ABORT, '{says}'); END"
        for table, event, columns, when, says in _RULES
    )


def postgres_tables() -> tuple[str, ...]:
    """Return the statements that make the tables in PostgreSQL."""
    tables = tuple(each.format(integer="BIGINT", strict="") for each in _TABLES)
    refuse = (
        "CREATE OR REPLACE FUNCTION hush_refuse() RETURNS trigger LANGUAGE plpgsql "
        "AS $$ BEGIN RAISE EXCEPTION '%', TG_ARGV[0]; END $$"
    )
    rows = tuple(
        f"CREATE OR REPLACE TRIGGER hush_{table}_{event.lower()} BEFORE "
        f"{event}{columns} ON hush_{table} FOR EACH ROW WHEN ({when}) "
        f"EXECUTE FUNCTION hush_refuse('{says}')"
        for table, event, columns, when, says in _RULES
    )
    tables_whole = tuple(
        f"CREATE OR REPLACE TRIGGER hush_{table}_truncate BEFORE TRUNCATE "
        f"ON hush_{table} EXECUTE FUNCTION hush_refuse('history is append-only')"
        for table in ("entry", "account")
    )
    return (*tables, refuse, *rows, *tables_whole)
