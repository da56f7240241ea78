"""Randomized response: the truth with a known probability, otherwise another answer."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np

from hush import checks, law
from hush.errors import InvalidArgument
from hush.mechanisms.error import Error
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.metrics import Hamming, Metric
from hush.noise import SECURE, Source, bernoulli, integers
from hush.privacy.curve import Curve
from hush.privacy.notions.pure import Pure
from hush.privacy.pairs.dominating import Pair
from hush.privacy.rounding import at_most
from hush.privacy.rules.composition import repeat
from hush.serialization import tagged


@final
@tagged("randomized_response/1")
@dataclass(frozen=True, repr=False)
class RandomizedResponse(Mechanism):
    """Answer truthfully with probability `honesty`, else one of the other answers.

    Answers are 0..categories-1 (True and False stay so); arrays are randomized entry by
    entry, and `curve(sensitivity)` counts the entries that differ.

    Guarantee: ε = log(honesty·(categories-1)/(1-honesty)), and the exact curve.

    Example:
        >>> from fractions import Fraction
        >>> m = RandomizedResponse(honesty=Fraction(3, 4))
        >>> f"{m.curve().epsilon_at(0):.4f}", type(m.run(True))
        ('1.0986', <class 'bool'>)

    Reference: [W65]; N3.1 (honesty = 1 - p/2).
    """

    independent: ClassVar[bool] = True

    noise: ClassVar[str] = "doubt"
    honesty: float | Fraction
    categories: int = 2

    @property
    def metric(self) -> Metric:
        """The number of places that differ."""
        return Hamming()

    def __post_init__(self) -> None:
        k = checks.whole("categories", self.categories, at_least=2)
        checks.real("honesty", self.honesty, at_least=0, below=1)
        if self._honesty * k < 1:
            raise InvalidArgument(
                f"honesty must be at least 1/{k}, the chance of a blind guess; got "
                f"{self.honesty!r}."
            )

    @property
    def _honesty(self) -> Fraction:
        return checks.probability("honesty", self.honesty)

    @property
    def _chance_of_other(self) -> Fraction:
        """Chance of each false answer."""
        return (1 - self._honesty) / (self.categories - 1)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the exact guarantee when `sensitivity` answers differ."""
        times = checks.whole("sensitivity", sensitivity, at_least=0)
        rest = (
            (1 - self._honesty - self._chance_of_other,) if self.categories > 2 else ()
        )
        pair = Pair(
            (self._honesty, self._chance_of_other, *rest),
            (self._chance_of_other, self._honesty, *rest),
        )
        if self._honesty == self._chance_of_other or times == 0:
            return Pure(epsilon=0.0)
        return pair if times == 1 else repeat(pair, times=times)

    @property
    def error(self) -> Error:
        """Law of being wrong: 0 for an honest answer, 1 for another."""
        return Error(((law.Finite((self._honesty, 1 - self._honesty)), Fraction(1)),))

    def run(self, value: Any, *, source: Source = SECURE) -> Any:
        """Return randomized answers, entry by entry."""
        array = np.asarray(value)
        if array.dtype.kind not in "iub" or np.any(
            (array < 0) | (array >= self.categories)
        ):
            raise InvalidArgument(
                f"value must hold answers 0..{self.categories - 1}. Map others first."
            )
        size = array.shape
        lie = ~bernoulli(self._honesty, size, source=source)
        other = 1 + integers(self.categories - 1, size, source=source)
        answer = (array.astype(np.int64) + lie * other) % self.categories
        answer = answer.astype(np.bool_ if array.dtype.kind == "b" else np.int64)
        return answer.item() if array.ndim == 0 else answer

    @classmethod
    def for_curve(cls, target: Curve, sensitivity: Any = 1, **public: Any) -> Self:
        """Return the most honest response that meets `target`, here Pure."""
        if not isinstance(target, Pure):
            raise InvalidArgument(
                f"target must be Pure; got {type(target).__name__}. Randomized "
                "response is pure: read the epsilon you need from your target."
            )
        k = checks.whole("categories", public.get("categories", 2), at_least=2)
        times = checks.whole("sensitivity", sensitivity, at_least=1)
        # e^ε/(e^ε + k - 1), rounded down by far more than its rounding error.
        honest = 1 / (1 + (k - 1) * math.exp(-float(target.epsilon) / times))
        return cls(max(at_most(Fraction(honest * (1 - 2.0**-50))), 1 / k), **public)

    @classmethod
    def for_accuracy(
        cls, within: float, level: float = 0.95, sensitivity: Any = 1, **public: Any
    ) -> Self:
        """Return the response that is honest with probability `level`."""
        checks.real("within", within, at_least=0, below=1)
        checks.whole("sensitivity", sensitivity, at_least=0)
        return cls(checks.real("level", level, above=0, below=1), **public)
