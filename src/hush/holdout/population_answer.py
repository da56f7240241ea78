"""An answer: a private number, and the interval that holds for the population."""

import math
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Answer:
    """What came out of a holdout; public for ever.

    `left` counts the questions still free; `method` names the theorem behind the
    interval: "transfer", "split", "fixed", or "training" where the training data's own
    value was confirmed. `value` has noise, which may carry it out of the range of
    scores: cut there, means of many answers would be off. The interval stays inside.

    Guarantee: with probability `level`, the intervals of all answers of one holdout
    hold their population values at once, however the questions were chosen.

    Example:
        >>> answer = Answer(0.7, radius=0.1, score_range=(0, 1), level=0.95, left=3,
        ...                 method="transfer")
        >>> [round(end, 2) for end in answer.interval()], float(answer)
        ([0.6, 0.8], 0.7)
        >>> print(answer)
        0.7, from 0.6 to 0.8 (95%, all answers at once), 3 questions left
        >>> f"{answer:.2f}"
        '0.70'
    """

    value: float
    radius: float
    score_range: tuple[float, float]
    level: float
    left: int
    method: str
    seeded: bool = False

    def interval(self) -> tuple[float, float]:
        """Return (low, high), inside the range of scores."""
        low, high = self.score_range
        # The value and both sums are rounded to floats, far apart if scores are huge.
        grain = math.ulp(max(abs(self.value), abs(low), abs(high)))
        reach = self.radius + 2 * grain
        # The population's value is in the range, so cutting there loses nothing.
        return (
            min(max(self.value - reach, low), high),
            max(min(self.value + reach, high), low),
        )

    @property
    def vacuous(self) -> bool:
        """Whether the interval is the whole range."""
        return self.interval() == self.score_range

    def __contains__(self, value: float) -> bool:
        low, high = self.interval()
        return low <= value <= high

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"{self.value:.4g}, from {low:.4g} to {high:.4g} ({100 * self.level:g}%, "
            f"all answers at once), {self.left} "
            + ("question left" if self.left == 1 else "questions left")
            + (": the interval is the whole range" if self.vacuous else "")
            + (" (seeded: a rehearsal)" if self.seeded else "")
        )
