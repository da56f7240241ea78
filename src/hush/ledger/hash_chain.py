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


# -- What an entry says of the accounts that it changes --------------------------------
#
# The sums after it, as `"after":{account:[spent, spent, limit, limit]}`. That is the
# first member of its body, and the row of an account names the last entry that changed
# it, so that a charge compares row and chain in one step, however long the chain is.

_AFTER = '{"after":'
_AFTER_SUMS = ']},"costs":'  # in the text of a charge
Sums = tuple[int, int, int, int]  # spent and limit, of both amounts
_decoder = json.JSONDecoder()


def with_sums(body: str, after: Mapping[str, Sums]) -> str:
    """Return the text of an entry that changes accounts, given that without the sums.

    Example:
        >>> with_sums('{"costs":{}}', {"dataset:a": (1, 0, 9, 0)})
        '{"after":{"dataset:a":[1,0,9,0]},"costs":{}}'
    """
    said = ",".join([_sums_text(name, after[name]) for name in sorted(after)])
    return f"{_AFTER}{{{said}}},{body[1:]}"


def _sums_text(name: str, sums: Sums) -> str:
    spent1, spent2, limit1, limit2 = sums
    return f"{canonical(name)}:[{spent1},{spent2},{limit1},{limit2}]"


def without_sums(body: str) -> str:
    """Return the text of a charge without its sums; one of before as it is.

    Example:
        >>> without_sums('{"after":{"dataset:a":[1,0,9,0]},"costs":{}}')
        '{"costs":{}}'
    """
    if not body.startswith(_AFTER):
        return body
    # Quotes inside a name are escaped, so that this is where the sums end.
    return "{" + body[body.index(_AFTER_SUMS) + 3 :]


def says_sums(body: str, name: str, sums: Sums) -> bool:
    """Whether an entry says that these are the sums of an account after it."""
    if body.startswith(f"{_AFTER}{{{_sums_text(name, sums)}}},"):
        return True  # the only account that it changes
    if not body.startswith(_AFTER):
        return False
    try:
        found, _ = _decoder.raw_decode(body, len(_AFTER))
    except ValueError:
        return False
    return isinstance(found, dict) and found.get(name) == list(sums)


# The entries that change accounts, and what is asked of one: its row, the entry that
# changed it last, and whether a later one names it.
SUMMED = "('charge', 'reserve', 'hold', 'grant', 'link', 'void')"
SUMS = (
    "SELECT a.spent1, a.spent2, a.limit1, a.limit2, e.body, EXISTS (SELECT 1 FROM "
    f"hush_entry l WHERE l.seq > a.last AND l.kind IN {SUMMED} AND "
    "replace(l.body, ?, '') <> l.body) "
    "FROM hush_account a JOIN hush_entry e ON e.seq = a.last WHERE a.name = ?"
)


def named_in_sums(name: str) -> str:
    """Return the text by which an entry that changes an account names it."""
    return f"{canonical(name)}:["


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
        spent2 {integer} NOT NULL DEFAULT 0 CHECK (spent2 BETWEEN 0 AND limit2),
        last {integer} NOT NULL DEFAULT -1
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


# An account changes once for each entry, the last of the chain. A sum falls only to
# what a void says, and a limit moves only to what its grant says. That the entry names
# this very account, and the sum of a charge, is compared by whoever charges next.
_SAYS = """EXISTS (SELECT 1 FROM hush_entry e WHERE e.seq = NEW.last
    AND e.seq = (SELECT max(seq) FROM hush_entry) AND {kind})"""
_PIECE = """{place}({prefix}, ':[' || NEW.spent1 || ',' || NEW.spent2 || ','
        || NEW.limit1 || ',' || NEW.limit2 || ']') > 0"""
_SAME_LIMIT = "NEW.limit1 = OLD.limit1 AND NEW.limit2 = OLD.limit2"
_CHANGED = f"""NEW.last > OLD.last AND CASE
    WHEN NEW.spent1 >= OLD.spent1 AND NEW.spent2 >= OLD.spent2 AND {_SAME_LIMIT}
    THEN e.kind IN {SUMMED}
    WHEN {_SAME_LIMIT} THEN e.kind = 'void' AND {_PIECE}
    ELSE e.kind = 'grant' AND e.scope = NEW.name AND NEW.spent1 = OLD.spent1
        AND NEW.spent2 = OLD.spent2 AND {_PIECE} END"""
_OPENED = (
    "e.kind = 'grant' AND e.scope = NEW.name AND NEW.spent1 = 0 AND NEW.spent2 = 0 "
    f"AND {_PIECE}"
)
_UNSAID = "an account changes only as the last entry says"
_LAST = (
    "ALTER TABLE hush_account ADD COLUMN {exists} last {integer} NOT NULL DEFAULT -1"
)

# What must be there; when something is missing, everything is made that is not.
TABLE_NAMES = frozenset(
    {"hush_entry", "hush_account", "hush_key", "hush_rare"}
    | {f"hush_{table}_{event.lower()}" for table, event, *_ in _RULES}
    | {"hush_account_says", "hush_account_opens"}
)


_SAYING = (
    ("says", "UPDATE OF spent1, spent2, limit1, limit2, last", _CHANGED),
    ("opens", "INSERT", _OPENED),
)


def prefix(find: str, body: str) -> str:
    """Return SQL for the text of an entry up to the end of its sums.

    That end is the first `]},` before a quote, but for a name that ends so: it loses
    these letters and its quote, in what is compared as well.
    """
    body = f"replace({body}, ']}},\":', ':')"
    return f"substr({body}, 1, {find}({body}, ']}},\"'))"


def _said(place: str, kind: str) -> str:
    kind = kind.format(place=place, prefix=prefix(place, "e.body"))
    return _SAYS.format(kind=kind)


_SAYS_SQLITE = tuple(
    f"CREATE TRIGGER IF NOT EXISTS hush_account_{name} BEFORE {event} ON "
    f"hush_account WHEN NOT {_said('instr', kind)} "
    f"BEGIN SELECT RAISE(ABORT, '{_UNSAID}'); END"
    for name, event, kind in _SAYING
)


def sqlite_tables(*, old: bool) -> tuple[str, ...]:
    """Return the statements that make the tables in SQLite, or add to `old` ones."""
    tables = tuple(each.format(integer="INTEGER", strict=" STRICT") for each in _TABLES)
    more = (_LAST.format(exists="", integer="INTEGER"),) if old else ()
    return (
        tables
        + more
        + _SAYS_SQLITE
        + tuple(
            f"CREATE TRIGGER IF NOT EXISTS hush_{table}_{event.lower()} BEFORE "
            f"{event}{columns} ON hush_{table} WHEN {when} "
            f"BEGIN SELECT RAISE(ABORT, '{says}'); END"
            for table, event, columns, when, says in _RULES
        )
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
    says: list[str] = [_LAST.format(exists="IF NOT EXISTS", integer="BIGINT")]
    for name, event, kind in _SAYING:
        says.append(
            f"CREATE OR REPLACE FUNCTION hush_{name}() RETURNS trigger LANGUAGE "
            f"plpgsql AS $$ BEGIN IF {_said('strpos', kind)} "
            f"THEN RETURN NEW; END IF; RAISE EXCEPTION '{_UNSAID}'; END $$"
        )
        says.append(
            f"CREATE OR REPLACE TRIGGER hush_account_{name} BEFORE {event} "
            f"ON hush_account FOR EACH ROW EXECUTE FUNCTION hush_{name}()"
        )
    return (*tables, *says, refuse, *rows, *tables_whole)
