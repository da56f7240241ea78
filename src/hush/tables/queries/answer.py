"""What came out of a query: values, intervals and a receipt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import ibis
import ibis.expr.types as ir
import numpy as np

from hush import checks
from hush.errors import InvalidArgument, Unsupported
from hush.ledger import Release
from hush.tables.aggregates.aggregate import Aggregate, Count, Estimate, Mean, Released
from hush.tables.aggregates.histogram_aggregates import Histogram
from hush.tables.aggregates.quantile_aggregates import Quantiles
from hush.tables.bounding.sensitivity import Key, Part
from hush.tables.engines import sources
from hush.tables.engines.engine import fetch
from hush.tables.engines.extras import package
from hush.tables.expressions import expression
from hush.tables.queries.answer_display import Shown

if TYPE_CHECKING:
    from hush.ledger.release import Receipt
    from hush.mechanisms.mechanism import Mechanism
    from hush.tables.queries.table_query import CompiledQuery, Query


@final
@dataclass(frozen=True, eq=False, repr=False)
class Answer(Shown):
    """Released aggregates: one row per group, with intervals and a receipt.

    Guarantee: a function of the stored release alone; nothing here can reach the data.
    """

    release: Release
    compiled: "CompiledQuery"
    bounds: Mapping[str, tuple[float, float]] | None = None  # those found in the data

    @property
    def query(self) -> "Query":
        """What was asked."""
        return self.compiled.query

    @property
    def mechanisms(self) -> "tuple[Mechanism, ...]":
        """What drew it: the selection of private keys, then one for each part."""
        return self.compiled.mechanisms

    @property
    def receipt(self) -> "Receipt":
        """What was paid, for what, and where the ledger says so."""
        return self.release.receipt

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Names of the numbers of histograms and quantiles: edges, values, levels."""
        named = {n: each.labels for n, each in self.query.aggregates.items()}
        return {name: labels for name, labels in named.items() if labels}

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """What values lie within whatever the data: known of means and quantiles."""
        named = {n: each.within for n, each in self.query.aggregates.items()}
        return {name: ends for name, ends in named.items() if ends is not None}

    @property
    def quantiles(self) -> tuple[str, ...]:
        """Names of the aggregates that are several quantiles at once."""
        named = self.query.aggregates.items()
        return tuple(name for name, each in named if isinstance(each, Quantiles))

    @property
    def sampled(self) -> tuple[str, ...]:
        """Names of the aggregates whose only intervals are for the population."""
        named = self.query.aggregates.items()
        return tuple(n for n, a in named if getattr(a, "population_ends", False))

    @property
    def counts(self) -> tuple[str, ...]:
        """Names of the aggregates that count rows."""
        named = self.query.aggregates.items()
        return tuple(n for n, each in named if isinstance(each, (Count, Histogram)))

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """The groups, in the order of the rows."""
        known = self.query.groups.keys
        if known is not None:
            return known
        return tuple(map(tuple, self.release.values[0]))

    @cached_property
    def _values(self) -> Mapping[Part, Any]:
        parts = self.compiled.parts
        answers = self.release.values[len(self.compiled.selection) :]
        return {p: p.read(a) for p, a in zip(parts, answers, strict=True)}

    def _released_values(self, name: str, level: float) -> Released:
        noised = self.compiled.mechanism_of
        bars = self.compiled.half_widths(name, level)
        return Released(self._values, bars, level, noised)

    @cached_property
    def values(self) -> dict[str, Any]:
        """Released values per aggregate, in the order of the keys."""
        return {
            name: each.answer(
                self.compiled.limit, self._released_values(name, 0.95)
            ).value
            for name, each in self.query.aggregates.items()
        }

    def interval(
        self, level: float = 0.95, *, population: bool = False
    ) -> dict[str, tuple[Any, Any]]:
        """Return ends that hold each aggregate with probability `level`, cell by cell.

        They cover the noise: the aggregate of the bounded data is inside. With
        `population` they also cover sampling, for the aggregates that can (counts, sums
        of one sign, means, quantiles), if people are an independent sample: a count or
        a sum is then that expected of another such sample. Of a mean the spread of
        values is not known, so it has the largest that its bounds allow; `estimates`
        takes a released one. Clamping is in neither.
        """
        checks.real("level", level, above=0, below=1)
        found: dict[str, tuple[Any, Any]] = {}
        limit = self.compiled.limit
        for name, aggregate in self.query.aggregates.items():
            if population:
                released = self._released_values(name, level)
                ends = aggregate.population(limit, released, level)
                if ends is not None:
                    found[name] = ends
                continue
            estimate: Estimate = aggregate.answer(
                limit, self._released_values(name, level)
            )
            if estimate.low is not None:
                found[name] = estimate.low, estimate.high
        if population and not found:
            raise Unsupported(
                "none of these has an interval for the population. A median is asked "
                'for one in advance, as in hush.median("fare", bounds=(0, 80), '
                "population=True); counts, sums and means have one anyway."
            )
        return found

    def estimates(self, name: str, *, variance: Any = None) -> tuple[Any, ...]:
        """Return what each group says of a population, for `hush.inference`.

        Of a mean, a count or a sum of values that are not negative: an estimate for
        each key, in their order, with sampling and noise in its error.
        `difference_interval` and `difference_test` take two of them, of groups that
        share nobody: then they are independent. `variance` is that of one value, a
        number or one for each group, such as the square of a released std; without it
        a mean takes the largest that its bounds allow, which is safe and wide.

        Guarantee: a function of the release; it costs nothing. Intervals hold as those
        of `interval(population=True)`, differences where groups are large against
        their noise; a variance is taken at its word.

        Example:
            >>> import hush
            >>> from hush.inference import difference_test
            >>> people = {"sex": ["f", "m"] * 5000, "late": [True, False] * 5000}
            >>> data = hush.open(people, budget=hush.Budget(epsilon=1))
            >>> query = data.group_by("sex", keys=["f", "m"]).agg(
            ...     share=hush.mean("late"))
            >>> women, men = query.release(epsilon=1).estimates("share")
            >>> difference_test(women, men).rejects(0.01)
            True
        """
        aggregates = self.query.aggregates
        if name not in aggregates:
            raise InvalidArgument(
                f"there is no aggregate {name!r}; there are {', '.join(aggregates)}."
            )
        aggregate = aggregates[name]
        if variance is not None:
            variance = _variance_per_group(variance, len(self.keys), aggregate)
        released = self._released_values(name, 0.95)
        found = aggregate.estimates(self.compiled.limit, released, variance)
        if found is None:
            raise Unsupported(
                f"{name!r} is a {type(aggregate).__name__.lower()}: estimates are of "
                "means, counts and sums of values that are not negative. Take the mean "
                "of a sum; of quantiles, answer.interval(level, population=True)."
            )
        return tuple(found)

    def _columns(self, level: float | None) -> dict[str, Any]:
        columns: dict[str, Any] = {
            name: [key[i] for key in self.keys] for i, name in enumerate(self.query.by)
        }
        ends = self.interval(level) if level is not None else {}
        for name, values in self.values.items():
            columns[name] = _rows(values)
            if name in ends:
                low, high = ends[name]
                columns[f"{name}_low"], columns[f"{name}_high"] = (
                    _rows(low),
                    _rows(high),
                )
        return columns

    def to_dict(self, level: float | None = None) -> dict[str, list[Any]]:
        """Return plain columns; with a `level`, interval ends beside each value."""
        return {
            name: np.asarray(values, dtype=object).tolist()
            if isinstance(values, np.ndarray)
            else list(values)
            for name, values in self._columns(level).items()
        }

    def to_arrow(self, level: float | None = None) -> Any:
        """Return an Arrow table."""
        arrow = package("pyarrow", "arrow", "to_arrow()")
        return arrow.table(self._columns(level))

    def to_json(self) -> str:
        """Return the stored release as JSON text; `query.answer(text)` reads it."""
        return self.release.to_json()


def _variance_per_group(
    variance: Any, groups: int, aggregate: Aggregate
) -> list[float]:
    """Return a variance for every group."""
    if not isinstance(aggregate, Mean):
        raise InvalidArgument("variance is for means; leave it out.")
    given = np.asarray(variance, dtype=object)
    if given.ndim and given.shape != (groups,):
        raise InvalidArgument(
            f"variance must be a number, or one for each of the {groups} groups; got "
            f"an array of shape {given.shape}."
        )
    listed = [given.item()] * groups if not given.ndim else given.tolist()
    return [checks.real("variance", each, at_least=0) for each in listed]


def _rows(values: Any) -> Any:
    """Return one value per group: a list where an aggregate has several."""
    array = np.asarray(values)
    return array if array.ndim == 1 and array.dtype != object else array.tolist()


# -- A view of an answer: some of its rows, in an order. It costs nothing --------------
#
# HAVING, ORDER BY and LIMIT look at released values alone, so they are free; the
# release and its receipt stay whole underneath.


@final
@dataclass(frozen=True)
class View:
    """Which rows of a released table to show: texts over its columns."""

    having: str | None = None
    order: tuple[tuple[str, bool, bool], ...] = ()  # text, descending, NULL first
    limit: int | None = None
    offset: int = 0
    types: tuple[tuple[str, str], ...] = ()  # columns that may be looked at

    def __post_init__(self) -> None:
        if self.types:  # refused before anything is paid
            self._values(ibis.table(dict(self.types), name="released"))

    def _values(self, table: ir.Table) -> dict[str, Any]:
        wanted = {}
        if self.having is not None:
            wanted["keep"] = expression.condition(table, self.having)
        for i, (text, *_) in enumerate(self.order):
            wanted[f"by{i}"] = expression.typed_value(table, text).value
        return wanted

    def rows(self, released: Mapping[str, Sequence[Any]], count: int) -> list[int]:
        """Return the numbers of the rows to show, in their order."""
        types = {"_row": "int64", **dict(self.types)}
        columns = {"_row": range(count), **released}
        table = sources.plain_table(
            {name: columns[name] for name in types}, "released", types
        )
        wanted = self._values(table)
        found = fetch(table.select("_row", **wanted)).to_pylist()
        found.sort(key=lambda row: row["_row"])
        if self.having is not None:
            found = [row for row in found if row["keep"]]
        for i, (_, descending, first) in reversed(list(enumerate(self.order))):
            # Sorting is stable, so the first key goes last.
            known = [row for row in found if row[f"by{i}"] is not None]
            known.sort(key=lambda row, name=f"by{i}": row[name], reverse=descending)  # type: ignore[misc]
            without = [row for row in found if row[f"by{i}"] is None]
            found = without + known if first else known + without
        last = None if self.limit is None else self.offset + self.limit
        return [row["_row"] for row in found[self.offset : last]]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Presented(Shown):
    """Released aggregates as HAVING, ORDER BY and LIMIT left them.

    Guarantee: a function of the release alone; `answer` has all of it.
    """

    answer: "Answer"
    view: View

    @property
    def receipt(self) -> "Receipt":
        """What was paid, for what, and where the ledger says so."""
        return self.answer.receipt

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Names of the numbers of histograms and quantiles; see `Answer.labels`."""
        return self.answer.labels

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """What values lie within; see `Answer.ranges`."""
        return self.answer.ranges

    @property
    def quantiles(self) -> tuple[str, ...]:
        """Names of several quantiles at once; see `Answer.quantiles`."""
        return self.answer.quantiles

    @property
    def sampled(self) -> tuple[str, ...]:
        """Names of what covers sampling; see `Answer.sampled`."""
        return self.answer.sampled

    @property
    def counts(self) -> tuple[str, ...]:
        """Names of what counts rows; see `Answer.counts`."""
        return self.answer.counts

    @cached_property
    def rows(self) -> list[int]:
        """Numbers of the rows shown, in their order."""
        return self.view.rows(self.answer.to_dict(), len(self.answer.keys))

    @property
    def values(self) -> dict[str, Any]:
        """Released values per aggregate, in the order shown."""
        return {
            name: np.asarray(each)[self.rows]
            for name, each in self.answer.values.items()
        }

    def interval(
        self, level: float = 0.95, *, population: bool = False
    ) -> dict[str, tuple[Any, Any]]:
        """Return bounds for each value shown; see `Answer.interval`."""
        found = self.answer.interval(level, population=population)
        return {
            name: (np.asarray(low)[self.rows], np.asarray(high)[self.rows])
            for name, (low, high) in found.items()
        }

    def to_arrow(self, level: float | None = None) -> Any:
        """Return an Arrow table."""
        return self.answer.to_arrow(level).take(self.rows)

    def to_dict(self, level: float | None = None) -> dict[str, list[Any]]:
        """Return plain columns; with a `level`, interval ends beside each value."""
        whole = self.answer.to_dict(level).items()
        return {name: [values[i] for i in self.rows] for name, values in whole}

    def to_json(self) -> str:
        """Return the whole stored release as JSON text; see `Answer.to_json`."""
        return self.answer.to_json()

    def first(self, count: int) -> "Presented":
        """Return the first rows of this view."""
        limit = count if self.view.limit is None else min(count, self.view.limit)
        return replace(self, view=replace(self.view, limit=limit))
