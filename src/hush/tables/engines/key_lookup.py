"""Key lookup: the place of a row's key among public keys, found by the engine.

Which values are equal is for the engine to say: a decimal, a text that its type fills
up with blanks and a single-precision number look otherwise once they are fetched. So
rows are grouped by places, and no value of a key is compared in this process.

Few keys are compared with one by one. More are laid beside the table as a relation, of
which the statement has one text literal: no statement grows deep, and nothing is
written where the data is.
"""

import datetime
from decimal import Decimal
from typing import Any

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from hush.errors import InvalidArgument

Key = tuple[Any, ...]
PLACE = "_place"
FEW = 16  # keys that are compared with one by one
# The same of a computed column: its expression would be repeated for each key, and an
# engine plans a long statement for longer than it runs it.
_FEW_COMPUTED = 3
# Separators: the first two that no key has. The last are characters of no meaning.
_SEPARATORS = "\x1e\x1f\x1d\x1c\ue000\ue001\ue002\ue003\uf8fe\uf8ff"


def placed(table: ir.Table, by: tuple[str, ...], keys: tuple[Key, ...]) -> ir.Table:
    """Return the rows whose key is among public keys; of many keys, with their place.

    Guarantee: every row is there at most once, whatever the engine calls equal.
    """
    if not by:
        return table
    if counted(table, by, keys):
        ends = (literal(table[by[0]], key[0]) for key in (keys[0], keys[-1]))
        return table.filter(table[by[0]].between(*ends))
    few = _FEW_COMPUTED if any(_computed(table, name) for name in by) else FEW
    if len(keys) <= few:
        return table.filter(_among(table, by, keys))
    return _joined(table, by, keys)


def _computed(table: ir.Table, name: str) -> bool:
    """Return whether a column is an expression rather than one of a stored table."""
    relation: Any = table.op()
    while not isinstance(relation, ops.PhysicalTable):
        if isinstance(relation, ops.Project):
            value = relation.values[name]
            if not isinstance(value, ops.Field):
                return True
            relation, name = value.rel, value.name
        elif hasattr(relation, "parent"):
            relation = relation.parent
        else:  # a join, a union: seldom, and either way is right
            return False
    return False


def place(table: ir.Table, by: tuple[str, ...], keys: tuple[Key, ...]) -> Any:
    """Return the place of a row's key, of a table that was `placed`."""
    if not by:
        return ibis.literal(0, "int64")
    if PLACE in table.columns:
        return table[PLACE]
    if counted(table, by, keys):
        # Rows of other keys are gone; counting is cheaper than comparing with each.
        return table[by[0]].cast("int64") - ibis.literal(keys[0][0], "int64")
    return ibis.cases(
        *(
            (is_key(table, by, key), ibis.literal(i, "int64"))
            for i, key in enumerate(keys)
        ),
        else_=ibis.literal(len(keys) - 1, "int64"),  # no such row is left
    )


def counted(table: ir.Table, by: tuple[str, ...], keys: tuple[Key, ...]) -> bool:
    """Return whether keys are whole numbers in a row."""
    if len(by) != 1 or not table[by[0]].type().is_integer():
        return False
    values = [key[0] for key in keys]
    whole = all(isinstance(v, int) and abs(v) < 1 << 62 for v in values)
    return whole and values == list(range(values[0], values[0] + len(values)))


def is_key(table: ir.Table, by: tuple[str, ...], key: Key) -> Any:
    """Return the condition that a row has this key; NULL is a value here."""
    here: Any = None
    for name, value in zip(by, key, strict=True):
        column = table[name]
        one = column.isnull() if value is None else column == literal(column, value)
        here = one if here is None else here & one
    return here


def literal(column: Any, value: Any) -> Any:
    """Return a value as the engine has it in a column: of its type and resolution."""
    kind = column.type()
    if kind.is_floating() or kind.is_decimal():
        # Engines read a bare 0.1 each in its own way; a text they all read alike.
        return ibis.literal(_written(value)).cast(kind)
    return ibis.literal(value, kind)


def _among(table: ir.Table, by: tuple[str, ...], keys: tuple[Key, ...]) -> Any:
    """Return the condition that a row belongs to one of a few public groups."""
    condition: Any = None
    for key in keys:
        here = is_key(table, by, key)
        condition = here if condition is None else condition | here
    return condition


def _joined(table: ir.Table, by: tuple[str, ...], keys: tuple[Key, ...]) -> ir.Table:
    """Return the rows that meet one of many keys, with the place of it."""
    known = _relation(table, by, keys)
    names = [f"_key{i}" for i in range(len(by))]
    null = [i for i in range(len(by)) if any(key[i] is None for key in keys)]
    # Where a key has no value, rows without one meet it by a mark of their own.
    ours = {f"_null{i}": _mark(table[by[i]].isnull()) for i in null}
    filled = {names[i]: ibis.coalesce(table[by[i]], _any(table[by[i]])) for i in null}
    here = table.mutate(**ours, **filled) if null else table
    pairs = [
        here[names[i] if i in null else by[i]] == known[f"{names[i]}_"]
        for i in range(len(by))
    ]
    pairs += [here[f"_null{i}"] == known[f"_null{i}_"] for i in null]
    met = here.inner_join(known, pairs)
    return met.select(*table.columns, PLACE)


def _relation(table: ir.Table, by: tuple[str, ...], keys: tuple[Key, ...]) -> ir.Table:
    """Return public keys as a relation of their values, marks of NULL and places."""
    between, within = _separators(keys)
    packed = between.join(
        within.join([str(i), *map(_field, key)]) for i, key in enumerate(keys)
    )
    whole = ibis.literal(packed).split(between).name("_all").as_table()
    lines = whole.select(_line=whole["_all"].unnest())
    split = lines.select(_parts=lines["_line"].split(within))
    parts = split["_parts"]
    named: dict[str, Any] = {PLACE: parts[0].cast("int64")}
    for i, name in enumerate(by):
        field, column = parts[i + 1], table[name]
        empty = field == ""
        named[f"_null{i}_"] = _mark(empty)
        named[f"_key{i}_"] = _of_text(field.substr(1), empty, column)
    listed = split.select(**named)
    groups = [name for name in named if name != PLACE]
    return listed.group_by(*groups).agg(**{PLACE: listed[PLACE].min()})


def _mark(condition: Any) -> Any:
    """Return 1 where a condition holds and 0 elsewhere."""
    return ibis.ifelse(condition, ibis.literal(1, "int64"), ibis.literal(0, "int64"))


def _of_text(text: Any, empty: Any, column: Any) -> Any:
    """Return the value that a field spells, and any value of its type for NULL."""
    if column.type().is_string():
        return text
    if column.type().is_boolean():
        return text == "true"
    nothing = ibis.literal(_field(_plain(column))[1:])
    return ibis.ifelse(empty, nothing, text).cast(column.type())


def _any(column: Any) -> Any:
    return literal(column, _plain(column))


def _plain(column: Any) -> Any:
    """Return some value of a column's type."""
    kind = column.type()
    if kind.is_string():
        return ""
    if kind.is_boolean():
        return False
    if kind.is_date():
        return datetime.date(2000, 1, 1)
    if kind.is_timestamp():
        return datetime.datetime(2000, 1, 1)
    return 0


def _field(value: Any) -> str:
    """Return a value as a field of the literal: behind a v, and NULL as nothing."""
    return "" if value is None else f"v{_written(value)}"


def _written(value: Any) -> str:
    """Return the text from which every engine reads a value back."""
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value if isinstance(value, str) else repr(value)


def _separators(keys: tuple[Key, ...]) -> tuple[str, str]:
    used = {
        letter
        for key in keys
        for value in key
        if isinstance(value, str)
        for letter in _SEPARATORS
        if letter in value
    }
    free = [each for each in _SEPARATORS if each not in used]
    if len(free) < 2:
        raise InvalidArgument(
            "keys use all of the control characters that hush separates them by: name "
            "fewer of them in one question."
        )
    return free[0], free[1]
