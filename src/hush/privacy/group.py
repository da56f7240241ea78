"""Groups: from one person's guarantee to that of several, or of an exchange."""

import math
from fractions import Fraction

from hush import checks
from hush.privacy.approx import Approx
from hush.privacy.between import Between, FinitePair
from hush.privacy.chain import chain, symmetric, worse
from hush.privacy.curve import Curve, curved
from hush.privacy.gdp import GDP
from hush.privacy.pure import Pure
from hush.privacy.rounding import total_up, up
from hush.privacy.zcdp import ZCDP

_MOST = 1 << 63  # people: more than there are, and few enough for floats


def group(curve: Curve, size: int) -> Curve:
    """Return the protection of any `size` people at once.

    Guarantee: neighbors at distance `size` satisfy the returned curve.

    Example:
        >>> group(Pure(epsilon=0.5), size=2)
        Pure(epsilon=1.0)
        >>> group(GDP(mu=0.5), size=3)
        GDP(mu=1.5)

    Reference: [DR14] Theorem 2.2; [DRS22] Theorem 2.14 (N13.T3); [BS16] Prop. 1.9.
    """
    curved("curve", curve)
    size = checks.whole("size", size, at_least=0, at_most=_MOST)
    if size == 0:
        return Pure(epsilon=0.0)
    if size == 1:
        return curve
    if isinstance(curve, Pure):
        return Pure(epsilon=_times(curve.epsilon, size))
    if isinstance(curve, GDP):
        return GDP(mu=_times(curve.mu, size))
    if isinstance(curve, ZCDP):
        return ZCDP(rho=_times(curve.rho, size * size))
    if isinstance(curve, Approx):
        return _approx(curve, size)
    return geometric(curve, size)


def geometric(curve: Curve, size: int) -> Curve:
    """Return 1 - (1-f)^{∘size}, the tightest curve for a group, by its polygon.

    For pure and approximate privacy it is sharper than the closed form of `group`.

    Example:
        >>> f"{geometric(Pure(epsilon=1.0), 2).total_variation():.4f}"
        '0.6321'
        >>> f"{group(Pure(epsilon=1.0), 2).total_variation():.4f}"
        '0.7616'

    Reference: [DRS22] Theorem 2.14 (N13.T3, N13.L10, N13.L11).
    """
    size = checks.whole("size", size, at_least=1)
    found = []
    for pair, upper in ((curve.atoms_above, True), (curve.atoms_below, False)):
        step = pair if curve.symmetric else worse(pair, upper=upper)
        whole = step
        for _ in range(size - 1):
            whole = chain(whole, step, upper=upper)
        found.append(FinitePair.of(symmetric(whole, upper=upper)))
    return Between(found[0], found[1], name=f"group({curve!r}, size={size})")


def replace_one(curve: Curve) -> Curve:
    """Return the guarantee for an exchanged person from that of add/remove.

    Guarantee: an exchange is a removal followed by an addition.

    Example:
        >>> f"{replace_one(GDP(mu=1.0)).epsilon_at(1e-5):.3f}"
        '9.997'
        >>> replace_one(Pure(epsilon=1.0))
        Pure(epsilon=2.0)

    Reference: N4.1, N4.2 (f(1-f)); [DRS22] Lemma A.5.
    """
    if curved("curve", curve).symmetric:
        return group(curve, 2)
    found = []
    for pair, upper in ((curve.atoms_above, True), (curve.atoms_below, False)):
        # Through the data without either person, and the same the other way round.
        whole = chain(pair, pair.reversed, upper=upper)
        found.append(FinitePair.of(symmetric(whole, upper=upper)))
    return Between(found[0], found[1], name=f"replace_one({curve!r})")


def _times(value: float, size: int) -> float:
    return value if math.isinf(value) else total_up([size * Fraction(value)])


def _approx(curve: Approx, size: int) -> Curve:
    """Return (kε, δ (e^kε - 1)/(e^ε - 1)) (N3.2g)."""
    epsilon, delta = curve.epsilon, curve.delta
    if math.isinf(epsilon):
        return curve
    if size * epsilon > 700:
        return Pure(epsilon=math.inf if delta > 0 else _times(epsilon, size))
    grown = math.expm1(size * epsilon) / math.expm1(epsilon) if epsilon > 0 else size
    total = float(up(delta * grown, 8))
    if total >= 1:
        return Pure(epsilon=math.inf)
    return Approx(epsilon=_times(epsilon, size), delta=total)
