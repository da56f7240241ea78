"""An estimate: a value, how far it may be off, and how many people it is worth."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from hush import checks


@dataclass(frozen=True)
class Estimate:
    """A number (or an array of them) estimated from noisy reports or releases.

    `effective` is how many people would give the same precision without noise.

    Guarantee: `interval(level)` is value ± z·std, right for large samples; a subclass
    that knows the law of its error gives exact ends.

    Example:
        >>> low, high = Estimate(0.5, std=0.1, effective=25.0).interval(0.95)
        >>> round(float(low), 3), round(float(high), 3)
        (0.304, 0.696)
    """

    value: Any
    std: Any
    effective: Any

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return ends that hold the truth with probability `level`, each by itself."""
        checks.real("level", level, above=0, below=1)
        reach = NormalDist().inv_cdf((1 + level) / 2) * np.asarray(self.std)
        return self.value - reach, self.value + reach
