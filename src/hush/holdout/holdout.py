"""The holdout: adaptive questions in, private answers with population intervals out."""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NoReturn, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks, suggestions
from hush.errors import InvalidArgument
from hush.holdout import holdout_plan, records
from hush.holdout.adaptive_queries import (
    Counter,
    check_fits,
    check_query,
    needs_features,
    never_copied,
    same_size,
    total,
)
from hush.holdout.holdout_plan import Plan
from hush.holdout.population_answer import Answer
from hush.holdout.records import Grade, People, agree
from hush.holdout.sklearn_scorer import Scorer
from hush.noise import SECURE, Source, permutation
from hush.privacy.curve import Curve


def width_of(score_range: Any) -> tuple[tuple[float, float], Fraction]:
    """Return a checked public range and its exact width."""
    low, high = checks.interval("score_range", score_range)
    if not low < high or not math.isfinite(high - low):
        raise InvalidArgument(
            f"score_range must have low < high and a finite width; got {score_range!r}."
        )
    return (low, high), Fraction(high) - Fraction(low)


@final
class Holdout:
    """Data that answers `queries` questions, each chosen after the answers before it.

    `data` is (features, labels), or records, or labels alone, of independent people
    who took no part in training. `score_range` bounds one person's score: scores
    outside are moved in, NaN counts as the lower end. `grade(prediction, label)` is the
    score of a prediction, by default 1 if right and 0 if wrong.

    Guarantee: with probability `level`, every answer's interval holds the population's
    value, all at once. The method is the best proven one for these sizes, see `plan`:
    private answers (transfer) or fresh people for each (split). The whole conversation
    has the replace-one guarantee `curve`. After `queries` questions it refuses.

    Example:
        >>> import numpy as np
        >>> labels = np.arange(4000) % 2
        >>> holdout = Holdout(labels, queries=50)
        >>> answer = holdout.submit(np.ones(4000))
        >>> 0.5 in answer, answer.left, answer.method
        (True, 49, 'transfer')

    Reference: G.use; docs/proofs/holdout.md.
    """

    @suggestions.with_argument_hints({})
    def __init__(
        self,
        data: Any,
        *,
        score_range: tuple[float, float] = (0.0, 1.0),
        queries: int,
        level: float = 0.95,
        grade: Grade = agree,
        source: Source = SECURE,
    ) -> None:
        self._open(data, score_range, queries, level, grade, source, holdout_plan.best)

    @classmethod
    def fixed(
        cls,
        data: Any,
        *,
        score_range: tuple[float, float] = (0.0, 1.0),
        queries: int,
        level: float = 0.95,
        grade: Grade = agree,
        source: Source = SECURE,
    ) -> Self:
        """Return a holdout for questions that are all known before any answer.

        Far narrower: Hoeffding and Bonferroni. It takes one list of questions
        (`ask_all`, `score_all`, `submit_all`), or a grid of settings (`scorer`).

        Example:
            >>> import numpy as np
            >>> labels = np.arange(4000) % 2
            >>> exam = Holdout.fixed(labels, queries=2)
            >>> [0.5 in a for a in exam.submit_all([np.ones(4000), np.zeros(4000)])]
            [True, True]
        """
        made = cls.__new__(cls)
        made._open(data, score_range, queries, level, grade, source, holdout_plan.fixed)
        return made

    def _open(
        self,
        data: Any,
        score_range: tuple[float, float],
        queries: int,
        level: float,
        grade: Grade,
        source: Source,
        plan: Callable[[int, int, float, Fraction], Plan],
    ) -> None:
        self.score_range, width = width_of(score_range)
        self._people = People(data, self.score_range, grade)
        self.plan = plan(self._people.size, queries, level, width)
        self._counter, self._source = Counter(self.plan.queries), source
        # Parts are of people in random order: files are often sorted.
        self._order = (
            permutation(self._people.size, source=source)
            if self.plan.method == "split"
            else np.arange(self._people.size)
        )

    @property
    def left(self) -> int:
        """Questions that may still be asked."""
        return self._counter.left

    @property
    def curve(self) -> Curve:
        """Guarantee of the whole conversation for one replaced record."""
        return self.plan.curve

    def ask(self, query: Callable[[Any], Any]) -> Answer:
        """Return the population mean of `query(record)`, which sees one record only.

        A record of (features, labels) is the pair of its row and its label, one of a
        frame is a dict by the names of its columns. One on which the query fails has
        the lowest score: that it failed is not told.
        """
        check_query(self._people, query)
        return self._adaptive_answer(
            lambda rows: self._people.query_grains(query, rows)
        )

    def score(self, model: Any) -> Answer:
        """Return the population score of a model: its `predict`, or a function.

        It must predict each row from that row alone, as all usual models do. A row on
        which it fails has the lowest score: that it failed is not told.
        """
        check_fits(self._people, model)
        return self._adaptive_answer(
            lambda rows: self._people.model_grains(model, rows)
        )

    def submit(self, predictions: Any) -> Answer:
        """Return the score of predictions, one for each record: a leaderboard.

        If whoever predicts sees the features, the interval is for fresh labels of the
        people who answered (all of them, under transfer); otherwise for the population.
        """
        same_size(self._people, predictions)
        return self._adaptive_answer(
            lambda rows: self._people.prediction_grains(predictions, rows)
        )

    def ask_all(self, queries: Sequence[Callable[[Any], Any]]) -> list[Answer]:
        """Return answers to questions that were all written down before."""
        people, listed = self._people, list(queries)
        for query in listed:
            check_query(people, query)
        return self._fixed_answers(
            [partial(people.query_grains, query) for query in listed]
        )

    def score_all(self, models: Sequence[Any]) -> list[Answer]:
        """Return scores of models that were all trained before."""
        people, listed = self._people, list(models)
        for model in listed:
            check_fits(people, model)
        return self._fixed_answers(
            [partial(people.model_grains, model) for model in listed]
        )

    def submit_all(self, predictions: Sequence[Any]) -> list[Answer]:
        """Return scores of predictions that were all made before."""
        people, listed = self._people, list(predictions)
        for each in listed:
            same_size(people, each)
        return self._fixed_answers(
            [partial(people.prediction_grains, each) for each in listed]
        )

    def scorer(self, candidates: Iterable[Any] | None = None) -> Scorer:
        """Return a scikit-learn scorer that asks this holdout, not its own rows.

        A fixed holdout needs `candidates`, the settings of the grid, and scores each of
        them once: `scoring=holdout.scorer(ParameterGrid(grid))`.
        """
        needs_features(self._people)
        if self.plan.method != "fixed":
            return Scorer(self.score, None)
        if candidates is None:
            raise InvalidArgument(
                "candidates must list the settings: a fixed holdout answers only what "
                "is known in advance. Pass ParameterGrid(grid)."
            )
        settings = [dict(each) for each in candidates]
        first = self._counter.use(len(settings), once=True)
        people = self._people

        def answer(model: Any) -> Answer:
            return self._draw(lambda rows: people.model_grains(model, rows), first)

        return Scorer(answer, settings)

    def _adaptive_answer(self, compute: Callable[[NDArray[np.int64]], int]) -> Answer:
        if self.plan.method == "fixed":
            raise InvalidArgument(
                "a fixed holdout answers all questions in one call: use ask_all, "
                "score_all or submit_all, or open Holdout(...) for adaptive questions."
            )
        return self._draw(compute, self._counter.use())

    def _fixed_answers(
        self, computes: Sequence[Callable[[NDArray[np.int64]], int]]
    ) -> list[Answer]:
        # A second list could depend on the answers to the first, however short.
        once = self.plan.method == "fixed"
        first = self._counter.use(len(computes), once=once)
        return [self._draw(each, first + i) for i, each in enumerate(computes)]

    def _draw(self, compute: Callable[[NDArray[np.int64]], int], number: int) -> Answer:
        part, plan = self.plan.people, self.plan
        start = number * part if plan.method == "split" else 0
        rows = self._order[start : start + part]
        self._counter.check_process()
        found = total(lambda: compute(rows))
        self._counter.check_process()  # the question itself may have forked
        exact = records.mean(found, part, *self.score_range)
        value = float(plan.mechanism.run(exact, source=self._source))
        return Answer(
            value,
            plan.radius,
            self.score_range,
            plan.level,
            self.left,
            plan.method,
            self._source.seeded,
        )

    def __reduce__(self) -> NoReturn:
        never_copied()

    def __repr__(self) -> str:
        return (
            f"Holdout({self._people.size} records, {self.left} of {self.plan.queries} "
            f"questions left, ±{self.plan.radius:.3g} by {self.plan.method}"
            f"{': vacuous, see .plan' if self.plan.vacuous else ''})"
        )
