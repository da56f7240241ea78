"""Slopes: estimated coefficients, by the names of their columns where they have any."""

from dataclasses import dataclass
from typing import final

from hush.estimate import Estimate


@final
@dataclass(frozen=True)
class Slopes(Estimate):
    """Coefficients with standard errors; a frame's columns name their lines.

    Example:
        >>> import numpy as np
        >>> print(Slopes(np.array([2.0, -1.0]), np.array([0.1, 0.2]), 25, ("a", "b")))
          estimate       from   to (95%)
                 2      1.804      2.196  a
                -1     -1.392     -0.608  b
    """

    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return a line for each coefficient, up to twenty, with its ends at 95 %."""
        head, *lines = super().__str__().split("\n")
        names = (*self.names[: len(lines)], *[""] * len(lines))
        if len(lines) < len(self.names):  # the last line counts those left out
            names = (*self.names[: len(lines) - 1], "")
        pairs = zip(lines, names, strict=False)
        return "\n".join([head, *(f"{line}  {name}".rstrip() for line, name in pairs)])
