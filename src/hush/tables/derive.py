"""Derived columns: new columns of a row, each from that row alone."""

from collections.abc import Iterable, Mapping
from typing import Any

import ibis.expr.types as ir

from hush.errors import InvalidArgument, Unsupported
from hush.tables import expression
from hush.tables.typed import Kind, one_zero


def derived(
    table: ir.Table,
    columns: Mapping[str, str],
    *,
    unit: str | None,
    replacing: Iterable[str] = (),
) -> ir.Table:
    """Return the table with more columns; the others stay.

    All are computed from the columns as they were. A name that is taken is refused,
    unless it stands in `replacing`; the unit cannot be replaced, because who is
    protected is not for a query to say.
    """
    allowed = set(replacing)
    values: dict[str, Any] = {}
    for name, text in columns.items():
        if not name.isidentifier() or name.startswith("_"):
            raise InvalidArgument(
                f"{name!r} cannot name a column: use a plain word that does not start "
                "with an underscore."
            )
        if name == unit:
            raise Unsupported(f"{name!r} is the unit, which cannot be replaced.")
        if name in table.columns and name not in allowed:
            raise InvalidArgument(
                f"there is a column {name!r} already. Choose another name, or pass "
                f"replacing=[{name!r}]."
            )
        values[name] = _value(table, text)
    return table.mutate(**values)


def _value(table: ir.Table, text: str) -> Any:
    found = expression.typed(table, text)
    if found.kind is Kind.NUMBER:
        return one_zero(found.value)  # groups must not tell 0 from -0
    return found.value
