"""Expected totals from noisy totals: people come by chance, and the noise is known."""

from dataclasses import dataclass, field
from typing import Any, final

from hush import checks
from hush.inference.additive_noise import Additive, number
from hush.inference.proportion import NoisyCount
from hush.inference.results import Interval
from hush.mechanisms.mechanism import Mechanism

# A binomial count of this many people is a Poisson count, but for parts in a billion.
_EVERYBODY = 1 << 40


@final
@dataclass(frozen=True)
class ExpectedTotal(Interval):
    """The expected total of independent contributions, each between 0 and `most`.

    `count` is the release in units of `most`, as a count of very many people.
    """

    count: NoisyCount = field(repr=False)
    most: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return ends that invert tests of a Poisson number with noise."""
        miss = (1 - checks.real("level", level, above=0, below=1)) / 2
        scale = self.most * _EVERYBODY
        low, high = self.count.theta(miss), self.count.theta(1 - miss)
        return scale * low, scale * high


def total_interval(
    released: Any,
    *,
    mechanism: Mechanism,
    most: float = 1.0,
    unit: float = 1.0,
    level: float = 0.95,
) -> ExpectedTotal:
    """Return the expected total behind a noisy count or sum.

    Each person adds between 0 and `most`: 1 for a count, the upper bound for a sum of
    values that are not negative. `mechanism` added its noise to whole multiples of
    `unit`. A total of values of both signs needs their spread; use the mean instead.

    Guarantee: if people come independently (a Poisson number of them) and each adds
    nothing or `most`, the interval misses on either side with probability
    (1 - level)/2, up to the atom of the release. Smaller contributions vary less, and
    are covered more often.

    Example:
        >>> from hush.mechanisms import Geometric
        >>> low, high = total_interval(100, mechanism=Geometric(scale=1))
        >>> round(low, 1), round(high, 1)
        (81.6, 121.3)

    Reference: docs/proofs/inference.md.
    """
    top = checks.real("most", most, above=0)
    value = number("released", released)
    checks.real("level", level, above=0, below=1)
    step = checks.real("unit", unit, above=0)
    whole = round(value / step)
    noise = Additive.of(mechanism, whole).scaled(step / top)
    # The middle of an atom: the same release has the same interval every time.
    count = NoisyCount(whole * (step / top), _EVERYBODY, noise, 0.5)
    sampling = max(value / top, 1.0)
    total = sampling + noise.std**2
    return ExpectedTotal(
        value, top * total**0.5, sampling**2 / total, level, count, top
    )
