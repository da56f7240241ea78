"""Contribution caps: at most so many rows and groups of a person, a keyed sample.

A row is a few small whole numbers: the number of its group, its values in steps. They
are packed into one word below a keyed hash of the person and the row, and the `rows`
smallest words of each person are kept; of these, the rows in the first `groups` groups,
in the order of the words. A word is all there is to know of a row, so equal rows need
no order among each other. Rows that leave no room for a hash are mixed themselves, so
that it can be taken back (`seal`). Rows too wide for a word, and on other engines those
too wide for a hash beside them, are kept by their hash alone, and equal rows at the
edge share what is left to them.

What is kept depends on that person's rows and public numbers alone: removing somebody
changes nothing for anybody else (docs/proofs/caps.md). There are no window functions,
and every engine keeps a sample of the same kind; a fixed engine always the same one.

Nothing rests on the quality of a hash but the fairness of the sample: equal hashes are
dropped or shared, never exceeded.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir

from hush import checks
from hush.errors import InvalidArgument
from hush.tables.bounding.contribution_bounds import UNIT
from hush.units import Neighbors

WORD = 63  # bits of a word that sorts as it should in 64-bit integers
_HASH = 20  # bits of hash that a sample needs at least
PLACES = 8  # so many rows are told apart place by place
_NOTHING = 0x5DEECE66D  # stands for NULL in a hash
_POSITIVE = (1 << 62) - 1


@final
@dataclass(frozen=True)
class Field:
    """A part of a row: a name, the engine's whole number, and its width in bits.

    Guarantee: whatever the expression holds counts as a number in 0..2^bits - 1: its
    last bits, should it be larger. Give no NULLs: what they count as
    is a number in that range too, but any.
    """

    name: str
    value: Any
    bits: int

    @property
    def masked_value(self) -> Any:
        """The number, cut to its width."""
        mask = ibis.literal((1 << self.bits) - 1, "int64")
        return self.value.cast("int64") & mask


@final
@dataclass(frozen=True)
class Caps:
    """At most `rows` rows of a person, in at most `groups` groups.

    Guarantee: `norm1` and `norm2` bound what one person can move when each row adds a
    number between `low` and `high` to its group, for all groups together, and `cells`
    how many groups, if `groups` is given or a row is a word (docs/proofs/caps.md).

    Example:
        >>> caps = Caps(rows=5, groups=3)
        >>> caps.cells(), caps.norm1(0, 1), caps.norm2(0, 1)
        (3, 5, 5)
        >>> caps.norm1(-2, 4, "replace-one"), caps.norm2(-2, 4, "replace-one")
        (40, 30)
    """

    rows: int
    groups: int | None = None

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        checks.whole("rows", self.rows, at_least=1, at_most=10**5)
        if self.groups is not None:
            checks.whole("groups", self.groups, at_least=1)

    @property
    def limits_groups(self) -> bool:
        """Whether the rows that are kept can be in too many groups."""
        return self.groups is not None and self.groups < self.rows

    def cells(self, neighbors: str | Neighbors = Neighbors.ADD_REMOVE) -> int:
        """Return how many groups can change: ℓ0."""
        one = self.rows if self.groups is None else min(self.rows, self.groups)
        return one * (1 + _is_exchange(neighbors))

    def norm1(
        self, low: int, high: int, neighbors: str | Neighbors = Neighbors.ADD_REMOVE
    ) -> int:
        """Return the ℓ1 distance: rows · max|value|, twice for an exchange.

        An exchange may empty some groups and fill others.
        """
        return self.rows * max(-low, high, 0) * (1 + _is_exchange(neighbors))

    def norm2(
        self, low: int, high: int, neighbors: str | Neighbors = Neighbors.ADD_REMOVE
    ) -> int:
        """Return the ℓ2 distance, rounded up.

        All rows may be in one group, so removal moves rows · max|value|. An exchange is
        convex in both people's vectors, so it is largest between corners: two in one
        group at opposite bounds, or two in different groups at the farther bound.
        """
        far = max(-low, high, 0)
        if not _is_exchange(neighbors):
            return self.rows * far
        apart = self.rows * (max(high, 0) - min(low, 0))
        return max(apart, math.isqrt(2 * (self.rows * far) ** 2 - 1) + 1 if far else 0)


def _is_exchange(neighbors: str | Neighbors) -> bool:
    return Neighbors.of(neighbors) is Neighbors.REPLACE_ONE


def capped_rows(
    table: ir.Table,
    unit: str,
    fields: Sequence[Field],
    caps: Caps,
    *,
    group: str | None = None,
    tell: Sequence[str] = (),
    salt: int = 0,
) -> ir.Table:
    """Return the fields of the rows that are kept, and their weight `_w`.

    `group` names the field that `caps.groups` counts. `tell` names columns of the table
    that tell rows apart beyond the fields: they enter the hash and nothing else. Rows
    without a unit (NULL) belong to nobody and are dropped.

    Guarantee: one person has at most caps.rows rows of weight 2^20 (or rows of that
    weight together), in at most caps.groups groups, whatever the hash does; they depend
    on that person's rows alone.
    """
    _check(table, unit, fields, caps, group, tell)
    known = table.filter(table[unit].notnull())
    mark = tuple(known[name] for name in tell)
    inside = [field.masked_value for field in fields]
    wide = sum(field.bits for field in fields)
    places = runs_on_duckdb(known) and (caps.rows <= PLACES or not caps.limits_groups)
    full = not has_room_for_hash(wide)
    if tell or (full and not (places and wide <= BITS)):
        kept = _by_hash(known, unit, fields, inside, caps, group, mark, salt)
        return kept.select(*(field.name for field in fields), "_w")
    if full:
        words = known.select(_unit=known[unit], _word=_content(fields, inside))
        words = seal(words, "_unit", ["_word"], salt)
    else:
        words = packed_words(known, unit, fields, salt)
    if places:
        chosen = _by_places(words, fields, caps, group, salt if full else None)
    else:
        chosen = _by_lists(words, fields, caps, group)
    return chosen.select(
        **{
            field.name: _field_of_word(chosen["_word"], fields, field.name)
            for field in fields
        },
        _w=ibis.literal(UNIT, "int64"),
    )


def _check(
    table: ir.Table,
    unit: str,
    fields: Sequence[Field],
    caps: Caps,
    group: str | None,
    tell: Sequence[str],
) -> None:
    names = [field.name for field in fields]
    if not names or len(set(names)) < len(names):
        raise InvalidArgument("fields must be at least one, with different names.")
    for field in fields:
        checks.whole(f"bits of {field.name}", field.bits, at_least=1, at_most=62)
    if (caps.groups is None) != (group is None) or (group and group not in names):
        raise InvalidArgument(
            f"group must name the field that caps.groups counts; got {group!r}."
        )
    for name in (unit, *tell):
        if name not in table.columns:
            raise InvalidArgument(f"the table has no column {name!r}.")


# -- rows that fit into a word -----------------------------------------------------


def has_room_for_hash(wide: int) -> bool:
    """Return whether a word has room for a hash above rows of so many bits."""
    return wide + _HASH <= WORD


def packed_words(
    table: ir.Table, unit: str, fields: Sequence[Field], salt: int = 0
) -> ir.Table:
    """Return people and words: a hash of person and content above the content itself.

    Rows without a unit belong to nobody and are dropped; the others leave room for a
    hash.
    """
    known = table.filter(table[unit].notnull())
    content = _content(fields, [field.masked_value for field in fields])
    wide = sum(field.bits for field in fields)
    # Within one person the exclusive or tells every two contents apart.
    start = ibis.literal(salt, "int64")
    mixed = hash_of(hash_of(known[unit]) ^ start ^ content)
    high = mixed & ibis.literal((1 << (WORD - wide)) - 1, "int64")
    return known.select(_unit=known[unit], _word=_shift_left(high, wide) + content)


def _content(fields: Sequence[Field], inside: Sequence[Any]) -> Any:
    """Return the fields of a row side by side."""
    content: Any = None
    for field, value in zip(fields, inside, strict=True):
        content = value if content is None else _shift_left(content, field.bits) + value
    return ibis.coalesce(content, ibis.literal(0, "int64"))


def _shift_left(value: Any, bits: int) -> Any:
    return value * ibis.literal(1 << bits, "int64")


def _field_of_word(word: Any, fields: Sequence[Field], name: str) -> Any:
    """Return the named field of a word."""
    shift, mask = shift_and_mask({field.name: field.bits for field in fields}, name)
    return (word >> ibis.literal(shift, "int64")) & ibis.literal(mask, "int64")


def shift_and_mask(widths: Mapping[str, int], name: str) -> tuple[int, int]:
    """Return how far a word is shifted to the right for a field, and its mask."""
    after = itertools.dropwhile(lambda each: each != name, widths)
    shift = sum(widths[each] for each in after) - widths[name]
    return shift, (1 << widths[name]) - 1


def _by_lists(
    words: ir.Table, fields: Sequence[Field], caps: Caps, group: str | None
) -> ir.Table:
    """Keep by sorted lists and a join: on every engine, for any caps."""
    listed = words.group_by("_unit").agg(_list=words["_word"].collect())
    ordered = listed.mutate(_list=listed["_list"].sort())
    cut = ordered.mutate(_list=ordered["_list"][0 : caps.rows])
    kept = cut.select("_unit", _word=cut["_list"].unnest())
    if group is None or caps.groups is None or not caps.limits_groups:
        return kept
    coded = kept.mutate(_code=_field_of_word(kept["_word"], fields, group))
    # Words of different groups differ, so the first words of groups are in a row.
    firsts = coded.group_by("_unit", "_code").agg(_first=coded["_word"].min())
    counts = firsts.group_by("_unit").agg(_groups=firsts.count())
    heavy = counts.filter(counts["_groups"] > caps.groups).select(
        _heavy=counts["_unit"]
    )
    many = firsts.inner_join(heavy, firsts["_unit"] == heavy["_heavy"])
    cuts = nth_smallest(
        many.select("_heavy", "_first"), "_heavy", "_first", caps.groups
    )
    joined = many.inner_join(cuts, many["_heavy"] == cuts["_heavy"])
    gone = joined.filter(joined["_first"] > joined["_cut"]).select(
        _gone=joined["_unit"], _gone_code=joined["_code"]
    )
    return coded.anti_join(
        gone,
        (coded["_unit"] == gone["_gone"]) & (coded["_code"] == gone["_gone_code"]),
    )


def _by_places(
    words: ir.Table,
    fields: Sequence[Field],
    caps: Caps,
    group: str | None,
    sealed: int | None,
) -> ir.Table:
    """Keep the same words by DuckDB's smallest-n aggregate: no list, no join.

    What is kept of words that were sealed under a salt is opened.
    """
    rows = caps.rows
    listed = words.group_by("_unit").agg(_list=smallest(words["_word"], rows))
    if group is None or caps.groups is None or not caps.limits_groups:
        kept = listed.select("_unit", _word=listed["_list"].unnest())
        return kept if sealed is None else unseal(kept, "_unit", ["_word"], sealed)
    names = [f"_w{i}" for i in range(rows)]
    listing = {name: listed["_list"][i] for i, name in enumerate(names)}
    placed = listed.select("_unit", **listing)
    if sealed is not None:
        placed = unseal(placed, "_unit", names, sealed)
    word = [placed[f"_w{i}"] for i in range(rows)]
    coded = placed.mutate(
        **{f"_c{i}": _field_of_word(word[i], fields, group) for i in range(rows)}
    )
    code = [coded[f"_c{i}"] for i in range(rows)]
    fresh = coded.mutate(
        **{f"_n{i}": _differs_from_all(code[i], code[:i]) for i in range(1, rows)}
    )
    first = [fresh[f"_n{i}"] if i else ibis.literal(value=True) for i in range(rows)]
    kept = []
    for i in range(rows):
        mine = fresh[f"_c{i}"]
        # Groups met before this one's first row, among the rows up to here.
        before = [
            (
                first[m]
                & _differs_from_all(mine, [fresh[f"_c{j}"] for j in range(m + 1)])
            )
            .ifelse(1, 0)
            .cast("int64")
            for m in range(i)
        ]
        place: Any = sum(before, ibis.literal(0, "int64"))
        kept.append(
            ibis.ifelse(place < caps.groups, fresh[f"_w{i}"], ibis.null("int64"))
        )
    chosen = fresh.select(_word=ibis.array(kept).unnest())
    return chosen.filter(chosen["_word"].notnull())


def _differs_from_all(value: Any, others: Sequence[Any]) -> Any:
    found: Any = ibis.literal(value=True)
    for other in others:
        found = found & (value != other)
    return found


# -- rows of any width -------------------------------------------------------------


def _by_hash(
    known: ir.Table,
    unit: str,
    fields: Sequence[Field],
    inside: Sequence[Any],
    caps: Caps,
    group: str | None,
    mark: Sequence[Any],
    salt: int,
) -> ir.Table:
    """Keep rows by their hash; equal hashes at the edge share the weight left."""
    zero, one = ibis.literal(0, "int64"), ibis.literal(1, "int64")
    inside = [ibis.coalesce(value, zero) for value in inside]
    named = {f.name: v for f, v in zip(fields, inside, strict=True)}
    rows = known.select(
        _unit=known[unit], _hash=keyed_hash(salt, known[unit], *inside, *mark), **named
    )
    counts = rows.group_by("_unit").agg(_rows=rows.count())
    heavy = counts.filter(counts["_rows"] > caps.rows).select(_heavy=counts["_unit"])
    many = rows.inner_join(heavy, rows["_unit"] == heavy["_heavy"])
    code = zero if group is None else many[group]
    hashes = many.select("_heavy", "_hash", _code=code)
    edges = nth_smallest(hashes, "_heavy", "_hash", caps.rows).rename(_at="_heavy")
    around = hashes.inner_join(edges, hashes["_heavy"] == edges["_at"])
    last = around["_hash"] == around["_cut"]
    here = ibis.ifelse(last, around["_code"], ibis.null("int64"))
    people = around.group_by("_heavy", "_cut").agg(
        _below=ibis.ifelse(around["_hash"] < around["_cut"], one, zero).sum(),
        _equal=ibis.ifelse(last, one, zero).sum(),
        _same=here.min() == here.max(),
    )
    joined = rows.left_join(people, rows["_unit"] == people["_heavy"])
    light = joined["_cut"].isnull()
    # Rows of several groups cannot share one place: they would be in all of these.
    last = (joined["_hash"] == joined["_cut"]) & joined["_same"]
    left = (ibis.literal(caps.rows, "int64") - joined["_below"]).cast("float64")
    share = (left * UNIT / ibis.coalesce(joined["_equal"], one)).floor().cast("int64")
    whole = ibis.literal(UNIT, "int64")
    sure = light | (joined["_hash"] < joined["_cut"])
    kept = joined.filter(sure | last).mutate(_w=ibis.ifelse(sure, whole, share))
    if group is None or caps.groups is None or not caps.limits_groups:
        return kept
    firsts = kept.group_by(_person=kept["_unit"], _code=kept[group]).agg(
        _first=kept["_hash"].min()
    )
    sizes = firsts.group_by("_person").agg(_groups=firsts.count())
    spread = sizes.filter(sizes["_groups"] > caps.groups).select(_wide=sizes["_person"])
    most = firsts.inner_join(spread, firsts["_person"] == spread["_wide"])
    # Strictly below the next one: groups with equal hashes are dropped together.
    cuts = nth_smallest(
        most.select("_wide", "_first"), "_wide", "_first", caps.groups + 1
    )
    edge = most.inner_join(cuts, most["_wide"] == cuts["_wide"])
    gone = edge.filter(edge["_first"] >= edge["_cut"]).select(
        _gone=edge["_person"], _gone_code=edge["_code"]
    )
    return kept.anti_join(
        gone, (kept["_unit"] == gone["_gone"]) & (kept[group] == gone["_gone_code"])
    )


# -- Seals: a keyed order of rows that fill a whole word -------------------------------
#
# A word has no room for a hash beside a wide row. So the row itself is mixed, with a
# person's hash as key, by steps that can be taken back: what comes out orders the
# rows of that person as a hash would, and still is the row.
#
# Each step exchanges two halves and mixes one into the other: (a, b) → (b, a xor
# f(b)). Whatever f is, (b, c) → (c xor f(b), b) takes it back, so a seal is one to
# one.

_HALF = 31
_STEPS = (0x243F6A88, 0x13198A2E, 0x03707344)  # public; they tell the steps apart
BITS = 2 * _HALF


def seal(table: ir.Table, unit: str, names: Sequence[str], salt: int) -> ir.Table:
    """Return `unit` and columns of sealed numbers, of numbers below 2^62.

    Guarantee: for one person different numbers have different seals.
    """
    table = _split_halves(table, unit, names, salt)
    for step in _STEPS:
        halves: dict[str, Any] = {}
        for i in range(len(names)):
            high, low = table[f"_h{i}"], table[f"_l{i}"]
            halves |= {f"_h{i}": low, f"_l{i}": high ^ _keyed_half(table, low, step)}
        table = table.select(unit, "_key", **halves)
    return _join_halves(table, unit, names)


def unseal(table: ir.Table, unit: str, names: Sequence[str], salt: int) -> ir.Table:
    """Return `unit` and columns of the numbers that were sealed; NULL stays NULL."""
    table = _split_halves(table, unit, names, salt)
    for step in reversed(_STEPS):
        halves: dict[str, Any] = {}
        for i in range(len(names)):
            high, low = table[f"_h{i}"], table[f"_l{i}"]
            halves |= {f"_l{i}": high, f"_h{i}": low ^ _keyed_half(table, high, step)}
        table = table.select(unit, "_key", **halves)
    return _join_halves(table, unit, names)


def _split_halves(
    table: ir.Table, unit: str, names: Sequence[str], salt: int
) -> ir.Table:
    half, mask = ibis.literal(_HALF, "int64"), _mask()
    highs = {f"_h{i}": table[name] >> half for i, name in enumerate(names)}
    lows = {f"_l{i}": table[name] & mask for i, name in enumerate(names)}
    key = hash_of(table[unit]) ^ ibis.literal(salt, "int64")
    return table.select(unit, _key=key, **highs, **lows)


def _keyed_half(table: ir.Table, half: Any, step: int) -> Any:
    return hash_of(half ^ table["_key"] ^ ibis.literal(step, "int64")) & _mask()


def _mask() -> Any:
    return ibis.literal((1 << _HALF) - 1, "int64")


def _join_halves(table: ir.Table, unit: str, names: Sequence[str]) -> ir.Table:
    room = ibis.literal(1 << _HALF, "int64")
    words = {n: table[f"_h{i}"] * room + table[f"_l{i}"] for i, n in enumerate(names)}
    return table.select(unit, **words)


# -- Keyed hashes: a public order of a person's rows that nobody else's rows change ----


@ibis.udf.scalar.builtin(name="hash")  # type: ignore[untyped-decorator]
def _hash64(x: dt.int64) -> dt.uint64:
    """DuckDB's hash as it is."""


@ibis.udf.scalar.builtin(name="hash")  # type: ignore[untyped-decorator]
def _hash_text(x: dt.string) -> dt.uint64:
    """DuckDB's hash of a text."""


@ibis.udf.agg.builtin(name="min")  # type: ignore[untyped-decorator]
def smallest(x: dt.int64, n: dt.int32) -> dt.Array[dt.int64]:
    """DuckDB's list of the n smallest, in order."""


def runs_on_duckdb(expression: Any) -> bool:
    """Return whether DuckDB runs an expression; one without data runs nowhere."""
    return _has_backend(expression, "duckdb")


def _has_backend(expression: Any, name: str) -> bool:
    backends, _ = expression._find_backends()
    return any(each.name == name for each in backends)


def hash_of(value: Any) -> Any:
    """Return the engine's own hash of one column, never NULL.

    The same value has the same hash wherever it stands.
    """
    kind = value.type()
    whole = kind.is_integer() and not kind.is_uint64()
    if _has_backend(value, "polars"):  # it hashes every type, and cannot cast some
        return ibis.coalesce(value.hash().cast("int64"), _NOTHING)
    # No other engine hashes every other type.
    value = value.cast("int64") if whole else value.cast("string")
    if not runs_on_duckdb(value):
        return ibis.coalesce(value.hash().cast("int64"), _NOTHING)
    found = _hash64(value) if whole else _hash_text(value)
    # Ibis would cast every hash twice, by way of a text of bits. The mask keeps the
    # type; a shift would lose it, and words would have 128 bits. NULL has a hash here.
    return (found & ibis.literal(_POSITIVE, "uint64")).cast("int64")


def keyed_hash(salt: int, *values: Any) -> Any:
    """Return the engine's expression for a hash of `values` under a public salt.

    It is mixed column by column: the same row has the same hash wherever it stands and
    whatever else is in the table.
    """
    mixed = ibis.literal(checks.whole("salt", salt, at_least=0, at_most=2**62), "int64")
    for value in values:
        mixed = hash_of(mixed ^ hash_of(value))
    return mixed


def nth_smallest(table: ir.Table, by: str, column: str, count: int) -> ir.Table:
    """Return `by` and `_cut`, the `count`-th smallest of a column for each of them.

    Everybody in the table must have that many.
    """
    if not runs_on_duckdb(table):
        return nth_of_sorted(table, by, column, count)
    listed = table.group_by(by).agg(_list=smallest(table[column], count))
    return listed.select(by, _cut=listed["_list"][count - 1])


def nth_of_sorted(table: ir.Table, by: str, column: str, count: int) -> ir.Table:
    """Return `nth_smallest` by sorted lists, which serve all engines.

    Ibis has no window functions for Polars, and not every engine a smallest-n
    aggregate.
    """
    listed = table.group_by(by).agg(_list=table[column].collect())
    ordered = listed.mutate(_list=listed["_list"].sort())
    picked = ordered.select(by, _cut=ordered["_list"][count - 1])
    # Grouping once more makes PostgreSQL sort a list once, not for every joined row.
    return picked.group_by(by).agg(_cut=picked["_cut"].max())
