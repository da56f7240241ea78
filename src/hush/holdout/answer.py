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
    value was confirmed.

    Guarantee: with probability `level`, the intervals of all answers of one holdout
    hold their population values at once, however the questions were chosen.

    Example:
        >>> answer = Answer(0.7, radius=0.1, score_range=(0, 1), level=0.95, left=3,
        ...                 method="transfer")
        >>> [round(end, 2) for end in answer.interval()], float(answer)
        ([0.6, 0.8], 0.7)
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
