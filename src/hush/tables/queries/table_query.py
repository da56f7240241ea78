"""A query: aggregates per group, planned without data and released through a ledger."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, final

import ibis.expr.types as ir

from hush import checks, suggestions
from hush.errors import InvalidArgument
from hush.ledger import Release
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source
from hush.tables.aggregates.aggregate import Aggregate
from hush.tables.aggregates.statistic import Statistic
from hush.tables.bounding.relations import Fetched, Reading, Sums, Term, View
from hush.tables.bounding.sensitivity import (
    Additive,
    Key,
    Limit,
    Part,
    distinct,
)
from hush.tables.groups.groups import Groups
from hush.tables.queries.answer import Answer
from hush.tables.queries.budget_split import Demand, divide
from hush.tables.queries.query_plan import Planned, smallest
from hush.tracebacks import methods
from hush.units import Unit

if TYPE_CHECKING:
    from hush.tables.dataset import Dataset


@final
@dataclass(frozen=True)
class Asked:
    """A part as the ledger asks it: of data that is fetched when it is drawn.

    The groups are public, or the first answer of the same batch.
    """

    part: Part
    norm: int
    keys: tuple[Key, ...] | None
    unit: str
    neighbors: str
    adaptive: ClassVar[bool] = True

    @property
    def sensitivity(self) -> Any:
        """How far neighbors are apart, in the norm of the mechanism."""
        return self.part.sensitivity(self.norm)

    @property
    def bounds(self) -> Any:
        """Public bounds, for the receipt."""
        return self.part.bounds

    def __call__(self, data: Fetched, earlier: tuple[Any, ...]) -> Any:
        """Return the exact input of the mechanism: private."""
        keys = self.keys
        if keys is None:  # found by the first step, which itself needs none
            keys = tuple(earlier[0]) if earlier else ()
        return self.part.exact(data, keys)


@methods
@final
@dataclass(frozen=True, eq=False)
class Query(suggestions.Helpful):
    """Aggregates of a data set, by group.

    Guarantee: everything that is released satisfies the composition of the noise that
    `plan` shows; the plan is made from public parameters alone.
    """

    dataset: "Dataset"
    groups: Groups
    aggregates: Mapping[str, Aggregate]

    @property
    def _near(self) -> Mapping[str, str]:
        return suggestions.QUERY

    @property
    def by(self) -> tuple[str, ...]:
        """The grouping columns."""
        return self.groups.by

    @cached_property
    def limit(self) -> Limit:
        """What one person may do to the answers."""
        data = self.dataset
        return Limit(data.rows, data.neighbors, self.groups.number, self.groups.touched)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What is noised, each part once."""
        needed = [
            part
            for aggregate in self.aggregates.values()
            for part, _ in aggregate.needs(self.limit)
        ]
        return distinct(needed)

    def _demands(self, weights: Mapping[str, float] | None) -> list[Demand]:
        """Return the parts with what their error matters to all aggregates."""
        unknown = set(weights or {}) - set(self.aggregates)
        if unknown:
            raise InvalidArgument(
                f"weights names {sorted(unknown)}; the aggregates are "
                f"{', '.join(self.aggregates)}."
            )
        squares = dict.fromkeys(self.parts, 0.0)
        for name, aggregate in self.aggregates.items():
            given = (weights or {}).get(name, 1.0)
            weight = checks.real(f"weights[{name!r}]", given, above=0)
            for part, matters in aggregate.needs(self.limit):
                squares[part] += weight * matters**2
        return [Demand(part, math.sqrt(total)) for part, total in squares.items()]

    def mechanisms(
        self,
        epsilon: float,
        delta: float = 0.0,
        weights: Mapping[str, float] | None = None,
    ) -> tuple[Mechanism, ...]:
        """Return the mechanism of the groups, if they are private, and of each part."""
        exact = checks.rational("epsilon", epsilon)
        chance = checks.real("delta", delta, at_least=0, below=1)
        demands = self._demands(weights)
        finding, left, rest = self.groups.finding(
            exact, chance, self.limit, len(demands)
        )
        amounts = divide(demands, left, rest)
        noised = (d.part.mechanism(a) for d, a in zip(demands, amounts, strict=True))
        return (*finding, *noised)

    def plan(
        self,
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        within: Any = None,
        level: float = 0.95,
        cell: float = 1000,
        weights: Mapping[str, float] | None = None,
    ) -> Planned:
        """Return cost and expected error without reading the data.

        Instead of `epsilon`, say `within`: half-widths by aggregate (or one for all)
        that intervals at `level` shall not exceed in a group of `cell` rows; the plan
        then has the smallest ε that reaches them.
        """
        level = checks.real("level", level, above=0, below=1)
        cell = checks.real("cell", cell, above=0)
        if (epsilon is None) == (within is None):
            raise InvalidArgument("plan takes epsilon, or within: one of the two.")

        def planned(amount: float) -> Planned:
            found = self.mechanisms(amount, delta, weights)
            return Planned(self, found, float(amount), float(delta), level, cell)

        if epsilon is not None:
            return planned(checks.plain(epsilon))
        return smallest(planned, within, tuple(self.aggregates))

    @cached_property
    def _rounded(self) -> bool:
        """Whether the number of found groups that a person is in matters.

        It does only where sums are rounded group by group; counts and ranks are bounded
        over all groups by their weight.
        """
        return any(isinstance(p, Additive) and p.coarse > 1 for p in self.parts)

    @cached_property
    def view(self) -> View:
        """The rows the query is about."""
        data = self.dataset
        keys = self.groups.keys
        table = data._table
        if keys is not None or self._rounded:
            table = self.groups.rows(table, data.unit)
        # Keys found in the data are capped by what a person keeps of them.
        groups = None if keys is None else data.groups
        matched = self.groups.matched
        return View(
            *(table, data._table, data.unit, data.rows),
            *(self.by, keys, matched, groups),
        )

    @cached_property
    def _terms(self) -> tuple[Term, ...]:
        found = [p.term for p in self.parts if isinstance(p, Statistic) and p.term]
        return tuple(dict.fromkeys(found))

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """What the engine will be asked."""
        sums = any(isinstance(part, Statistic) for part in self.parts)
        own = [part.reading for part in self.parts if part.reading is not None]
        asked = Sums(self._terms) if sums else None
        found = self.groups.readings(self.dataset._table, asked, cut=self._rounded)
        chosen = [each.chosen(self.view) for each in (*found, *own)]
        return tuple(dict.fromkeys(chosen))

    def relations(self) -> tuple[ir.Table, ...]:
        """Return what the engine will run: exact sums of bounded contributions."""
        return tuple(each.relation(self.view) for each in self.readings)

    def explain(self) -> str:
        """Return in plain words what one person can do; `sql_text` shows the SQL."""
        data = self.dataset
        lines = [
            f"One person (by {data.unit or 'row'}) counts for at most "
            f"{data.rows} rows over all groups together"
            + (f", in at most {data.groups} groups." if data.groups else "."),
            self.groups.words(cut=self._rounded),
            *(f"{part.name}: {part.words()}" for part in self.parts),
            *(each.note for each in self.readings if each.note),
        ]
        return "\n".join(lines)

    def sql_text(self) -> str:
        """Return the SQL that will run; it reads nothing.

        Columns of CSV and JSON files are read from texts in it, used or not.
        """
        import ibis

        return "\n".join(str(ibis.to_sql(each)) for each in self.relations())

    def release(
        self,
        epsilon: float,
        delta: float = 0.0,
        *,
        weights: Mapping[str, float] | None = None,
        key: str | None = None,
        source: Source = SECURE,
    ) -> Answer:
        """Charge the budget, then read the data, then answer.

        The budget is divided over the aggregates by expected error; `weights` make some
        matter more. The same `key` again returns the same answer and costs nothing.
        """
        data = self.dataset
        delta = checks.plain(delta)
        mechanisms = self.mechanisms(epsilon, delta, weights)
        release = data.ledger.release(
            list(mechanisms),
            self._asked(mechanisms),
            Fetched(self.view, self._terms, self.readings, data._unchanged),
            key=key,
            source=source,
            delta=delta or None,
            version=data.version,
            notes=self._notes,
        )
        return Answer(release, self, mechanisms)

    def answer(self, stored: Release | str) -> Answer:
        """Return the answer that a stored release, or its text, gave to this query.

        Guarantee: reads no data and costs nothing.
        """
        found = stored if isinstance(stored, Release) else Release.from_json(stored)
        ran = found.mechanisms
        steps = len(self.groups.parts(self.limit)) + len(self.parts)
        alike = len(ran) == steps and all(isinstance(m, Mechanism) for m in ran)
        texts = "; ".join(map(repr, self._asked(ran))) if alike else None
        if (found.receipt.query, found.receipt.notes) != (texts, self._notes):
            raise InvalidArgument(
                "stored is the answer to another query: rows, aggregates, bounds, "
                "groups, unit or neighbors differ. Ask as it was asked, then read it."
            )
        return Answer(found, self, ran)

    def stored(self, key: str) -> Answer:
        """Return the answer that was released under a key, from the ledger alone.

        Guarantee: reads no data and costs nothing, whatever became of the file.
        """
        return self.answer(self.dataset.ledger.stored(key))

    @property
    def _notes(self) -> dict[str, Any]:
        """What the receipt says beside the parts; a key does not outlive it."""
        data = self.dataset
        found = {"keys": self.groups.mode, "table": data.name, "rows": data.rows}
        found |= {"by": list(self.by), "steps": list(data.steps)}
        return found if data.groups is None else found | {"groups": data.groups}

    def _asked(self, mechanisms: tuple[Mechanism, ...]) -> list[Asked]:
        data = self.dataset
        return [
            Asked(
                part,
                2 if mechanism.metric.norm == 2 else 1,
                self.groups.keys,
                str(Unit(data.unit)),
                str(data.neighbors),
            )
            for part, mechanism in zip(
                (*self.groups.parts(self.limit), *self.parts), mechanisms, strict=True
            )
        ]
