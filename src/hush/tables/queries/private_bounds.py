"""Private bounds: part of the budget says where the values are.

Rows are counted, all groups together, in bins between powers of two. The bounds run
from the first to the last bin whose noisy count is clearly above zero. They are then
public: the rest of the budget answers the question with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hush import checks
from hush.errors import InvalidArgument, NoBound
from hush.noise import SECURE, Source
from hush.tables.aggregates.aggregate import Aggregate, Unbounded
from hush.tables.aggregates.histogram_aggregates import Histogram
from hush.tables.groups.groups import Groups
from hush.tables.groups.public_keys import PublicGroups
from hush.tables.queries.answer import Answer
from hush.tables.queries.query_plan import Planned
from hush.tables.queries.table_query import Query

if TYPE_CHECKING:
    from hush.tables.dataset import Dataset

SHARE = 0.25  # of ε, for all bounds of a query together: a quarter is exact in binary
_LEVEL = 0.999
_POWERS = range(-20, 64)

Bounds = tuple[float, float]


def edges() -> tuple[float, ...]:
    """Return -2^63, …, -2^-20, 0, 2^-20, …, 2^63: public, whatever the data."""
    powers = [2.0**each for each in _POWERS]
    return (*(-each for each in reversed(powers)), 0.0, *powers)


def bounds_of(expression: str, answer: Answer) -> Bounds:
    """Return the bounds that a released histogram shows, or say that it shows none.

    A bin counts if it is above what the largest of all noises stays within.
    """
    marks = edges()
    level = 1 - (1 - _LEVEL) / len(marks)
    low, _ = answer.interval(level)[expression]
    clear = np.flatnonzero(np.asarray(low)[0] > 0)
    if not clear.size:
        raise NoBound(
            f"no bounds of {expression!r} can be told from the noise. Give "
            "bounds=(lower, upper), or more epsilon."
        )
    return marks[int(clear[0])], marks[int(clear[-1]) + 1]


@final
@dataclass(frozen=True, eq=False)
class PrivateBoundsQuery:
    """A query that first spends a quarter of its ε to find bounds.

    Guarantee: two releases, each charged: what is paid is the sum. The second uses the
    released bounds as public ones.
    """

    dataset: "Dataset"
    groups: Groups
    aggregates: Mapping[str, Aggregate | Unbounded]

    @property
    def first(self) -> Query:
        """The question where the values are."""
        texts = dict.fromkeys(
            text
            for each in self.aggregates.values()
            if isinstance(each, Unbounded)
            for text in each.expressions
        )
        found = {text: Histogram(text, edges(), bins=True) for text in texts}
        return Query(self.dataset, PublicGroups(), found)

    def second(self, bounds: Mapping[str, Bounds]) -> Query:
        """Return the question itself, with bounds."""
        finished = {
            name: each.make(*(bounds[text] for text in each.expressions))
            if isinstance(each, Unbounded)
            else each
            for name, each in self.aggregates.items()
        }
        return Query(self.dataset, self.groups, finished)

    def plan(
        self,
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        bounds: Mapping[str, Bounds] | None = None,
        **more: Any,
    ) -> Planned:
        """Return cost and expected error, should these bounds be found.

        `bounds` supposes them, by expression; they change the plan and nothing else.
        """
        texts = self.first.aggregates
        missing = [text for text in texts if text not in (bounds or {})]
        if bounds is None or missing:
            raise InvalidArgument(
                "the error depends on bounds that are not known yet: suppose some, as "
                f"in plan(epsilon=1, bounds={{{next(iter(missing))!r}: (0, 100)}})."
            )
        query = self.second({text: bounds[text] for text in texts})
        rest = None if epsilon is None else (1 - SHARE) * epsilon
        found = query.plan(rest, delta, **more)
        return replace(found, epsilon=found.epsilon / (1 - SHARE))

    def explain(self) -> str:
        """Return what is asked first."""
        words = f"{SHARE:.0%} of epsilon finds bounds, all groups together:"
        return f"{words}\n{self.first.explain()}"

    def sql_text(self) -> str:
        """Return the SQL of what is asked first."""
        return self.first.sql_text()

    def release(
        self,
        epsilon: float,
        delta: float = 0.0,
        *,
        weights: Mapping[str, float] | None = None,
        key: str | None = None,
        source: Source = SECURE,
    ) -> Answer:
        """Find bounds with a quarter of ε, then answer; see `Query.release`.

        The answer's `bounds` are those that were found.
        """
        epsilon = checks.real("epsilon", epsilon, above=0)
        guess = {text: (0.0, 1.0) for text in self.first.aggregates}
        self.second(guess).mechanisms(epsilon, delta, weights)  # refuses before paying
        answer = self.first.release(
            SHARE * epsilon, key=None if key is None else f"{key} bounds", source=source
        )
        bounds = {text: bounds_of(text, answer) for text in self.first.aggregates}
        found = self.second(bounds).release(
            (1 - SHARE) * epsilon, delta, weights=weights, key=key, source=source
        )
        return replace(found, bounds=bounds)
