"""The differencing attack: two aggregates that look safe isolate one person."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from hush import checks
from hush.errors import InvalidArgument

Answer = Callable[[Any], Any]  # a 0/1 vector of who is asked about -> an aggregate


@final
@dataclass(frozen=True)
class Isolated:
    """What two questions say about one person."""

    person: int
    value: float
    everyone: float
    others: float

    def __str__(self) -> str:
        return f"person {self.person}: {self.value:g}, from two aggregates"


def difference(
    answer: Answer,
    people: int,
    person: int,
    kind: Literal["sum", "mean"] = "sum",
) -> Isolated:
    """Ask about everybody, then about everybody but one, and subtract.

    `answer(asked)` returns the sum, or the mean, of the secret values of those whom the
    vector of truth values `asked` names.

    Example:
        >>> salaries = np.array([41.0, 56.0, 39.0, 120.0])
        >>> difference(lambda asked: salaries[asked].sum(), people=4, person=3).value
        120.0
        >>> asks_mean = lambda asked: salaries[asked].mean()
        >>> round(difference(asks_mean, people=4, person=3, kind="mean").value, 9)
        120.0

    Reference: N1.diff.
    """
    checks.whole("people", people, at_least=2)
    checks.whole("person", person, at_least=0, at_most=people - 1)
    if kind not in ("sum", "mean"):
        raise InvalidArgument(f"kind must be 'sum' or 'mean'; got {kind!r}.")
    everyone = np.ones(people, dtype=bool)
    others = everyone.copy()
    others[person] = False
    first, second = float(answer(everyone)), float(answer(others))
    one, rest = (people, people - 1) if kind == "mean" else (1, 1)
    return Isolated(person, one * first - rest * second, first, second)
