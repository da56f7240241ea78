"""A query: aggregates per group, compiled without data, released through a ledger."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, final

import ibis.expr.types as ir

from hush import checks, suggestions
from hush.errors import InvalidArgument, methods
from hush.ledger import Release
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source
from hush.serialization import stored_text
from hush.tables.aggregates.aggregate import Aggregate
from hush.tables.bounding.relations import (
    BoundedRows,
    QueryResult,
    Relation,
    Sums,
    Term,
)
from hush.tables.bounding.sensitivity import (
    Additive,
    Key,
    Limit,
    Needs,
    Part,
    Statistic,
    unique_parts,
)
from hush.tables.groups.groups import Groups
from hush.tables.queries.answer import Answer
from hush.tables.queries.budget_split import Demand, split_budget
from hush.tables.queries.query_plan import Planned, least_epsilon
from hush.units import Unit

if TYPE_CHECKING:
    from hush.tables.dataset import Dataset


@final
@stored_text("Asked")
@dataclass(frozen=True, repr=False)
class PartOfQuery:
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

    def __call__(self, data: QueryResult, earlier: tuple[Any, ...]) -> Any:
        """Return the exact input of the mechanism: private."""
        data.fetch(self.part.relation)
        keys = self.keys
        if keys is None:  # found by the first step, which itself needs none
            keys = tuple(earlier[0]) if earlier else ()
        return self.part.exact(data, keys)


@final
@dataclass(frozen=True, eq=False)
class CompiledQuery:
    """A query and what it takes to answer it, from public facts alone.

    `plan` prints it, a ledger charges and draws it, an answer is read by it. First
    comes the selection of the keys, if they are private, then each part once; without
    an amount of privacy there are no `mechanisms` yet.

    Guarantee: made without data; whatever cannot be asked is refused here.
    """

    query: "Query"
    limit: Limit  # what one person may do to the answers
    needs: Mapping[str, Needs]  # the parts of each aggregate, and how much each matters
    selection: tuple[Part, ...]  # what finds the keys
    parts: tuple[Part, ...]  # what is noised for the aggregates
    rows: BoundedRows  # the rows it is about
    terms: tuple[Term, ...]  # what is added up of each row
    relations: tuple[Relation, ...]  # what the engine will be asked
    tables: tuple[ir.Table, ...]  # the same as the engine's expressions: exact sums
    keys: tuple[Key, ...] | None  # the groups, None where they are found in the data
    unit: str  # what is protected, as the ledger has it
    cut: bool  # whether rows of keys that a person does not keep are left out
    mechanisms: tuple[Mechanism, ...] = ()

    @classmethod
    def of(cls, query: "Query", *, cut: bool | None = None) -> "CompiledQuery":
        """Return a query without mechanisms; `cut` as given, or as its sums need it.

        The number of found groups that a person is in matters only where sums are
        rounded group by group; the others are bounded by weight over all groups.
        """
        data, groups = query.dataset, query.groups
        limit = Limit(
            data.rows, data.neighbors, groups.number, groups.groups_per_person
        )
        needs = {name: a.needs(limit) for name, a in query.aggregates.items()}
        parts = unique_parts([part for each in needs.values() for part, _ in each])
        if cut is None:
            cut = any(
                isinstance(p, Additive) and p.steps_per_release > 1 for p in parts
            )
        keys, table = groups.keys, data._table
        kept = groups.rows(table, data.unit) if cut or keys is not None else table
        # Keys found in the data are capped by what a person keeps of them.
        literal = None if keys is None else data.groups
        rows = BoundedRows(kept, table, data.unit, data.rows, groups, literal)
        statistics = [part for part in parts if isinstance(part, Statistic)]
        terms = tuple(dict.fromkeys(s.term for s in statistics if s.term))
        sums = Sums(terms) if statistics else None
        own = [part.relation for part in parts if part.relation is not None]
        wanted = (*groups.relations(table, sums, cut=cut), *own)
        relations = tuple(dict.fromkeys(each.relation_to_run(rows) for each in wanted))
        tables = tuple(each.table(rows) for each in relations)
        selection = groups.parts(limit)
        return cls(
            query,
            limit,
            needs,
            selection,
            parts,
            rows,
            terms,
            relations,
            tables,
            keys,
            str(Unit(data.unit)),
            cut,
        )

    def drawn_by(self, mechanisms: tuple[Mechanism, ...]) -> "CompiledQuery":
        """Return the query with its mechanisms: of the selection, then of each part."""
        return replace(self, mechanisms=mechanisms)

    def budgeted(
        self, epsilon: float, delta: float, weights: Mapping[str, float] | None
    ) -> "CompiledQuery":
        """Return the query with the budget split over its selection and its parts."""
        exact = checks.rational("epsilon", epsilon)
        chance = checks.real("delta", delta, at_least=0, below=1)
        demands = self._demands(weights)
        selection: tuple[Mechanism, ...] = ()
        if self.selection:
            selection, exact, chance = self.query.groups.selection(
                exact, chance, self.limit, len(demands)
            )
        amounts = split_budget(demands, exact, chance)
        noised = (d.part.mechanism(a) for d, a in zip(demands, amounts, strict=True))
        return self.drawn_by((*selection, *noised))

    def _demands(self, weights: Mapping[str, float] | None) -> list[Demand]:
        """Return the parts with what their error matters to all aggregates."""
        unknown = set(weights or {}) - set(self.needs)
        if unknown:
            raise InvalidArgument(
                f"weights names {sorted(unknown)}; the aggregates are "
                f"{', '.join(self.needs)}."
            )
        squares = dict.fromkeys(self.parts, 0.0)
        for name, needed in self.needs.items():
            given = (weights or {}).get(name, 1.0)
            weight = checks.real(f"weights[{name!r}]", given, above=0)
            for part, matters in needed:
                squares[part] += weight * matters**2
        return [Demand(part, math.sqrt(total)) for part, total in squares.items()]

    @cached_property
    def mechanism_of(self) -> Mapping[Part, Mechanism]:
        """The mechanism of each part."""
        noised = self.mechanisms[len(self.selection) :]
        return dict(zip(self.parts, noised, strict=True))

    def half_widths(self, name: str, level: float) -> dict[Part, float]:
        """Return that of each part of an aggregate; at `level` all hold at once."""
        parts = [part for part, _ in self.needs[name]]
        each = 1 - (1 - level) / len(parts)  # by the union bound
        return {part: part.half_width(self.mechanism_of[part], each) for part in parts}

    @property
    def measurements(self) -> list[PartOfQuery]:
        """What a ledger asks of the data, one for each mechanism."""
        unit, neighbors = self.unit, str(self.query.dataset.neighbors)
        pairs = zip((*self.selection, *self.parts), self.mechanisms, strict=True)
        return [
            PartOfQuery(part, norm, self.keys, unit, neighbors)
            for part, norm in ((p, 2 if m.metric.norm == 2 else 1) for p, m in pairs)
        ]

    @property
    def notes(self) -> dict[str, Any]:
        """What the receipt says beside the parts; a key does not outlive it."""
        data, groups = self.query.dataset, self.query.groups
        found = {"keys": groups.mode, "table": data.name, "rows": data.rows}
        found |= {"by": list(groups.by), "steps": list(data.steps)}
        return found if data.groups is None else found | {"groups": data.groups}

    def result(self, relations: tuple[Relation, ...] | None = None) -> QueryResult:
        """Return what the engine will answer, fetched when it is first drawn from.

        Other `relations` than its own give the same numbers in another way.
        """
        if relations is None:
            built = dict(zip(self.relations, self.tables, strict=True))
        else:
            built = {each: each.table(self.rows) for each in relations}
        unchanged = self.query.dataset._unchanged
        return QueryResult(self.rows, self.terms, built, unchanged)

    def explain(self) -> str:
        """Return in plain words what one person can do."""
        data, groups = self.query.dataset, self.query.groups
        lines = [
            f"One person (by {data.unit or 'row'}) counts for at most "
            f"{data.rows} rows over all groups together"
            + (f", in at most {data.groups} groups." if data.groups else "."),
            groups.describe(cut=self.cut),
            *(f"{part.name}: {part.describe()}" for part in self.parts),
            *(each.note for each in self.relations if each.note),
        ]
        return "\n".join(lines)


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

    def __post_init__(self) -> None:
        """Refuse what cannot be asked when the query is made."""
        _ = self.compiled

    @property
    def _hints(self) -> Mapping[str, str]:
        return suggestions.QUERY

    @property
    def by(self) -> tuple[str, ...]:
        """The grouping columns."""
        return self.groups.by

    @cached_property
    def compiled(self) -> CompiledQuery:
        """The query without an amount of privacy."""
        return CompiledQuery.of(self)

    def compile(
        self,
        epsilon: float,
        delta: float = 0.0,
        weights: Mapping[str, float] | None = None,
    ) -> CompiledQuery:
        """Return what a release would draw, and with which noise; it reads nothing."""
        return self.compiled.budgeted(epsilon, delta, weights)

    def mechanisms(
        self,
        epsilon: float,
        delta: float = 0.0,
        weights: Mapping[str, float] | None = None,
    ) -> tuple[Mechanism, ...]:
        """Return the mechanism of the groups, if they are private, and of each part."""
        return self.compile(epsilon, delta, weights).mechanisms

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

        def plan_at(amount: float) -> Planned:
            compiled = self.compile(amount, delta, weights)
            return Planned(compiled, float(amount), float(delta), level, cell)

        if epsilon is not None:
            return plan_at(checks.plain_number(epsilon))
        return least_epsilon(plan_at, within, tuple(self.aggregates))

    def relations(self) -> tuple[ir.Table, ...]:
        """Return what the engine will run: exact sums of bounded contributions."""
        return self.compiled.tables

    def explain(self) -> str:
        """Return in plain words what one person can do; `sql_text` shows the SQL."""
        return self.compiled.explain()

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
        delta = checks.plain_number(delta)
        compiled = self.compile(epsilon, delta, weights)
        release = self.dataset.ledger.release(
            list(compiled.mechanisms),
            compiled.measurements,
            compiled.result(),
            key=key,
            source=source,
            delta=delta or None,
            version=self.dataset.version,
            notes=compiled.notes,
        )
        return Answer(release, compiled)

    def answer(self, stored: Release | str) -> Answer:
        """Return the answer that a stored release, or its text, gave to this query.

        Guarantee: reads no data and costs nothing.
        """
        release = stored if isinstance(stored, Release) else Release.from_json(stored)
        ran, compiled = release.mechanisms, self.compiled
        steps = len(compiled.selection) + len(compiled.parts)
        texts = None
        if len(ran) == steps and all(isinstance(m, Mechanism) for m in ran):
            compiled = compiled.drawn_by(ran)
            texts = "; ".join(map(repr, compiled.measurements))
        if (release.receipt.query, release.receipt.notes) != (texts, compiled.notes):
            raise InvalidArgument(
                "stored is the answer to another query: rows, aggregates, bounds, "
                "groups, unit or neighbors differ. Ask as it was asked, then read it."
            )
        return Answer(release, compiled)

    def stored(self, key: str) -> Answer:
        """Return the answer that was released under a key, from the ledger alone.

        Guarantee: reads no data and costs nothing, whatever became of the file.
        """
        return self.answer(self.dataset.ledger.stored(key))
