"""A scikit-learn scorer that asks a holdout."""

import threading
from collections.abc import Callable
from typing import Any, NoReturn, Self, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.holdout.population_answer import Answer


def one_fit(rows: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return a `cv` of one fit on all training rows: the holdout does the validation.

    Example:
        >>> train, test = one_fit(3)[0]
        >>> train.tolist(), test.tolist()
        ([0, 1, 2], [0])
    """
    n = checks.whole("rows", rows, at_least=1)
    return [(np.arange(n), np.arange(1))]


@final
class Scorer:
    """`scoring=` of a search: every call is one question to the holdout.

    Keeps the public `answers`, each with the model's parameters. Search with
    `cv=one_fit(rows)`, `n_jobs=1` and `error_score="raise"`: a refusal then stops it.
    """

    def __init__(
        self, answer: Callable[[Any], Answer], candidates: list[dict[str, Any]] | None
    ) -> None:
        self._answer, self._waiting = answer, candidates
        self._lock = threading.Lock()
        self.answers: list[tuple[dict[str, Any], Answer]] = []

    def __call__(
        self, estimator: Any, features: Any = None, labels: Any = None
    ) -> float:
        """Return the private score; the rows given by the search are not used."""
        del features, labels
        params = estimator.get_params() if hasattr(estimator, "get_params") else {}
        chosen = self._expected(params)
        answer = self._answer(estimator)
        self.answers.append((chosen, answer))
        return answer.value

    def _expected(self, params: dict[str, Any]) -> dict[str, Any]:
        if self._waiting is None:
            return params
        with self._lock:
            for place, wanted in enumerate(self._waiting):
                if all(
                    k in params and _is_same(params[k], v) for k, v in wanted.items()
                ):
                    return self._waiting.pop(place)
        raise InvalidArgument(
            "these settings are not among the candidates, or were scored before; a "
            "fixed holdout scores each declared setting once. Search with "
            "cv=hush.holdout.one_fit(rows), one fit each, and error_score='raise'."
        )

    @property
    def best(self) -> tuple[dict[str, Any], Answer]:
        """Settings with the highest answer; its interval holds, as all others do."""
        return max(self.answers, key=lambda pair: pair[1].value)

    def __repr__(self) -> str:
        waiting = "" if self._waiting is None else f", {len(self._waiting)} to come"
        return f"Scorer({len(self.answers)} answers{waiting})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # a clone of a search must not get questions of its own

    def __reduce__(self) -> NoReturn:
        raise InvalidArgument("a scorer cannot be pickled; search with n_jobs=1.")


def _is_same(left: Any, right: Any) -> bool:
    return left is right or (type(left) is type(right) and bool(left == right))
