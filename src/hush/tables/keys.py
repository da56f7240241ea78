"""Public keys as values of their columns: a text column has text keys, and so on.

An engine that compares a text with a number converts the text, and fails on some rows
and not on others. So keys of another kind are refused before anything is read.
"""

import datetime
import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

import ibis.expr.types as ir

from hush.errors import InvalidArgument
from hush.tables.typed import Kind, column


def fitting(table: ir.Table, columns: tuple[str, ...], keys: Iterable[Any]) -> Any:
    """Return the keys with dates read from texts, or refuse one that cannot match."""
    if len(columns) == 1:
        return [_fitting(table, columns[0], key) for key in keys]
    listed = [tuple(key) for key in keys]
    return [
        tuple(_fitting(table, n, v) for n, v in zip(columns, key, strict=True))
        if len(key) == len(columns)
        else key
        for key in listed
    ]


def _fitting(table: ir.Table, name: str, key: Any) -> Any:
    kind = column(table, name).kind
    if key is None:
        return None
    if kind is Kind.TEXT and isinstance(key, str):
        return str(key)
    if kind is Kind.TRUTH and isinstance(key, bool):
        return key
    number = isinstance(key, Real) and not isinstance(key, bool)
    if kind is Kind.NUMBER and number and _within(key):
        return key
    if kind is Kind.DATE:
        found = _date(key, exact=table[name].type().is_timestamp())
        if found is not None:
            return found
    hint = ""
    if kind is Kind.TEXT and number:
        hint = f" Write it as {str(key)!r}, or open the file with types=."
    raise InvalidArgument(
        f"the key {key!r} cannot be a value of {name!r}, which is a {kind}.{hint}"
    )


def _within(key: Any) -> bool:
    """Return whether engines can hold a number, as a 64-bit integer or a double."""
    if isinstance(key, int):
        return -(1 << 63) <= key < 1 << 63
    return math.isfinite(key)


def _date(key: Any, *, exact: bool) -> Any:
    """Return the date that a key means; a column of timestamps needs timestamps."""
    wanted = datetime.datetime if exact else datetime.date
    if isinstance(key, str):
        try:
            return wanted.fromisoformat(key)
        except ValueError:
            return None
    if isinstance(key, datetime.datetime) is exact and isinstance(key, wanted):
        return key
    return None
