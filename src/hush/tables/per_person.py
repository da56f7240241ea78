"""One row per person: what each of them adds up to, before anything is released.

"How much does a customer spend" is a question about people, not about rows. Rows are
first added up person by person, exactly and inside the engine; the result is a table of
people, to be asked like any other.

Sums and means clamp each row to public bounds and add whole steps, so that a person's
number does not depend on the order of the rows, the threads or the engine.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import ibis
import ibis.expr.types as ir
from sqlglot import expressions as sql

from hush.errors import InvalidArgument, Unsupported
from hush.tables.bounding.contribution_bounds import Grid
from hush.tables.expressions import expression
from hush.tables.expressions.parse import (
    node_text,
    place_of,
    refuse_unread,
    sql_text,
    track,
    with_columns_apart,
)
from hush.tables.expressions.parse import refuse_other_parts as takes
from hush.tables.expressions.types import Kind, one_zero, value_where
from hush.tables.sql import aggregates

_ALLOWED = "COUNT SUM AVG MIN MAX"
Columns = dict[str, Any]


@final
@dataclass(frozen=True)
class Measure:
    """A column of people: what a row gives, what is added up, and what comes out."""

    row: Callable[[ir.Table], Columns]  # worked out once per row
    added: Callable[[ir.Table], Columns]  # per person
    shown: Callable[[ir.Table], Any]  # from what was added up


def per_person(
    table: ir.Table,
    unit: str | None,
    by: tuple[str, ...],
    columns: Mapping[str, str],
    bounds: Mapping[str, Any],
) -> ir.Table:
    """Return one row per person, or per person and values of `by`.

    Guarantee: a row depends on the rows of its person alone, and no row can make an
    engine fail. Rows without a unit belong to nobody and are dropped.
    """
    if unit is None:
        raise InvalidArgument(
            "per_person needs to know who is who: open the table with unit=.",
            code="unit-missing",
        )
    for name in columns:
        _check_free_name(name, {unit, *by})
    measures = {
        name: _read(table, text, f"_p{i}", bounds)
        for i, (name, text) in enumerate(columns.items())
    }
    known = table.filter(table[unit].notnull())
    for each in measures.values():
        known = known.mutate(**each.row(known))
    added: Columns = {}
    for each in measures.values():
        added |= each.added(known)
    people = known.group_by(unit, *by).agg(_p=known.count(), **added)
    shown = {name: each.shown(people) for name, each in measures.items()}
    return people.select(unit, *by, **shown)


def _check_free_name(name: str, taken: set[str]) -> None:
    if name in taken or not name.isidentifier() or name.startswith("_"):
        raise InvalidArgument(
            f"{name!r} cannot name a column here: use a plain word that is not taken "
            "and does not start with an underscore."
        )


def _read(table: ir.Table, text: str, name: str, bounds: Mapping[str, Any]) -> Measure:
    asked = with_columns_apart(track(expression.parse(text)), table.columns)
    found = _measure(asked, name, bounds)
    refuse_unread(asked, place_of)
    return found


def _measure(asked: sql.Expression, name: str, bounds: Mapping[str, Any]) -> Measure:
    node, condition = aggregates.split_filter(asked)
    if isinstance(node, sql.Count):
        takes(node, "this big_int")
        return _count(node, condition, name)
    if isinstance(node, (sql.Sum, sql.Avg)):
        takes(node, "this")
        value, limits = aggregates.bounded_expression(
            node.this, bounds, condition, node
        )
        if isinstance(limits, str):
            raise Unsupported(
                f"{node_text(node)!r} needs two numbers as bounds here: private bounds "
                "are found for what is released, not for one person's rows."
            )
        return _total(value, Grid.of(limits), name, average=isinstance(node, sql.Avg))
    if isinstance(node, (sql.Min, sql.Max)):
        takes(node, "this")
        value = aggregates.value_when(condition, sql_text(node.this))
        return _extreme(value, name, largest=isinstance(node, sql.Max))
    raise Unsupported(
        f"{node_text(node)!r} is not known per person{place_of(node)}: use {_ALLOWED}."
    )


def _no_columns(_: ir.Table) -> Columns:
    return {}


def _count(node: sql.Count, condition: Any, name: str) -> Measure:
    if isinstance(node.this, sql.Star):
        takes(node.this, "")
        if condition is None:
            return Measure(_no_columns, _no_columns, lambda t: t["_p"])
        inner = aggregates.value_when(condition, "1")
    elif isinstance(node.this, sql.Distinct):
        raise Unsupported(
            f"{node_text(node)!r} is not known per person{place_of(node)}: use "
            f"{_ALLOWED}."
        )
    else:
        inner = aggregates.value_when(condition, sql_text(node.this))
    return Measure(
        lambda t: {name: expression.typed_value(t, inner).value},
        lambda t: {name: t[name].count()},
        lambda t: t[name],
    )


def _total(text: str, grid: Grid, name: str, *, average: bool) -> Measure:
    number, steps = f"{name}_n", f"{name}_s"

    def aggregated(table: ir.Table) -> Columns:
        here = table[name].notnull()
        zero = ibis.literal(0, "int64")
        inside = ibis.ifelse(here, grid.steps(table[name]), zero)
        return {number: table[name].count(), steps: inside.sum()}

    def from_sums(table: ir.Table) -> Any:
        # Whole numbers below 2^53 are doubles; a power of two scales them exactly.
        many = table[number].cast("float64")
        above = table[steps].cast("float64")
        total = (above + many * float(grid.low)) * float(grid.step)
        some = ibis.greatest(many, 1.0)  # engines may divide where nothing is there
        return value_where(many > 0, total / some if average else total)

    return Measure(
        lambda t: {name: expression.unclamped(t, text)}, aggregated, from_sums
    )


def _extreme(text: str, name: str, *, largest: bool) -> Measure:
    def row(table: ir.Table) -> Columns:
        found = expression.typed_value(table, text)
        if found.kind is Kind.NUMBER:
            return {name: one_zero(found.value)}  # the order must not show
        if found.kind is Kind.DATE:
            return {name: found.value}
        which, held = ("MAX" if largest else "MIN"), f"{text} = 'yes'"
        held = text if found.kind is Kind.TRUTH else held
        raise Unsupported(
            f"{text!r} is a {found.kind}; MIN and MAX per person take numbers and "
            f"dates. Make it a number, as in {which}(CASE WHEN {held} THEN 1 ELSE 0 "
            "END)."
        )

    def aggregated(table: ir.Table) -> Columns:
        return {name: table[name].max() if largest else table[name].min()}

    return Measure(row, aggregated, lambda t: t[name])
