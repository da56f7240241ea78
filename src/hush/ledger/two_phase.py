"""Two-phase release: reserve, draw, seal, release; nothing leaks, nothing is lost.

1. reserve: the charge is durable before data is read; all accounts pay, or none.
2. draw: the answer exists in memory only. A crash here is resumed by its key.
3. seal: the first answer to arrive is stored; a second one is thrown away.
4. release: what is shown is what is stored, every time.

Redrawing after a crash is safe because nothing drawn before the seal has left the
process: one charge still releases one draw. What a function of a user's own lets out
by ending its process is bounded: a draw is begun again `RESUMPTIONS` times at most.
"""

import functools
import json
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeVar, final

from hush.errors import BudgetExceeded, KeyConflict, LedgerError, LockedOut
from hush.ledger.budget import Balance, Grid, Units, readable, shortfall
from hush.ledger.charge import Request
from hush.ledger.hash_chain import (
    CLOSING,
    FAILURES,
    GENESIS,
    OPENING,
    RARE,
    SUMS,
    Entry,
    Kind,
    Sums,
    canonical,
    named_in_sums,
    resumed_scope,
    says_sums,
    with_sums,
)

# -- What the protocol asks of a store: one durable transaction at a time --------------

FORMAT = 1  # of the tables and the entries; another is refused, never guessed at

Result = TypeVar("Result")
Statement = tuple[str, Sequence[Any]]
Rows = list[Sequence[Any]]

_FIELDS = "seq, kind, scope, key, at, body, prev, hash"
_BALANCE = "name, notion, power1, power2, delta, limit1, limit2, spent1, spent2"
HEAD = "SELECT seq, hash FROM hush_entry ORDER BY seq DESC LIMIT 1"
_EVENTS = f"SELECT {_FIELDS} FROM hush_entry WHERE scope = ? AND key = ?"
_LINKS = f"SELECT key FROM hush_entry WHERE {RARE} AND kind = 'link' AND scope"


def _entry(row: Sequence[Any]) -> Entry:
    return Entry(row[0], Kind(row[1]), *row[2:])


@functools.lru_cache(maxsize=256)  # a grid stays what it was when it was opened
def _grid(notion: str, power1: int, power2: int, delta: str) -> Grid:
    return Grid(notion, (power1, power2), Fraction(delta))


def _balance(row: Sequence[Any]) -> Balance:
    name, notion, power1, power2, delta, *units = row
    grid = _grid(notion, power1, power2, delta)
    return Balance(name, grid, (units[0], units[1]), (units[2], units[3]))


def head_of(rows: Rows) -> tuple[int, str]:
    """Return sequence and hash of the last entry, from the rows of `HEAD`."""
    return (rows[0][0], rows[0][1]) if rows else (-1, GENESIS)


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


@final
@dataclass(frozen=True)
class Snapshot:
    """Everything a charge or an answer is decided by."""

    head: tuple[int, str]
    events: dict[Kind, Entry]  # of one key
    links: tuple[str, ...]  # accounts that the payers' data sets are tied to
    balances: dict[str, Balance]
    failures: int

    @property
    def opening(self) -> Entry | None:
        """The charge under the key."""
        return self._first(OPENING)

    @property
    def closing(self) -> Entry | None:
        """The entry that closed the charge under the key."""
        return self._first(CLOSING)

    def _first(self, kinds: tuple[Kind, ...]) -> Entry | None:
        return next((self.events[kind] for kind in kinds if kind in self.events), None)


class Stale(LedgerError):
    """The accounts of a scope changed since its cost was computed; compute it again."""


class Transaction(ABC):
    """The reads and writes of the protocol, inside one exclusive transaction."""

    # Compares accounts with the whole chain, where their last entries do not say.
    recount: "Callable[[Transaction, list[Balance]], None] | None" = None

    @abstractmethod
    def batch(self, statements: Sequence[Statement]) -> list[Rows]:
        """Run statements, in one round trip if there is a wire; return their rows."""

    @abstractmethod
    def later(self, statement: str, values: Sequence[Any]) -> None:
        """Run a statement that returns nothing, at the latest with the commit."""

    def rows(self, statement: str, *values: Any) -> Rows:
        """Run one statement and return its rows."""
        return self.batch([(statement, values)])[0]

    # -- history -------------------------------------------------------------------

    def look(
        self,
        scope: str,
        key: str,
        payers: Sequence[str] = (),
        names: Sequence[str] = (),
        *,
        failures: bool = False,
    ) -> Snapshot:
        """Read what is on record for a key, its payers and the accounts `names`."""
        asked: list[Statement] = [(HEAD, ()), (_EVENTS, (scope, key))]
        if names:
            accounts = f"FROM hush_account WHERE name IN ({_marks(names)})"
            asked.append((f"{_LINKS} IN ({_marks(payers)})", payers))
            asked.append((f"SELECT {_BALANCE} {accounts}", names))
        if failures:
            asked.append((FAILURES, (scope, scope)))
        found = self.batch(asked)
        return Snapshot(
            head_of(found[0]),
            {entry.kind: entry for entry in map(_entry, found[1])},
            tuple(row[0] for row in found[2]) if names else (),
            {row[0]: _balance(row) for row in found[3]} if names else {},
            int(found[-1][0][0]) if failures else 0,
        )

    def resumptions(self, scope: str, key: str, most: int) -> int:
        """Return how often the draw of a charge was begun once more, up to `most`."""
        scopes = [resumed_scope(scope, times) for times in range(1, most + 1)]
        sql = (
            "SELECT count(*) FROM hush_entry "
            f"WHERE scope IN ({_marks(scopes)}) AND key = ?"
        )
        return int(self.rows(sql, *scopes, key)[0][0])

    def append(self, kind: Kind, scope: str, key: str, body: str) -> Entry:
        """Add one entry, whose body is JSON text, to the end of the chain."""
        return self.chain(head_of(self.rows(HEAD)), kind, scope, key, body)

    def chain(
        self, head: tuple[int, str], kind: Kind, scope: str, key: str, body: str
    ) -> Entry:
        """Add one entry after a head that was read in this transaction."""
        entry = Entry.after(head, kind, scope, key, body)
        self.later(
            f"INSERT INTO hush_entry ({_FIELDS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                entry.seq,
                str(entry.kind),
                entry.scope,
                entry.key,
                entry.at,
                entry.body,
                entry.prev,
                entry.hash,
            ),
        )
        return entry

    def head(self) -> tuple[int, str]:
        """Return sequence and hash of the last entry; (-1, zeros) before the first."""
        return head_of(self.rows(HEAD))

    def hash_of(self, seq: int) -> str | None:
        """Return the hash of an entry; None where there is none."""
        rows = self.rows("SELECT hash FROM hush_entry WHERE seq = ?", seq)
        return str(rows[0][0]) if rows else None

    def last_grant(self, name: str) -> Entry | None:
        """Return the entry that gave an account its limit."""
        sql = (
            f"SELECT {_FIELDS} FROM hush_entry WHERE scope = ? AND kind = 'grant' "
            "ORDER BY seq DESC LIMIT 1"
        )
        rows = self.rows(sql, name)
        return _entry(rows[0]) if rows else None

    def first(self) -> Entry | None:
        """Return the first entry, if the ledger has begun."""
        rows = self.rows(f"SELECT {_FIELDS} FROM hush_entry WHERE seq = 0")
        return _entry(rows[0]) if rows else None

    def entries(self) -> list[Entry]:
        """Return the whole history in order."""
        return list(map(_entry, self.raw()))

    def raw(self, first: int = 0) -> Iterator[Sequence[Any]]:
        """Yield the rows of the history from entry `first` on, as they are stored."""
        if first:
            sql = f"SELECT {_FIELDS} FROM hush_entry WHERE seq >= ? ORDER BY seq"
            yield from self.rows(sql, first)
        else:
            yield from self.rows(f"SELECT {_FIELDS} FROM hush_entry ORDER BY seq")

    def charged_unlike(self, fact: str, value: str, since: int = -1) -> list[Entry]:
        """Return the charges after entry `since` that state another `fact`."""
        # A first sieve in the engine, so that few entries are parsed: those that state
        # the fact even without every place that states this value. Notes may state
        # it too, so one such place says nothing. LIKE would read a wildcard in it.
        sql = (
            f"SELECT {_FIELDS} FROM hush_entry "
            "WHERE seq > ? AND kind IN ('charge', 'reserve', 'hold') "
            "AND replace(body, ?, '') LIKE ?"
        )
        same = f'"{fact}":{canonical(value)}'
        found = map(_entry, self.rows(sql, since, same, f'%"{fact}":"_%'))
        stated = ((e, e.content["facts"].get(fact)) for e in found)
        return [e for e, other in stated if other and other != value]

    def stated(self, name: str) -> list[Any]:
        """Return the facts of every charge of an account, each once."""
        charges = (e.content for e in self.entries() if e.kind in OPENING)
        own = (each["facts"] for each in charges if name in each["costs"])
        return list({canonical(facts): facts for facts in own}.values())

    def links(self, dataset: str) -> tuple[str, ...]:
        """Return the accounts that a data set is tied to."""
        return tuple(sorted(row[0] for row in self.rows(f"{_LINKS} = ?", dataset)))

    def has(self, names: frozenset[str], rows: Rows) -> bool:
        """Whether `rows` name everything a ledger consists of.

        Guarantee: refuses a ledger of another format, before anything is added to it.
        """
        found = {row[0] for row in rows}
        if "hush_entry" in found:
            self._refuse_other_formats()
        return names <= found

    def _refuse_other_formats(self) -> None:
        first = self.first()
        if first is None:
            return
        try:
            found = json.loads(first.body)["format"]
        except (ValueError, KeyError, TypeError):
            found = None
        if found != FORMAT:
            raise LedgerError(
                f"the ledger is of format {found!r}, and this version of hush knows "
                f"format {FORMAT}; nothing was changed. Open it with the version of "
                "hush that wrote it, or a newer one."
            )

    # -- accounts --------------------------------------------------------------------

    def balance(self, name: str) -> Balance | None:
        """Return one account, or None when it was never opened."""
        rows = self.rows(f"SELECT {_BALANCE} FROM hush_account WHERE name = ?", name)
        return _balance(rows[0]) if rows else None

    def balances(self) -> tuple[Balance, ...]:
        """Return every account, by name."""
        sql = f"SELECT {_BALANCE} FROM hush_account ORDER BY name"
        return tuple(map(_balance, self.rows(sql)))

    def open_account(self, name: str, grid: Grid, limit: Units, said: int) -> None:
        """Open an account with nothing spent, as entry `said` says."""
        self.later(
            "INSERT INTO hush_account (name, notion, power1, power2, delta, limit1, "
            "limit2, last) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (name, grid.notion, *grid.powers, str(grid.delta), *limit, said),
        )

    def raise_limit(self, name: str, limit: Units, said: int) -> None:
        """Replace an account's limit by a larger one, as entry `said` says."""
        sql = "UPDATE hush_account SET limit1 = ?, limit2 = ?, last = ? WHERE name = ?"
        self.later(sql, (*limit, said, name))

    def spend(self, costs: Mapping[str, Units], said: int) -> None:
        """Add to what accounts have spent, as entry `said` says.

        The table's CHECK refuses a sum beyond the limit, and with it the transaction:
        the budget holds even if whoever decided was wrong.
        """
        sql = (
            "UPDATE hush_account SET spent1 = spent1 + ?, spent2 = spent2 + ?, "
            "last = ? WHERE name = ?"
        )
        for name, units in costs.items():
            self.later(sql, (*units, said, name))

    def agree_with_chain(self, balances: Iterable[Balance]) -> None:
        """Refuse accounts that are not as the last entry which names them says.

        Guarantee: takes as long for a long chain as for a short one, but for accounts
        that were last changed by a version of hush which did not write sums.
        """
        if self.recount is not None:
            unlike = [each for each in balances if not self._is_as_said(each)]
            if unlike:
                self.recount(self, unlike)

    def _is_as_said(self, balance: Balance) -> bool:
        rows = self.rows(SUMS, named_in_sums(balance.name), balance.name)
        if not rows or rows[0][5]:
            return False
        sums = (*balance.spent, *balance.limit)
        if tuple(rows[0][:4]) != sums:  # by somebody who does not wait for the lock
            raise Stale("the accounts changed while they were read. Try again.")
        return says_sums(rows[0][4], balance.name, sums)


def sums_after(balance: Balance, units: Units) -> Sums:
    """Return what an account has spent after a charge of `units`, and its limit."""
    first, second = balance.spent
    return first + units[0], second + units[1], *balance.limit


def replaced() -> LedgerError:
    """Return what is said of a ledger that is not the one it was."""
    return LedgerError(
        "the ledger was replaced or rolled back while it was open: the last "
        "entry that was seen is gone or another. Nothing is released from it; "
        "restore the newest copy, and look at who could write to it.",
        code="ledger-altered",
    )


# A connection belongs to the process that opened it. What a forked child inherited is
# kept and never touched: closing it would reach the parent's.
_inherited: list[Any] = []
_forking = threading.Lock()


def _renew() -> None:
    global _forking
    _forking = threading.Lock()


os.register_at_fork(after_in_child=_renew)


class Store(ABC):
    """A place that keeps a ledger.

    Guarantee: when `run` returns, what `work` wrote is on stable storage; when it
    raises, nothing was written or the outcome is unknown and a second run with the same
    key will find out. Transactions never interleave.
    """

    durable: bool = True
    seen: tuple[int, str] = (-1, GENESIS)  # the last entry that this handle saw
    # What the anchor says the ledger has come to, read before every write.
    anchored: Callable[[], tuple[int, str] | None] | None = None
    # What has to be found right before the first write, where nobody looked before.
    unchecked: Callable[[Transaction], None] | None = None
    recount: Callable[[Transaction, list[Balance]], None] | None = None
    old: bool = False  # whether its tables are those of before, and cannot be changed
    mode: int | None = None  # who may read and write its file
    _owner: int  # the process that opened the connection
    _connection: Any
    _lock: Any

    def check_seen(self, transaction: "Transaction") -> None:
        """Refuse a ledger that no longer holds the last entry this handle saw."""
        seq, hash = self.seen
        if seq >= 0:
            self.agree_with_seen(transaction.hash_of(seq), hash)

    def check_past(
        self, transaction: "Transaction", anchored: tuple[int, str] | None
    ) -> None:
        """Refuse to write to a ledger that lost what was seen of it or is anchored.

        `anchored` was read before the transaction began: what is anchored was committed
        before that.
        """
        self.check_seen(transaction)
        if anchored is not None and anchored != self.seen:
            self.agree_with_seen(transaction.hash_of(anchored[0]), anchored[1])
        if self.unchecked is not None:
            self.unchecked(transaction)
            self.unchecked = None
        transaction.recount = None if self.old else self.recount

    def damage(self, *, quick: bool) -> str:
        """Return what is wrong with the file, if the store has one; "" for nothing."""
        return ""

    def other_names(self) -> str:
        """Return a sentence about other names of its file; "" where it has one."""
        return ""

    def last_anchored(self) -> tuple[int, str] | None:
        """Return the last line of the anchor, where there is one."""
        return None if self.anchored is None else self.anchored()

    @staticmethod
    def agree_with_seen(found: str | None, hash: str) -> None:
        """Compare the hash of an entry with the one it had when it was last seen."""
        if found != hash:
            raise replaced()

    def drop_inherited_connection(self) -> None:
        """Give a forked child a lock of its own and no connection: it opens its own."""
        if self._owner == os.getpid():
            return
        with _forking:
            if self._owner != os.getpid():
                _inherited.append(self._connection)
                self._connection = None
                self._lock = threading.RLock()  # a lost thread may hold the old one
                self._owner = os.getpid()

    @abstractmethod
    def run(self, work: Callable[[Transaction], Result], step: str = "") -> Result:
        """Do `work` in one durable transaction; `step` is marked before its commit."""

    @abstractmethod
    def read(self, work: Callable[[Transaction], Result]) -> Result:
        """Do `work`, which only reads, on one consistent state."""

    @abstractmethod
    def charge(
        self, request: Request, key: str, kind: Kind, lockout: int | None
    ) -> Entry | None:
        """Charge a new key in one step, where the store has a shorter way.

        Guarantee: returns the durable entry that `reserve` would have written.
        None means that nothing was changed and the protocol has to decide: the key is
        known, the charge does not fit, or there is no shorter way.
        """

    @abstractmethod
    def answer(self, kind: Kind, scope: str, key: str, body: str) -> Entry | None:
        """Store the first answer of a charged key, where there is a shorter way.

        Guarantee: as for `charge`, with `seal`.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the store."""


# -- The protocol ---------------------------------------------------------------------

# More than the crashes of an unlucky week, and few enough that a function which ends
# its process on some data and not on others tells little by it.
RESUMPTIONS: Final = 8


@final
@dataclass(frozen=True)
class Event:
    """What the ledger holds under one key: a charge and, once closed, its answer."""

    opening: Entry
    closing: Entry | None
    new: bool = False  # charged now, not found on record
    worn: bool = False  # its draw was begun as often as it may be


def reserve(
    transaction: Transaction,
    request: Request,
    key: str,
    kind: Kind,
    lockout: int | None,
) -> Event:
    """Charge every account of the request, or find that it was charged before.

    Guarantee: a key is charged once; a charge that does not fit changes nothing;
    accounts are taken in the order of their names, so no two charges deadlock.
    """
    scope, names = request.scope, request.names
    counted = lockout is not None
    seen = transaction.look(scope, key, request.payers, names, failures=counted)
    before = seen.opening
    if before is not None:
        if not request.is_that_of(before):
            raise KeyConflict(
                f"key {key!r} belongs to another request (entry {before.seq}): "
                "query, epsilon or delta, data version (of a file its path, size and "
                "time of change) or accounts differ. Use a new key, or read what this "
                "one released: query.stored(key), ledger.stored(key)."
            )
        closing = seen.closing
        if closing is None and kind is Kind.RESERVE:
            return _begin(transaction, seen, before)
        return Event(before, closing)
    if lockout is not None and seen.failures >= lockout:
        raise LockedOut(
            f"{' and '.join(map(readable, request.payers))}: {lockout} draws failed, "
            "so no more are made. Mend the query, then have it unlocked."
        )
    if sorted({*request.payers, *seen.links}) != names:
        raise Stale("the accounts were tied anew. Try again.")
    transaction.agree_with_chain([seen.balances[name] for name in names])
    after: dict[str, Sums] = {}
    for name in names:
        units, balance = request.costs[name], seen.balances[name]
        if units[0] > balance.left[0] or units[1] > balance.left[1]:
            raise BudgetExceeded(shortfall(balance, units, request.what))
        after[name] = sums_after(balance, units)
    body = with_sums(request.body, after)
    charged = transaction.chain(seen.head, kind, scope, key, body)
    transaction.spend({name: request.costs[name] for name in names}, charged.seq)
    return Event(charged, None, new=True)


def _begin(transaction: Transaction, seen: Snapshot, charge: Entry) -> Event:
    """Write that the draw of a charge begins, for the first time or once more."""
    scope, key = charge.scope, charge.key
    if charge.kind is Kind.HOLD and Kind.START not in seen.events:
        transaction.chain(seen.head, Kind.START, scope, key, "{}")
        return Event(charge, None)
    times = 1 + transaction.resumptions(scope, key, RESUMPTIONS)
    if times > RESUMPTIONS:
        return Event(charge, None, worn=True)
    again = resumed_scope(scope, times)
    transaction.chain(seen.head, Kind.START, again, key, "{}")
    return Event(charge, None)


def closing(transaction: Transaction, scope: str, key: str) -> Entry | None:
    """Return the entry that closed a charge, if it is closed."""
    return transaction.look(scope, key).closing


def seal(
    transaction: Transaction, scope: str, key: str, kind: Kind, answer: str
) -> Entry:
    """Store the answer of a reservation; return the one that is on record.

    Guarantee: the first answer stays for ever. Whoever comes second, after a crash that
    was none or a lost connection, is given the first.
    """
    seen = transaction.look(scope, key)
    if not {Kind.RESERVE, Kind.HOLD} & set(seen.events):
        raise LedgerError(
            f"key {key!r} has no reservation in this ledger, so its answer is not "
            "released. Was the file exchanged while the query ran?"
        )
    closing = seen.closing
    if closing is not None:
        return closing
    return transaction.chain(seen.head, kind, scope, key, answer)


# --------------------------------------------------------------------------------------
# The steps of one release, by name, so that a fault can be planted between any two.
#
# reserve → reserved → draw → drawn → seal → sealed → anchored → release. Nothing here
# acts in production: `at` calls a hook that only tests install.

STEPS: Final = (
    "reserve",
    "commit-reserve",
    "reserved",
    "draw",
    "drawn",
    "seal",
    "commit-seal",
    "sealed",
    "anchored",
)

_hook: Callable[[str], None] | None = None


def at(step: str) -> None:
    """Mark that the protocol has reached `step`."""
    if _hook is not None:
        _hook(step)


def plant(hook: Callable[[str], None] | None) -> None:
    """Call `hook` at every step; None removes it."""
    global _hook
    _hook = hook
