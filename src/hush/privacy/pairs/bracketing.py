"""How a pair of laws is read: its loss law exactly, or between two finite pairs."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from hush.errors import InvalidArgument, NoBound
from hush.law import DiscreteGaussian, DiscreteLaplace, Law
from hush.privacy.discrete_pair import Atoms
from hush.privacy.pairs.densities import ContinuousLaplace, Density, Normal, Shifted
from hush.privacy.pld import discrete_loss
from hush.privacy.pld.gaussian_loss import GaussianLoss
from hush.privacy.pld.laplace_loss import LaplaceLoss
from hush.privacy.pld.loss_distribution import LossLaw
from hush.privacy.rounding import Floats, up

_TAIL = -150.0  # log of the mass beyond which outcomes are put together
_CELLS = 4000
_ONE_BY_ONE = 20_000


@final
@dataclass(frozen=True)
class Reading:
    """Loss laws above and below one ordered pair, and what else is known of it."""

    upper: LossLaw
    lower: LossLaw
    above: Atoms | None = None
    below: Atoms | None = None
    symmetric: bool = False
    rho: float = math.inf
    mu: float = math.inf


def exact(law: LossLaw, **known: float | bool) -> Reading:
    """Return the reading of a pair whose loss law is exact."""
    return Reading(law, law, **known)  # type: ignore[arg-type]


def finite(above: Atoms, below: Atoms, **known: float | bool) -> Reading:
    """Return the reading between two finite pairs."""
    upper, lower = discrete_loss.of(above), discrete_loss.of(below)
    return Reading(upper, lower, above, below, **known)  # type: ignore[arg-type]


def normal(p: Normal, q: Normal) -> Reading:
    """Two Gaussians of one variance."""
    if p.std != q.std:
        raise NoBound(
            f"two Gaussians of different std ({p.std:g}, {q.std:g}) need Density "
            "objects and the points where their ratio turns, in breaks."
        )
    mu = float(up(abs(p.mean - q.mean) / p.std, 2)) if p.mean != q.mean else 0.0
    if mu == 0:
        return table((1.0,), (1.0,))
    return exact(GaussianLoss(mu), symmetric=True, rho=float(up(mu * mu / 2)), mu=mu)


def laplace(p: ContinuousLaplace, q: ContinuousLaplace) -> Reading:
    """Two Laplace densities of one scale."""
    if p.scale != q.scale:
        raise NoBound("two Laplace laws of different scales need Density objects.")
    shift = abs(p.location - q.location) / p.scale
    if shift == 0:
        return table((1.0,), (1.0,))
    return exact(LaplaceLoss(scale=1 / shift), symmetric=True)


def table(p: tuple[object, ...], q: tuple[object, ...]) -> Reading:
    """Two tables of probabilities over the same outcomes."""
    from hush.privacy.pld.discrete_loss import AtomsLoss

    law = AtomsLoss.of(p, q)
    order = np.argsort(law.losses, kind="stable")
    losses = np.array(law.losses)[order]
    masses = np.exp(np.array(law.log_probabilities)[order])
    pair = Atoms(losses, masses, law.infinite_mass, law.absent_mass)
    # The same losses from both sides: neither order is worse.
    other = pair.reversed
    same = losses.size == other.losses.size and bool(
        np.allclose(losses, other.losses, rtol=1e-15, atol=0)
        and np.allclose(masses, other.masses, rtol=1e-14, atol=0)
        and pair.p_only == pair.q_only
    )
    return Reading(law, law, pair, pair, symmetric=same)


def integers(p: Law, q: Law) -> Reading:
    """Two laws on the integers: outcome by outcome, the far tails put together."""
    by = p.by if isinstance(p, Shifted) and p.law == q else 0
    if isinstance(q, DiscreteLaplace) and 0 < by <= _CELLS:
        return _discrete_laplace(q, by)
    low, high = _range(p, q)
    if high - low > 4_000_000:
        raise NoBound(
            f"the laws spread over {high - low} integers; at most 4000000 are read one "
            "by one. Use a coarser lattice, or the continuous law where it is "
            "proven to cover."
        )
    k = np.arange(low, high + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p, log_q = np.asarray(p.log_pmf(k)), np.asarray(q.log_pmf(k))
    below = [
        (math.exp(r.log_cdf(low - 1)), math.exp(r.log_survival(high))) for r in (p, q)
    ]
    (p_left, p_right), (q_left, q_right) = below
    known: dict[str, float | bool] = {}
    if by > 0 and isinstance(q, DiscreteGaussian):
        # [CKS20] Theorem 14: the integer Gaussian has the ρ of the continuous one.
        known = {"symmetric": True, "rho": float(up(0.5 * (by / float(q.std)) ** 2))}
    upper, lower = _cells(log_p, log_q)
    outside_p, outside_q = p_left + p_right, q_left + q_right
    above = Atoms(upper.losses, upper.masses, upper.p_only + outside_p, outside_q)
    tails = Atoms.of([p_left, p_right], [q_left, q_right])
    joined = np.argsort(np.append(lower.losses, tails.losses), kind="stable")
    return finite(
        Atoms(above.losses, above.masses, above.p_only, above.q_only + upper.q_only),
        Atoms(
            np.append(lower.losses, tails.losses)[joined],
            np.append(lower.masses, tails.masses)[joined],
            lower.p_only + tails.p_only,
            lower.q_only + tails.q_only,
        ),
        **known,
    )


def _discrete_laplace(law: DiscreteLaplace, by: int) -> Reading:
    """X + by against X: the loss is constant outside (0, by): by + 1 atoms."""
    inner = np.arange(1, by)
    losses = [float(Fraction(2 * int(k) - by) / law.scale) for k in range(by + 1)]
    masses = np.concatenate(
        [[law.cdf(-by)], np.asarray(law.pmf(inner - by)).ravel(), [law.survival(-1)]]
    )
    pair = Atoms(np.array(losses), masses)
    return Reading(
        discrete_loss.of(pair), discrete_loss.of(pair), pair, pair, symmetric=True
    )


def _range(p: Law, q: Law) -> tuple[int, int]:
    """Return the integers outside which both laws have negligible mass."""
    ends = []
    for name, sign in (("log_cdf", -1), ("log_survival", 1)):
        found = []
        for law in (p, q):
            bound = law.support[0 if sign < 0 else 1]
            if bound is not None:
                found.append(bound)
                continue
            at, step = round(law.mean), 1
            while float(getattr(law, name)(at)) > _TAIL:
                at, step = at + sign * step, 2 * step
            found.append(at)
        ends.append(min(found) if sign < 0 else max(found))
    return ends[0], ends[1]


def _cells(log_p: Floats, log_q: Floats) -> tuple[Atoms, Atoms]:
    """Return finite pairs above and below, of at most _ONE_BY_ONE cells."""
    both = np.isfinite(log_p) & np.isfinite(log_q)
    p_only = float(np.exp(log_p[~np.isfinite(log_q)]).sum())
    q_only = float(np.exp(log_q[~np.isfinite(log_p)]).sum())
    log_p, log_q = log_p[both], log_q[both]
    loss = log_p - log_q
    # A loss is the difference of two rounded logarithms.
    blur = 4e-16 * (1 + np.abs(log_p) + np.abs(log_q))
    order = np.argsort(loss, kind="stable")
    size = max(1, math.ceil(loss.size / _ONE_BY_ONE))
    if size == 1:
        masses = np.exp(log_p)[order]
        upper = Atoms((loss + blur)[order], masses, p_only, q_only)
        return upper, Atoms((loss - blur)[order], masses, p_only, q_only)
    start = np.arange(0, loss.size, size)
    mass_p = np.add.reduceat(np.exp(log_p)[order], start)
    mass_q = np.add.reduceat(np.exp(log_q)[order], start)
    least = np.minimum.reduceat((loss - blur)[order], start)
    most = np.maximum.reduceat((loss + blur)[order], start)
    return spread(mass_p, mass_q, least, most, p_only, q_only)


def spread(
    mass_p: Floats,
    mass_q: Floats,
    least: Floats,
    most: Floats,
    p_only: float,
    q_only: float,
) -> tuple[Atoms, Atoms]:
    """Return pairs above and below cells of known masses and extreme losses.

    Above: within a cell the ratio is moved to its extremes, a mean-preserving spread.
    Below: the outcomes of a cell are merged, which is post-processing.
    """
    keep = (mass_p > 0) & (mass_q > 0)
    mass_p, mass_q, least, most = mass_p[keep], mass_q[keep], least[keep], most[keep]
    mean = np.log(mass_p) - np.log(mass_q)
    width = most - least
    with np.errstate(divide="ignore", invalid="ignore"):
        # q on the upper end: (p - q e^least)/(e^most - e^least), times e^most for P.
        share = np.expm1(mean - least) / np.expm1(width)
        high = np.where(width > 1e-12, np.clip(share, 0.0, 1.0), 1.0)
    top = np.minimum(high * mass_q * np.exp(most), mass_p)
    order = np.argsort(np.concatenate([least, most]), kind="stable")
    losses = np.concatenate([least, most])[order]
    masses = np.concatenate([mass_p - top, top])[order]
    upper = Atoms(losses[masses > 0], masses[masses > 0], p_only, q_only)
    merged = np.argsort(mean, kind="stable")
    return upper, Atoms(mean[merged], mass_p[merged], p_only, q_only)


def densities(p: Density, q: Density, breaks: tuple[float, ...]) -> Reading:
    """Two densities whose ratio is monotone between `breaks`, cell by cell."""
    edges = _edges(p, q, breaks)
    cdf = [np.asarray(each.cdf(edges), dtype=np.float64) for each in (p, q)]
    sf = [np.asarray(each.survival(edges), dtype=np.float64) for each in (p, q)]
    mass = [
        np.maximum(np.where(c[1:] < 0.5, np.diff(c), -np.diff(s)), 0.0)
        for c, s in zip(cdf, sf, strict=True)
    ]
    # One-sided limits at an edge: ratios just inside the cell.
    inside = 1e-12 * np.diff(edges)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = [
            np.asarray(p.log_pdf(x)) - np.asarray(q.log_pdf(x))
            for x in (edges[:-1] + inside, edges[1:] - inside)
        ]
        mean = np.log(mass[0]) - np.log(mass[1])
    least, most = np.minimum(*ends), np.maximum(*ends)
    # Rounding of a mass near a flat spot of the density must not look like a turn.
    slack = 1e-9 + 1e-15 / np.maximum(np.minimum(*mass), 1e-300)
    turned = (mean < least - slack) | (mean > most + slack)
    if np.any(turned & (np.minimum(*mass) > 1e-290)):
        at = edges[:-1][turned & (np.minimum(*mass) > 1e-290)][0]
        raise InvalidArgument(
            f"the ratio of the densities is not monotone near {at:g}: list in breaks "
            "every point where it turns or jumps."
        )
    least, most = np.minimum(least, mean) - 1e-12, np.maximum(most, mean) + 1e-12
    p_only = float(cdf[0][0] + sf[0][-1] + mass[0][mass[1] <= 0].sum())
    q_only = float(cdf[1][0] + sf[1][-1] + mass[1][mass[0] <= 0].sum())
    upper, lower = spread(mass[0], mass[1], least, most, p_only, q_only)
    return finite(upper, Atoms(lower.losses - 1e-12, lower.masses))


def _edges(p: Density, q: Density, breaks: tuple[float, ...]) -> Floats:
    """Return cell edges that follow both laws into their tails."""
    low = min(p.support[0], q.support[0])
    high = max(p.support[1], q.support[1])
    if math.isinf(low) or math.isinf(high):
        reach = 1.0
        for _ in range(200):
            tails = [
                float(tail)
                for each in (p, q)
                for tail in (
                    each.cdf(-reach) if math.isinf(low) else 0.0,
                    each.survival(reach) if math.isinf(high) else 0.0,
                )
            ]
            if max(tails) < 1e-40:
                break
            reach *= 1.5
        low, high = (
            (-reach if math.isinf(low) else low),
            (reach if math.isinf(high) else high),
        )
    u = np.linspace(math.asinh(low), math.asinh(high), _CELLS)
    edges = np.union1d(np.sinh(u), np.array(breaks, dtype=np.float64))
    return edges[(edges >= low) & (edges <= high)]
