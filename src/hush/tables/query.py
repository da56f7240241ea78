"""A query: aggregates per group, planned without data and released through a ledger."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import ibis.expr.types as ir
import numpy as np

from hush import checks
from hush.mechanisms import Geometric
from hush.noise import SECURE, Source
from hush.tables import bounding, engine, expression
from hush.tables.aggregate import Aggregate
from hush.tables.answer import Answer, Planned
from hush.tables.statistic import Partials, Statistic, distinct

if TYPE_CHECKING:
    from hush.tables.dataset import Dataset

Key = tuple[Any, ...]


@final
class _Lazy:
    """The engine's sums, fetched once and only when a draw asks for them."""

    def __init__(self, relation: ir.Table, by: tuple[str, ...]) -> None:
        self._relation, self._by = relation, by
        self._lock = threading.Lock()
        self._found: Partials | None = None

    def partials(self) -> Partials:
        with self._lock:
            if self._found is None:
                rows = engine.fetch(self._relation).to_pylist()
                keyed = {tuple(row[name] for name in self._by): row for row in rows}
                self._found = Partials(keyed)
            return self._found

    def __repr__(self) -> str:
        return "data"


@final
@dataclass(frozen=True)
class _Asked:
    """A statistic as the ledger asks it: of data that is fetched when it is drawn."""

    statistic: Statistic
    unit: str
    neighbors: str

    @property
    def sensitivity(self) -> int:
        return self.statistic.sensitivity

    @property
    def bounds(self) -> tuple[float, float] | None:
        return self.statistic.bounds

    def __call__(self, data: _Lazy) -> Any:
        return self.statistic(data.partials())


@final
@dataclass(frozen=True, eq=False)
class Query:
    """Aggregates of a data set, grouped by public keys.

    Guarantee: everything that is released satisfies the composition of the noise that
    `plan` shows; the plan is made from public parameters alone.
    """

    dataset: "Dataset"
    by: tuple[str, ...]
    keys: tuple[Key, ...]
    aggregates: Mapping[str, Aggregate]

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """What is noised, each statistic once."""
        data = self.dataset
        return distinct(
            [
                Statistic(
                    form,
                    text,
                    grid,
                    data.rows,
                    data.neighbors,
                    self.keys,
                    bool(self.by),
                )
                for aggregate in self.aggregates.values()
                for form, text, grid in aggregate.needs
            ]
        )

    def _mechanisms(self, epsilon: float) -> list[Geometric]:
        checks.real("epsilon", epsilon, above=0)
        share = Fraction(epsilon) / len(self.statistics)
        return [
            Geometric(scale=Fraction(each.sensitivity) / share)
            for each in self.statistics
        ]

    def plan(self, epsilon: float, level: float = 0.95) -> Planned:
        """Return cost and expected error of every cell, without reading the data."""
        checks.real("level", level, above=0, below=1)
        return Planned(self, tuple(self._mechanisms(epsilon)), epsilon, level)

    def relation(self) -> ir.Table:
        """Return what the engine will run: exact sums of bounded contributions."""
        data = self.dataset
        table = data.table
        if self.by:
            table = table.filter(_among(table, self.by, self.keys))
        weighted = bounding.weighted(table, data.unit, data.rows)
        names = self._columns()
        moments = tuple(
            bounding.Moment(name, expression.number(weighted, text), grid)
            for (text, grid), name in names.items()
        )
        return bounding.sums(weighted, self.by, moments)

    def _columns(self) -> dict[tuple[str, Any], str]:
        wanted = [(s.column, s.grid) for s in self.statistics if s.grid is not None]
        return {each: f"m{i}" for i, each in enumerate(dict.fromkeys(wanted))}

    def explain(self) -> str:
        """Return the plan in plain words and the SQL that will run."""
        import ibis

        lines = [
            f"One person (by {self.dataset.unit or 'row'}) counts for at most "
            f"{self.dataset.rows} rows over all groups together.",
            *(
                f"{each.form} {each.column}".strip()
                + f": moves by at most {float(each.sensitivity * each.unit_value):g}."
                for each in self.statistics
            ),
            str(ibis.to_sql(self.relation())),
        ]
        return "\n".join(lines)

    def release(
        self, epsilon: float, *, key: str | None = None, source: Source = SECURE
    ) -> Answer:
        """Charge the budget, then read the data, then answer.

        The same `key` again returns the same answer and costs nothing.
        """
        data = self.dataset
        mechanisms = self._mechanisms(epsilon)
        names = self._columns()
        asked = [
            _Asked(_renamed(each, names), str(data.unit or "row"), str(data.neighbors))
            for each in self.statistics
        ]
        release = data.ledger.release(
            mechanisms,
            asked,
            _Lazy(self.relation(), self.by),
            key=key,
            source=source,
            version=data.version,
            notes={"keys": "public", "table": data.name, "rows": data.rows},
        )
        return Answer(release, self, tuple(mechanisms))


def _renamed(statistic: Statistic, names: Mapping[tuple[str, Any], str]) -> Statistic:
    from dataclasses import replace

    if statistic.grid is None:
        return statistic
    return replace(statistic, column=names[statistic.column, statistic.grid])


def _among(table: ir.Table, by: tuple[str, ...], keys: tuple[Key, ...]) -> Any:
    """Return the condition that a row belongs to one of the public groups."""
    if len(by) == 1:
        values = [key[0] for key in keys if key[0] is not None]
        found = table[by[0]].isin(values)
        return found | table[by[0]].isnull() if (None,) in keys else found
    condition: Any = None
    for key in keys:
        here: Any = None
        for name, value in zip(by, key, strict=True):
            one = table[name].isnull() if value is None else table[name] == value
            here = one if here is None else here & one
        condition = here if condition is None else condition | here
    return condition


def bars(
    statistics: tuple[Statistic, ...], mechanisms: tuple[Geometric, ...], level: float
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the half-width of each statistic at a level, in its own units."""
    return np.array(
        [
            mechanism.error.interval(level)[1] * float(statistic.unit_value)
            for statistic, mechanism in zip(statistics, mechanisms, strict=True)
        ]
    )
