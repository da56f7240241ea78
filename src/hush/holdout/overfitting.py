"""The monitor: run an analyst on fresh samples and report its worst over-fit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from hush import checks
from hush.errors import InvalidArgument
from hush.holdout import holdout_plan
from hush.mechanisms import Exponential
from hush.noise import SECURE, Source
from hush.privacy import compose
from hush.privacy.curve import Curve

Query = Callable[[Any], float]  # record -> score in [0, 1]


@final
@dataclass(frozen=True)
class Overfit:
    """The query and the sample it over-fits most, chosen by the exponential mechanism.

    `flipped` says that 1 - query is meant. `gap` is q(S_t) - q(D) itself, a number for
    simulations: unlike the choice, it is not private. `bound` is what its expectation
    obeys if the analyst's curve was given.
    """

    sample: int
    query: Query
    flipped: bool
    gap: float
    bound: float


def monitor(
    analyst: Callable[[Sequence[Any]], Query],
    samples: Sequence[Sequence[Any]],
    truth: Callable[[Query], float],
    *,
    epsilon: float,
    curve: Curve | None = None,
    source: Source = SECURE,
) -> Overfit:
    """Return where `analyst`, run on each of several fresh samples, over-fits most.

    The analyst turns a sample into a query with scores in [0, 1]; `truth(query)` is its
    mean over the population, which a simulation knows. All samples have one size m.

    Guarantee: choosing among the 2T pairs is ε-private for one replaced record, the
    score's sensitivity being 1/m; if the analyst has `curve`, E gap <= `bound`.

    Example:
        >>> samples = [[0, 1, 1, 1], [0, 0, 1, 1]]
        >>> found = monitor(lambda s: float, samples, lambda q: 0.5, epsilon=1000)
        >>> found.sample, found.flipped, found.gap, found.bound
        (0, False, 0.25, 1.0)

    Reference: G.alg2; [BNSSSU16]; docs/proofs/holdout.md, theorem 5.
    """
    checks.whole("samples", len(samples), at_least=1)
    size = len(samples[0])
    if any(len(each) != size for each in samples):
        raise InvalidArgument("samples must all have the same size.")
    queries = [analyst(sample) for sample in samples]
    gaps = []
    for query, sample in zip(queries, samples, strict=True):
        gap = float(np.mean([query(record) for record in sample])) - truth(query)
        gaps += [gap, -gap]
    choose = Exponential.for_epsilon(epsilon=epsilon, sensitivity=Fraction(1, size))
    place = choose.run(gaps, source=source)
    bound = 1.0
    if curve is not None:
        both = compose(curve, choose.curve(Fraction(1, size)))
        bound = holdout_plan.overfit(both, 1 / len(samples))
    return Overfit(place // 2, queries[place // 2], bool(place % 2), gaps[place], bound)
