"""What the protocol asks of a store: one durable transaction at a time."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeVar, final

from hush.ledger.account import Balance
from hush.ledger.budget import Units
from hush.ledger.cost import Grid
from hush.ledger.entry import GENESIS, Entry, Kind

Result = TypeVar("Result")
Execute = Callable[[str, Sequence[Any]], Any]

_FIELDS = "seq, kind, scope, key, at, body, prev, hash"
_BALANCE = "name, notion, power1, power2, delta, limit1, limit2, spent1, spent2"


def _entry(row: Sequence[Any]) -> Entry:
    return Entry(row[0], Kind(row[1]), *row[2:])


def _balance(row: Sequence[Any]) -> Balance:
    name, notion, power1, power2, delta, *units = row
    grid = Grid(notion, (power1, power2), Fraction(delta))
    return Balance(name, grid, (units[0], units[1]), (units[2], units[3]))


@final
class Transaction:
    """The reads and writes of the protocol, inside one exclusive transaction."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute

    def _one(self, sql: str, *values: Any) -> Any:
        return self._execute(sql, values).fetchone()

    # -- history -------------------------------------------------------------------

    def head(self) -> tuple[int, str]:
        """Return sequence and hash of the last entry; (-1, zeros) before the first."""
        row = self._one("SELECT seq, hash FROM hush_entry ORDER BY seq DESC LIMIT 1")
        return (row[0], row[1]) if row else (-1, GENESIS)

    def append(self, kind: Kind, scope: str, key: str, body: str) -> Entry:
        """Add one entry, whose body is JSON text, to the end of the chain."""
        entry = Entry.after(self.head(), kind, scope, key, body)
        self._execute(
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

    def events(self, scope: str, key: str) -> dict[Kind, Entry]:
        """Return what happened to one key, by kind."""
        rows = self._execute(
            f"SELECT {_FIELDS} FROM hush_entry WHERE scope = ? AND key = ? "
            "ORDER BY seq",
            (scope, key),
        ).fetchall()
        return {entry.kind: entry for entry in map(_entry, rows)}

    def entries(self) -> Iterator[Entry]:
        """Yield the whole history in order."""
        rows = self._execute(f"SELECT {_FIELDS} FROM hush_entry ORDER BY seq", ())
        for row in rows:
            yield _entry(row)

    def raw(self) -> Iterator[Sequence[Any]]:
        """Yield the rows of the history as they are stored."""
        yield from self._execute(f"SELECT {_FIELDS} FROM hush_entry ORDER BY seq", ())

    def failures(self, scope: str) -> int:
        """Return how many draws of a scope failed since it was last unlocked."""
        row = self._one(
            "SELECT count(*) FROM hush_entry WHERE kind = 'fail' AND scope = ? AND "
            "seq > (SELECT coalesce(max(seq), 0) FROM hush_entry "
            "WHERE kind = 'unlock' AND scope = ?)",
            scope,
            scope,
        )
        return int(row[0])

    def links(self, dataset: str) -> tuple[str, ...]:
        """Return the accounts that a data set is tied to."""
        rows = self._execute(
            "SELECT key FROM hush_entry WHERE kind = 'link' AND scope = ?", (dataset,)
        ).fetchall()
        return tuple(sorted(row[0] for row in rows))

    # -- accounts --------------------------------------------------------------------

    def balance(self, name: str) -> Balance | None:
        """Return one account, or None when it was never opened."""
        row = self._one(f"SELECT {_BALANCE} FROM hush_account WHERE name = ?", name)
        return _balance(row) if row else None

    def balances(self) -> tuple[Balance, ...]:
        """Return every account, by name."""
        sql = f"SELECT {_BALANCE} FROM hush_account ORDER BY name"
        return tuple(map(_balance, self._execute(sql, ()).fetchall()))

    def open_account(self, name: str, grid: Grid, limit: Units) -> None:
        """Open an account with nothing spent."""
        self._execute(
            "INSERT INTO hush_account (name, notion, power1, power2, delta, limit1, "
            "limit2) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (name, grid.notion, *grid.powers, str(grid.delta), *limit),
        )

    def raise_limit(self, name: str, limit: Units) -> None:
        """Replace an account's limit by a larger one."""
        self._execute(
            "UPDATE hush_account SET limit1 = ?, limit2 = ? WHERE name = ?",
            (*limit, name),
        )

    def spend(self, name: str, units: Units) -> bool:
        """Spend if it fits, in one statement; say whether it did."""
        first, second = units
        done = self._execute(
            "UPDATE hush_account SET spent1 = spent1 + ?, spent2 = spent2 + ? "
            "WHERE name = ? AND spent1 + ? <= limit1 AND spent2 + ? <= limit2",
            (first, second, name, first, second),
        )
        return bool(done.rowcount == 1)

    def give_back(self, name: str, units: Units) -> None:
        """Undo the spending of a voided reservation."""
        self._execute(
            "UPDATE hush_account SET spent1 = spent1 - ?, spent2 = spent2 - ? "
            "WHERE name = ?",
            (*units, name),
        )


class Store(ABC):
    """A place that keeps a ledger.

    Guarantee: when `run` returns, what `work` wrote is on stable storage; when it
    raises, nothing was written or the outcome is unknown and a second run with the same
    key will find out. Transactions never interleave.
    """

    durable: bool = True

    @abstractmethod
    def run(self, work: Callable[[Transaction], Result], step: str = "") -> Result:
        """Do `work` in one durable transaction; `step` is marked before its commit."""

    @abstractmethod
    def read(self, work: Callable[[Transaction], Result]) -> Result:
        """Do `work`, which only reads, on one consistent state."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the store."""
