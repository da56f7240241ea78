"""Gaussian differential privacy: no easier to tell apart than N(0,1) and N(μ,1)."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np
import scipy

from hush import checks, suggestions
from hush.privacy.curve import Bracket, Curve, Direction
from hush.privacy.discrete_pair import Atoms
from hush.privacy.rounding import Floats, down, total_up, up
from hush.serialization import tagged

if TYPE_CHECKING:
    from hush.privacy.pld.loss_distribution import Components

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_TINY = 1e-323  # the grain of the smallest floats


def log_delta(mu: float, epsilon: Floats) -> Floats:
    """Return log(Φ(-a) - e^ε Φ(-b)), a = ε/μ - μ/2, b = a + μ, without cancellation.

    With Mills' ratio R this is φ(a)(R(a) - R(b)) = φ(a) ∫_a^b (1 - xR(x)) dx.
    """
    a = epsilon / mu - mu / 2
    b = a + mu
    # R(x) = (1 - Φ(x))/φ(x) = √(π/2) erfcx(x/√2)
    size, root, erfcx = math.sqrt(math.pi / 2), math.sqrt(2), scipy.special.erfcx
    with np.errstate(all="ignore"):
        if mu < 0.5:
            x = a[..., None] + mu * (_NODES + 1) / 2
            # 1 - xR(x) loses x² units; its asymptotic series takes over for x > 30.
            y = 1 / (x * x)
            # It ends with a positive term, so it lies above: by 5e-15 of itself at 30.
            far = 945 - y * (10395 - 135135 * y)
            far = y * (1 - y * (3 - y * (15 - y * (105 - y * far))))
            near = 1 - x * (size * erfcx(np.minimum(x, 31.0) / root))
            gap = np.where(x > 30, far, near) @ _WEIGHTS * (mu / 2)
            return np.asarray(np.log(gap) - a * a / 2 - 0.5 * math.log(2 * math.pi))
        density = np.exp(-a * a / 2) / math.sqrt(2 * math.pi)
        beyond = size * erfcx(b / root)
        left = np.log(scipy.special.ndtr(-a) - density * beyond)
        gap = size * erfcx(np.maximum(a, 0.0) / root) - beyond
        right = np.log(gap) - a * a / 2 - 0.5 * math.log(2 * math.pi)
        return np.where(a < 0, left, right)


@final
@tagged("gdp/1")
@dataclass(frozen=True, repr=False)
class GDP(Curve):
    """μ-Gaussian differential privacy.

    Guarantee: every test between neighbors has type II error at least
    Φ(Φ⁻¹(1-α) - μ); noise of standard deviation Δ/μ on a sensitivity-Δ value reaches
    it.

    Example:
        >>> c = GDP(mu=1.0)
        >>> f"{c.delta_at(20.0):.6e}", c.rho
        ('2.664707e-86', 0.5)

    Reference: [DRS22]; δ(ε) [BW18] Theorem 8.
    """

    _near_arguments = suggestions.GDP
    mu: float = field()

    def __post_init__(self) -> None:
        value = checks.real("mu", self.mu, at_least=0, infinite=True)
        object.__setattr__(self, "mu", value)
        object.__setattr__(self, "rho", self._renyi(1.0))

    def __repr__(self) -> str:
        return f"GDP(mu={self.mu!r})"

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket δ in closed form."""
        if self.mu == 0 or math.isinf(self.mu):
            value = np.full(np.shape(epsilon), 0.0 if self.mu == 0 else 1.0)
            return value, value
        finite = np.where(np.isinf(epsilon), 1.0, epsilon)
        # NaN where numbers leave the range of floats.
        with np.errstate(over="ignore", invalid="ignore"):
            a = finite / self.mu - self.mu / 2
            exact = np.exp(log_delta(self.mu, np.asarray(finite)))
            # Rounding: that of a²/2 in the exponent, where a itself is rounded, and
            # that of the bracket, which loses up to 100 units before the series.
            spread = np.abs(finite) / self.mu + self.mu
            size = 2 * (spread * np.abs(a))
            slack = (300 + size + 300 / min(self.mu, 1.0) * (self.mu >= 0.5)) * 2.0**-52
            lower, upper = exact * (1 - slack) - _TINY, exact * (1 + slack) + _TINY
            # δ <= Φ(-a) <= exp(-a²/2)/2, and a is rounded by at most spread·2^-51: from
            # 46 on, with 11 good bits, less than the smallest float. Infinite: beyond.
            gone = (a > 46) & (a > spread * 2.0**-40) | (a == math.inf)
            lower, upper = np.where(gone, 0.0, lower), np.where(gone, _TINY, upper)
        # δ of ε >= 0 is the total variation at most: 2Φ(μ/2) - 1 < 0.39895·μ.
        most = np.where(finite >= 0, min(1.0, 0.39895 * self.mu + _TINY), 1.0)
        lower = np.where(np.isnan(lower), 0.0, np.maximum(lower, 0.0))
        upper = np.where(np.isnan(upper), most, np.minimum(upper, 1.0))
        zero = np.isinf(epsilon)
        return np.where(zero, 0.0, lower), np.where(zero, 0.0, upper)

    def _epsilon(self, delta: float) -> float:
        return _solve(self, delta, side=1)

    def _epsilon_lower(self, delta: float) -> float:
        return _solve(self, delta, side=0)

    def _tradeoff(self, alpha: float) -> float:
        if math.isinf(self.mu) or alpha in (0.0, 1.0):
            return 0.0 if alpha > 0 else 1.0
        # -Φ⁻¹(α) is Φ⁻¹(1-α) without its rounding.
        z = float(scipy.special.ndtri(alpha))
        return float(down(scipy.special.ndtr(-z - self.mu), 64 + 8 * z * z))

    def _tradeoff_upper(self, alpha: float) -> float:
        if alpha in (0.0, 1.0):
            return 1.0 - alpha
        z = float(scipy.special.ndtri(alpha))
        return float(up(scipy.special.ndtr(-z - self.mu), 64 + 8 * z * z))

    def _renyi(self, order: float) -> float:
        if self.mu == 0 or math.isinf(max(self.mu, order)):
            return self.mu and math.inf
        try:
            return total_up([Fraction(order) * Fraction(self.mu) ** 2 / 2])
        except OverflowError:
            return math.inf

    def _renyi_lower(self, order: float) -> float:
        found = self._renyi(order)
        return found if math.isinf(found) else float(down(found, 1))

    def components(self) -> "tuple[Components, Components]":
        """Return the Gaussian loss N(μ²/2, μ²)."""
        from hush.privacy.pld.gaussian_loss import GaussianLoss

        if self.mu == 0:
            return (), ()
        if math.isinf(self.mu):
            from hush.privacy.pld import discrete_loss

            return discrete_loss.both(Atoms(np.empty(0), np.empty(0), 1.0, 1.0))
        law = GaussianLoss(self.mu)
        return ((law, 1),), ((law, 1),)

    def components_lower(self) -> "tuple[Components, Components]":
        """Return the same laws as `components`: the pair is exact."""
        return self.components()


def _solve(curve: GDP, delta: float, side: int) -> float:
    """Return ε with δ(ε) = δ by Newton on log δ, moved to the sound side."""
    at_zero = float(curve.profile(Direction.REMOVE, np.zeros(()))[side])
    if delta >= 1 or at_zero <= delta:
        return 0.0
    if delta == 0 or math.isinf(curve.mu):
        return math.inf
    mu, target = curve.mu, math.log(delta)
    # From the right end of the tail, where log δ is concave, Newton is monotone.
    epsilon = mu * mu / 2 + mu * math.sqrt(max(-2 * target, 0.0))
    for _ in range(100):
        value = float(log_delta(mu, np.asarray(epsilon)))
        # d log δ/dε = -e^ε Φ(-b)/δ
        tail = epsilon + float(scipy.special.log_ndtr(-(epsilon / mu + mu / 2)))
        slope = math.exp(min(tail - value, 700.0))
        step = (value - target) / slope if slope else math.inf
        if not math.isfinite(step):
            break
        epsilon = max(epsilon + step, epsilon / 8)
        if abs(step) <= 1e-15 * epsilon:
            break
    nudge = 1e-15
    while nudge < 1.0:
        moved = epsilon * (1 + nudge) if side else epsilon * (1 - nudge)
        found = float(curve.profile(Direction.REMOVE, np.asarray(moved))[side])
        if (found <= delta) if side else (found >= delta):
            return moved
        nudge *= 2
    return math.inf if side else 0.0
