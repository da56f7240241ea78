"""The distinguisher: an event that tells two data sets apart, from earlier runs."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hush.audit.hypothesis_tests import PASS, RIGHT, WRONG, Guesses, Point, best_stake
from hush.audit.outputs import FINITE, SPECIAL, WORD, Codes, Floats, Table, lowest_bit

# -- Scores: numbers that are large when a result looks like the neighbor's ------------
#
# Which score is used does not matter for validity, only for power: all of them are
# fitted on training runs and judged on fresh ones. A score is one number of the
# result itself, or the logarithm of a likelihood ratio that was estimated bin by bin.
# What is common to all runs, such as where the bins are, comes from the whole
# training table; only what tells the two data sets apart is fitted, so that it can be
# judged on other runs.

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


def _joined_phrases(phrases: list[str]) -> str:
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


def _table_score(name: str, coded: Coded, ratio: Floats, said: Words) -> Score:
    def number_of(table: Table) -> Floats:
        return ratio[np.minimum(coded(table), len(ratio) - 1)]

    def describe(low: float, high: float) -> str:
        near = [int(i) for i in np.argsort(-ratio) if ratio[i] >= max(high, 1e-9)]
        far = [int(i) for i in np.argsort(ratio) if ratio[i] <= min(low, -1e-9)]
        told = [
            f"{side} when {_joined_phrases(said(each))}"
            for side, each in (("neighbor", near), ("data", far))
            if each
        ]
        return "; ".join(told) or "never"

    return Score(name, number_of, describe)


def _threshold_score(name: str, of: Callable[[Table], Floats], sign: float) -> Score:
    def describe(low: float, high: float) -> str:
        more, less = (">=", "<=") if sign > 0 else ("<=", ">=")
        if low == np.nextafter(high, -np.inf):  # nothing lies between
            less, low = less[0], high
        said = []
        if np.isfinite(high):
            said.append(f"neighbor when {name} {more} {sign * high:.6g}")
        if np.isfinite(low):
            said.append(f"data when {name} {less} {sign * low:.6g}")
        return "; ".join(said) or "never"

    return Score(name, lambda table: sign * of(table), describe)


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

    def codes(self, table: Table) -> Codes:
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

        def number_of(t: Table, i: int = i, j: int = j) -> Floats:
            return t.values[:, j] - t.values[:, i]

        name = f"{_leaf(table.names[j])} - {_leaf(table.names[i])}"
        found.append(_Column(name, number_of, _zeros, Bins.of(number_of(table))))
    return found


def _bits(column: _Column, table: Table) -> _Column:
    """Return the lowest bit of a column, together with where the value lies."""
    coarse = Bins.of(column.of(table), most=12, few=12)

    def number_of(t: Table) -> Floats:
        low = np.clip(lowest_bit(column.of(t)), -80, 80)
        return np.asarray(coarse.code(column.of(t)) * 256.0 + low, dtype=np.float64)

    seen = number_of(table)
    cells = Bins.of(seen, few=2000)

    def phrases(found: list[int]) -> list[str]:
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

    return _Column(f"{_BITS}{column.name}", number_of, column.special, cells, phrases)


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
                yield Candidate(_threshold_fit(column, sign))
    if len(columns) > 1:
        yield Candidate(
            _sum_of_ratios(columns), sum(each.bins.count for each in columns)
        )
        yield Candidate(_linear(table), len(columns))
        yield Candidate(_median_score, len(columns))


def _cells(column: _Column, words: tuple[str, ...]) -> Fit:
    def fit(table: Table, side: NDArray[np.bool_]) -> Score:
        ratio = _ratio(column.codes(table), side, column.count)
        return _table_score(
            column.name,
            column.codes,
            ratio,
            lambda codes: column.phrases(codes, words),
        )

    return fit


def _threshold_fit(column: _Column, sign: float) -> Fit:
    return lambda _table, _side: _threshold_score(column.name, column.of, sign)


def _sum_of_ratios(columns: list[_Column]) -> Fit:
    """Add up all ratios: right where the leaves are independent."""

    def fit(table: Table, side: NDArray[np.bool_]) -> Score:
        ratios = [_ratio(each.codes(table), side, each.count) for each in columns]

        def number_of(t: Table) -> Floats:
            parts = [
                ratio[each.codes(t)]
                for each, ratio in zip(columns, ratios, strict=True)
            ]
            return np.sum(parts, axis=0)  # type: ignore[no-any-return]

        return _threshold_score("the likelihood ratio of all values", number_of, 1.0)

    return fit


def _linear(pooled: Table) -> Fit:
    """Fisher's discriminant on values cut to their middle 99 %."""
    low, high = np.quantile(pooled.values, [0.005, 0.995], axis=0)

    def clipped_values(t: Table) -> Floats:
        return np.clip(t.values, low, high)

    def fit(table: Table, side: NDArray[np.bool_]) -> Score:
        x = clipped_values(table)
        gap = x[side].mean(axis=0) - x[~side].mean(axis=0)
        spread: Any = np.atleast_2d(np.cov(x, rowvar=False))
        ridge = np.eye(len(gap)) * (np.trace(spread) / len(gap) * 1e-6 + 1e-300)
        weights = np.linalg.lstsq(spread + ridge, gap, rcond=None)[0]
        return _threshold_score(
            "a weighted sum of values", lambda t: clipped_values(t) @ weights, 1.0
        )

    return fit


def _median_score(table: Table, side: NDArray[np.bool_]) -> Score:
    """Return how far values have come from one median to the other, in all.

    For independent Laplace noise this is the exact likelihood ratio.
    """
    far, near = (np.median(table.values[side == each], axis=0) for each in (0, 1))
    spread = np.mean(np.abs(table.values - np.where(side[:, None], near, far)), axis=0)
    scale = np.sign(near - far) / np.maximum(spread, 1e-300)
    low, high = np.minimum(far, near), np.maximum(far, near)

    def number_of(t: Table) -> Floats:
        return np.asarray(np.clip(t.values, low, high) @ scale, dtype=np.float64)

    return _threshold_score(
        "the values cut to between their medians, added up,", number_of, 1.0
    )


# -- The event that tells two data sets apart, chosen on earlier runs alone ------------

_LEVELS = 60
_PRIOR = 60.0  # guesses that are taken as seen, right as often as the claim allows
_HOPE = 0.05  # a violation worth finding, as a share of ε
_TIE = 1.5  # scores whose prospects differ by no more are told apart by all their runs
_UNEVEN = 1.0  # by so much must an event win that guesses one side more often
_NEVER = 1e3
_FOLDS = 3
_FREE = 8  # a score with more free numbers than this is cut on runs of its own


@final
@dataclass(frozen=True)
class Event:
    """Guess "neighbor" above `high`, "data" below `low`, abstain in between."""

    score: Score = field(repr=False)
    point: Point
    low: float
    high: float
    promise: float  # by how many standard errors a test may hope to refute the claim
    stake: float

    def guess(self, table: Table, side: NDArray[np.bool_]) -> tuple[Guesses, Floats]:
        """Return whether each guess is right, wrong or not made, and the scores."""
        found = self.score.of(table)
        return self.judge(found, side), found

    def judge(self, values: Floats, side: NDArray[np.bool_]) -> Guesses:
        """Return whether the guess from each score is right, wrong or not made.

        An infinite threshold is never passed, and NaN is a score like any other: the
        proof counts on how many sides are guessed, and where all runs are guessed.
        """
        values = np.nan_to_num(values)
        up, down = values >= self.high, values <= self.low
        right = np.where(up, side, ~side)
        guesses = np.where(right, RIGHT, WRONG)
        return np.where(up | down, guesses, PASS).astype(np.int64)

    @property
    def sides(self) -> int:
        """How many of the two data sets are ever guessed."""
        return int(np.isfinite(self.high)) + int(np.isfinite(self.low))

    def __str__(self) -> str:
        return self.score.words(self.low, self.high)


@final
@dataclass(frozen=True)
class Goal:
    """What an event is chosen for: a test of so many runs at an error rate alpha."""

    offered: Sequence[Point]
    runs: int
    alpha: float


def expected_margin(
    point: Point, goal: Goal, right: Any, wrong: Any, seen: int, sides: Any
) -> Any:
    """Return the expected distance of a test from the claim, in standard errors.

    `right` and `wrong` guesses were counted in `seen` runs. How often a guess is right
    is taken as a normal number around what was seen, drawn towards the claim where few
    guesses were made: the luckiest of many rare events looks better than it is. The
    result is the normal quantile of the power of the test, averaged over that number.
    """
    made = right + wrong
    mass = (made + 1.0) / (seen + 1.0)
    if point.kind == "accuracy":
        bound: Any = min(point.chance(0.0, 2, 1.0), 1 - 1e-9)
        tests = np.full(np.shape(made), float(goal.runs))
    else:
        tests = goal.runs * mass
        # The least mass that a test of this size would be sure of.
        slack = math.sqrt(-2 * math.log(goal.alpha / 100)) if point.delta else 0.0
        sure = mass if point.kind == "betting" else mass * _sure_share(slack, tests)
        charge = np.minimum(sides * point.delta / 2 / np.maximum(sure, 1e-300), 1.0)
        lied = special.expit(-point.epsilon) * (1 - charge)
        bound = np.clip(1 - lied, 1e-9, 1 - 1e-9)
    strength = made + _PRIOR
    chance = (right + _PRIOR * bound) / strength
    # Among events that are equally close to the claim, the one with more mass would
    # show a small violation first.
    far = np.log(bound / (1 - bound)) if point.kind == "accuracy" else point.epsilon
    chance = chance + _HOPE * far * bound * (1 - bound)
    spread = np.maximum(chance * (1 - chance), 1 / strength) / strength
    root = np.sqrt(tests / (bound * (1 - bound)))
    # A bet wins with the logarithm of 2/α, a tail with the quantile of α.
    need = -float(special.ndtri(goal.alpha))
    if point.kind == "betting":
        need = math.sqrt(2 * math.log(2 / goal.alpha))
    found = (root * (chance - bound) - need) / np.sqrt(1 + root**2 * spread)
    # Where every guess may be right, no test can refute the claim.
    return np.where(bound < 1 - 1e-9, found, -_NEVER)


def _sure_share(slack: float, tests: Any) -> Any:
    return np.maximum(1 - slack / np.sqrt(np.maximum(tests, 1.0)), 1e-3)


def _thresholds(values: Floats) -> Floats:
    """Return all values where they are few, else quantiles, closer in the tails."""
    distinct = np.unique(values)
    if len(distinct) <= _LEVELS:
        return distinct
    tail = np.geomspace(1 / len(values), 1 / _LEVELS, 8)
    levels = np.concatenate([tail, np.linspace(0, 1, _LEVELS), 1 - tail])
    return np.unique(np.quantile(values, levels, method="nearest"))


def _counts(values: Floats, side: NDArray[np.bool_], cuts: Floats) -> Any:
    """Count s >= t and s <= t on either side (near, far), with a never each."""
    near, far = np.sort(values[side]), np.sort(values[~side])
    found = []
    for each in (near, far):
        found.append(len(each) - np.searchsorted(each, cuts, side="left"))
    for each in (near, far):
        found.append(np.searchsorted(each, cuts, side="right"))
    return [np.append(each, 0) for each in found]


def _best(
    score: Score, values: Floats, side: NDArray[np.bool_], point: Point, goal: Goal
) -> Event:
    """Return the best thresholds on a score."""
    cuts = _thresholds(values)
    up1, up0, down1, down0 = _counts(values, side, cuts)
    seen = len(values)
    if point.kind == "accuracy":
        # Everybody is guessed: neighbor from the cut on, data below it.
        right = up1 + (~side).sum() - up0
        worth = expected_margin(point, goal, right, seen - right, seen, 2)
        at = int(np.argmax(worth))
        high = cuts[at] if at < len(cuts) else np.inf
        low = np.nextafter(high, -np.inf)
        return Event(score, point, float(low), float(high), float(worth[at]), 0.0)
    right = up1[:, None] + down0[None, :]
    wrong = up0[:, None] + down1[None, :]
    apart = np.append(cuts, np.inf)[:, None] > np.append(cuts, -np.inf)[None, :]
    ends = np.append(np.ones(len(cuts)), 0.0)
    sides = ends[:, None] + ends[None, :]
    worth = expected_margin(point, goal, right, wrong, seen, sides)
    # Noise is mostly alike on either side: what looks better on one is often luck.
    often = (up1 + up0)[:, None] - (down1 + down0)[None, :]
    even = np.abs(often) == np.min(np.abs(often), axis=1, keepdims=True)
    worth = np.where(apart, worth - np.where(even, 0.0, _UNEVEN), -np.inf)
    i, j = np.unravel_index(int(np.argmax(worth)), worth.shape)
    high = cuts[i] if i < len(cuts) else np.inf
    low = cuts[j] if j < len(cuts) else -np.inf
    charge = float(sides[i, j]) * point.delta / 2
    rates = float(right[i, j]) / seen, float(wrong[i, j] + 1) / seen
    stake = best_stake(*rates, point.epsilon, charge)
    return Event(score, point, float(low), float(high), float(worth[i, j]), stake)


def choose(table: Table, side: NDArray[np.bool_], goal: Goal) -> Event:
    """Return the most promising event.

    Scores are fitted on one third of the runs, thresholds on the second, and the third
    judges; the thirds change places, so that every run judges once.
    """
    fold = np.arange(len(table)) // 4 % _FOLDS
    parts = [_part(table, fold == i) for i in range(_FOLDS)]
    sides = [side[fold == i] for i in range(_FOLDS)]
    tried = [
        _Judged(candidate, point, worth, area)
        for candidate in candidates(table)
        for point, worth, area in _prospects(candidate, parts, sides, goal)
    ]
    most = max(each.worth for each in tried)
    luck = 0.1 / math.sqrt(len(table))  # equal areas: what was not fitted wins
    best = max(
        (each for each in tried if each.worth >= most - _TIE),
        key=lambda each: (each.area - luck * (each.candidate.free > 0), each.worth),
    )
    found = _fitted_event(best.candidate, best.point, table, side, goal)
    return replace(found, promise=most)


@final
@dataclass(frozen=True)
class _Judged:
    """A score for a promise: what it may hope for, and the area under its ROC."""

    candidate: Candidate
    point: Point
    worth: float
    area: float


def _prospects(
    candidate: Candidate, parts: Any, sides: Any, goal: Goal
) -> list[tuple[Point, float, float]]:
    """Return each promise of the claim with the prospects of a test by this score."""
    right = np.zeros((len(goal.offered), 3))  # right, wrong, sides
    area = 0.0
    for turn in range(_FOLDS):
        fit, cut, judge = (
            (parts[(turn + i) % _FOLDS], sides[(turn + i) % _FOLDS]) for i in range(3)
        )
        score = candidate.fit(*fit)
        values, judged = score.of(cut[0]), score.of(judge[0])
        area += _area(judged, judge[1]) / _FOLDS
        for at, point in enumerate(goal.offered):
            event = _best(score, values, cut[1], point, goal)
            guesses = event.judge(judged, judge[1])
            right[at, 0] += np.sum(guesses == RIGHT)
            right[at, 1] += np.sum(guesses == WRONG)
            right[at, 2] += event.sides / _FOLDS
    seen = sum(map(len, sides))
    return [
        (
            point,
            float(
                expected_margin(
                    point, goal, right[at, 0], right[at, 1], seen, right[at, 2]
                )
            ),
            area,
        )
        for at, point in enumerate(goal.offered)
    ]


def _area(values: Floats, side: NDArray[np.bool_]) -> float:
    """Return how often a score of the neighbor is larger than one of the data."""
    near, far = np.sort(values[side]), values[~side]
    below = np.searchsorted(near, far, side="left")
    upto = np.searchsorted(near, far, side="right")
    return 1 - float(np.mean(below + upto)) / (2 * max(len(near), 1))


def _fitted_event(
    candidate: Candidate,
    point: Point,
    table: Table,
    side: NDArray[np.bool_],
    goal: Goal,
) -> Event:
    """Fit and cut on all runs; with many free numbers, on half of them each."""
    if candidate.free <= _FREE:
        score = candidate.fit(table, side)
        return _best(score, score.of(table), side, point, goal)
    half = np.arange(len(table)) // 4 % 2 == 0
    score = candidate.fit(_part(table, half), side[half])
    fresh = _part(table, ~half)
    return _best(score, score.of(fresh), side[~half], point, goal)


def _part(table: Table, kept: NDArray[np.bool_]) -> Table:
    return Table(
        table.names,
        table.values[kept],
        table.codes[kept],
        table.size[kept],
        table.words,
    )
