"""Planning a workload: which noise each question gets, and what all of them cost."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

from hush import checks
from hush.errors import InvalidArgument
from hush.inference import inputs
from hush.mechanisms import Gaussian, Laplace
from hush.mechanisms.mechanism import Mechanism
from hush.privacy import Curve, compose

_MARGIN = 1 + 1e-6  # a scale found by bisection is this much larger than it must be


@final
@dataclass(frozen=True)
class Question:
    """A question of a workload: `dimension` numbers, and how exact they shall be.

    One person moves at most `touched` of the numbers, each by `sensitivity` at most.
    `within` is the wanted error of all numbers at once, held with probability `level`;
    `weight` says how much a squared error matters where no targets are set.

    Example:
        >>> Question("visits", dimension=100, touched=1).distances
        (1.0, 1.0)
        >>> Question("answers", dimension=100).distances
        (100.0, 10.0)
    """

    name: str
    sensitivity: float = 1.0
    dimension: int = 1
    touched: int | None = None
    within: float | None = None
    level: float = 0.95
    weight: float = 1.0

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        checks.real("sensitivity", self.sensitivity, above=0)
        checks.whole("dimension", self.dimension, at_least=1)
        if self.touched is not None:
            checks.whole("touched", self.touched, at_least=1, at_most=self.dimension)
        if self.within is not None:
            checks.real("within", self.within, above=0)
        checks.real("level", self.level, above=0, below=1)
        checks.real("weight", self.weight, above=0)

    @property
    def distances(self) -> tuple[float, float]:
        """How far one person moves the numbers, in ℓ1 and in ℓ2."""
        moved = self.dimension if self.touched is None else self.touched
        return moved * self.sensitivity, math.sqrt(moved) * self.sensitivity


@final
@dataclass(frozen=True)
class Answered:
    """A question with the mechanism that will answer it."""

    question: Question
    mechanism: Mechanism

    @cached_property
    def curve(self) -> Curve:
        """The guarantee of this answer by itself."""
        first, second = self.question.distances
        dimension = self.question.dimension
        moved = second if self.mechanism.metric.norm == 2 else first
        return self.mechanism.answer_curve(moved, dimension=dimension)

    @property
    def reach(self) -> float:
        """How far off any of the numbers may be, with the question's level."""
        error = self.mechanism.error.joint(self.question.dimension)
        return float(error.interval(self.question.level)[1])


@final
@dataclass(frozen=True)
class Workload:
    """Mechanisms for all questions, and the guarantee of answering all of them."""

    answers: tuple[Answered, ...]
    delta: float

    @cached_property
    def curve(self) -> Curve:
        """The guarantee of all answers together."""
        return compose(*(each.curve for each in self.answers))

    @cached_property
    def epsilon(self) -> float:
        """What everything costs at `delta`."""
        return float(self.curve.epsilon_at(self.delta))

    def __getitem__(self, name: str) -> Answered:
        for each in self.answers:
            if each.question.name == name:
                return each
        raise KeyError(name)

    def __str__(self) -> str:
        lines = [f"epsilon {self.epsilon:.4g} at delta {self.delta:g}"]
        lines += [
            f"{each.question.name}: {each.mechanism!r}, ± {each.reach:.4g}"
            for each in self.answers
        ]
        return "\n".join(lines)


def _checked(questions: Sequence[Question]) -> tuple[Question, ...]:
    asked = inputs.listed("questions", questions)
    for each in asked:
        if not isinstance(each, Question):
            raise InvalidArgument(
                f"questions must be made with Question(name, ...); one is "
                f"{inputs.kind(each)}."
            )
    names = [each.name for each in asked]
    if not names or len(set(names)) < len(names):
        raise InvalidArgument("questions must be one or more, each with its own name.")
    return tuple(asked)


def _best(choices: Sequence[Workload]) -> Workload:
    return min(choices, key=lambda each: each.epsilon)


def plan_accuracy(questions: Sequence[Question], *, delta: float = 0.0) -> Workload:
    """Return the cheapest noise with which every question meets its `within`.

    Laplace noise for all, Gaussian noise for all, or for each question the one that is
    cheaper alone: whichever costs least together at `delta`.

    Guarantee: every answer is within its target with its level; `epsilon` is a bound.

    Example:
        >>> plan = plan_accuracy([Question("people", within=20),
        ...                       Question("income", sensitivity=100, within=5000)])
        >>> round(plan.epsilon, 3), plan["people"].reach <= 20
        (0.21, True)

    Reference: N9.ex1 N10.ex1.
    """
    asked = _checked(questions)
    risk = checks.real("delta", delta, at_least=0, below=1)
    missing = [each.name for each in asked if each.within is None]
    if missing:
        raise InvalidArgument(
            f"within must be set for every question; {missing[0]!r} has none. Or let "
            "plan_budget divide a budget by weights."
        )
    laplace = tuple(_meeting(Laplace, each) for each in asked)
    choices = [Workload(laplace, risk)]
    if risk > 0:
        gauss = tuple(_meeting(Gaussian, each) for each in asked)
        mixed = tuple(
            a if a.curve.epsilon_at(risk) <= b.curve.epsilon_at(risk) else b
            for a, b in zip(laplace, gauss, strict=True)
        )
        choices += [Workload(gauss, risk), Workload(mixed, risk)]
    return _best(choices)


def _meeting(kind: type[Any], question: Question) -> Answered:
    """Return the most noise of one kind within a question's target."""
    # A little above the root, so that rounding never leaves the target.
    each = 1 - (1 - 1e-9) * -math.expm1(math.log(question.level) / question.dimension)
    first, second = question.distances
    moved = second if kind is Gaussian else first
    found = kind.for_accuracy(question.within, level=each, sensitivity=moved)
    return Answered(question, found)


def plan_budget(
    questions: Sequence[Question], *, epsilon: float, delta: float = 0.0
) -> Workload:
    """Return the division of a budget that makes Σ weight·dimension·variance least.

    Laplace: scale ∝ (ℓ1/(weight·dimension))^(1/3). Gaussian: variance ∝ ℓ2/√(weight·
    dimension). The kind with the smaller sum is taken: Laplace for few numbers,
    Gaussian for many.

    Guarantee: all answers together are (epsilon, delta)-private.

    Example:
        >>> plan = plan_budget([Question("men"), Question("women")], epsilon=1.0)
        >>> plan["men"].mechanism, round(plan.epsilon, 4)
        (Laplace(scale=2.00000...), 1.0)
        >>> wide = plan_budget([Question("d", dimension=200)], epsilon=1, delta=1e-6)
        >>> type(wide["d"].mechanism).__name__
        'Gaussian'

    Reference: N9.ex1 N10.ex1; docs/proofs/inference.md.
    """
    asked = _checked(questions)
    limit = checks.real("epsilon", epsilon, above=0)
    risk = checks.real("delta", delta, at_least=0, below=1)

    def shape(each: Question, kind: type[Any]) -> float:
        importance = each.weight * each.dimension
        first, second = each.distances
        if kind is Laplace:
            return math.cbrt(first / importance)
        return math.sqrt(second / math.sqrt(importance))

    def build(kind: type[Any]) -> Workload:
        def at(scale: float) -> Workload:
            parts = (Answered(each, kind(scale * shape(each, kind))) for each in asked)
            return Workload(tuple(parts), risk)

        return at(_smallest(lambda scale: at(scale).epsilon, limit))

    kinds: list[type[Any]] = [Laplace] if risk == 0 else [Laplace, Gaussian]
    return min((build(kind) for kind in kinds), key=_loss)


def _loss(workload: Workload) -> float:
    return math.fsum(
        each.question.weight * each.question.dimension * each.mechanism.error.std**2
        for each in workload.answers
    )


def _smallest(cost: Callable[[float], float], limit: float) -> float:
    """Return the smallest scale that costs at most `limit`, to one part in a million.

    Costs are nearly powers of the scale, so both logarithms are joined by a line.
    """
    low, high = 0.0, math.inf  # scales that cost too much, and that do not
    above = below = limit
    scale = 1.0
    for _ in range(200):
        found = cost(scale)
        enough = found <= limit
        if enough:
            high, below = scale, found
        else:
            low, above = scale, found
        if high <= low * _MARGIN:
            break
        nudge = 1 - 4e-7 if enough else 1 + 4e-7  # towards the end that stayed
        if low == 0 or high == math.inf:
            scale *= min(max(found / limit, 1 / 64), 64.0) * (0.9 if enough else 1.1)
        elif above > below > 0:
            share = math.log(above / limit) / math.log(above / below)
            guess = low * (high / low) ** share * nudge
            inside = low * (1 + 1e-9) < guess < high * (1 - 1e-9)
            scale = guess if inside else math.sqrt(low * high)
        else:
            scale = math.sqrt(low * high)
    return high
