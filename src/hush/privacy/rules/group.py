"""Group privacy: from one person's guarantee to that of several, or of an exchange."""

import math
from fractions import Fraction

import numpy as np

from hush import checks
from hush.privacy.curve import Curve, checked_curve
from hush.privacy.discrete_pair import GUARD, Atoms, corners_of, pair_of_sides
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.gdp import GDP
from hush.privacy.notions.pure import Pure
from hush.privacy.notions.zcdp import ZCDP
from hush.privacy.pairs.curve_interval import Between, FinitePair
from hush.privacy.rounding import ULP, Floats, total_up, up

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
    checked_curve("curve", curve)
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
    if checked_curve("curve", curve).symmetric:
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


# -- Chains: how well a neighbor's neighbor can be told apart, loss by loss ------------
#
# A test of level x against D' has some power y on the data between, and a test of
# level y there has some power z against D. Best tests take outcomes by falling loss,
# so the chain lays the two orders over the same masses of the law between: a piece
# with the losses L and M has the loss L + M. Losses are added and masses are cut,
# nothing is subtracted, so that the smallest δ keeps its digits.

_CHAIN_MOST = 4000  # knots of a pair that many steps have made
_SMALL = 1e-280  # masses near the smallest float, whose ratios have lost their digits


def chain(outer: Atoms, inner: Atoms, *, upper: bool) -> Atoms:
    """Return the pair of D and D' from D against between, and between against D'.

    Guarantee: the best power is outer(inner(x)), to `rounding` relative in every δ.
    A boundary at mass c is known to a few ULP of c, and δ is the sum of c times the
    fall of the integrand there, so that no error exceeds its share.

    Reference: [DRS22] Theorem 2.14 (N13.L11).
    """
    high, low = outer.losses[::-1], inner.losses[::-1]
    level = outer.masses[::-1] * np.exp(-high)  # of the law between
    power = inner.masses[::-1]
    surely = float(outer.masses[::-1][level < _SMALL].sum()) if upper else 0.0
    high, level = high[level >= _SMALL], level[level >= _SMALL]
    first = np.cumsum(level)
    second = np.cumsum(np.append(inner.p_only, power))
    ends = np.union1d(first, second)
    starts = np.append(0.0, ends[:-1])
    i = np.searchsorted(first, starts, side="right")
    j = np.searchsorted(second, starts, side="right") - 1  # -1: what only D' lacks
    mass = ends - starts
    kept = (mass > 0) & (j < power.size)
    i, j, mass = i[kept], j[kept], mass[kept]
    both = (i < level.size) & (j >= 0)
    lost = (i == level.size) & (j >= 0)  # never taken by a test of D
    sure = (i < level.size) & (j < 0)
    losses = high[i[both]] + low[j[both]]
    order = np.argsort(losses, kind="stable")
    return Atoms(
        losses[order],
        (mass[both] * np.exp(high[i[both]]))[order],
        outer.p_only + surely + float(mass[sure] @ np.exp(high[i[sure]])),
        inner.q_only + float(mass[lost] @ np.exp(-low[j[lost]])),
    )


def rounding(pair: Atoms) -> float:
    """Return how far, relatively, sums and exponents of a chain may be off."""
    top = float(np.abs(pair.losses).max(initial=0.0))
    return GUARD + 8 * ULP * (pair.losses.size + top)


def profile_corners(pair: Atoms) -> tuple[Floats, Floats]:
    """Return where δ of a pair bends, from ε = 0 up, and δ there: only sums."""
    inside = pair.losses > 0
    knots, where = np.unique(pair.losses[inside], return_inverse=True)
    held = np.bincount(where, pair.masses[inside], knots.size)
    knots, held = np.append(0.0, knots), np.append(0.0, held)
    delta = [float(pair.p_only)]
    above = 0.0  # e^ε times the mass that Q has above ε
    steps = zip(held[:0:-1].tolist(), np.diff(knots)[::-1].tolist(), strict=True)
    for mass, step in steps:
        above += mass
        delta.append(delta[-1] - above * math.expm1(-step))
        above *= math.exp(-step)
    return knots, np.array(delta[::-1])


def worse(pair: Atoms, *, upper: bool) -> Atoms:
    """Return a symmetric pair with the larger δ of both directions."""
    knots = np.unique(np.append(0.0, np.abs(pair.losses)))
    gap = pair.hockey(knots) - pair.reversed.hockey(knots)
    # Between knots both are linear in e^ε: they may cross once in a cell.
    cell = np.nonzero(gap[:-1] * gap[1:] < 0)[0]
    share = gap[cell] / (gap[cell] - gap[cell + 1])
    cross = knots[cell] + np.log1p(share * np.expm1(knots[cell + 1] - knots[cell]))
    knots = np.union1d(knots, cross)
    return _symmetric_pair(knots, _larger(pair, knots), rounding(pair), upper=upper)


def _larger(pair: Atoms, knots: Floats) -> Floats:
    found: Floats = np.maximum(pair.hockey(knots), pair.reversed.hockey(knots))
    return found


def symmetric(pair: Atoms, *, upper: bool) -> Atoms:
    """Return a pair whose δ is, in both directions, that of `pair` from P to Q."""
    knots, delta = profile_corners(pair)
    if upper and knots.size > _CHAIN_MOST:  # a polygon through fewer points lies above
        some = np.unique(np.linspace(0, knots.size - 1, _CHAIN_MOST).astype(np.int64))
        knots, delta = knots[some], delta[some]
    return _symmetric_pair(knots, delta, rounding(pair), upper=upper)


def _symmetric_pair(
    knots: Floats, delta: Floats, error: float, *, upper: bool
) -> Atoms:
    """Return the symmetric pair through the corners of a convex profile."""
    side, short = corners_of(knots, np.minimum(delta, 1.0))
    if upper:
        return pair_of_sides(side, side, float(short.max(initial=1.0)) * (1 + error))
    return pair_of_sides(side, side, float(short.min(initial=1.0)) * (1 - error))
