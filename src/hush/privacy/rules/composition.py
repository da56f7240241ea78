"""Composition: what several releases about the same people reveal together."""

import math
from fractions import Fraction

from hush import checks, suggestions
from hush.errors import InvalidArgument
from hush.privacy.curve import Curve, curved
from hush.privacy.notions.approx import Approx
from hush.privacy.notions.gdp import GDP
from hush.privacy.notions.pure import Pure
from hush.privacy.notions.rdp import RDP
from hush.privacy.notions.zcdp import ZCDP
from hush.privacy.rounding import total_up
from hush.privacy.rules.composed_loss import Loss

Counts = dict[Curve, int]
_MOST = 1 << 63  # runs: more than can ever be made, and few enough for floats


def compose(*curves: Curve) -> Curve:
    """Return the guarantee of all mechanisms together, as tight as it is known.

    Each mechanism may depend on the answers before it; its curve may not.

    Guarantee: closed forms for Gaussian, zero-concentrated and Rényi curves among
    themselves; otherwise products of dominating pairs, bracketed by the engines.

    Example:
        >>> compose(GDP(mu=3.0), GDP(mu=4.0))
        GDP(mu=5.0)
        >>> compose(Pure(epsilon=0.5), Pure(epsilon=0.5))
        compose(Pure(epsilon=0.5) * 2)

    Reference: [DRS22] Theorem 3.2; [BS16] Lemma 1.7; [M17] Proposition 1.
    """
    return _compose([(curved("each part", each), 1) for each in curves])


@suggestions.with_argument_hints({})
def repeat(curve: Curve, times: int) -> Curve:
    """Return the guarantee of `times` runs of mechanisms with this curve.

    Example:
        >>> repeat(GDP(mu=0.5), times=16)
        GDP(mu=2.0)
        >>> f"{repeat(Pure(epsilon=0.1), times=100).epsilon_at(1e-6):.4f}"
        '4.7746'
    """
    curved("curve", curve)
    times = checks.whole("times", times, at_least=0, at_most=_MOST)
    return _compose([(curve, times)] if times else [])


def _compose(listed: list[tuple[Curve, int]]) -> Curve:
    counts: dict[Curve, int] = {}
    for curve, times in listed:
        inner = curve.parts if isinstance(curve, Loss) else ((curve, 1),)
        for part, count in inner:
            counts[part] = counts.get(part, 0) + count * times
    counts = {c: k for c, k in counts.items() if not _silent(c)}
    if not counts:
        return Pure(epsilon=0.0)
    gaussian: Counts = {c: k for c, k in counts.items() if isinstance(c, GDP)}
    moments: Counts = {c: k for c, k in counts.items() if isinstance(c, ZCDP | RDP)}
    parts = [(c, k) for c, k in counts.items() if not isinstance(c, GDP | ZCDP | RDP)]
    if gaussian:
        parts.append((_gaussian(gaussian), 1))
    if moments:
        parts.append((_moments(moments), 1))
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    return Loss(tuple(parts))


def _silent(curve: Curve) -> bool:
    return isinstance(curve, Pure | Approx) and curve.epsilon_at(0.0) == 0.0


def _gaussian(counts: dict[Curve, int]) -> GDP:
    """Return √(Σ k μ²), the smallest float that is not below it."""
    if any(math.isinf(c.mu) for c in counts):
        return GDP(mu=math.inf)
    total = sum((k * Fraction(c.mu) ** 2 for c, k in counts.items()), Fraction())
    root = math.sqrt(float(total))
    while Fraction(root) ** 2 < total:
        root = math.nextafter(root, math.inf)
    return GDP(mu=root)


def _moments(counts: dict[Curve, int]) -> Curve:
    """Return Σ k D_α: as ρ-zCDP while all parts are, as a Rényi curve otherwise."""
    if any(math.isinf(c.rho) for c in counts if isinstance(c, ZCDP)):
        return ZCDP(rho=math.inf)
    if all(isinstance(c, ZCDP) for c in counts):
        return ZCDP(rho=total_up([k * Fraction(c.rho) for c, k in counts.items()]))
    if len(counts) == 1 and next(iter(counts.values())) == 1:
        return next(iter(counts))
    pairs = tuple(counts.items())

    def total(order: float) -> float:
        found = math.fsum(k * float(c.renyi_at(order)) for c, k in pairs)
        return found * (1 + 2.0**-50)

    return RDP(total)


def basic(*curves: Curve) -> Curve:
    """Return (Σε, Σδ): basic composition, valid even for parameters chosen on the way.

    Example:
        >>> basic(Pure(epsilon=0.5), Approx(epsilon=1.0, delta=1e-6))
        Approx(epsilon=1.5, delta=1e-06)

    Reference: [DR14] Theorem 3.16 (N3.3, L.comp).
    """
    for each in curves:
        if not isinstance(each, Pure | Approx):
            raise InvalidArgument(
                f"basic adds (ε, δ); got {each!r}. Give Approx(c.epsilon_at(δ), δ)."
            )
    losses = [each.epsilon for each in curves if isinstance(each, Pure | Approx)]
    failures = [each.delta for each in curves if isinstance(each, Approx)]
    if any(math.isinf(value) for value in losses):
        return Pure(epsilon=math.inf)
    delta = total_up([Fraction(value) for value in failures])
    epsilon = total_up([Fraction(value) for value in losses])
    if delta >= 1:
        return Pure(epsilon=math.inf)
    return Approx(epsilon, delta) if failures else Pure(epsilon)
