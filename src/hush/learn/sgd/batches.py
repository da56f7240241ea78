"""Secret batches: Poisson samples and subsets of fixed size, in random order."""

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.dtypes import canonicalize_dtype
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.learn.features import kind, numbers
from hush.noise import SECURE, Source, permutation, subsample

Places = NDArray[np.int64]


def poisson_batch(records: int, rate: Any, *, source: Source = SECURE) -> Places:
    """Return positions below `records`, each taken with chance exactly `rate`.

    Guarantee: coins are independent and the order is uniformly random. Empty batches
    happen; they must be noised and counted like any other.

    Example:
        >>> poisson_batch(5, 1).size
        5
    """
    chance = checks.probability("rate", rate)
    found = subsample(records, rate=chance, source=source)
    return np.asarray(found[permutation(found.size, source=source)])


def fixed_batch(records: int, batch: int, *, source: Source = SECURE) -> Places:
    """Return `batch` different positions below `records`, every subset equally likely.

    Example:
        >>> fixed_batch(5, 3).size
        3
    """
    found = subsample(records, batch=batch, source=source)
    return np.asarray(found[permutation(found.size, source=source)])


def positions(records: int, rows: int) -> int:
    """Return how many positions coins are tossed for: a private number above records.

    Rows that a plan does not know of get positions of their own. To leave some out
    would let another row in where one leaves: two rows would move, not one.
    """
    return max(records, rows)


def constant(sampling: str, records: int, batch: int, places: int) -> bool:
    """Return whether every batch holds all positions."""
    return batch == (records if sampling == "poisson" else places)


def draw(
    sampling: str, records: int, batch: int, source: Source, places: int | None = None
) -> Places:
    """Return the positions of one batch of a plan, of `records` or more `places`.

    Poisson batches come in random order: a row more then moves one other row at most
    to another slot (docs/proofs/sgd.md, "More rows than records").
    """
    places = records if places is None else places
    if constant(sampling, records, batch, places):
        return np.arange(places)
    if sampling == "poisson":
        return poisson_batch(places, Fraction(batch, records), source=source)
    return subsample(places, batch=batch, source=source)


def arranged(batches: list[Places], rows: int, least: int) -> NDArray[np.int32]:
    """Return batches as (steps, passes, rows), -1 where a slot stays empty.

    How many passes there are depends on secret coins, never on the data.
    """
    passes = max([least, *(-(-each.size // rows) for each in batches)])
    slots = np.full((len(batches), passes * rows), -1, dtype=np.int32)
    for slot, each in zip(slots, batches, strict=True):
        slot[: each.size] = each
    return slots.reshape(len(batches), passes, rows)


# -- Rows as arrays: the one place where data of any kind are first taken --------------
#
# Libraries that are given what they do not know say so, and quote it. So whatever is
# no array of numbers is refused here, by its type: a type is public, values are not.

_WANTED = (
    "data must be arrays of numbers (or a tuple, list or dict of them), pandas and "
    "Polars frames included, with one row per person"
)


def described(data: Any) -> Any:
    """Return the tree with a shape and a type for every leaf; no value is looked at.

    Guarantee: what is refused depends on declared types and shapes alone.

    Example:
        >>> described({"x": np.zeros((3, 2), np.float32)})
        {'x': ShapeDtypeStruct(shape=(3, 2), dtype=float32)}
    """
    found = jax.tree.map(_described, data)
    shapes = [each.shape for each in jax.tree.leaves(found)]
    if not shapes or not all(shapes):
        raise InvalidArgument(
            f"{_WANTED}; got none, or one without rows. A list of pairs (x, y), one "
            "for each person, is turned by X, y = map(numpy.stack, zip(*pairs))."
        )
    if len({shape[0] for shape in shapes}) != 1:
        raise InvalidArgument(
            "data must have the same number of rows in every array; these differ."
        )
    return found


def leaves(data: Any) -> list[Any]:
    """Return the arrays of a tree that `described` admits: here data are read.

    A number too large for a device becomes an infinity without a warning, which would
    tell that somebody has one.
    """
    types = [each.dtype for each in jax.tree.leaves(described(data))]
    found = []
    for leaf, dtype in zip(jax.tree.leaves(data), types, strict=True):
        read = _frame_values(leaf) if _is_frame(leaf) else leaf
        if not isinstance(read, jax.Array):
            with np.errstate(all="ignore"):
                read = np.asarray(read).astype(dtype, copy=False)
        found.append(read)
    return found


def _described(leaf: Any) -> Any:
    dtype = _declared_type(leaf) if _is_frame(leaf) else getattr(leaf, "dtype", None)
    try:
        fits = dtype is not None and (
            jnp.issubdtype(dtype, jnp.number) or jnp.issubdtype(dtype, jnp.bool_)
        )
    except TypeError:  # a type of another library
        fits = False
    if fits and hasattr(leaf, "shape"):
        return jax.ShapeDtypeStruct(leaf.shape, canonicalize_dtype(dtype))
    # The name of a type may hold data too: the length of words, or categories.
    what = "" if dtype is None else " whose type is no number"
    raise InvalidArgument(
        f"{_WANTED}; got {kind(leaf)}{what}. Convert it by numpy.asarray; encode words "
        "and dates as numbers by a public rule."
    )


def _is_frame(leaf: Any) -> bool:
    return type(leaf).__module__.partition(".")[0] in ("pandas", "polars")


def _declared_type(leaf: Any) -> Any:
    """Return the type that the schema of a frame or a series decides.

    Where a column may hold nulls it is that of floats, whether it holds any or not.
    """
    types = [leaf.dtype] if hasattr(leaf, "dtype") else list(leaf.dtypes)
    for each in types:
        if not _is_number(each):
            return each
    if types and all(isinstance(each, np.dtype) for each in types):
        return np.result_type(*types)
    return np.dtype(np.float64)


def _frame_values(leaf: Any) -> Any:
    """Return the values of a frame whose columns are numbers."""
    dtype = _declared_type(leaf)
    return numbers(leaf) if dtype == np.float64 else np.asarray(leaf, dtype=dtype)


def _is_number(dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # Polars
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    return getattr(dtype, "kind", "O") in "biuf"
