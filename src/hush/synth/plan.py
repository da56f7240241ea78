"""A plan: how much noise each step of a synthesis gets, from public numbers alone."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

from hush import checks
from hush.errors import InvalidArgument
from hush.ledger.plan import Plan as Steps
from hush.mechanisms import DiscreteGaussian, Exponential, Geometric, PermuteAndFlip
from hush.mechanisms.mechanism import Mechanism
from hush.privacy import ZCDP, Approx, Curve, Pure, calibrate
from hush.synth.domain import Domain
from hush.synth.fit import Table
from hush.synth.questions import Columns, NextPair, Pairs, Person, Question

# What columns, choices and pairs get: of ρ for Gaussian noise, of ε for pure noise.
_SHARES = (0.15, 0.15, 0.7)
_MOST_CELLS = 1 << 24  # of all pairs together
_WIDEST = 2.0**50  # as far as whole noise is drawn


@final
@dataclass(frozen=True)
class TreePlan:
    """The mechanisms of a synthesis and the questions they answer: all of it public.

    First the counts of every column; then, one by one, the pairs that a tree is made
    of; then the counts of these pairs. All steps are declared together and charged as
    one release.

    Guarantee: `curve` is the composition of the noise that runs, each step at the
    sensitivity of its question.
    """

    domain: Domain
    person: Person
    mechanisms: tuple[Mechanism, ...]
    questions: tuple[Question, ...]

    @cached_property
    def steps(self) -> Steps:
        """The plan as a ledger has it."""
        listed = list(self.mechanisms), list(self.questions)
        return Steps.of(*listed, "", None)

    @property
    def curve(self) -> Curve:
        """The guarantee of all steps together, for one person."""
        return self.steps.curve

    def within(self, level: float = 0.95) -> tuple[float, float]:
        """Return what the noise on a count of a column, and of a pair, stays within.

        Guarantee: each count by itself, with probability `level`.
        """
        checks.real("level", level, above=0, below=1)
        ends = (self._noise(0), self._noise(-1))
        first, last = (m.error.interval(level)[1] / self.person.whole for m in ends)
        return first, last

    def _noise(self, place: int) -> Any:
        return self.mechanisms[place]

    def read(self, answers: tuple[Any, ...]) -> tuple[tuple[Table, Any], ...]:
        """Return the released tables, each with the mechanism that made it noisy."""
        found: list[tuple[Table, Any]] = []
        for place, question in enumerate(self.questions):
            if not isinstance(question, (Columns, Pairs)):
                continue
            noise = self._noise(place)
            earlier = tuple(answers[:place])
            tables = question.read(answers[place], earlier, noise.error.std)
            found += [(table, noise) for table in tables]
        return tuple(found)

    def __str__(self) -> str:
        columns, pairs = (f"{each:,.3g}" for each in self.within(0.95))
        if len(self.mechanisms) == 1:
            return f"1 column ± {columns} per count (95%)"
        number = len(self.domain.names)
        return (
            f"{number} columns ± {columns} per count, then up to {number - 1} pairs ± "
            f"{pairs} (95%)"
        )


def planned(domain: Domain, person: Person, target: Curve) -> TreePlan:
    """Return the plan with the least noise that meets a target.

    Example:
        >>> found = planned(Domain.of({"a": [0, 1], "b": [0, 1]}), Person(), Pure(1.0))
        >>> [type(each).__name__ for each in found.mechanisms]
        ['Geometric', 'PermuteAndFlip', 'Geometric']
        >>> found.curve.epsilon_at(0) <= 1
        True
    """
    sizes = domain.sizes
    pairs = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
    if pairs > _MOST_CELLS:
        raise InvalidArgument(
            f"domain must have at most {_MOST_CELLS} cells in all its pairs of columns "
            f"together; got {pairs}. Use coarser bins, or fewer columns."
        )
    if isinstance(target, Pure):
        # Sums of three rounded parts are rounded up by less than this.
        epsilon = float(target.epsilon) * (1 - 2.0**-40)
        return _checked(_pure(domain, person, epsilon))
    # Near what zCDP says, so that few curves are asked.
    start = math.sqrt(_rho(target))
    relative = calibrate(
        lambda noise: _gaussian(domain, person, start / noise).curve,
        target,
        relative=1e-6,
    )
    return _checked(_gaussian(domain, person, start / relative))


def _rho(target: Curve) -> float:
    if isinstance(target, ZCDP):
        return target.rho
    if not isinstance(target, Approx):
        raise InvalidArgument(f"target must be Pure, Approx or ZCDP; got {target!r}.")
    # ε = ρ + 2√(ρ log(1/δ)), solved for ρ.
    log = math.log(1 / target.delta)
    return (math.sqrt(log + target.epsilon) - math.sqrt(log)) ** 2


def _shares(columns: int) -> tuple[float, float, float]:
    """Return the shares of columns, choices and pairs: one column needs no pairs."""
    return _SHARES if columns > 1 else (1.0, 0.0, 0.0)


def _gaussian(domain: Domain, person: Person, root: float) -> TreePlan:
    """Return the plan of Gaussian noise whose parts add up to about root²-zCDP."""
    number = len(domain.names)
    columns, choices, pairs = (math.sqrt(each) * root for each in _shares(number))

    def noise(question: Any, share: float) -> DiscreteGaussian:
        # The curve charges sensitivity/√(std² - 4), a trifle more than ρ says.
        far = float(question.sensitivity)
        std = math.sqrt((far / share) ** 2 / 2 + 4)
        return DiscreteGaussian(Fraction(max(std, 4.0)))

    def choice(far: int) -> Exponential:
        # A choice of range η is η²/8-zCDP, and η is 2·sensitivity/scale.
        range_ = math.sqrt(8 / (number - 1)) * choices
        return Exponential(scale=Fraction(2 * far / range_))

    return _plan(
        domain,
        person,
        2,
        lambda q: noise(q, columns),
        choice,
        lambda q: noise(q, pairs),
    )


def _pure(domain: Domain, person: Person, epsilon: float) -> TreePlan:
    """Return the plan of pure noise whose parts add up to ε."""
    number = len(domain.names)
    columns, choices, pairs = (each * epsilon for each in _shares(number))

    def noise(question: Any, share: float) -> Geometric:
        return Geometric.for_epsilon(share, question.sensitivity)

    def choice(far: int) -> PermuteAndFlip:
        return PermuteAndFlip.for_epsilon(choices / (number - 1), far)

    return _plan(
        domain,
        person,
        1,
        lambda q: noise(q, columns),
        choice,
        lambda q: noise(q, pairs),
    )


def _plan(
    domain: Domain, person: Person, norm: int, columns: Any, choice: Any, pairs: Any
) -> TreePlan:
    sizes = domain.sizes
    first = Columns(sizes, person, norm)
    mechanisms: list[Mechanism] = [columns(first)]
    questions: list[Question] = [first]
    if len(sizes) > 1:
        last = Pairs(sizes, person, norm)
        ends = mechanisms[0], pairs(last)
        std = (float(ends[0].error.std), float(ends[1].error.std))
        between = NextPair(sizes, person, first, std)
        chosen = choice(between.sensitivity)
        times = len(sizes) - 1
        mechanisms += [chosen] * times + [ends[1]]
        questions += [between] * times + [last]
    return TreePlan(domain, person, tuple(mechanisms), tuple(questions))


def _checked(plan: TreePlan) -> TreePlan:
    wide = max(plan._noise(0).error.std, plan._noise(-1).error.std)
    if wide > _WIDEST:
        raise InvalidArgument(
            "epsilon is too small: the counts would need more noise than 64 bits hold. "
            "Use a larger epsilon, or fewer rows per person."
        )
    return plan
