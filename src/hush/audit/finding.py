"""What an audit found: a verdict, the evidence, and what it could have caught."""

import json
import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, final

from hush.privacy.curve import Curve
from hush.privacy.notions.pure import Pure


class Verdict(StrEnum):
    """Violated, or not refuted: an audit never proves a guarantee."""

    VIOLATED = "violated"
    NOT_REFUTED = "not refuted"


def p_text(p_value: float) -> str:
    """Return a p-value as text; none is 0.

    Example:
        >>> p_text(0.0123), p_text(0.0)
        ('p = 0.0123', 'p < 1e-300')
    """
    return f"p = {p_value:.3g}" if p_value >= 1e-300 else "p < 1e-300"


def _side_texts(event: str) -> list[str]:
    """Return what is guessed when, side by side."""
    near, found, far = event.partition("; data when ")
    return [near, f"data when {far}"] if found else [event]


@final
@dataclass(frozen=True)
class Audit:
    """The outcome of testing a claim on two neighboring data sets.

    `epsilon_lower` is an ε that the data refute, at the δ of `delta`, with confidence
    `level`. `catches` is an estimate of the smallest true ε that an audit of this size
    with this event finds 95 times in 100. `roc` holds false and true positive rates of
    the last score on its `tested` runs.

    Guarantee: a claim that holds is called violated with chance at most 1 - `level`.
    """

    verdict: Verdict
    claim: Curve
    level: float
    p_value: float
    epsilon_lower: float
    delta: float
    event: str
    pair: str
    samples: int
    guesses: int
    right: int
    catches: float
    point: tuple[float, float]  # the promise δ(ε) that was tested
    roc: tuple[tuple[float, ...], tuple[float, ...]] = field(repr=False)
    tested: int = 0  # runs behind `roc`
    allowed: float = math.nan  # share of right guesses that the claim allows, about

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted."""
        return self.verdict is Verdict.VIOLATED

    def __str__(self) -> str:
        """Return verdict, bound, evidence and event, a line for each."""
        at = "" if isinstance(self.claim, Pure) else f" at delta {self.delta:.3g}"
        claimed = f" (claimed: {self.point[0]:.4g})" if self._is_compared else ""
        lines = [
            f"{self.verdict}: {self.claim}, {p_text(self.p_value)}",
            f"the true epsilon is at least {self.epsilon_lower:.4g}{at}{claimed}, with "
            f"{100 * self.level:.6g}% confidence",
            f"{self.right} of {self.guesses} guesses right{self._shares} "
            f"({self.samples} runs)",
            *(f"guessed {each}" for each in _side_texts(self.event)),
        ]
        if not self.violated:
            caught = f"epsilon {self.catches:.4g}{at} 95 times in 100"
            if math.isinf(self.catches):
                caught = "nothing: give it more samples, or data that differ more"
            lines.append(f"an audit like this catches {caught}")
        return "\n".join(lines)

    @property
    def _is_compared(self) -> bool:
        """Whether the claim names an ε at the δ of the bound."""
        return self.point[1] == self.delta

    @property
    def _shares(self) -> str:
        """How many guesses were right, beside how many the claim allows."""
        if not self.guesses or math.isnan(self.allowed):
            return ""
        share = self.right / self.guesses
        return f", {share:.1%}; the claim allows {self.allowed:.1%}"

    def to_json(self) -> str:
        """Return the outcome as JSON text; infinities are null."""
        shown: dict[str, Any] = {
            "audit": str(self.verdict),
            "claim": json.loads(self.claim.to_json()),
            "level": self.level,
            "p_value": self.p_value,
            "epsilon_lower": self.epsilon_lower,
            "delta": self.delta,
            "point": list(self.point),
            "event": self.event,
            "pair": self.pair,
            "samples": self.samples,
            "guesses": self.guesses,
            "right": self.right,
            "catches": self.catches if math.isfinite(self.catches) else None,
            "roc": [list(side) for side in self.roc],
        }
        return json.dumps(shown, allow_nan=False)

    def plot(self, axes: Any = None) -> Any:
        """Draw the ROC of the audit against the claimed tradeoff; return the axes."""
        from hush import plots

        return plots.audit(self, axes=axes)
