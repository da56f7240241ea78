"""People: the private records, and one score for each of them."""

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidArgument
from hush.holdout.scores import grains

Grade = Callable[[Any, Any], Any]  # (prediction, label) -> score


def _each(score: Callable[..., Any], people: Iterable[tuple[Any, ...]]) -> list[float]:
    """Return one score per person; NaN, the lower end, where there is none.

    Whether somebody's record makes a query fail is as private as the record: to stop
    there would answer without noise.
    """

    def one(record: tuple[Any, ...]) -> float:
        with suppress(Exception):
            return float(score(*record))
        return math.nan

    return [one(record) for record in people]


def agree(prediction: Any, label: Any) -> Any:
    """Return 1 where a prediction is the label, else 0: the mean is the accuracy."""
    return np.asarray(prediction == label, dtype=np.float64)


def _take(data: Any, rows: NDArray[np.int64]) -> Any:
    if hasattr(data, "iloc"):
        return data.iloc[rows]
    return np.asarray(data)[rows] if hasattr(data, "shape") else [data[i] for i in rows]


def _predicted(predict: Any, features: Any, places: NDArray[np.int64]) -> Any:
    """Return one prediction for each place, or None if the model fails."""
    with suppress(Exception):
        found = np.asarray(predict(_take(features, places)))
        if found.shape[:1] == places.shape:
            return found
    return None


@final
class People:
    """Records that answer only by sums of scores.

    `data` is a pair (features, labels), or records, or labels alone; it is not shown.
    """

    def __init__(self, data: Any, bounds: tuple[float, float], grade: Grade) -> None:
        pair = isinstance(data, tuple) and len(data) == 2
        self._features: Any = data[0] if pair else None
        self._labels: Any = data[1] if pair else data
        self._bounds, self._grade = bounds, grade
        self.size = len(self._labels)
        if self._features is not None and len(self._features) != self.size:
            raise InvalidArgument(
                "data must have as many rows of features as labels; got "
                f"{len(self._features)} and {self.size}."
            )
        if self.size == 0:
            raise InvalidArgument("data must hold at least one record.")

    def _total(self, scores: Any, rows: NDArray[np.int64]) -> int:
        found = grains(scores, *self._bounds)
        if found.shape != rows.shape:
            raise InvalidArgument("a query must give one score per record.")
        return int(found.sum())

    def asked(self, query: Callable[[Any], Any], rows: NDArray[np.int64]) -> int:
        """Return the total grains of `query(record)`, one call per record.

        A record on which the query fails has the lowest score.
        """
        labels = _take(self._labels, rows)
        if self._features is None:
            records = iter(labels)
        else:
            features = _take(self._features, rows)
            rowwise = features.to_numpy() if hasattr(features, "iloc") else features
            records = zip(rowwise, labels, strict=True)
        return self._total(_each(query, ((record,) for record in records)), rows)

    def graded(self, predictions: Any, rows: NDArray[np.int64]) -> int:
        """Return the total grains of predictions, one for each record, in order."""
        given, labels = _take(predictions, rows), _take(self._labels, rows)
        return self._total(self._grades(given, labels), rows)

    def _grades(self, given: Any, labels: Any) -> Any:
        """Return the score of each prediction; NaN where grading fails."""
        if self._grade is agree:
            return agree(np.asarray(given), np.asarray(labels))
        return _each(self._grade, zip(given, labels, strict=True))

    def scored(self, model: Any, rows: NDArray[np.int64]) -> int:
        """Return the total grains of a model's predictions for the features.

        If it fails on all rows together, as many a model does for one NaN, others stand
        in for the rows on which it fails alone, and these have the lowest score. Asked
        one by one, every other row could round otherwise than in company.
        """
        predict = model.predict if hasattr(model, "predict") else model
        features, labels = _take(self._features, rows), _take(self._labels, rows)
        order = np.arange(rows.size)
        found = _predicted(predict, features, order)
        failed = np.zeros(rows.size, dtype=np.bool_)
        if found is None:
            failed = np.array(
                [_predicted(predict, features, order[i : i + 1]) is None for i in order]
            )
            found = _predicted(
                predict, features, np.where(failed, failed.argmin(), order)
            )
        if found is not None:
            with suppress(Exception):
                scores = np.where(failed, math.nan, self._grades(found, labels))
                return self._total(scores, rows)

        def alone(place: int, label: Any) -> Any:
            (prediction,) = predict(_take(features, np.array([place])))
            return self._grade(prediction, label)

        return self._total(_each(alone, enumerate(labels)), rows)

    @property
    def has_features(self) -> bool:
        """Whether models can be scored."""
        return self._features is not None

    @property
    def columns(self) -> int | None:
        """How many columns the features have, if their shape says so."""
        shape: tuple[int, ...] = getattr(self._features, "shape", ())
        return int(shape[1]) if len(shape) == 2 else None

    def __repr__(self) -> str:
        return f"People(size={self.size})"
