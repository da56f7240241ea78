"""Two groups: is their difference zero, and how large is it."""

import functools
import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from hush import checks
from hush.errors import InvalidArgument
from hush.estimate import Estimate
from hush.inference import inputs
from hush.inference.additive_noise import Additive, drawn_tie, number
from hush.inference.error_convolution import Error, noise, normal
from hush.inference.proportion import Alternative, Proportion
from hush.inference.results import Interval, NoisyInterval, Test
from hush.inference.sampling_error import Sampled
from hush.inference.two_proportions import (
    DifferenceTest,
    ShareDifference,
    equal_shares,
    is_share,
)
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source

_LEVELS = (0.999, 0.99, 0.95, 0.9)
_MORE = 0.5  # people added to each cell of those who changed


def _parts(estimate: Estimate) -> tuple[float, Iterable[Error]]:
    """Return an unbiased value and its independent errors."""
    if isinstance(estimate, NoisyInterval):
        return float(estimate.value), estimate.errors
    return float(estimate.value), [normal(float(estimate.std))]


def _observed(estimate: Estimate) -> float:
    """Return the number that a test looks at: of a share the noisy one, unbiased."""
    if isinstance(estimate, Proportion):
        return estimate.count.released / estimate.count.n
    return float(estimate.value)


def _bias(estimate: Estimate) -> float:
    return estimate.bias if isinstance(estimate, NoisyInterval) else 0.0


def _skew(first: Estimate, second: Estimate) -> tuple[float, float]:
    """Return how far first - second may lean: what raises one lowers the other."""
    a, b = (
        each.skew if isinstance(each, NoisyInterval) else (0.0, 0.0)
        for each in (first, second)
    )
    return a[0] + b[1], a[1] + b[0]


def _together(errors: Sequence[Error]) -> tuple[Error, ...]:
    """Return independent errors, those with released variances made one."""
    released = [each for each in errors if isinstance(each, Sampled)]
    known = [each for each in errors if not isinstance(each, Sampled)]
    if not released:
        return tuple(known)
    return (functools.reduce(operator.add, released), *known)


def difference_interval(
    first: Estimate,
    second: Estimate,
    *,
    independent: bool = True,
    level: float = 0.95,
) -> Interval:
    """Return first - second for independent estimates, noise by its exact law.

    Means are subtracted and their errors convolved. Of two shares from noisy counts the
    interval is the set of differences that their test does not reject: it leaves zero
    out where `difference_test` rejects at 1 - level. Of a share and something else the
    ends of both intervals are combined (MOVER). Groups that share people, or are the
    same people asked twice, are not `independent`: then both intervals are taken at
    half the chance to miss, whose ends bound the difference whatever they share.

    Guarantee: coverage is measured in docs/inference.md.

    Example:
        >>> from hush.inference import proportion_interval
        >>> from hush.mechanisms import Geometric
        >>> noise = Geometric(scale=1)
        >>> a = proportion_interval(300, n=1000, mechanism=noise, tie=0.5)
        >>> b = proportion_interval(250, n=1000, mechanism=noise, tie=0.5)
        >>> low, high = difference_interval(a, b)
        >>> round(low, 3), round(high, 3)
        (0.011, 0.089)
    """
    checks.real("level", level, above=0, below=1)
    first, second = inputs.estimate("first", first), inputs.estimate("second", second)
    sizes = float(first.effective), float(second.effective)
    # All alike, and noise is all there is: worth nobody, and so is the difference.
    effective = 1 / (1 / sizes[0] + 1 / sizes[1]) if min(sizes) > 0 else 0.0
    if not independent:
        std = float(first.std) + float(second.std)
        value = float(first.value) - float(second.value)
        return EitherDifference(
            value, std, min(sizes), level, first=first, second=second
        )
    std = math.hypot(float(first.std), float(second.std))
    if is_share(first) or is_share(second):
        return ShareDifference.of(
            first, second, std=std, effective=effective, level=level
        )
    a, left = _parts(first)
    b, right = _parts(second)
    return NoisyInterval(
        a - b,
        std,
        effective,
        level,
        errors=_together([*left, *right]),
        bias=_bias(first) + _bias(second),
        skew=_skew(first, second),
    )


@final
@dataclass(frozen=True)
class EitherDifference(Interval):
    """A difference of two estimates that depend on each other in any way.

    Guarantee: each interval misses with at most half the chance, both with the whole.
    """

    first: Estimate = field(repr=False)
    second: Estimate = field(repr=False)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the differences of what lies in both intervals."""
        half = (1 + checks.real("level", level, above=0, below=1)) / 2
        (a, b), (c, d) = self.first.interval(half), self.second.interval(half)
        return float(a - d), float(b - c)


def paired_difference(
    first_only: Any,
    second_only: Any,
    *,
    n: int,
    mechanism: Mechanism,
    level: float = 0.95,
) -> NoisyInterval:
    """Return how much larger one share of `n` people is than another of the same ones.

    `first_only` and `second_only` are noisy counts of those of whom only the first
    holds, or only the second, as two cells of a table: people who changed their mind.
    The others say nothing of the difference. For numbers in place of yes and no,
    release the mean of each person's difference, and give it to `mean_interval`.

    Guarantee: noise by its exact law, sampling by the central limit theorem; coverage
    is measured in docs/inference.md.

    Example:
        >>> from hush.mechanisms import Geometric
        >>> noise = Geometric.for_epsilon(1.0, sensitivity=2)
        >>> low, high = paired_difference(61, 24, n=500, mechanism=noise)
        >>> round(low, 3), round(high, 3)
        (0.035, 0.113)

    Reference: [N98]; docs/proofs/inference.md.
    """
    people = checks.whole("n", n, at_least=1)
    checks.real("level", level, above=0, below=1)
    a, b = number("first_only", first_only), number("second_only", second_only)
    pieces = [Additive.of(mechanism, each) for each in (first_only, second_only)]
    gap = (a - b) / people
    # Half a person more in each cell: where nobody changed, somebody might have.
    changed = min(max((a + b + 2 * _MORE) / (people + 2 * _MORE), abs(gap), 0.0), 1.0)
    changed = max(changed, _MORE / people)
    sampling = math.sqrt(max(changed - gap**2, 1 / people) / people)
    noises = [noise(each.scaled(1 / people)) for each in pieces]
    std = math.hypot(sampling, *(each.std for each in noises))
    return NoisyInterval(
        gap,
        std,
        people * (sampling / std) ** 2,
        level,
        errors=(normal(sampling), *noises),
        limits=(-1.0, 1.0),
    )


def _p_values(value: float, both: Interval) -> tuple[float, float]:
    """Return those of no difference against a larger and a smaller first one."""
    if isinstance(both, ShareDifference):
        return both.p_values()
    assert isinstance(both, NoisyInterval)
    # A released variance enters by what makes an interval of one level cover: the
    # strictest of these levels that rejects, or the last.
    for level in _LEVELS:
        error = both.error(level)
        lean = both.moved(level)[0 if value >= 0 else 1]
        away = max(abs(value) - both.bias - lean, 0.0) * (1 if value >= 0 else -1)
        if 2 * error.cdf(-abs(away)) <= 1 - level:
            break
    return error.cdf(-away), error.cdf(away)


def difference_test(
    first: Estimate,
    second: Estimate,
    *,
    alternative: Alternative = "two-sided",
    tie: float | None = None,
    source: Source = SECURE,
) -> Test:
    """Return the p-value of "both groups have the same mean" (or proportion).

    Two proportions from whole noisy counts are tested by their exact law: given the
    total where noise is small, at the pooled proportion where it is not. Other shares
    are tested by the level at which their interval leaves zero out, and means by their
    convolved errors. `alternative="greater"` asks whether
    the first is larger. `tie` places the answer inside its atom: left open, it is made
    of the ties of both counts, which are drawn afresh unless they were given.

    Guarantee: without noise the test of two proportions is Fisher's with a random tie,
    and its level exact; with noise the common proportion is unknown, and the level is
    as measured in docs/inference.md.

    Example:
        >>> from hush.inference import proportion_interval
        >>> from hush.mechanisms import Geometric
        >>> a = proportion_interval(320, n=1000, mechanism=Geometric(scale=1))
        >>> b = proportion_interval(250, n=1000, mechanism=Geometric(scale=1))
        >>> difference_test(a, b).rejects(0.01)
        True
    """
    if alternative not in ("greater", "less", "two-sided"):
        raise InvalidArgument(
            "alternative must be 'greater', 'less' or 'two-sided'; got "
            f"{alternative!r}."
        )
    first, second = inputs.estimate("first", first), inputs.estimate("second", second)
    found: tuple[float, float] | None = None
    value = _observed(first) - _observed(second)
    if isinstance(first, Proportion) and isinstance(second, Proportion):
        both = DifferenceTest(first.count, second.count)
        if tie is None:
            found = both.equality
        else:
            found = equal_shares(both.first, both.second, drawn_tie(tie, source))
    if found is None:
        found = _p_values(value, difference_interval(first, second))
    up, down = found
    p = {"greater": up, "less": down, "two-sided": 2 * min(up, down)}[alternative]
    return Test(value, min(p, 1.0), alternative)
