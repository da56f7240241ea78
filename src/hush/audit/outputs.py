"""What an outsider sees of a result: numbers, words, what is missing, what went wrong.

Any result becomes a row of named leaves. Of a number its value counts, whether it is
one at all (NaN, infinities, -0.0, None), and its lowest bit, which shows the lattice it
lies on; of a text the text; of the whole how many leaves there are, and of a failure
the class of the error.
"""

import dataclasses
import numbers
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_MOST = 64  # leaves that are looked at one by one
_DEEP = 6
FINITE, NAN, PLUS, MINUS, ZERO, NONE, ABSENT, WORD = range(8)
SPECIAL = (
    "finite",
    "nan",
    "+inf",
    "-inf",
    "-0.0",
    "None",
    "absent",
    "a word never seen in training",
)


@final
@dataclasses.dataclass(frozen=True)
class Raised:
    """A run that raised: its class is what an outsider surely sees."""

    name: str


def leaves(
    output: Any, where: str = "", deep: int = _DEEP
) -> Iterator[tuple[str, Any]]:
    """Yield the numbers and words of a result, each with the way to it.

    Example:
        >>> list(leaves({"n": 3, "mean": [0.5, None]}))
        [("['n']", 3), ("['mean'][0]", 0.5), ("['mean'][1]", None)]
    """
    if isinstance(output, (numbers.Real, str, bytes, type(None), np.bool_)):
        yield where, output
    elif isinstance(output, Raised):
        yield f"{where} error", output.name
    elif isinstance(output, np.ndarray):
        yield from leaves(output.tolist(), where, deep)
    elif isinstance(output, (set, frozenset)):
        for each in output:
            yield f"{where} {each!r} in set", 1
    elif deep:
        for name, part in _parts(output):
            yield from leaves(part, where + name, deep - 1)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, Sequence):
        yield from ((f"[{i}]", part) for i, part in enumerate(value))
    elif hasattr(value, "to_pydict"):
        yield "", value.to_pydict()
    elif hasattr(value, "columns") and hasattr(value, "__getitem__"):
        yield from ((f"[{c!r}]", np.asarray(value[c])) for c in value.columns)
    elif hasattr(value, "values") and not callable(value.values):
        yield "", value.values
    elif not callable(value):
        named = getattr(value, "__dict__", {})
        yield from ((f".{name}", part) for name, part in named.items())


def lowest_bit(values: Floats) -> Codes:
    """Return the exponent of the lowest set bit of each number, 0 for none.

    Example:
        >>> lowest_bit(np.array([1.0, 0.75, 12.0, 0.1]))
        array([  0,  -2,   2, -55])
    """
    safe = np.where(np.isfinite(values) & (values != 0), values, 1.0)
    mantissa, exponent = np.frexp(safe)
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    low = whole & -whole
    found: Codes = exponent - 53 + np.rint(np.log2(low)).astype(np.int64)
    return found


@final
@dataclasses.dataclass(frozen=True)
class Table:
    """Many results as columns: one number and one code per leaf.

    A code says what kind of leaf it is, finite numbers being 0; words have codes of
    their own from 8 on.
    """

    names: tuple[str, ...]
    values: Floats  # (results, leaves); 0 where the leaf is not a finite number
    codes: Codes  # (results, leaves)
    size: Floats  # how many leaves each result has
    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.size)


@final
class Reader:
    """Reads results by the leaves and words that were seen in training."""

    def __init__(self, outputs: Any) -> None:
        self._words: dict[str, int] = {}
        if isinstance(outputs, np.ndarray):
            width = 1 if outputs.ndim == 1 else int(np.prod(outputs.shape[1:]))
            places = range(min(width, _MOST))
            one = outputs.ndim == 1
            self.names = ("",) if one else tuple(f"[{i}]" for i in places)
            return
        seen: dict[str, None] = {}
        for output in outputs:
            for name, leaf in leaves(output):
                seen.setdefault(name)
                if isinstance(leaf, (str, bytes)) and len(self._words) < _MOST:
                    self._words.setdefault(str(leaf), WORD + 1 + len(self._words))
        self.names = tuple(seen)[:_MOST]

    def read(self, outputs: Any) -> Table:
        """Return results as a table; what training never saw counts as such."""
        if isinstance(outputs, np.ndarray):
            flat = outputs.reshape(len(outputs), -1)
            values = flat[:, : len(self.names)].astype(np.float64)
            size = np.full(len(flat), float(flat.shape[1]))
            return self._table(values, np.zeros(values.shape, dtype=np.int64), size)
        place = {name: i for i, name in enumerate(self.names)}
        values = np.zeros((len(outputs), len(place)))
        codes = np.full(values.shape, ABSENT, dtype=np.int64)
        size = np.zeros(len(outputs))
        for row, output in enumerate(outputs):
            for name, leaf in leaves(output):
                size[row] += 1
                at = place.get(name)
                if at is None:
                    continue
                if isinstance(leaf, (str, bytes)):
                    codes[row, at] = self._words.get(str(leaf), WORD)
                elif leaf is None:
                    codes[row, at] = NONE
                else:
                    codes[row, at] = FINITE
                    values[row, at] = _float(leaf)
        return self._table(values, codes, size)

    def _table(self, values: Floats, codes: Codes, size: Floats) -> Table:
        with np.errstate(invalid="ignore"):
            codes[np.isnan(values)] = NAN
            codes[values == np.inf] = PLUS
            codes[values == -np.inf] = MINUS
            codes[(values == 0) & np.signbit(values)] = ZERO
        values = np.where(np.isfinite(values), values, 0.0)
        return Table(self.names, values, codes, size, tuple(self._words))


def _float(leaf: Any) -> float:
    try:
        return float(leaf)
    except OverflowError:
        return float("inf") if leaf > 0 else float("-inf")
