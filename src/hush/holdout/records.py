"""People: the private records, and one score for each of them."""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidArgument, Withheld

Grade = Callable[[Any, Any], Any]  # (prediction, label) -> score


def _scores(
    score: Callable[..., Any], people: Iterable[tuple[Any, ...]]
) -> list[float]:
    """Return one score per person; NaN, the lower end, where there is none.

    Whether one person's record makes a query fail is as private as the record: to stop
    there would answer without noise.
    """

    def one(record: tuple[Any, ...]) -> float:
        with Withheld():
            return float(score(*record))
        return math.nan

    return [one(record) for record in people]


def agree(prediction: Any, label: Any) -> Any:
    """Return 1 where a prediction is the label, else 0: the mean is the accuracy."""
    return np.asarray(prediction == label, dtype=np.float64)


def _is_equal(prediction: Any, label: Any) -> float:
    return 1.0 if prediction == label else 0.0


def _entries(values: Any) -> Any:
    """Return a list as an array of its entries as they are; anything else as it is.

    NumPy would choose one type for all: a word in one entry would make words of all.
    """
    if not isinstance(values, (list, tuple)):
        return values
    found = np.empty(len(values), dtype=object)
    for place, each in enumerate(values):
        found[place] = each
    return found


def _agreements(given: Any, labels: Any) -> Any:
    """Return for each record 1 where the prediction is the label, else 0.

    Objects may not compare at all; that of one record must not decide over the others.
    """
    if given.shape == labels.shape:  # NumPy would compare all pairs of a column
        with Withheld():
            return agree(given, labels)
    return _scores(_is_equal, zip(given, labels, strict=True))


def _type(values: Any) -> str:
    """Return what an array is declared to hold, where that says something."""
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    return {"U": "text", **dict.fromkeys("iuf", "number")}.get(kind, "")


def _types_text(submitted: Any) -> str:
    """Return what all entries of a list are; who submits them knows them."""
    kinds = {_kind_of(each) for each in np.asarray(submitted, object).flat}
    return kinds.pop() if len(kinds) == 1 else ""


def _kind_of(entry: Any) -> str:
    if isinstance(entry, str):
        return "text"
    return "number" if isinstance(entry, (int, float, np.number)) else ""


def _rows_at(data: Any, rows: NDArray[np.int64]) -> Any:
    if hasattr(data, "iloc"):
        return data.iloc[rows]
    return np.asarray(data)[rows] if hasattr(data, "shape") else [data[i] for i in rows]


def _named_records(frame: Any, rows: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return each record of a frame by the names of its columns."""
    found: list[dict[str, Any]] = (
        frame.iloc[rows].to_dict("records")
        if hasattr(frame, "iloc")
        else frame[rows].to_dicts()
    )
    return found


def _predictions(predict: Any, features: Any, places: NDArray[np.int64]) -> Any:
    """Return one prediction for each place, or None if the model fails."""
    with Withheld():
        found = np.asarray(_entries(predict(_rows_at(features, places))))
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
        if isinstance(data, list) and [hasattr(x, "shape") for x in data] == [True] * 2:
            raise InvalidArgument(
                "data is a list of two arrays, which would be two records. Write "
                "data=(features, labels), a tuple."
            )
        self._features: Any = data[0] if pair else None
        self._labels: Any = _entries(data[1] if pair else data)
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

    def query_grains(self, query: Callable[[Any], Any], rows: NDArray[np.int64]) -> int:
        """Return the total grains of `query(record)`, one call per record.

        A record on which the query fails has the lowest score.
        """
        labels = _rows_at(self._labels, rows)
        records: Iterable[Any]
        if self._features is None:
            records = _named_records(self._labels, rows) if self._is_frame else labels
        else:
            features = _rows_at(self._features, rows)
            rowwise = features.to_numpy() if hasattr(features, "iloc") else features
            records = zip(rowwise, labels, strict=True)
        return self._total(_scores(query, ((record,) for record in records)), rows)

    def prediction_grains(self, predictions: Any, rows: NDArray[np.int64]) -> int:
        """Return the total grains of predictions, one for each record, in order."""
        given, labels = (
            _rows_at(_entries(predictions), rows),
            _rows_at(self._labels, rows),
        )
        return self._total(self._grades(given, labels), rows)

    def _grades(self, given: Any, labels: Any) -> Any:
        """Return the score of each prediction; NaN where grading fails."""
        if self._grade is agree:
            return _agreements(np.asarray(given), np.asarray(labels))
        return _scores(self._grade, zip(given, labels, strict=True))

    def model_grains(self, model: Any, rows: NDArray[np.int64]) -> int:
        """Return the total grains of a model's predictions for the features.

        If it fails on all rows together, as many a model does for one NaN, others stand
        in for the rows on which it fails alone, and these have the lowest score. Asked
        one by one, every other row could round otherwise than in company.
        """
        predict = model.predict if hasattr(model, "predict") else model
        features, labels = _rows_at(self._features, rows), _rows_at(self._labels, rows)
        order = np.arange(rows.size)
        found = _predictions(predict, features, order)
        failed = np.zeros(rows.size, dtype=np.bool_)
        if found is None:
            failed = np.array(
                [
                    _predictions(predict, features, order[i : i + 1]) is None
                    for i in order
                ]
            )
            found = _predictions(
                predict, features, np.where(failed, failed.argmin(), order)
            )
        if found is not None:
            with Withheld():
                scores = np.where(failed, math.nan, self._grades(found, labels))
                return self._total(scores, rows)

        def alone(place: int, label: Any) -> Any:
            (prediction,) = predict(_rows_at(features, np.array([place])))
            return self._grade(prediction, label)

        return self._total(_scores(alone, enumerate(labels)), rows)

    def admit(self, predictions: Any = None) -> None:
        """Refuse what no label can equal, by shape and type alone: both are public."""
        if self._grade is not agree:
            return
        shape = tuple(getattr(self._labels, "shape", ()))
        if len(shape) > 1:
            raise InvalidArgument(
                f"labels must be one for each record; got shape {shape}. Pass one "
                "column, as labels[:, 0] or frame['label'], or a grade= of your own."
            )
        given = tuple(getattr(predictions, "shape", ()))
        if len(given) > 1:
            raise InvalidArgument(
                f"predictions must be one for each record; got shape {given}. Of "
                "probabilities submit the class, as classes[p.argmax(axis=1)], or pass "
                "a grade= of your own."
            )
        types = (_type(predictions) or _types_text(predictions), _type(self._labels))
        if "".join(types) in ("textnumber", "numbertext"):
            raise InvalidArgument(
                f"predictions are {types[0]}s and labels are {types[1]}s: none would "
                "be right. Convert the predictions."
            )

    @property
    def _is_frame(self) -> bool:
        return hasattr(self._labels, "columns")

    @property
    def has_features(self) -> bool:
        """Whether models can be scored."""
        return self._features is not None

    @property
    def empty_features(self) -> Any:
        """No rows of the features, with their columns and types; None of a list."""
        rows = np.arange(0)
        known = any(hasattr(self._features, name) for name in ("iloc", "shape"))
        return _rows_at(self._features, rows) if known else None

    @property
    def columns(self) -> int | None:
        """How many columns the features have, if their shape says so."""
        shape: tuple[int, ...] = getattr(self._features, "shape", ())
        return int(shape[1]) if len(shape) == 2 else None

    def __repr__(self) -> str:
        return f"People(size={self.size})"


# -- Scores: one number per person inside a public range, added exactly ----------------

GRAIN = 30  # a score is a multiple of 2^-30 of the range: sums are exact integers


def grains(scores: Any, low: float, high: float) -> NDArray[np.int64]:
    """Return scores as whole grains of [low, high]; outside is moved in, NaN is low.

    Guarantee: each person's grains depend on that person's score alone and lie between
    0 and 2^30; no rounding depends on the order of the people.
    """
    values = np.asarray(scores, dtype=np.float64)
    inside = np.clip(np.where(np.isnan(values), low, values), low, high)
    share = (inside - low) / (high - low)
    return np.asarray(np.floor(share * 2.0**GRAIN + 0.5), dtype=np.int64)


def mean(total: int, people: int, low: float, high: float) -> Fraction:
    """Return the exact mean score behind a total of grains."""
    width = Fraction(high) - Fraction(low)
    return Fraction(low) + width * Fraction(total, people << GRAIN)
