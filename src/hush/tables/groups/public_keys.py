"""Public keys: groups that are named in advance, and the place of a row's key in them.

An engine that compares a text with a number converts the text, and fails on some rows
and not on others. So keys of another kind are refused before anything is read.

Which values are equal is for the engine to say: a decimal, a text that its type fills
up with blanks and a single-precision number look otherwise once they are fetched. So
rows are grouped by places, and no value of a key is compared in this process.

Few keys are compared with one by one. More are laid beside the table as a relation, of
which the statement has one text literal: no statement grows deep, and nothing is
written where the data is.
"""

import datetime
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, ClassVar, final

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
import numpy as np

from hush.errors import InvalidArgument
from hush.mechanisms.mechanism import Mechanism
from hush.tables.bounding.relations import PLACE, Key, Relation, Sums
from hush.tables.bounding.sensitivity import Limit, Part
from hush.tables.engines.engine import is_filled
from hush.tables.expressions.types import LARGE, SMALL, Kind, column
from hush.tables.groups.groups import Groups

_MOST_KEYS = 1 << 20
FEW = 16  # keys that are compared with one by one
# The same of a computed column: its expression would be repeated for each key, and an
# engine plans a long statement for longer than it runs it.
_FEW_COMPUTED = 3
# Separators: the first two that no key has. The last are characters of no meaning.
_SEPARATORS = "\x1e\x1f\x1d\x1c\ue000\ue001\ue002\ue003\uf8fe\uf8ff"


def keys_of_columns(table: ir.Table, columns: tuple[str, ...], keys: Any) -> Any:
    """Return the keys with dates read from texts, or refuse one that cannot match."""
    listed = (
        _all_combinations(columns, keys) if isinstance(keys, Mapping) else list(keys)
    )
    if len(columns) == 1:
        return [_key_of_type(table, columns[0], key) for key in listed]
    if not all(isinstance(key, tuple) for key in listed):
        raise InvalidArgument(_several_columns_hint(columns))
    return [
        tuple(_key_of_type(table, n, v) for n, v in zip(columns, key, strict=True))
        if len(key) == len(columns)
        else key
        for key in listed
    ]


def _all_combinations(columns: tuple[str, ...], keys: Mapping[str, Any]) -> list[Any]:
    """Return every value of one column with every value of the others."""
    if set(keys) != set(columns) or any(isinstance(keys[n], str) for n in columns):
        raise InvalidArgument(
            f"keys must list the values of {', '.join(columns)}, each in a list of its "
            f"own; got lists of {', '.join(map(str, keys))}."
        )
    if len(columns) == 1:
        return list(keys[columns[0]])
    return list(itertools.product(*(keys[name] for name in columns)))


def _several_columns_hint(columns: tuple[str, ...]) -> str:
    """Say how keys of several columns are written."""
    one = ", ".join(f"a {name}" for name in columns)
    lists = ", ".join(f"{name!r}: [...]" for name in columns)
    return (
        f"keys of several columns must be tuples, keys=[({one}), ...], or a list for "
        f"each column, keys={{{lists}}}: every value of one with every value of the "
        "others."
    )


def _key_of_type(table: ir.Table, name: str, key: Any) -> Any:
    kind = column(table, name).kind
    if key is None:
        return None
    if kind is Kind.TEXT and isinstance(key, str):
        return str(key)
    if kind is Kind.TRUTH and isinstance(key, bool):
        return key
    number = isinstance(key, Real) and not isinstance(key, bool)
    if isinstance(key, Decimal):
        number = True
    if kind is Kind.NUMBER and number and _fits_engine(key):
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


def _fits_engine(key: Any) -> bool:
    """Return whether engines can hold a number, as a 64-bit integer or a double."""
    if isinstance(key, int):
        return -(1 << 63) <= key < 1 << 63
    return math.isfinite(key)


def keys_in_types(
    table: ir.Table, columns: tuple[str, ...], keys: Sequence[Any]
) -> tuple[tuple[Any, ...], ...]:
    """Return keys as values of their columns' types; refuse those that these change.

    A key of 0.1 is 0.10 of a DECIMAL(10, 2), and of a single-precision column the
    number nearest to it; 0.125 is no value of either decimal, and could never be met.
    """
    kinds = [table[name].type() for name in columns]
    filled = {name for name in columns if is_filled(table[name])}
    whole = [key if len(columns) > 1 else (key,) for key in keys]
    seen: dict[Any, dict[Any, Any]] = {name: {} for name in columns}
    found = []
    for key in whole:
        if len(key) != len(columns):
            return tuple(map(tuple, whole))  # refused as groups
        parts = []
        for name, kind, value in zip(columns, kinds, key, strict=True):
            known = seen[name]
            if (type(value), value) not in known:
                blank = name in filled and isinstance(value, str)
                plain = value.rstrip(" ") if blank else value
                known[type(value), value] = _of_type(name, kind, plain)
            parts.append(known[type(value), value])
        found.append(tuple(parts))
    if len(set(found)) < len(found) and len(set(whole)) == len(whole):
        raise InvalidArgument(
            f"two of the keys are one value of {', '.join(columns)}: its type cannot "
            "tell them apart. Name each once."
        )
    return tuple(found)


def _of_type(name: str, kind: Any, key: Any) -> Any:
    """Return the value of a type that a key stands for, or refuse the key."""
    if key is None or kind.is_boolean() or kind.is_string() or kind.is_date():
        return key
    if kind.is_timestamp():
        digits = 6 if kind.scale is None else min(kind.scale, 6)
        held = key if key.microsecond % 10 ** (6 - digits) == 0 else None
    elif kind.is_integer():
        low, high = kind.bounds
        held = int(key) if key == int(key) and low <= key <= high else None
    elif kind.is_decimal():
        held = _decimal(key, kind)
    elif 0 < abs(float(key)) < SMALL or abs(float(key)) > LARGE:
        raise InvalidArgument(
            f"the key {key!r} cannot be a value of {name!r}: numbers are held inside "
            "10^±70, below that they are 0.0. Write 1e70, -1e70 or 0.0."
        )
    elif kind.is_float32() and abs(float(key)) != LARGE:  # to which infinities are held
        held = single_precision(key)
    else:
        held = _double(key)
    if held is None:
        raise InvalidArgument(
            f"the key {key!r} cannot be a value of {name!r}, which has type {kind}: it "
            "would change. Write it as the column has it."
        )
    return held


def _exact(key: Any) -> Decimal:
    """Return the number as it is written: 0.1 is a tenth."""
    if isinstance(key, (Decimal, Integral)):
        return Decimal(int(key)) if isinstance(key, Integral) else key
    return Decimal(repr(float(key)))


def _decimal(key: Any, kind: Any) -> Decimal | None:
    """Return a number of so many digits, None where it has more."""
    wide = Context(prec=200)
    held = _exact(key)
    if held.adjusted() > 100 or held.adjusted() < -100:
        return Decimal(0) if held == 0 else None
    cut = wide.quantize(held, Decimal(1).scaleb(-(kind.scale or 0)))
    room = cut.copy_abs() < Decimal(10) ** ((kind.precision or 38) - (kind.scale or 0))
    # Not cut + 0, which rounds to the 28 digits of Python's own context.
    return wide.plus(cut) if room and cut == held else None


def _double(key: Any) -> float | None:
    """Return the double that a number is, or is nearest to in as many digits."""
    held = float(key)
    same = held == key or _exact(key) == Decimal(repr(held))
    return held + 0.0 if same else None


def single_precision(key: Any) -> float | None:
    """Return the single-precision number that a key is written as, as a double."""
    with np.errstate(over="ignore", under="ignore"):
        held = np.float32(key)
    if not np.isfinite(held):
        return None
    same = float(held) == float(key) or _exact(key) == Decimal(str(held))
    return float(held) + 0.0 if same else None


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


# -- The groups ------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class PublicGroups(Groups):
    """Public keys in the order given: each appears, whether or not anybody is in it."""

    by: tuple[str, ...] = ()
    listed: tuple[Key, ...] = ((),)
    exact: tuple[Key, ...] | None = None  # the same as values of their columns
    mode: ClassVar[str] = "public"

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys as they were given."""
        return self.listed

    @property
    def engine_keys(self) -> tuple[Key, ...]:
        """The keys as values of their columns, as engines compare them."""
        return self.exact or self.listed

    @property
    def number(self) -> int:
        """How many groups there are."""
        return len(self.keys)

    @property
    def groups_per_person(self) -> int:
        """How many of them one person can be in."""
        return len(self.keys)

    def relations(
        self, table: ir.Table, sums: Sums | None, *, cut: bool
    ) -> tuple[Relation, ...]:
        """Nothing is read to know public keys."""
        del table, cut
        return (sums,) if sums else ()

    def parts(self, limit: Limit) -> tuple[Part, ...]:
        """Nothing is noised to know public keys."""
        return ()

    def selection(
        self, epsilon: Fraction, delta: float, limit: Limit, parts: int
    ) -> tuple[tuple[Mechanism, ...], Fraction, float]:
        """Return the mechanisms that find keys, and the ε and δ that are left."""
        del limit, parts
        return (), epsilon, delta

    def rows(self, table: ir.Table, unit: str | None) -> ir.Table:
        """Return the rows that belong to one of the groups."""
        return rows_of_keys(table, self.by, self.engine_keys)

    def place(self, table: ir.Table) -> Any:
        """Return the place of a row's key among the keys."""
        by, keys = self.by, self.engine_keys
        if not by:
            return ibis.literal(0, "int64")
        if PLACE in table.columns:
            return table[PLACE]
        if is_range(table, by, keys):
            # Rows of other keys are gone; counting is cheaper than comparing with each.
            return table[by[0]].cast("int64") - ibis.literal(keys[0][0], "int64")
        return ibis.cases(
            *(
                (is_key(table, by, key), ibis.literal(i, "int64"))
                for i, key in enumerate(keys)
            ),
            else_=ibis.literal(len(keys) - 1, "int64"),  # no such row is left
        )

    def is_near(self, table: ir.Table) -> bool:
        """Whether that place is counted, or among few keys."""
        few = len(self.engine_keys) <= FEW
        return few or is_range(table, self.by, self.engine_keys)

    def describe(self, *, cut: bool) -> str:
        """Say what the groups are."""
        del cut
        if not self.by:
            return "All rows together."
        return f"{len(self.keys)} public groups by {', '.join(self.by)}."


def public_groups(by: tuple[str, ...], keys: Any, exact: Any = None) -> PublicGroups:
    """Return the groups of public keys: values of one column, or tuples of several.

    `exact` are the same keys as values of their columns, where these are others.
    """
    listed = tuple(tuple(key) if len(by) > 1 else (key,) for key in keys)
    if not listed or len(listed) > _MOST_KEYS or len(set(listed)) != len(listed):
        raise InvalidArgument("keys must be 1 to 2^20 different values.")
    if any(len(key) != len(by) for key in listed):
        raise InvalidArgument(
            f"each key must have {len(by)} values, one of each of {', '.join(by)}."
        )
    return PublicGroups(by, listed, None if exact is None else tuple(exact))


# -- The place of a row's key, found by the engine -------------------------------------


def rows_of_keys(
    table: ir.Table, by: tuple[str, ...], keys: tuple[Key, ...]
) -> ir.Table:
    """Return the rows whose key is among public keys; of many keys, with their place.

    Guarantee: every row is there at most once, whatever the engine calls equal.
    """
    if not by:
        return table
    if is_range(table, by, keys):
        ends = (literal(table[by[0]], key[0]) for key in (keys[0], keys[-1]))
        return table.filter(table[by[0]].between(*ends))
    few = _FEW_COMPUTED if any(_is_computed(table, name) for name in by) else FEW
    if len(keys) <= few:
        return table.filter(_is_one_of(table, by, keys))
    return _join_keys(table, by, keys)


def _is_computed(table: ir.Table, name: str) -> bool:
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


def is_range(table: ir.Table, by: tuple[str, ...], keys: tuple[Key, ...]) -> bool:
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
        return ibis.literal(_value_text(value)).cast(kind)
    return ibis.literal(value, kind)


def _is_one_of(table: ir.Table, by: tuple[str, ...], keys: tuple[Key, ...]) -> Any:
    """Return the condition that a row belongs to one of a few public groups."""
    condition: Any = None
    for key in keys:
        here = is_key(table, by, key)
        condition = here if condition is None else condition | here
    return condition


def _join_keys(table: ir.Table, by: tuple[str, ...], keys: tuple[Key, ...]) -> ir.Table:
    """Return the rows that meet one of many keys, with the place of it."""
    known = _relation(table, by, keys)
    names = [f"_key{i}" for i in range(len(by))]
    null = [i for i in range(len(by)) if any(key[i] is None for key in keys)]
    # Where a key has no value, rows without one meet it by a mark of their own.
    ours = {f"_null{i}": _indicator(table[by[i]].isnull()) for i in null}
    filled = {
        names[i]: ibis.coalesce(table[by[i]], _any_literal(table[by[i]])) for i in null
    }
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
        named[f"_null{i}_"] = _indicator(empty)
        named[f"_key{i}_"] = _of_text(field.substr(1), empty, column)
    listed = split.select(**named)
    groups = [name for name in named if name != PLACE]
    return listed.group_by(*groups).agg(**{PLACE: listed[PLACE].min()})


def _indicator(condition: Any) -> Any:
    """Return 1 where a condition holds and 0 elsewhere."""
    return ibis.ifelse(condition, ibis.literal(1, "int64"), ibis.literal(0, "int64"))


def _of_text(text: Any, empty: Any, column: Any) -> Any:
    """Return the value that a field spells, and any value of its type for NULL."""
    if column.type().is_string():
        return text
    if column.type().is_boolean():
        return text == "true"
    nothing = ibis.literal(_field(_any_value(column))[1:])
    return ibis.ifelse(empty, nothing, text).cast(column.type())


def _any_literal(column: Any) -> Any:
    return literal(column, _any_value(column))


def _any_value(column: Any) -> Any:
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
    return "" if value is None else f"v{_value_text(value)}"


def _value_text(value: Any) -> str:
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
