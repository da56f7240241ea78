"""The two writes of a release in SQLite, in the fewest statements.

The write lock is held while Python decides, so the ordinary case decides little: a new
key that fits, a first answer. Anything else raises `Unusual`, which takes everything
back, and `hush.ledger.protocol` decides and explains, as it does for PostgreSQL beside
`hush.ledger.stores.routines`.
"""

import functools
import sqlite3
from collections.abc import Callable
from typing import Any

from hush.ledger.entry import Entry, Kind
from hush.ledger.request import Request
from hush.ledger.stores.schema import FAILURES, RARE

Execute = Callable[..., sqlite3.Cursor]

_LAST = "FROM hush_entry ORDER BY seq DESC LIMIT 1"
_SPEND = (
    "UPDATE hush_account SET spent1 = spent1 + ?1, spent2 = spent2 + ?2 "
    "WHERE name = ?3 AND spent1 + ?1 <= limit1 AND spent2 + ?2 <= limit2"
)
# Sums to 1 for a charge that waits for its answer, whether its draw was begun or not.
_WAITS = (
    "SELECT seq, hash, (SELECT sum(CASE WHEN kind IN ('reserve', 'hold') THEN 1 "
    "WHEN kind = 'start' THEN 0 ELSE 9 END) FROM hush_entry "
    f"WHERE scope = ? AND key = ?) {_LAST}"
)
_APPEND = "INSERT INTO hush_entry VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class Unusual(Exception):
    """Nothing was changed; the protocol has to decide."""


@functools.cache
def _new(payers: int, names: int) -> str:
    """Return the query for the head, and whether a charge is anything but ordinary."""
    links = (
        f"SELECT 1 FROM hush_entry WHERE {RARE} AND kind = 'link' "
        f"AND scope IN ({', '.join('?' * payers)}) "
        f"AND key NOT IN ({', '.join('?' * names)})"
    )
    known = "SELECT 1 FROM hush_entry WHERE scope = ? AND key = ?"
    return f"SELECT seq, hash, EXISTS ({known}) OR EXISTS ({links}) {_LAST}"


def _head(execute: Execute, sql: str, values: Any, wanted: int) -> tuple[int, str]:
    row = execute(sql, values).fetchone()
    if row is None or row[2] != wanted:
        raise Unusual
    return row[0], row[1]


def _append(
    execute: Execute, head: tuple[int, str], kind: Kind, scope: str, key: str, body: str
) -> Entry:
    entry = Entry.after(head, kind, scope, key, body)
    seq, at, prev, hash = entry.seq, entry.at, entry.prev, entry.hash
    execute(_APPEND, (seq, kind.value, scope, key, at, body, prev, hash))
    return entry


def charge(
    execute: Execute, request: Request, key: str, kind: Kind, lockout: int | None
) -> Entry:
    """Charge a new key inside a transaction that holds the write lock."""
    scope, names, payers = request.scope, request.names, request.payers
    if lockout is not None:
        failed = execute(FAILURES, (scope, scope)).fetchone()[0]
        if failed >= lockout:
            raise Unusual
    values = (scope, key, *payers, *names)
    head = _head(execute, _new(len(payers), len(names)), values, 0)
    for name in names:
        if execute(_SPEND, (*request.costs[name], name)).rowcount != 1:
            raise Unusual
    return _append(execute, head, kind, scope, key, request.body)


def answer(execute: Execute, kind: Kind, scope: str, key: str, body: str) -> Entry:
    """Store a first answer inside a transaction that holds the write lock."""
    head = _head(execute, _WAITS, (scope, key), 1)
    return _append(execute, head, kind, scope, key, body)
