"""Membership inference: how well a likelihood ratio tells whether somebody is in."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from hush import checks
from hush.audit.auditor import Batch, Many, audit, draws_of
from hush.audit.outputs import Floats
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve, checked_curve


@final
@dataclass(frozen=True)
class Membership:
    """The measured power of an attack, beside what the claim allows at most.

    `alpha` and `power` are false and true positive rates at every threshold; `margin`
    is how far either may be off, for all thresholds at once, at 99.9 % confidence.
    """

    alpha: Floats = field(repr=False)
    power: Floats = field(repr=False)
    claim: Curve
    samples: int
    margin: float

    def __str__(self) -> str:
        """Return what was caught, beside what the claim allows, at a level of 5 %."""
        found, most = self.power_at(0.05), float(self.claim.power_at(0.05))
        kept = "within the claim at every" if self.within_claim else "beyond it at some"
        return (
            f"accusing 5% of outsiders, {found:.1%} of members were found; the claim "
            f"allows {most:.1%}\n{kept} level, ± {self.margin:.2g} "
            f"({self.samples} runs)"
        )

    @property
    def advantage(self) -> float:
        """The largest true minus false positive rate."""
        return float(np.max(self.power - self.alpha))

    @property
    def advantage_bound(self) -> float:
        """The largest advantage that the claim allows: its total variation."""
        return self.claim.total_variation()

    def power_at(self, alpha: float) -> float:
        """Return the measured power of the attack at level `alpha`.

        Example:
            >>> from hush.privacy import Pure
            >>> line = np.array([0.0, 1.0])
            >>> Membership(line, line, Pure(1.0), 100, 0.1).power_at(0.25)
            0.25
        """
        checks.real("alpha", alpha, at_least=0, at_most=1)
        order = np.argsort(self.alpha, kind="stable")
        return float(np.interp(alpha, self.alpha[order], self.power[order]))

    @property
    def within_claim(self) -> bool:
        """Whether no threshold beats the claimed tradeoff by more than chance."""
        places = np.linspace(0, len(self.alpha) - 1, 64).astype(np.int64)
        most = np.minimum(self.alpha[places] + self.margin, 1.0)
        allowed = np.asarray(self.claim.power_at(most))
        return bool(np.all(self.power[places] - self.margin <= allowed))


def membership(
    run: Any,
    data: Any,
    neighbor: Any,
    *,
    claim: Curve,
    score: Callable[[Any], float] | None = None,
    samples: int = 20_000,
    batch: Many | None = None,
    source: Source = SECURE,
) -> Membership:
    """Guess from results whether somebody's record is in, and measure how well it goes.

    `neighbor` is `data` with the record. `score(result)` is the attacker's statistic,
    best the log-likelihood ratio; without it one is learned, as `audit` does. The claim
    bounds the power of every attack: power <= 1 - f(alpha) with its tradeoff f (N3.4).

    Example:
        >>> from hush.mechanisms import Gaussian
        >>> from hush.privacy import GDP
        >>> noisy = Gaussian(std=1.0)
        >>> found = membership(noisy, 0.0, 1.0, claim=GDP(1.0), score=lambda y: y)
        >>> found.within_claim, abs(found.advantage - found.advantage_bound) < 0.03
        (True, True)

    Reference: [YGFJ18]; likelihood ratios [CCNSTT22]; N3.4.
    """
    checks.whole("samples", samples, at_least=400)
    checked_curve("claim", claim)
    if score is None:
        found = audit(
            run,
            data,
            neighbor,
            claim=claim,
            samples=samples,
            batch=batch,
            source=source,
        )
        tested = int(0.9 * found.tested)  # a coin chose the sides
        alpha, power = (np.array(side) for side in found.roc)
        return Membership(alpha, power, claim, found.samples, _margin(tested // 2))
    draw = draws_of(run, batch, source, timing=False)
    half = samples // 2
    out, inside = (_scores(draw(each, half), score) for each in (data, neighbor))
    cuts = np.unique(np.concatenate([out, inside]))
    if len(cuts) > 512:
        cuts = np.quantile(cuts, np.linspace(0, 1, 512), method="nearest")
    alpha, power = (
        np.append(1 - np.searchsorted(np.sort(each), cuts) / half, 0.0)
        for each in (out, inside)
    )
    return Membership(alpha, power, claim, samples, _margin(half))


def _scores(results: Any, score: Callable[[Any], float]) -> Floats:
    rows = results.rows if isinstance(results, Batch) else results
    return np.array([float(score(each)) for each in rows])


def _margin(count: int) -> float:
    """Return the Dvoretzky-Kiefer-Wolfowitz margin, both sides at 99.9 % together."""
    return float(np.sqrt(np.log(4 / 0.001) / (2 * max(count, 1))))
