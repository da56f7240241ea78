"""Crossed cells: the weight of every combination of public cells that has rows.

What a synthesizer reads. An engine finds the cell of every column of a row, leaves out
rows that a column has no cell for, weighs what is left by person and adds the weights
up by combination; only these come back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import ibis
import ibis.expr.types as ir
import numpy as np

from hush.errors import Unsupported
from hush.tables.bounding import contribution_bounds
from hush.tables.bounding.contribution_bounds import UNIT
from hush.tables.engines import engine
from hush.tables.expressions import expression
from hush.tables.expressions.types import named_apart
from hush.tables.groups.public_keys import is_key, keys_in_types, keys_of_columns
from hush.units import Unit

if TYPE_CHECKING:
    from hush.tables.dataset import Dataset

_MOST_EDGES = 200  # compared one by one
_NOWHERE = -1


@final
@dataclass(frozen=True, eq=False, repr=False)
class Crossed:
    """Combinations of public cells, and who may do what to their weights.

    `domain` has for each column its `values`, or its rising `edges` (a bin holds its
    lower end, the last both; numbers outside are clamped), and the place that `missing`
    values and all others have, if they have one.

    Guarantee: between neighbors the weights move by what one person's rows weigh: at
    most `rows` times `whole`, or twice that where one person is exchanged.
    """

    dataset: "Dataset"
    domain: Mapping[str, Mapping[str, Any]]

    def __post_init__(self) -> None:
        if self.dataset.groups is not None:
            raise Unsupported(
                "groups= keeps a sample of each person's rows, and a synthesis weighs "
                "them all: open the data without groups=."
            )
        _ = self.relation  # what cannot be asked is refused before anything is paid

    def __repr__(self) -> str:
        return f"Crossed({', '.join(self.domain)})"

    @property
    def rows(self) -> int:
        """How many rows of full weight one person counts for."""
        return self.dataset.rows

    @property
    def whole(self) -> int:
        """Steps of a row of full weight."""
        return UNIT

    @property
    def unit(self) -> str:
        """Who is protected, for the receipt."""
        return str(Unit(self.dataset.unit))

    @property
    def notes(self) -> dict[str, Any]:
        """What the receipt says beside the domain; a key does not outlive it."""
        data = self.dataset
        return {
            "keys": "public",
            "table": data.name,
            "rows": data.rows,
            "steps": list(data.steps),
        }

    @property
    def relation(self) -> ir.Table:
        """What the engine will run."""
        data = self.dataset
        for name in self.domain:
            expression.column(data._table, name)
        table = named_apart(data._table, tuple(self.domain))
        named = {
            f"_c{i}": _place(data._table, table, name, cells)
            for i, (name, cells) in enumerate(self.domain.items())
        }
        placed = table.mutate(**named)
        inside = placed.filter([placed[each] != _NOWHERE for each in named])
        weighed = contribution_bounds.with_weights(inside, data.unit, data.rows)
        return weighed.group_by(*named).agg(_n=weighed["_w"].sum().cast("int64"))

    def fetch(self) -> tuple[list[Any], Any]:
        """Return the places of every column, and the weights: private, for a draw."""
        found = engine.fetch(self.relation)
        self.dataset._unchanged()
        codes = [
            np.asarray(found[f"_c{i}"], dtype=np.int64) for i in range(len(self.domain))
        ]
        return codes, np.asarray(found["_n"], dtype=np.int64)


def _place(
    given: ir.Table, table: ir.Table, name: str, cells: Mapping[str, Any]
) -> Any:
    """Return the place of a row's cell, by the types that the columns were given."""
    missing = cells["missing"]
    others = ibis.literal(_NOWHERE if missing is None else missing, "int64")
    if "edges" in cells:
        return _bin(table, name, cells["edges"], others)
    keys = keys_in_types(
        given, (name,), keys_of_columns(given, (name,), cells["values"])
    )
    places = [place for place in range(len(keys) + 1) if place != missing]
    pairs = (
        (is_key(table, (name,), key), ibis.literal(place, "int64"))
        for key, place in zip(keys, places, strict=False)
    )
    return ibis.cases(*pairs, else_=others) if keys else others


def _bin(table: ir.Table, name: str, edges: Any, others: Any) -> Any:
    if len(edges) > _MOST_EDGES:
        raise Unsupported(
            f"{name!r} has {len(edges) - 1} bins; of a table at most "
            f"{_MOST_EDGES - 1} are counted."
        )
    value = expression.unclamped(table, name)
    # What lies outside is in the first or the last bin: that is its clamped value's.
    zero, one = ibis.literal(0, "int64"), ibis.literal(1, "int64")
    number = zero
    for edge in edges[1:-1]:
        number = number + ibis.ifelse(value >= float(edge), one, zero)
    return ibis.ifelse(value.notnull(), number, others)
