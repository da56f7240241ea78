"""Scores: numbers that are large when a result looks like the neighbor's.

Which score is used does not matter for validity, only for power: all of them are fitted
on training runs and judged on fresh ones. A score is one number of the result itself,
or the logarithm of a likelihood ratio that was estimated bin by bin. What is common to
all runs, such as where the bins are, comes from the whole training table; only what
tells the two data sets apart is fitted, so that it can be judged on other runs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.audit.outputs import FINITE, SPECIAL, WORD, Codes, Floats, Table, lowest_bit

_BINS = 40
_FEW = 64  # so many different values are looked at one by one
_BITS = "the lowest bit of "
_SAID = 3  # so many ranges are named
_JOINT = 6  # so many leaves are also compared with each other


@final
@dataclass(frozen=True)
class Score:
    """A function of results, and how to say what a threshold on it means."""

    name: str
    of: Callable[[Table], Floats]
    words: Callable[[float, float], str]


Fit = Callable[[Table, NDArray[np.bool_]], Score]


@final
@dataclass(frozen=True)
class Candidate:
    """A score that waits to be fitted; `free` says how many numbers a fit chooses."""

    fit: Fit
    free: int = 0


@final
@dataclass(frozen=True)
class Bins:
    """Cells of a column: single values where they are few, else equal shares."""

    edges: Floats

    @classmethod
    def of(cls, values: Floats, most: int = _BINS, few: int = _FEW) -> "Bins":
        """Return the cells of these values."""
        distinct = np.unique(values)
        if len(distinct) <= few:
            return cls((distinct[1:] + distinct[:-1]) / 2)
        shares = np.quantile(values, np.arange(1, most) / most, method="lower")
        return cls(np.unique(shares))

    def code(self, values: Floats) -> Codes:
        """Return the cell of each value."""
        return np.searchsorted(self.edges, values, side="right").astype(np.int64)

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.edges) + 1

    def text(self, first: int, last: int, name: str) -> str:
        """Return in words that `name` lies in one of neighboring cells.

        Example:
            >>> bins = Bins(np.array([0.0, 1.0, 2.0]))
            >>> bins.text(1, 2, "value"), bins.text(3, 3, "value")
            ('0 <= value < 2', 'value >= 2')
        """
        low = f"{self.edges[first - 1]:.6g}" if first else ""
        high = f"{self.edges[last]:.6g}" if last < len(self.edges) else ""
        if low and high:
            return f"{low} <= {name} < {high}"
        if low or high:
            return f"{name} >= {low}" if low else f"{name} < {high}"
        return f"{name} is a number"


def _runs(found: list[int]) -> list[tuple[int, int]]:
    """Return whole numbers as runs (first, last), in the order they first come in."""
    ends: dict[int, int] = {}
    for each in sorted(found):
        begun = next((first for first, last in ends.items() if last == each - 1), each)
        ends[begun] = each
    rank = {each: place for place, each in enumerate(found)}
    return sorted(
        ends.items(), key=lambda run: min(rank[i] for i in range(run[0], run[1] + 1))
    )


def _or(phrases: list[str]) -> str:
    """Join the first few phrases; what is left out is counted."""
    more = len(phrases) - _SAID
    rest = [f"{more} more of the kind"] if more > 0 else []
    return " or ".join([*phrases[:_SAID], *rest])


Coded = Callable[[Table], Codes]
Words = Callable[[list[int]], list[str]]  # cells, the most telling first, as phrases


def _ratio(codes: Codes, side: NDArray[np.bool_], count: int) -> Floats:
    """Return the estimated log-likelihood ratio of every cell."""
    near, far = (
        np.bincount(codes[side == each], minlength=count) for each in (True, False)
    )
    more, less = ((each + 0.5) / (each.sum() + 0.5) for each in (near, far))
    # A cell that training never saw says nothing.
    found: Floats = np.where(near + far > 0, np.log(more / less), 0.0)
    return found


def _looked_up(name: str, coded: Coded, ratio: Floats, said: Words) -> Score:
    def of(table: Table) -> Floats:
        return ratio[np.minimum(coded(table), len(ratio) - 1)]

    def words(low: float, high: float) -> str:
        near = [int(i) for i in np.argsort(-ratio) if ratio[i] >= max(high, 1e-9)]
        far = [int(i) for i in np.argsort(ratio) if ratio[i] <= min(low, -1e-9)]
        told = [
            f"{side} when {_or(said(each))}"
            for side, each in (("neighbor", near), ("data", far))
            if each
        ]
        return "; ".join(told) or "never"

    return Score(name, of, words)


def _plain(name: str, of: Callable[[Table], Floats], sign: float) -> Score:
    def words(low: float, high: float) -> str:
        more, less = (">=", "<=") if sign > 0 else ("<=", ">=")
        if low == np.nextafter(high, -np.inf):  # nothing lies between
            less, low = less[0], high
        said = []
        if np.isfinite(high):
            said.append(f"neighbor when {name} {more} {sign * high:.6g}")
        if np.isfinite(low):
            said.append(f"data when {name} {less} {sign * low:.6g}")
        return "; ".join(said) or "never"

    return Score(name, lambda table: sign * of(table), words)


def _leaf(name: str) -> str:
    return f"value{name}"


@final
@dataclass(frozen=True)
class _Column:
    """One number per result and the cells it falls into, special values apart."""

    name: str
    of: Callable[[Table], Floats]
    special: Callable[[Table], Codes]
    bins: Bins
    said: Words | None = None  # cells in words, where bins do not do

    def coded(self, table: Table) -> Codes:
        special = self.special(table)
        cells = self.bins.code(self.of(table)) + len(SPECIAL) + 256
        return np.where(special == FINITE, cells, np.minimum(special, 255))

    @property
    def count(self) -> int:
        return self.bins.count + len(SPECIAL) + 256

    def phrases(self, codes: list[int], words: tuple[str, ...]) -> list[str]:
        """Return in words which codes are meant, neighboring cells as one."""
        first = len(SPECIAL) + 256
        cells = [code - first for code in codes if code >= first]
        kinds = [code for code in codes if code < first]
        named = [
            repr(words[code - WORD - 1]) if code > WORD else SPECIAL[code]
            for code in kinds
        ]
        told = [f"{self.name} is {' or '.join(named[:_SAID])}"] if named else []
        if self.said:
            return told + self.said(cells)
        return told + [self.bins.text(*run, self.name) for run in _runs(cells)]


def _value(place: int) -> Callable[[Table], Floats]:
    return lambda table: table.values[:, place]


def _code(place: int) -> Callable[[Table], Codes]:
    return lambda table: table.codes[:, place]


def _columns(table: Table) -> list[_Column]:
    found = []
    for i, name in enumerate(table.names):
        finite = table.codes[:, i] == FINITE
        kept = table.values[finite, i]
        bins = Bins.of(kept if len(kept) else np.zeros(1))
        found.append(_Column(_leaf(name), _value(i), _code(i), bins))
    return found


def _zeros(table: Table) -> Codes:
    return np.zeros(len(table), dtype=np.int64)


def _differences(table: Table) -> list[_Column]:
    few = range(min(len(table.names), _JOINT))
    found = []
    for i, j in combinations(few, 2):

        def of(t: Table, i: int = i, j: int = j) -> Floats:
            return t.values[:, j] - t.values[:, i]

        name = f"{_leaf(table.names[j])} - {_leaf(table.names[i])}"
        found.append(_Column(name, of, _zeros, Bins.of(of(table))))
    return found


def _bits(column: _Column, table: Table) -> _Column:
    """Return the lowest bit of a column, together with where the value lies."""
    coarse = Bins.of(column.of(table), most=12, few=12)

    def of(t: Table) -> Floats:
        low = np.clip(lowest_bit(column.of(t)), -80, 80)
        return np.asarray(coarse.code(column.of(t)) * 256.0 + low, dtype=np.float64)

    seen = of(table)
    cells = Bins.of(seen, few=2000)

    def said(found: list[int]) -> list[str]:
        lowest: dict[int, list[int]] = {}  # by where the value lies
        codes = cells.code(seen)
        for cell in found:
            example = seen[codes == cell][0]  # no cell is named but a seen one
            place = round(example / 256)
            lowest.setdefault(place, []).append(round(example - 256 * place))
        return [
            f"{_BITS}{column.name} is {_powers(bits)} where "
            f"{coarse.text(place, place, column.name)}"
            for place, bits in lowest.items()
        ]

    return _Column(f"{_BITS}{column.name}", of, column.special, cells, said)


def _powers(exponents: list[int]) -> str:
    """Return powers of two in words, the most telling first."""
    runs = [
        f"2^{first}" if first == last else f"2^{first} to 2^{last}"
        for first, last in _runs(exponents)
    ]
    return " or ".join(runs[:_SAID])


def candidates(table: Table) -> Iterator[Candidate]:
    """Yield every score that results of this form may have."""
    columns = _columns(table)
    size = _Column("number of leaves", lambda t: t.size, _zeros, Bins.of(table.size))
    extra = [*_differences(table), size]
    extra += [_bits(each, table) for each in columns[:_JOINT]]
    for column in [*columns, *extra]:
        yield Candidate(_cells(column, table.words), column.bins.count)
        if len(column.bins.edges) > 1 and not column.name.startswith(_BITS):
            for sign in (1.0, -1.0):
                yield Candidate(_unfitted(column, sign))
    if len(columns) > 1:
        yield Candidate(_added(columns), sum(each.bins.count for each in columns))
        yield Candidate(_linear(table), len(columns))
        yield Candidate(_between, len(columns))


def _cells(column: _Column, words: tuple[str, ...]) -> Fit:
    def fit(table: Table, side: NDArray[np.bool_]) -> Score:
        ratio = _ratio(column.coded(table), side, column.count)
        return _looked_up(
            column.name,
            column.coded,
            ratio,
            lambda codes: column.phrases(codes, words),
        )

    return fit


def _unfitted(column: _Column, sign: float) -> Fit:
    return lambda _table, _side: _plain(column.name, column.of, sign)


def _added(columns: list[_Column]) -> Fit:
    """Add up all ratios: right where the leaves are independent."""

    def fit(table: Table, side: NDArray[np.bool_]) -> Score:
        ratios = [_ratio(each.coded(table), side, each.count) for each in columns]

        def of(t: Table) -> Floats:
            parts = [
                ratio[each.coded(t)]
                for each, ratio in zip(columns, ratios, strict=True)
            ]
            return np.sum(parts, axis=0)  # type: ignore[no-any-return]

        return _plain("the likelihood ratio of all values", of, 1.0)

    return fit


def _linear(pooled: Table) -> Fit:
    """Fisher's discriminant on values cut to their middle 99 %."""
    low, high = np.quantile(pooled.values, [0.005, 0.995], axis=0)

    def cut(t: Table) -> Floats:
        return np.clip(t.values, low, high)

    def fit(table: Table, side: NDArray[np.bool_]) -> Score:
        x = cut(table)
        gap = x[side].mean(axis=0) - x[~side].mean(axis=0)
        spread: Any = np.atleast_2d(np.cov(x, rowvar=False))
        ridge = np.eye(len(gap)) * (np.trace(spread) / len(gap) * 1e-6 + 1e-300)
        weights = np.linalg.lstsq(spread + ridge, gap, rcond=None)[0]
        return _plain("a weighted sum of values", lambda t: cut(t) @ weights, 1.0)

    return fit


def _between(table: Table, side: NDArray[np.bool_]) -> Score:
    """Return how far values have come from one median to the other, in all.

    For independent Laplace noise this is the exact likelihood ratio.
    """
    far, near = (np.median(table.values[side == each], axis=0) for each in (0, 1))
    spread = np.mean(np.abs(table.values - np.where(side[:, None], near, far)), axis=0)
    scale = np.sign(near - far) / np.maximum(spread, 1e-300)
    low, high = np.minimum(far, near), np.maximum(far, near)

    def of(t: Table) -> Floats:
        return np.asarray(np.clip(t.values, low, high) @ scale, dtype=np.float64)

    return _plain("the values cut to between their medians, added up,", of, 1.0)
