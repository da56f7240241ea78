"""Opening a table: what it is, who is protected in it, and what pays."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hush import checks
from hush.errors import InvalidArgument, LedgerError
from hush.ledger import Budget, Ledger
from hush.tables.dataset import Dataset, row_bound
from hush.tables.engines import private_tables
from hush.tables.engines.sources import source
from hush.tables.expressions.types import near_columns, told_apart
from hush.tracebacks import brief
from hush.units import Neighbors

_ROWS = 10  # of one person, unless said
_SHOWN = 5  # data sets that an error names


def _account(url: str, budget: Budget | None, name: str) -> Ledger:
    """Return the ledger at an address, which knows this data set or is given a budget.

    A file that is not there is not begun for nothing.
    """
    path = url.removeprefix("sqlite:///")
    if budget is None and path != url and not Path(path).exists():
        raise InvalidArgument(
            f"ledger {url!r} does not exist yet: begin it with budget=, as in "
            "hush.Budget(epsilon=1).",
            code="budget-missing",
        )
    found = Ledger.open(url, budget=budget, dataset=name)
    try:
        found.remaining()
    except LedgerError:
        there = _data_sets(found)
        found.close()
        raise InvalidArgument(_unknown(name, there), code="budget-missing") from None
    return found


def _data_sets(ledger: Ledger) -> list[str]:
    named = (each.account.partition(":") for each in ledger.accounts().accounts)
    return [name for kind, _, name in named if kind == "dataset"]


def _unknown(name: str, there: list[str]) -> str:
    """Say that a ledger has no account of this data set, and whose it has."""
    if not there:
        return (
            f"the ledger has no account of data set {name!r}: open one with budget=, "
            "as in hush.Budget(epsilon=1)."
        )
    shown = ", ".join(map(repr, there[:_SHOWN]))
    more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
    return (
        f"the ledger has no account of data set {name!r}; it has {shown}{more}. If "
        f"these are the same people, go on with theirs: name={there[0]!r}. With "
        "budget=, as in hush.Budget(epsilon=1), an account is opened that begins a "
        "budget of its own: for other people."
    )


def _people(unit: str | None, rows: int | None, groups: int | None) -> None:
    """Refuse what says that somebody has several rows where every row is a person."""
    if unit is not None:
        return
    given = {"rows": None if rows == 1 else rows, "groups": groups}
    for name, value in given.items():
        if value is not None:
            raise InvalidArgument(
                f"{name}={value!r} says how much one person may count, but no unit= "
                'says whose a row is. Write unit="column", the column that tells '
                f"people apart; or leave {name}= out, if every row is another person.",
                code="unit-missing",
            )


def _own(ledger: Ledger, name: str) -> None:
    """Refuse to let one data set pay for another that has an account of its own."""
    named = (each.account.partition(":") for each in ledger.remaining().accounts)
    payer = next((of for kind, _, of in named if kind == "dataset"), name)
    if payer != name and name in _data_sets(ledger):
        raise InvalidArgument(
            f"ledger pays from the account of {payer!r}, and there is one of {name!r}: "
            f"write ledger=ledger.on(dataset={name!r}), or name={payer!r} if it is the "
            "same data."
        )


def paying_ledger(given: Any, budget: Budget | None, name: str) -> Ledger:
    """Return the ledger that was given, or the one at its address."""
    if isinstance(given, Ledger):
        if budget is not None:  # opens the account, or refuses another budget than its
            given.grant(budget)
        _own(given, name)
        return given
    if given is not None and not isinstance(given, str):
        shown = f"sqlite:///{given}" if isinstance(given, os.PathLike) else "memory://"
        raise InvalidArgument(
            f"ledger must be a hush.Ledger or the address of one, as in "
            f"ledger={shown!r}; got a {type(given).__name__}."
        )
    if budget is None and given is None:
        raise InvalidArgument(
            "give budget=, as in hush.Budget(epsilon=1), or ledger=.",
            code="budget-missing",
        )
    return _account("memory://" if given is None else given, budget, name)


@brief
def open_table(
    given: Any,
    *,
    unit: str | None = None,
    budget: Budget | None = None,
    ledger: Ledger | str | None = None,
    neighbors: str | Neighbors = Neighbors.ADD_REMOVE,
    rows: int | None = None,
    groups: int | None = None,
    name: str | None = None,
    types: Mapping[str, str] | None = None,
) -> Dataset:
    """Open a table to ask about its people privately.

    It is a path, a mapping of columns, a frame, a database address or an Ibis table.
    A CSV or JSON file has no types: its columns are texts unless `types` declares
    them, as in types={"fare": "number", "day": "date"}.

    `unit` is the column that says whom a row is about; without it every row is a
    person, and `rows` and `groups` are left out. One person counts for at most `rows`
    rows, 10 unless said. Without `groups`, the rows of somebody who has more weigh
    less; with it, a keyed sample of at most `rows` of them in at most `groups` groups
    is kept and the rest dropped.

    `budget` is what all releases together may cost, as in hush.Budget(epsilon=1).
    `ledger` is where it is kept, a `hush.Ledger` or its address. Without it the budget
    lives in this process only: opening the table again begins a new one. With
    ledger="sqlite:///budget.db" it stays on disk and survives crashes.
    `neighbors` is how two tables that must look alike differ: "add-remove" of one
    person, or "replace-one". If a model of hush.learn will be fitted on the same
    budget, open with neighbors="replace-one" from the start, as the first charge
    settles it for good; counts and sums then have twice the noise.
    `name` is the table's name in SQL and in the ledger: the file's, or "data".
    `types`, for CSV and JSON only, knows "number", "text", "date" and "boolean".

    Example:
        >>> import hush
        >>> trips = {"driver": [1, 1, 2, 3], "fare": [10.0, 12, 8, 30]}
        >>> budget = hush.Budget(epsilon=1)
        >>> data = hush.open(trips, unit="driver", rows=2, budget=budget)
        >>> query = data.agg(n=hush.count(), fare=hush.mean("fare", bounds=(0, 80)))
        >>> sorted(query.release(epsilon=0.5).values)
        ['fare', 'n']
    """
    _people(unit, rows, groups)
    found = source(given, name, types)
    if unit is not None and unit not in found.table.columns:
        near = near_columns(unit, found.table.columns)
        raise InvalidArgument(
            f"unit {checks.shown(unit)} is not a column; {near}", code="unknown-column"
        )
    table = found.table if unit is None else told_apart(found.table, (unit,))
    private_tables.remember(given, found.table, found.origin)
    return Dataset(
        table,
        found.name,
        (found.origin,),
        unit,
        1 if unit is None else row_bound(_ROWS if rows is None else rows),
        Neighbors.of(neighbors),
        paying_ledger(ledger, budget, found.name),
        groups if groups is None else checks.whole("groups", groups, at_least=1),
    )
