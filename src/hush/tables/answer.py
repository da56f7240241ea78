"""What a query will cost, and what came out of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.ledger import Release

if TYPE_CHECKING:
    from hush.ledger.receipt import Receipt
    from hush.mechanisms import Geometric
    from hush.tables.query import Query

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Planned:
    """Cost and noise of a query that has not run: made from public numbers alone."""

    query: "Query"
    mechanisms: "tuple[Geometric, ...]"
    epsilon: float
    level: float

    @property
    def error(self) -> dict[str, float]:
        """Half-width of each statistic at the level, in the column's own units."""
        from hush.tables.query import bars

        found = bars(self.query.statistics, self.mechanisms, self.level)
        names = [f"{s.form} {s.column}".strip() for s in self.query.statistics]
        return {name: float(bar) for name, bar in zip(names, found, strict=True)}

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} ± {bar:,.4g}" for name, bar in self.error.items())
        return f"epsilon {self.epsilon:g}: {shown} ({self.level:.0%})"


@final
@dataclass(frozen=True, eq=False)
class Answer:
    """Released aggregates: one row per public group, with intervals and a receipt.

    Guarantee: a function of the stored release alone; nothing here can reach the data.
    """

    release: Release
    query: "Query"
    mechanisms: "tuple[Geometric, ...]"

    @property
    def receipt(self) -> "Receipt":
        """What was paid, for what, and where the ledger says so."""
        return self.release.receipt

    @cached_property
    def _statistics(self) -> list[Floats]:
        return [
            np.asarray(values, dtype=np.float64) * float(statistic.unit_value)
            for values, statistic in zip(
                self.release.values, self.query.statistics, strict=True
            )
        ]

    def _answers(self, level: float) -> Mapping[str, tuple[Floats, Floats, Floats]]:
        from hush.tables.query import bars

        result = {}
        for name, aggregate in self.query.aggregates.items():
            # Every statistic of an aggregate must hold at once: share the risk.
            each = 1 - (1 - level) / len(aggregate.needs)
            wide = bars(self.query.statistics, self.mechanisms, each)
            released = {
                (statistic.form, statistic.column): (values, float(bar))
                for statistic, values, bar in zip(
                    self.query.statistics, self._statistics, wide, strict=True
                )
            }
            result[name] = aggregate.answer(released)
        return result

    @cached_property
    def values(self) -> dict[str, Floats]:
        """Released values per aggregate, in the order of the keys."""
        return {name: found[0] for name, found in self._answers(0.95).items()}

    def interval(self, level: float = 0.95) -> dict[str, tuple[Floats, Floats]]:
        """Return bounds that hold each bounded aggregate with probability `level`.

        They cover the noise, cell by cell; clamping and sampling are not in them.
        """
        checks.real("level", level, above=0, below=1)
        found = self._answers(level)
        return {name: (low, high) for name, (_, low, high) in found.items()}

    def _columns(self, level: float | None) -> dict[str, Any]:
        columns: dict[str, Any] = {
            name: [key[i] for key in self.query.keys]
            for i, name in enumerate(self.query.by)
        }
        ends = self.interval(level) if level is not None else {}
        for name, values in self.values.items():
            columns[name] = values
            if name in ends:
                columns[f"{name}_low"], columns[f"{name}_high"] = ends[name]
        return columns

    def to_dict(self, level: float | None = None) -> dict[str, list[Any]]:
        """Return plain columns; with a `level`, interval ends beside each value."""
        return {name: list(values) for name, values in self._columns(level).items()}

    def to_arrow(self, level: float | None = None) -> Any:
        """Return an Arrow table."""
        import pyarrow

        return pyarrow.table(self._columns(level))

    def to_pandas(self, level: float | None = None) -> Any:
        """Return a pandas frame."""
        return self.to_arrow(level).to_pandas()

    def to_polars(self, level: float | None = None) -> Any:
        """Return a Polars frame."""
        import polars

        return polars.from_arrow(self.to_arrow(level))

    def to_json(self) -> str:
        """Return the stored release as JSON text."""
        return self.release.to_json()

    def __repr__(self) -> str:
        return str(self.to_arrow(0.95).to_pandas())
