"""Thresholdout, the reusable holdout: it speaks only where training data is wrong."""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import BudgetExceeded
from hush.holdout import holdout_plan, records
from hush.holdout.adaptive_queries import (
    Counter,
    check_fits,
    check_query,
    never_copied,
    total,
)
from hush.holdout.holdout import width_of
from hush.holdout.population_answer import Answer
from hush.holdout.records import GRAIN, Grade, People, agree
from hush.mechanisms import Gaussian, SparseVector
from hush.noise import SECURE, Source
from hush.privacy import GDP, Pure, compose, repeat
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
        check_query(self._people, query)
        return self._answer(lambda people, rows: people.query_grains(query, rows))

    def score(self, model: Any) -> Answer:
        """Return the population score of a model, which sees one row at a time."""
        check_fits(self._people, model)
        check_fits(self._training, model)
        return self._answer(lambda people, rows: people.model_grains(model, rows))

    def _answer(self, compute: Callable[[People, NDArray[np.int64]], int]) -> Answer:
        self._counter.check_process()
        with self._lock:  # a check ends at its first hit, so questions wait in line
            return self._next_answer(compute)

    def _next_answer(
        self, compute: Callable[[People, NDArray[np.int64]], int]
    ) -> Answer:
        if not self._hits.left:
            raise BudgetExceeded(
                f"all hits={self.plan.hits} are used: the training data is over-fitted."
                " Collect new data and open a new holdout."
            )
        self._counter.use()
        mine, other = self._people, self._training
        found = total(lambda: compute(mine, np.arange(mine.size)))
        known = total(lambda: compute(other, np.arange(other.size)))
        self._counter.check_process()  # the question itself may have forked
        # The training mean in grains of the holdout, rounded: public to the holdout.
        told = known * mine.size // other.size
        if not self._talk.ask(abs(found - told)):
            value = float(records.mean(known, other.size, *self.score_range))
            return self._release(value, self.plan.agreed, "training")
        self._hits.use()
        self._talk = self.plan.check.start(source=self._source)
        exact = records.mean(found, mine.size, *self.score_range)
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


# -- The plan of a reusable holdout: pay only where training and holdout disagree ------


@final
@dataclass(frozen=True)
class SparsePlan:
    """Up to `queries` questions, of which `hits` may find a disagreement.

    `check` compares totals of grains; a fresh one starts after every hit. A value of
    the training data that passes is within `agreed` of the population's, a corrected
    one, answered by `mechanism`, within `radius`.

    Guarantee: with probability `level`, both hold for all answers at once; the whole
    conversation has `curve`.
    """

    records: int
    queries: int
    hits: int
    level: float
    width: float | Fraction
    tolerance: float
    check: SparseVector
    mechanism: Gaussian
    curve: Curve
    agreed: float
    radius: float

    @property
    def vacuous(self) -> bool:
        """Whether an agreed answer in the middle of the range would exclude nothing."""
        return self.agreed >= self.width / 2


def _laplace(queries: int, hits: int, chance: float) -> float:
    """Return ζ with P(noise of all checks > ζ·scale) <= chance/2.

    A check errs by its query's noise, of twice the scale, plus its threshold's: beyond
    u only if the first exceeds 2u/3 or the second u/3, each with chance e^(-u/3).
    """
    return 3 * math.log(2 * (queries + hits) / chance)


def _radii(
    scale: float, std: float, gap: float, queries: int, hits: int, chance: float
) -> tuple[float, float]:
    """Return (agreed, radius) without tolerance and lattices; theorem 7."""
    z, rest = holdout_plan.noise_beyond(hits, chance / 2)
    beyond = 1.5 * scale + std * rest / chance
    return (
        (scale * _laplace(queries, hits, chance) + beyond + gap) * (1 + 2.0**-40),
        (std * z + beyond + gap) * (1 + 2.0**-40),
    )


def sparse(
    records: int,
    queries: int,
    hits: int,
    *,
    tolerance: float,
    level: float = 0.95,
    width: float | Fraction = 1.0,
) -> SparsePlan:
    """Return the plan whose wider interval is the narrowest.

    Example:
        >>> plan = sparse(100_000, queries=10**6, hits=10, tolerance=0.02)
        >>> plan.vacuous, plan.agreed < holdout_plan.gaussian(100_000, 10**6).radius
        (False, True)

    Reference: [DFHPRR15] Thresholdout; docs/proofs/holdout.md, theorem 7.
    """
    n = checks.whole("records", records, at_least=1)
    k = checks.whole("queries", queries, at_least=1)
    b = checks.whole("hits", hits, at_least=1, at_most=k)
    w = checks.rational("width", width)
    allowed = checks.real("tolerance", tolerance, above=0)
    chance = (1 - checks.real("level", level, above=0, below=1)) * (1 - 2.0**-40)
    scale, std = _best_noise(n, k, b, chance)

    grain = float(n << GRAIN)  # one unit of the mean of scores, in total grains
    check = SparseVector(
        threshold=math.ceil(Fraction(allowed) / w * (n << GRAIN)), scale=scale * grain
    )
    mechanism = Gaussian(std * float(w))
    # A pure guarantee is also a Gaussian one, and those add in squares.
    each = GDP(mu=check.curve(1 << GRAIN).mu)
    curve = repeat(compose(each, mechanism.curve(w / n)), times=b)
    gap = holdout_plan.overfit(curve, chance)
    agreed, radius = _radii(float(scale), std, gap, k, b, chance)
    # Whole-number noise: at most half a unit more in each of the two, and rounding up.
    grains = 4.0 / grain
    slack = holdout_plan.edges(mechanism, w)
    return SparsePlan(
        n,
        k,
        b,
        level,
        width,
        allowed,
        check,
        mechanism,
        curve,
        allowed + (agreed + grains) * float(w) + slack,
        (radius + grains) * float(w) + slack,
    )


def _best_noise(n: int, k: int, hits: int, chance: float) -> tuple[float, float]:
    """Return the scale of checks and the std of corrections, in units of the width."""
    found = (math.inf, 0.0, 0.0)
    epsilon = np.geomspace(1e-3, 30, 120) * math.sqrt(20 / n) / hits**0.25
    mu = np.array([Pure(epsilon=float(e)).mu for e in epsilon])
    for share in (0.25, 0.5, 1.0, 2.0):
        gaps = holdout_plan.gaussian_overfit_estimate(
            np.sqrt(hits * (1 + share**2)) * mu, chance
        )
        for e, m, gap in zip(epsilon, mu, gaps, strict=True):
            scale, std = 2 / (n * float(e)), 1 / (n * share * float(m))
            wide = max(_radii(scale, std, float(gap), k, hits, chance))
            found = min(found, (wide, scale, std))
    return found[1], found[2]
