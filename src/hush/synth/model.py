"""A tree model: what was measured, tables that agree with it, and rows from them."""

import csv
import importlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument, NoBound, Unsupported
from hush.estimate import Estimate
from hush.noise import SECURE, Source, integers, permutation
from hush.noise.source import checked_source
from hush.synth.domain import Domain, Places
from hush.synth.fit import Fitted, Floats, Table, fit_tables
from hush.synth.marginals import Marginal

if TYPE_CHECKING:
    from hush.ledger import Release
    from hush.ledger.release import Receipt
    from hush.privacy import Curve


# -- Synthetic rows: columns of drawn values, in the forms that programs read ----------


@final
@dataclass(frozen=True, eq=False, repr=False)
class Synthetic:
    """Rows that belong to nobody: columns of one length by name.

    As of a data frame, `len` counts rows, and going through it names the columns.

    Example:
        >>> import numpy as np
        >>> rows = Synthetic({"a": np.array([1, 2]), "b": np.array(["x", "y"])})
        >>> rows, rows["a"].tolist(), rows.to_dict()
        (Synthetic(2 rows: a, b), [1, 2], {'a': [1, 2], 'b': ['x', 'y']})
    """

    columns: Mapping[str, NDArray[Any]]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def keys(self) -> Iterable[str]:
        """Return the names, so that `dict(rows)` has the columns."""
        return self.columns.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        return f"Synthetic({len(self)} rows: {', '.join(self.columns)})"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns."""
        return {name: each.tolist() for name, each in self.columns.items()}

    def to_pandas(self) -> Any:
        """Return a pandas data frame."""
        return _package("pandas", "pandas").DataFrame(dict(self.columns))

    def to_polars(self) -> Any:
        """Return a Polars data frame."""
        return _package("polars", "polars").DataFrame(self.to_dict())

    def to_arrow(self) -> Any:
        """Return an Arrow table."""
        return _package("pyarrow", "arrow").table(self.to_dict())

    def to_csv(self, path: str | Path) -> None:
        """Write the rows with a header; what is missing is empty."""
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            for row in zip(*self.to_dict().values(), strict=True):
                writer.writerow(map(_field, row))

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows as a Parquet file."""
        table = self.to_arrow()
        importlib.import_module("pyarrow.parquet").write_table(table, str(path))


def _field(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _package(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise Unsupported(
            f"this needs {name}: pip install 'hush[{extra}]', or read to_dict().",
            code="extra-missing",
        ) from None


# -- A tree model: what was measured, tables that agree with it, and rows from them ----

_MOST_ROWS = 1 << 30


@final
@dataclass(frozen=True, eq=False, repr=False)
class TreeModel:
    """Columns that depend on each other along a tree, fitted to released tables.

    `curve` is the guarantee of what was measured, `release` the charge that paid for it
    (None where no ledger did), `seeded` whether it was a rehearsal. `TreeModel.of` has
    none of them: what its tables cost was paid where they were released.

    Guarantee: a function of released numbers alone. Fitting, sampling and reading it,
    as often as you like, costs no privacy.

    Example:
        >>> from hush.estimate import Estimate
        >>> counts = Estimate(np.array([[40.0, -2.0], [1.0, 61.0]]), 2.0, 1.0)
        >>> model = TreeModel.of({"a": [0, 1], "b": [0, 1]}, {("a", "b"): counts})
        >>> model.table("a", "b").round().tolist(), round(model.total)
        ([[39.0, 0.0], [0.0, 60.0]], 100)
        >>> len(model.sample(50))
        50

    Reference: [MMS21]; docs/proofs/synth.md.
    """

    domain: Domain
    tables: tuple[Table, ...]
    noise: tuple[Any, ...] = ()  # the mechanism behind each table
    step: float = 1.0  # rows that one step of the noise is worth
    curve: "Curve | None" = None
    release: "Release | None" = None
    seeded: bool = False
    _fit: Fitted = field(init=False)

    def __post_init__(self) -> None:
        found = fit_tables(self.domain.sizes, self.tables)
        object.__setattr__(self, "_fit", found)

    @classmethod
    def of(cls, domain: Any, marginals: Mapping[Any, Estimate]) -> "TreeModel":
        """Return the model of marginals that were released before.

        Each is known by the name of its column, or by two names; its `value` has an
        axis for each, its `std` is the noise of a cell. Pairs must close no circle, and
        every column must be in one of them.
        """
        cells = Domain.of(domain)
        tables = tuple(_table(cells, n, each) for n, each in marginals.items())
        missing = set(range(len(cells.names))) - {c for t in tables for c in t.columns}
        if missing:
            raise InvalidArgument(
                f"marginals must say something of every column; "
                f"{cells.names[min(missing)]!r} is in none."
            )
        return cls(cells, tables)

    @property
    def receipt(self) -> "Receipt | None":
        """What was paid, for what, and where the ledger says so."""
        return None if self.release is None else self.release.receipt

    @property
    def total(self) -> float:
        """How many rows there are, by all measured tables together: noisy."""
        return self._fit.total

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of columns that were measured."""
        names = self.domain.names
        return tuple((names[a], names[b]) for a, b in self._fit.forest.edges)

    def __repr__(self) -> str:
        pairs = ", ".join("-".join(pair) for pair in self.pairs) or "no pairs"
        said = ", seeded" if self.seeded else ""
        return f"TreeModel({len(self.domain.names)} columns, {pairs}{said})"

    def marginal(self, *names: str) -> Marginal:
        """Return measured counts of a column or pair, with their intervals.

        A pair that was not measured has none: nothing bounds how far the model is from
        the truth there. Ask the data for it, or see `table` for what the model says.
        """
        columns = self._columns(names)
        if not self.noise:
            raise NoBound(
                "this model was fitted to tables that were released elsewhere: their "
                "intervals are those of their releases."
            )
        turned = tuple(sorted(columns))
        known = [
            (table, noise)
            for table, noise in zip(self.tables, self.noise, strict=True)
            if table.columns == turned
        ]
        if not known:
            raise NoBound(
                f"{' and '.join(map(repr, names))} were not measured together, so "
                "nothing bounds the error there: table(...) is what the tree implies, "
                "and may be anything but the truth. Measured are "
                f"{', '.join(' and '.join(map(repr, p)) for p in self.pairs) or 'none'}"
                ". Ask the data directly."
            )
        table, noise = min(known, key=lambda each: each[0].std)
        labels = dict(self.domain.columns)
        return Marginal(
            table.counts if columns == turned else table.counts.T,
            table.std,
            1.0,
            names,
            tuple(labels[name].labels for name in names),
            self.table(*names),
            noise.error,
            self.step,
        )

    def table(self, *names: str) -> Floats:
        """Return the counts that synthetic rows follow, for one column or any two.

        They agree with each other and none is below zero. For a pair that was measured
        they are near `marginal`; for another, what the tree implies.
        """
        columns = self._columns(names)
        first = self._margins[columns[0]]
        if len(columns) == 1:
            return first.copy()
        path = self._fit.forest.path(*columns)
        if path is None:
            second = self._margins[columns[1]]
            return np.outer(first, second) / max(self.total, 1e-300)
        chances = np.eye(first.size)
        for here, then in pairwise(path):
            chances = chances @ _conditional_chances(self._pair(here, then))
        return first[:, None] * chances

    def _columns(self, names: tuple[str, ...]) -> tuple[int, ...]:
        if len(names) not in (1, 2) or len(set(names)) < len(names):
            raise InvalidArgument(
                f"name one column, or two different ones; got {len(names)}. A tree "
                "knows of no more at once."
            )
        return tuple(self.domain.place(name) for name in names)

    @cached_property
    def _margins(self) -> dict[int, Floats]:
        """Counts of each column, from the one before it in the walk: they agree."""
        found: dict[int, Floats] = {}
        for column, before in self._fit.forest.walk:
            if before is None:
                found[column] = self._fit.margins[column]
            else:
                chances = _conditional_chances(self._fitted_pair(before, column))
                found[column] = found[before] @ chances
        return found

    def _fitted_pair(self, first: int, second: int) -> Floats:
        pairs = self._fit.pairs
        if (first, second) in pairs:
            return pairs[first, second]
        return pairs[second, first].T

    def _pair(self, first: int, second: int) -> Floats:
        """Return the counts of an edge, with sums as in `_margins`."""
        above = dict(self._fit.forest.walk)
        if above[second] == first:
            chances = _conditional_chances(self._fitted_pair(first, second))
            return self._margins[first][:, None] * chances
        return self._pair(second, first).T

    def sample(self, rows: int | None = None, *, source: Source = SECURE) -> Synthetic:
        """Return synthetic rows: as many as the model believes there are, or `rows`.

        Counts are those of the model, rounded by chance to a whole number on either
        side; rows come in random order. A `source` with a seed repeats them, and makes
        them no less private: chance was paid for where the tables were measured.
        """
        count = round(self.total) if rows is None else rows
        checks.whole("rows", count, at_least=0, at_most=_MOST_ROWS)
        checked_source(source)
        places: dict[int, Places] = {}
        for column, before in self._fit.forest.walk:
            places[column] = np.zeros(count, dtype=np.int64)
            if before is None:
                groups = [(np.arange(count), self._margins[column])]
            else:
                chances = _conditional_chances(self._pair(before, column))
                groups = list(_groups(places[before], chances))
            for where, chance in groups:
                own = _rounded_shares(where.size, chance, source)
                mixed = permutation(where.size, source=source)
                places[column][where[mixed]] = np.repeat(np.arange(own.size), own)
        parts = enumerate(self.domain.columns)
        return Synthetic(
            {name: each.drawn(places[i], source) for i, (name, each) in parts}
        )


def _table(domain: Domain, names: Any, given: Estimate) -> Table:
    listed = (names,) if isinstance(names, str) else tuple(names)
    columns = tuple(domain.place(name) for name in listed)
    counts = np.asarray(given.value, dtype=np.float64)
    shape = tuple(domain.sizes[each] for each in columns)
    std = np.asarray(given.std, dtype=np.float64)
    right = len(set(columns)) == len(columns) and len(columns) in (1, 2)
    if not right or counts.shape != shape or not np.isfinite(counts).all():
        raise InvalidArgument(
            f"marginals[{names!r}] must be finite counts of one column or two, of "
            f"shape {shape}; got shape {counts.shape}."
        )
    if not (np.isfinite(std).all() and (std > 0).all() and np.ptp(std) == 0):
        raise InvalidArgument(
            f"marginals[{names!r}] must have one positive std for all its cells."
        )
    turned = columns == tuple(sorted(columns))
    sorted_counts = counts if turned else counts.T
    return Table(tuple(sorted(columns)), sorted_counts, float(std.flat[0]))


def _conditional_chances(pair: Floats) -> Floats:
    """Return the chance of each cell of the second column, given one of the first."""
    sums = pair.sum(axis=1, keepdims=True)
    all_ = pair.sum(axis=0)
    size = pair.shape[1]
    # An empty cell of the first column has no shares of its own: it takes those of all.
    spread = all_ / all_.sum() if all_.sum() > 0 else np.full(size, 1 / size)
    return np.where(sums > 0, pair / np.where(sums > 0, sums, 1.0), spread)


def _groups(places: Places, chances: Floats) -> Any:
    """Yield the rows of each cell of a column, and the chances of what follows."""
    order = np.argsort(places, kind="stable")
    cuts = np.searchsorted(places[order], np.arange(len(chances) + 1))
    for cell, chance in enumerate(chances):
        where = order[cuts[cell] : cuts[cell + 1]]
        if where.size:
            yield where, chance


def _rounded_shares(count: int, weights: Floats, source: Source) -> Places:
    """Return whole numbers that add up to `count`, each within one of its share.

    One uniform number decides all of them (systematic sampling), so that each is right
    on average.
    """
    total = float(weights.sum())
    shares = weights / total if total > 0 else np.full(weights.size, 1 / weights.size)
    start = float(np.ldexp(integers(1 << 53, source=source), -53))
    ends = np.floor(np.cumsum(shares) * count + start)
    ends[-1] = count  # what rounding may have moved
    return np.diff(np.minimum(ends, count), prepend=0.0).astype(np.int64)
