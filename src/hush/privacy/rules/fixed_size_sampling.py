"""Sampling without replacement: a secret batch of fixed size."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from hush import checks, suggestions
from hush.errors import InvalidArgument
from hush.privacy.curve import Bracket, Curve, Direction, curved
from hush.privacy.notions.pure import Pure
from hush.privacy.pld.fixed_size_gaussian_loss import MirroredLoss
from hush.privacy.pld.gaussian_loss import GaussianLoss
from hush.privacy.rounding import Floats, total_up
from hush.privacy.rules.amplification import Amplified, thinned
from hush.privacy.rules.poisson_sampling import Sampled
from hush.serialization import tagged
from hush.units import Neighbors

if TYPE_CHECKING:
    from hush.privacy.pld.loss_distribution import LossLaw


@final
@tagged("fixed_size_sampled/1")
@dataclass(frozen=True, repr=False)
class Subset(Amplified):
    """A mechanism on a random batch, under replacement of one record.

    Guarantee: C_p(f), p = batch/records: the convex hull of min(f_p, f_p⁻¹), the same
    for both orders of neighbors, since either record may be the one that was replaced.

    Reference: [DRS22] Theorem 4.2 (N13.T7, N13.c2).
    """

    base: Curve
    batch: int
    records: int

    def __repr__(self) -> str:
        return f"fixed_size({self.base!r}, batch={self.batch}, records={self.records})"

    @property
    def rate(self) -> float:
        """The share of records in a batch, rounded up."""
        return total_up([Fraction(self.batch, self.records)])

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket δ = p δ_base(log(1 + (e^ε - 1)/p)), the larger mixture."""
        return thinned(_Level(self.base), self.rate, Direction.REMOVE, epsilon)

    @property
    def _rate(self) -> float:
        return self.rate

    def _laws(self, law: "LossLaw") -> "tuple[LossLaw, LossLaw] | None":
        if not isinstance(law, GaussianLoss):
            return None
        both = MirroredLoss(1 / law.mu, self.rate)
        return both, both


@final
@dataclass(frozen=True)
class _Level(Curve):
    """A curve's worse direction in both places."""

    curve: Curve

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket the worse δ."""
        return self.curve.delta_at_lower(epsilon), self.curve.delta_at(epsilon)


@suggestions.with_argument_hints({})
def fixed_size(
    curve: Curve,
    batch: int,
    records: int,
    *,
    neighbors: str | Neighbors = Neighbors.REPLACE_ONE,
) -> Curve:
    """Return the guarantee on a secret batch of `batch` out of `records` records.

    Guarantee: for replace-one neighbors (or add/remove, directions apart), given a
    curve for replacing one record *of the batch*; from one for add/remove take
    `replace_one(curve)` first.

    Example:
        >>> c = fixed_size(Pure(epsilon=1.0), batch=10, records=100)
        >>> f"{c.epsilon_at(0):.6f}"
        '0.158565'

    Reference: [DRS22] Theorem 4.2; [ZDW22] Theorem 11 (N13.T7, N14.T3).
    """
    curved("curve", curve)
    batch = checks.whole("batch", batch, at_least=0)
    records = checks.whole("records", records, at_least=1)
    if batch > records:
        raise InvalidArgument(
            f"batch must be at most records; got {batch} of {records}."
        )
    if batch == 0:
        return Pure(epsilon=0.0)
    if batch == records:
        return curve
    if Neighbors.of(neighbors) is Neighbors.ADD_REMOVE:
        return Sampled(curve, total_up([Fraction(batch, records)]))
    return Subset(curve, batch, records)
