"""The reusable holdout: it speaks only where the training data is wrong."""

import threading
from collections.abc import Callable
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from hush.errors import BudgetExceeded
from hush.holdout import scores
from hush.holdout.answer import Answer
from hush.holdout.conversation import Counter, asks, fits, never_copied, total
from hush.holdout.holdout import width_of
from hush.holdout.people import Grade, People, agree
from hush.holdout.sparse import sparse
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve


@final
class ReusableHoldout:
    """Confirm what the training data says, and correct it up to `hits` times.

    Both data sets have one form. A question is answered by the training data if it is
    about within `tolerance` of the holdout (sparse vector decides, privately), and by
    the holdout with Gaussian noise otherwise. Only corrections cost privacy; `queries`
    bounds all questions, because every interval must hold at once.

    Guarantee: as for `Holdout`; an answer's `method` is "training" or "transfer", and
    its radius is that of its kind in `plan`. After the last hit it refuses.

    Example:
        >>> import numpy as np
        >>> labels = np.arange(100_000) % 2
        >>> holdout = ReusableHoldout(labels, training=labels, queries=1000, hits=5,
        ...                           tolerance=0.3)
        >>> answer = holdout.ask(float)
        >>> answer.value, answer.method, holdout.left, holdout.hits_left
        (0.5, 'training', 999, 5)

    Reference: [DFHPRR15]; docs/proofs/holdout.md, theorem 7.
    """

    def __init__(
        self,
        data: Any,
        *,
        training: Any,
        queries: int,
        hits: int,
        tolerance: float,
        score_range: tuple[float, float] = (0.0, 1.0),
        level: float = 0.95,
        grade: Grade = agree,
        source: Source = SECURE,
    ) -> None:
        self.score_range, width = width_of(score_range)
        self._people = People(data, self.score_range, grade)
        self._training = People(training, self.score_range, grade)
        self.plan = sparse(
            self._people.size,
            queries,
            hits,
            tolerance=tolerance,
            level=level,
            width=width,
        )
        self._source, self._counter = source, Counter(self.plan.queries)
        self._hits, self._lock = Counter(self.plan.hits), threading.Lock()
        self._talk = self.plan.check.start(source=source)

    @property
    def left(self) -> int:
        """Questions that may still be asked, hits permitting."""
        return self._counter.left if self._hits.left else 0

    @property
    def hits_left(self) -> int:
        """Corrections that may still be made."""
        return self._hits.left

    @property
    def curve(self) -> Curve:
        """Guarantee of the whole conversation for one replaced record."""
        return self.plan.curve

    def ask(self, query: Callable[[Any], Any]) -> Answer:
        """Return the population mean of `query(record)`."""
        asks(self._people, query)
        return self._answer(lambda people, rows: people.asked(query, rows))

    def score(self, model: Any) -> Answer:
        """Return the population score of a model, which sees one row at a time."""
        fits(self._people, model)
        fits(self._training, model)
        return self._answer(lambda people, rows: people.scored(model, rows))

    def _answer(self, compute: Callable[[People, NDArray[np.int64]], int]) -> Answer:
        self._counter.here()
        with self._lock:  # a check ends at its first hit, so questions wait in line
            return self._next(compute)

    def _next(self, compute: Callable[[People, NDArray[np.int64]], int]) -> Answer:
        if not self._hits.left:
            raise BudgetExceeded(
                f"all hits={self.plan.hits} are used: the training data is over-fitted."
                " Collect new data and open a new holdout."
            )
        self._counter.use()
        mine, other = self._people, self._training
        found = total(lambda: compute(mine, np.arange(mine.size)))
        known = total(lambda: compute(other, np.arange(other.size)))
        self._counter.here()  # the question itself may have forked
        # The training mean in grains of the holdout, rounded: public to the holdout.
        told = known * mine.size // other.size
        if not self._talk.ask(abs(found - told)):
            value = float(scores.mean(known, other.size, *self.score_range))
            return self._release(value, self.plan.agreed, "training")
        self._hits.use()
        self._talk = self.plan.check.start(source=self._source)
        exact = scores.mean(found, mine.size, *self.score_range)
        value = float(self.plan.mechanism.run(exact, source=self._source))
        return self._release(value, self.plan.radius, "transfer")

    def _release(self, value: float, radius: float, method: str) -> Answer:
        return Answer(
            value,
            radius,
            self.score_range,
            self.plan.level,
            self.left,
            method,
            self._source.seeded,
        )

    def __reduce__(self) -> NoReturn:
        never_copied()

    def __repr__(self) -> str:
        return (
            f"ReusableHoldout({self._people.size} records, {self.left} questions and "
            f"{self.hits_left} of {self.plan.hits} corrections left, "
            f"±{self.plan.agreed:.3g} where training agrees, ±{self.plan.radius:.3g} "
            f"corrected{': vacuous, see .plan' if self.plan.vacuous else ''})"
        )
