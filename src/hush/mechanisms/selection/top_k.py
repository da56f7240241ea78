"""The k best candidates, in order, chosen without replacement."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.mechanisms import lattice_rounding
from hush.mechanisms.selection.exponential import Exponential
from hush.mechanisms.selection.selection import Gap, Selection, bounded_range, scores
from hush.noise import SECURE, Source, gumbel_argmax
from hush.privacy.curve import Curve
from hush.privacy.rules.composition import repeat
from hush.serialization import tagged


@final
@tagged("top_k/1")
@dataclass(frozen=True, repr=False)
class TopK(Selection):
    """Choose `count` places by the exponential mechanism, each among those left.

    The same law as adding Gumbel noise once and taking the `count` largest.

    Guarantee: the composition of `count` exponential mechanisms, each of range
    2·sensitivity/scale (half of it if `monotone`).

    Example:
        >>> TopK(count=2, scale=0.1).run([0, 500, 0, 900]).tolist()
        [3, 1]

    Reference: [DR19] for the one-shot form; [DDR20] for the composition.
    """

    count: int
    scale: float | Fraction
    monotone: bool = False

    def __post_init__(self) -> None:
        checks.whole("count", self.count, at_least=1)
        lattice_rounding.drawable("scale", self.scale, most=None)
        checks.flag("monotone", self.monotone)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when no utility moves by more than `sensitivity`."""
        return repeat(
            bounded_range(self._log_ratio_range(sensitivity)), times=self.count
        )

    @property
    def error(self) -> Gap:
        """Worst-case gap of each choice below the best of those left."""
        return Exponential(self.scale, self.monotone).error

    def run(self, value: Any, *, source: Source = SECURE) -> NDArray[np.int64]:
        """Return the chosen places, best first."""
        left = scores(value)
        if left.size < self.count:
            raise InvalidArgument(
                f"value must have at least count={self.count} candidates."
            )
        places = np.arange(left.size)
        chosen = np.empty(self.count, dtype=np.int64)
        for turn in range(self.count):
            at = gumbel_argmax(left, self._exact, source=source)
            chosen[turn] = places[at]
            left, places = np.delete(left, at), np.delete(places, at)
        return chosen

    @classmethod
    def _choices(cls, public: dict[str, Any]) -> int:
        return checks.whole("count", public.get("count"), at_least=1)
