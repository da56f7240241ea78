"""An estimate: a value, how far it may be off, and how many people it is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from hush import checks

_SHOWN = 20


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
        >>> print(Estimate(np.array([2.0, -1.0]), np.array([0.1, 0.2]), effective=25.0))
          estimate       from   to (95%)
                 2      1.804      2.196
                -1     -1.392     -0.608
    """

    value: Any
    std: Any
    effective: Any

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return ends that hold the truth with probability `level`, each by itself."""
        level = checks.real("level", level, above=0, below=1)
        # Not of (1 + level)/2, which is rounded to 1 for the last levels below it.
        reach = -NormalDist().inv_cdf((1 - level) / 2) * np.asarray(self.std)
        return self.value - reach, self.value + reach

    def _names(self) -> tuple[str, Sequence[Any]] | None:
        """Return what the numbers are of, a heading and a name for each, if known."""
        return None

    def __str__(self) -> str:
        """Return a line for each number, up to twenty, with its ends at 95 %."""
        return self._text(0.95)

    def _text(self, level: float) -> str:
        parts = np.broadcast_arrays(self.value, *self.interval(level))
        share = f"({100 * level:g}%)"
        if not parts[0].ndim:
            value, low, high = map(float, parts)
            return f"{value:.4g}, from {low:.4g} to {high:.4g} {share}"
        rows = list(zip(*map(np.ravel, parts), strict=True))
        head = " ".join(f"{name:>10}" for name in ("estimate", "from", f"to {share}"))
        lines = [" ".join(f"{each:>10.4g}" for each in row) for row in rows[:_SHOWN]]
        lines = [head, *lines]
        if (known := self._names()) is not None:
            first = [known[0], *map(str, known[1][: len(lines) - 1])]
            width = max(map(len, first))
            lines = [
                f"{name:>{width}} {line}"
                for name, line in zip(first, lines, strict=True)
            ]
        rest = [f"... and {len(rows) - _SHOWN} more"] if len(rows) > _SHOWN else []
        return "\n".join([*lines, *rest])
