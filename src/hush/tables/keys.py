"""Public keys as values of their columns: a text column has text keys, and so on.

An engine that compares a text with a number converts the text, and fails on some rows
and not on others. So keys of another kind are refused before anything is read.
"""

import datetime
import itertools
import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import ibis.expr.types as ir

from hush.errors import InvalidArgument
from hush.tables.typed import Kind, column


def fitting(table: ir.Table, columns: tuple[str, ...], keys: Any) -> Any:
    """Return the keys with dates read from texts, or refuse one that cannot match."""
    listed = _crossed(columns, keys) if isinstance(keys, Mapping) else list(keys)
    if len(columns) == 1:
        return [_fitting(table, columns[0], key) for key in listed]
    if not all(isinstance(key, tuple) for key in listed):
        raise InvalidArgument(_several(columns))
    return [
        tuple(_fitting(table, n, v) for n, v in zip(columns, key, strict=True))
        if len(key) == len(columns)
        else key
        for key in listed
    ]


def _crossed(columns: tuple[str, ...], keys: Mapping[str, Any]) -> list[Any]:
    """Return every value of one column with every value of the others."""
    if set(keys) != set(columns) or any(isinstance(keys[n], str) for n in columns):
        raise InvalidArgument(
            f"keys must list the values of {', '.join(columns)}, each in a list of its "
            f"own; got lists of {', '.join(map(str, keys))}."
        )
    if len(columns) == 1:
        return list(keys[columns[0]])
    return list(itertools.product(*(keys[name] for name in columns)))


def _several(columns: tuple[str, ...]) -> str:
    """Say how keys of several columns are written."""
    one = ", ".join(f"a {name}" for name in columns)
    lists = ", ".join(f"{name!r}: [...]" for name in columns)
    return (
        f"keys of several columns must be tuples, keys=[({one}), ...], or a list for "
        f"each column, keys={{{lists}}}: every value of one with every value of the "
        "others."
    )


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
    if number and key != key:  # NaN, as pandas writes what is missing
        hint = " Rows without a value are the key None."
    elif kind is Kind.TEXT and number:
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
