"""How released columns are shown: frames, plots, text and notebooks."""

import csv
import io
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hush import display, suggestions
from hush.display import Digits
from hush.errors import InvalidArgument
from hush.tables.engines.extras import package

if TYPE_CHECKING:
    from hush.ledger.release import Receipt


# -- Answers with several numbers for each group, as plain rows and columns ------------
#
# Histograms, quantiles and the most frequent values hold a list for each group. Files
# and charts want one number in each place: a row for each cell, or a column for each.

Columns = Mapping[str, Sequence[Any]]


def cell_names(cells: Sequence[Any], labels: Sequence[str]) -> list[str]:
    """Return what cells are called: by their labels, or by their places."""
    return list(labels) or [str(i) for i in range(1, len(cells) + 1)]


def has_several_values(columns: Columns, name: str) -> bool:
    """Whether an aggregate has several values for each group."""
    return any(isinstance(each, (list, tuple)) for each in columns[name])


def cell_rows(
    columns: Columns, keys: Sequence[str], name: str, labels: Sequence[str]
) -> dict[str, list[Any]]:
    """Return one row for each group and cell of one aggregate.

    Example:
        >>> cell_rows({"g": ["a"], "x": [[5.0, 7.0]]}, ["g"], "x", ["0 to 1", "1 to 2"])
        {'g': ['a', 'a'], 'x_cell': ['0 to 1', '1 to 2'], 'x': [5.0, 7.0]}
    """
    cell = f"{name}_cell"
    if cell in keys:
        raise InvalidArgument(
            f"two columns would be called {cell!r}: give the aggregate another name."
        )
    ends = [each for each in (name, f"{name}_low", f"{name}_high") if each in columns]
    found: dict[str, list[Any]] = {each: [] for each in (*keys, cell, *ends)}
    for i, cells in enumerate(columns[name]):
        for key in keys:
            found[key] += [columns[key][i]] * len(cells)
        found[cell] += cell_names(cells, labels)
        for end in ends:
            found[end] += list(columns[end][i])
    return found


def wide_columns(
    columns: Columns, labels: Mapping[str, Sequence[str]], names: Sequence[str]
) -> dict[str, list[Any]]:
    """Return a column for each cell of the aggregates that have several.

    Example:
        >>> wide_columns({"g": ["a"], "x": [[5.0, 7.0]]}, {"x": ["low", "high"]}, ["x"])
        {'g': ['a'], 'x low': [5.0], 'x high': [7.0]}
    """
    found: dict[str, list[Any]] = {}
    for column, values in columns.items():
        owner = next((n for n in names if column in _interval_names(n)), None)
        if owner is None or not has_several_values(columns, owner):
            found[column] = list(values)
            continue
        cells = cell_names(columns[owner][0], labels.get(owner, ()))
        for j, label in enumerate(cells):
            end = column.removeprefix(owner)
            found[f"{owner} {label}{end}"] = [each[j] for each in values]
    return found


def _interval_names(name: str) -> tuple[str, str, str]:
    return name, f"{name}_low", f"{name}_high"


# -- How released columns are shown: frames, plots, text and notebooks -----------------

_NOISE = "(95% intervals, each by itself, of the noise; not of what {} cut)"
_SAMPLED = "(intervals of {} cover the sampling of people too)"
_PARTS = (
    "(a count has decimals: so has its noise, and of people with more than {} each "
    "weighs less)"
)
_SEVERAL = "(several quantiles have no interval; hush.quantile has)"
WIDE = (
    "(an interval as wide as its bounds says nothing: more epsilon, or coarser groups; "
    "a quantile has none above its own level=)"
)


class Shown(suggestions.Helpful, ABC):
    """Released columns, and the ways to look at them.

    `answer["fare"]` is a column of it, and `list(answer)` their names.

    Guarantee: a function of what was released.
    """

    @property
    def _hints(self) -> Mapping[str, str]:
        return suggestions.ANSWER

    def __iter__(self) -> Iterator[str]:
        """Go through the names of the columns: groups first, then aggregates."""
        return iter(self.to_dict())

    def __getitem__(self, name: str) -> Any:
        """Return one column: released values, or the keys of the groups."""
        columns = self.to_dict()
        if name not in columns:
            known = ", ".join(columns)
            raise KeyError(f"there is no column {name!r}; the columns are {known}")
        return self.values[name] if name in self.values else columns[name]

    @property
    @abstractmethod
    def values(self) -> dict[str, Any]:
        """Released values per aggregate, in the order of the rows."""

    @property
    @abstractmethod
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Names of the numbers of aggregates that have several for each group."""

    @property
    @abstractmethod
    def receipt(self) -> "Receipt":
        """What was paid, for what, and where the ledger says so."""

    @abstractmethod
    def to_dict(self, level: float | None = None) -> dict[str, list[Any]]:
        """Return plain columns; with a `level`, interval ends beside each value."""

    @abstractmethod
    def to_arrow(self, level: float | None = None) -> Any:
        """Return an Arrow table."""

    def to_pandas(self, level: float | None = None) -> Any:
        """Return a pandas frame; with a `level` such as 0.95, interval ends too."""
        package("pandas", "pandas", "to_pandas()")
        package("pyarrow", "pandas", "to_pandas()")
        return self.to_arrow(level).to_pandas()

    def to_polars(self, level: float | None = None) -> Any:
        """Return a Polars frame; with a `level` such as 0.95, interval ends too."""
        polars = package("polars", "polars", "to_polars()")
        package("pyarrow", "polars", "to_polars()")
        return polars.from_arrow(self.to_arrow(level))

    def cells(self, name: str, level: float | None = 0.95) -> dict[str, list[Any]]:
        """Return a histogram, quantiles or top values as a row for each of them.

        Plain columns, as of `to_dict`: the groups, `name_cell` with what each is
        called, and the value with its interval. pandas.DataFrame takes them.
        """
        columns = self.to_dict(level)
        if name not in self.values or not has_several_values(columns, name):
            raise InvalidArgument(
                f"{name!r} has no cells: cells() is for histograms, quantiles and top "
                "values. Others are in to_dict()."
            )
        return self._cells(name, columns)

    def _cells(self, name: str, columns: Columns) -> dict[str, list[Any]]:
        keys = [each for each in self.to_dict() if each not in self.values]
        return cell_rows(columns, keys, name, self.labels.get(name, ()))

    def _is_one_of_several_values(self, columns: Columns) -> bool:
        """Whether there is one aggregate, and it has several values for each group."""
        return len(self.values) == 1 and has_several_values(
            columns, next(iter(self.values))
        )

    def to_csv(
        self, path: str | os.PathLike[str] | None = None, level: float | None = 0.95
    ) -> str:
        """Return the answer as CSV text, and write it to `path` if there is one.

        A histogram alone has a row for each of its cells; beside others, a column.
        """
        columns: Columns = self.to_dict(level)
        if self._is_one_of_several_values(columns):
            columns = self._cells(next(iter(self.values)), columns)
        columns = wide_columns(columns, self.labels, list(self.values))
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        if path is not None:
            Path(path).write_text(text.getvalue(), encoding="utf-8", newline="")
        return text.getvalue()

    def plot(
        self, name: str | None = None, *, level: float = 0.95, axes: Any = None
    ) -> Any:
        """Draw one aggregate, the first unless named; return the axes."""
        from hush import plots

        return plots.release(self, name, level=level, axes=axes)

    def __repr__(self) -> str:
        columns = self._printed_columns()
        shown = display.aligned(dict(zip(columns, self._texts(columns), strict=True)))
        return "\n".join([shown, *self._remarks(columns)])

    def _printed_columns(self) -> dict[str, list[Any]]:
        """Return the columns for people: a row for each cell of what is alone."""
        columns = self.to_dict(0.95)
        if not self._is_one_of_several_values(columns):
            return columns
        alone = next(iter(self.values))
        found = self._cells(alone, columns)
        if alone not in self.quantiles or "quantile" in found:
            return found
        called = {f"{alone}_cell": "quantile"}
        return {called.get(name, name): each for name, each in found.items()}

    def _texts(self, columns: Mapping[str, list[Any]]) -> list[list[str]]:
        """Return every cell as text; both ends of an interval are rounded outwards."""
        texts: dict[str, list[str]] = {}
        for name in columns:
            if name in texts:
                continue
            digits = Digits.of_column(columns, name, count=name in self.counts)
            ways = {
                name: digits.text,
                f"{name}_low": digits.low,
                f"{name}_high": digits.high,
            }
            labels = self.labels.get(name, ())
            for each, way in ways.items():
                if each in columns:
                    texts[each] = [_cell(value, way, labels) for value in columns[each]]
        return [texts[name] for name in columns]

    def _remarks(self, columns: Mapping[str, list[Any]]) -> list[str]:
        """Return who is protected, and what the numbers leave open."""
        if not any(columns.values()):
            return [
                "(no rows. A private key needs enough people to be named: a larger "
                "epsilon or delta, a smaller most= or coarser keys help)"
            ]
        said = [self._protection_remark()]
        if any(name.endswith("_low") for name in columns):
            said.append(_NOISE.format(self._bounding_options))
        if self.sampled:
            said.append(_SAMPLED.format(", ".join(self.sampled)))
        if self._in_parts(columns):
            said.append(_PARTS.format(self._rows_text))
        if self.quantiles:
            said.append(_SEVERAL)
        return [*said, WIDE] if self.says_nothing(columns) else said

    def _in_parts(self, columns: Mapping[str, list[Any]]) -> bool:
        """Whether a count is shown with decimals, which a reader wonders at."""
        named = [name for name in self.counts if name in columns]
        digits = (Digits.of_column(columns, each, count=True) for each in named)
        return self.receipt.unit != "row" and any(each.decimals for each in digits)

    def _protection_remark(self) -> str:
        receipt = self.receipt
        if receipt.unit == "row":
            why = "every row is taken for another person"
            return f"(one row is protected, {receipt.neighbors}: {why})"
        who = f"one {receipt.unit} with at most {self._rows_text}"
        return f"({who} is protected, {receipt.neighbors})"

    @property
    def _bounding_options(self) -> str:
        """What may take something away, which no interval covers."""
        private = self.receipt.keys == "private"
        return "bounds, rows= and most=" if private else "bounds and rows="

    @property
    def _rows_text(self) -> str:
        """How many rows of one person count, in words."""
        most = self.receipt.notes["rows"]
        return "1 row" if most == 1 else f"{most:,} rows"

    @property
    @abstractmethod
    def quantiles(self) -> tuple[str, ...]:
        """Names of the aggregates that are several quantiles at once."""

    @property
    @abstractmethod
    def sampled(self) -> tuple[str, ...]:
        """Names of the aggregates whose only intervals are for the population."""

    @property
    @abstractmethod
    def counts(self) -> tuple[str, ...]:
        """Names of the aggregates that count rows."""

    @property
    @abstractmethod
    def ranges(self) -> dict[str, tuple[float, float]]:
        """What the values of aggregates lie within whatever the data, where known."""

    def says_nothing(self, columns: Columns) -> bool:
        """Whether an interval among these columns is all that its bounds allow."""
        return any(
            np.any(
                (np.array(columns[f"{name}_low"]) <= lower)
                & (np.array(columns[f"{name}_high"]) >= upper)
            )
            for name, (lower, upper) in self.ranges.items()
            if f"{name}_low" in columns
        )

    def _repr_html_(self) -> str:
        columns = self._printed_columns()
        title = f"Released with 95% intervals, {self.receipt}"
        rows = zip(*self._texts(columns), strict=True)
        shown = display.grid(title, list(columns), rows)
        return shown + display.remarks(self._remarks(columns))


def _cell(
    value: Any, number: Callable[[float], str], labels: tuple[str, ...] = ()
) -> str:
    if isinstance(value, (list, tuple)):
        texts = [_cell(each, number) for each in value]
        if len(labels) == len(texts):
            texts = [f"{a}: {b}" for a, b in zip(labels, texts, strict=True)]
        return "; ".join(texts)
    known = isinstance(value, float) and math.isfinite(value)
    return number(value) if known else str(value)
