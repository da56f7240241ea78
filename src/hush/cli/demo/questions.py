"""The four questions of the demo, and the one that is refused."""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

import hush
from hush.cli.demo.town import REGIONS, Town
from hush.errors import BudgetExceeded

if TYPE_CHECKING:
    from hush.tables import Dataset

ROWS = 25  # no person of the town has more trips
BUDGET = {"epsilon": 3.0, "delta": 1e-6}
LEVEL = 0.95
_SHOWN = 10  # places, of those that were found


@final
@dataclass(frozen=True)
class Row:
    """One released number, its interval and, the data being made up, the truth."""

    label: str
    value: float
    low: float
    high: float
    truth: float


@final
@dataclass(frozen=True)
class Panel:
    """Rows in one unit, for one table and one chart."""

    name: str
    unit: str
    rows: tuple[Row, ...]

    @property
    def digits(self) -> int:
        """Decimals that are worth showing: two of the narrowest interval's half."""
        narrow = min(row.high - row.low for row in self.rows) / 2
        return max(0, 1 - math.floor(math.log10(max(narrow, 1e-9))))


@final
@dataclass(frozen=True)
class Asked:
    """One question with its answer and what it cost."""

    title: str
    code: str
    epsilon: float
    delta: float
    panels: tuple[Panel, ...]
    remark: str
    receipt: str
    left: str

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON types."""
        return asdict(self)


@final
@dataclass(frozen=True)
class Question:
    """What is asked, in words and in Python, for how much."""

    title: str
    code: str
    epsilon: float
    delta: float
    build: Callable[["Dataset"], Any]
    read: Callable[[Any, Town], tuple[tuple[Panel, ...], str]]

    def ask(self, data: "Dataset", town: Town) -> Asked:
        """Release the answer and put the truth beside it."""
        answer = self.build(data).release(self.epsilon, self.delta)
        panels, remark = self.read(answer, town)
        return Asked(
            self.title,
            self.code,
            self.epsilon,
            self.delta,
            panels,
            remark,
            str(answer.receipt),
            str(data.budget),
        )


def _panel(answer: Any, name: str, unit: str, labels: Any, truths: Any) -> Panel:
    low, high = answer.interval(LEVEL)[name]
    columns = (labels, answer.values[name], low, high, truths)
    rows = zip(*columns, strict=True)
    return Panel(name, unit, tuple(Row(str(r[0]), *map(float, r[1:])) for r in rows))


def _by_region(data: "Dataset") -> Any:
    return data.group_by("region", keys=REGIONS)


def _counts(answer: Any, town: Town) -> tuple[tuple[Panel, ...], str]:
    truths = [town.is_in_region(name).sum() for name in REGIONS]
    panel = _panel(answer, "trips", "trips", REGIONS, truths)
    return (panel,), (
        "The regions are public: each appears whether or not anybody went there."
    )


def _means(answer: Any, town: Town) -> tuple[tuple[Panel, ...], str]:
    inside = [town.is_in_region(name) for name in REGIONS]
    minutes = [town.minutes[here].mean() for here in inside]
    fares = [town.fare[here].mean() for here in inside]
    panels = (
        _panel(answer, "minutes", "minutes", REGIONS, minutes),
        _panel(answer, "fare", "$", REGIONS, fares),
    )
    return panels, (
        "A mean needs public bounds: nobody's trip counts as longer than 120 minutes "
        "or dearer than $80, so that no single one can move it far."
    )


_RANKS = {"quartile 1": 0.25, "median": 0.5, "quartile 3": 0.75}


def _quantiles(answer: Any, town: Town) -> tuple[tuple[Panel, ...], str]:
    rows: list[Row] = []
    for name, p in _RANKS.items():
        truth = float(np.quantile(town.minutes, p, method="inverted_cdf"))
        rows += _panel(answer, name, "minutes", [name], [truth]).rows
    return (Panel("minutes", "minutes", tuple(rows)),), (
        "A quarter of the trips is shorter than the first number and a quarter is "
        "longer than the last. The intervals are not symmetric: they follow how many "
        "trips are near."
    )


def _place_panels(answer: Any, town: Town) -> tuple[tuple[Panel, ...], str]:
    found = [key[0] for key in answer.keys]
    truths = [int((town.place == place).sum()) for place in found]
    whole = _panel(answer, "trips", "trips", [f"place {p}" for p in found], truths)
    most = sorted(whole.rows, key=lambda row: -row.value)[:_SHOWN]
    every, lonely = len(np.unique(town.place)), town.lonely_places()
    return (Panel("trips", "trips", tuple(most)),), (
        f"{len(found)} places were found, the {len(most)} largest are shown. Of the "
        f"{every:,} places in the data, {lonely:,} were visited by one person only; to "
        "name one would point at that person, so a place needs enough people. A lonely "
        "one appears with a chance of at most one in a million, which is δ."
    )


QUESTIONS = (
    Question(
        "How many trips are there in each region?",
        'data.group_by("region", keys=REGIONS).agg(trips=hush.count())',
        0.25,
        0.0,
        lambda data: _by_region(data).agg(trips=hush.count()),
        _counts,
    ),
    Question(
        "How long is a trip, and what does it cost?",
        'data.group_by("region", keys=REGIONS).agg('
        'minutes=hush.mean("minutes", bounds=(0, 120)), '
        'fare=hush.mean("fare", bounds=(0, 80)))',
        0.75,
        0.0,
        lambda data: _by_region(data).agg(
            minutes=hush.mean("minutes", bounds=(0, 120)),
            fare=hush.mean("fare", bounds=(0, 80)),
        ),
        _means,
    ),
    Question(
        "How long are short, usual and long trips?",
        'data.agg(median=hush.quantile("minutes", 0.5, bounds=(0, 120)), …)',
        0.75,
        0.0,
        lambda data: data.agg(
            **{
                name: hush.quantile("minutes", p, bounds=(0, 120))
                for name, p in _RANKS.items()
            }
        ),
        _quantiles,
    ),
    Question(
        "Which places do people go to?",
        'data.group_by("place", keys="private", most=25).agg(trips=hush.count())',
        1.0,
        1e-6,
        lambda data: data.group_by("place", keys="private", most=ROWS).agg(
            trips=hush.count()
        ),
        _place_panels,
    ),
)


def ask_all(data: "Dataset", town: Town) -> Iterator[Asked]:
    """Yield the answers one by one."""
    for question in QUESTIONS:
        yield question.ask(data, town)


def refusal_text(data: "Dataset") -> str:
    """Ask for more than is left, and return what the ledger says."""
    try:
        QUESTIONS[1].build(data).release(QUESTIONS[1].epsilon)
    except BudgetExceeded as problem:
        return str(problem)
    raise AssertionError("the budget was overspent")


def errors_by_epsilon(data: "Dataset") -> list[tuple[float, float]]:
    """Return the error of the first answer for many ε, from plans alone."""
    query = QUESTIONS[0].build(data)
    grid = [float(each) for each in np.geomspace(0.01, 10, 19)]
    return [(epsilon, query.plan(epsilon).error["trips"]) for epsilon in grid]
