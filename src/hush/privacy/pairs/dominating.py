"""A dominating pair: two laws at least as easy to tell apart as any neighbors.

Their loss law is known exactly, or they are bracketed by two finite pairs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

import numpy as np
from numpy.typing import ArrayLike

from hush import checks
from hush.errors import InvalidArgument, NoBound
from hush.law import DiscreteGaussian, DiscreteLaplace, Finite, Law
from hush.privacy.curve import Bracket, Curve, Direction
from hush.privacy.discrete_pair import Atoms
from hush.privacy.pairs.curve_interval import between
from hush.privacy.pld import discrete_loss
from hush.privacy.pld.gaussian_loss import GaussianLoss
from hush.privacy.pld.laplace_loss import LaplaceLoss
from hush.privacy.pld.loss_distribution import LossLaw
from hush.privacy.rounding import Floats, down, total_up, up
from hush.serialization import freeze, tagged, written_as

if TYPE_CHECKING:
    from hush.privacy.pld.loss_distribution import Components


# -- Laws to read a pair from: shifted integers, and densities on the line -------------


@final
@tagged("shifted/1")
@dataclass(frozen=True)
class Shifted(Law):
    """A law on the integers moved by a whole number.

    Example:
        >>> from hush.law import DiscreteLaplace
        >>> Shifted(DiscreteLaplace(2), 3).mean
        3.0
    """

    law: Law
    by: int

    def __post_init__(self) -> None:
        checks.whole("by", self.by)

    @property
    def support(self) -> tuple[int | None, int | None]:
        """The support of the law, moved."""
        low, high = self.law.support
        return (
            None if low is None else low + self.by,
            None if high is None else high + self.by,
        )

    @property
    def mean(self) -> float:
        """The mean of the law, moved."""
        return self.law.mean + self.by

    @property
    def variance(self) -> float:
        """The variance of the law."""
        return self.law.variance

    def log_pmf(self, k: ArrayLike) -> Any:
        """Return log P(X = k)."""
        return self.law.log_pmf(np.asarray(k) - self.by)

    def log_survival(self, k: ArrayLike) -> Any:
        """Return log P(X > k)."""
        return self.law.log_survival(np.asarray(k) - self.by)

    def log_cdf(self, k: ArrayLike) -> Any:
        """Return log P(X <= k)."""
        return self.law.log_cdf(np.asarray(k) - self.by)


@final
@dataclass(frozen=True)
class Density:
    """A law on the line by its log density, distribution and survival functions.

    All three take arrays. `survival` keeps the digits that 1 - cdf would lose.
    """

    log_pdf: Callable[[Any], Any]
    cdf: Callable[[Any], Any]
    survival: Callable[[Any], Any]
    support: tuple[float, float] = (-math.inf, math.inf)


@final
@tagged("normal/1")
@dataclass(frozen=True)
class Normal:
    """N(mean, std²), idealised: real numbers, for analysis."""

    mean: float
    std: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", checks.real("mean", self.mean))
        object.__setattr__(self, "std", checks.real("std", self.std, above=0))


@final
@tagged("continuous_laplace/1")
@dataclass(frozen=True)
class ContinuousLaplace:
    """Density exp(-|x - location|/scale)/(2 scale), idealised, for analysis."""

    location: float
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", checks.real("location", self.location))
        object.__setattr__(self, "scale", checks.real("scale", self.scale, above=0))


# -- Bracketing: the loss law of a pair exactly, or two finite pairs around it ---------

_TAIL = -150.0  # log of the mass beyond which outcomes are put together: 1e-65
_CELLS = 4000  # of two densities; also the largest shift that is listed loss by loss
_ONE_BY_ONE = 20_000  # outcomes, beyond which neighbors share a cell
_MOST_INTEGERS = 4_000_000  # outcomes that are read at all: some hundred megabytes


@final
@dataclass(frozen=True)
class Bracketing:
    """Loss laws above and below one ordered pair, and what else is known of it."""

    upper: LossLaw
    lower: LossLaw
    above: Atoms | None = None
    below: Atoms | None = None
    symmetric: bool = False
    rho: float = math.inf
    mu: float = math.inf


def exact_bracketing(law: LossLaw, **known: float | bool) -> Bracketing:
    """Return the bracketing of a pair whose loss law is exact."""
    return Bracketing(law, law, **known)  # type: ignore[arg-type]


def finite_bracketing(above: Atoms, below: Atoms, **known: float | bool) -> Bracketing:
    """Return the bracketing between two finite pairs."""
    upper, lower = discrete_loss.of(above), discrete_loss.of(below)
    return Bracketing(upper, lower, above, below, **known)  # type: ignore[arg-type]


def bracketing_of_normals(p: Normal, q: Normal) -> Bracketing:
    """Two Gaussians of one variance."""
    if p.std != q.std:
        raise NoBound(
            f"two Gaussians of different std ({p.std:g}, {q.std:g}) need Density "
            "objects and the points where their ratio turns, in breaks."
        )
    mu = float(up(abs(p.mean - q.mean) / p.std, 2)) if p.mean != q.mean else 0.0
    if mu == 0:
        return bracketing_of_tables((1.0,), (1.0,))
    return exact_bracketing(
        GaussianLoss(mu), symmetric=True, rho=float(up(mu * mu / 2)), mu=mu
    )


def bracketing_of_laplaces(p: ContinuousLaplace, q: ContinuousLaplace) -> Bracketing:
    """Two Laplace densities of one scale."""
    if p.scale != q.scale:
        raise NoBound("two Laplace laws of different scales need Density objects.")
    shift = abs(p.location - q.location) / p.scale
    if shift == 0:
        return bracketing_of_tables((1.0,), (1.0,))
    return exact_bracketing(LaplaceLoss(scale=1 / shift), symmetric=True)


def bracketing_of_tables(p: tuple[object, ...], q: tuple[object, ...]) -> Bracketing:
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
    return Bracketing(law, law, pair, pair, symmetric=same)


def bracketing_of_integers(p: Law, q: Law) -> Bracketing:
    """Two laws on the integers: outcome by outcome, the far tails put together."""
    by = p.by if isinstance(p, Shifted) and p.law == q else 0
    low, high = _range(p, q)
    if high - low > _MOST_INTEGERS:
        raise NoBound(
            f"the laws spread over {high - low} integers; at most {_MOST_INTEGERS} are "
            "read one by one. Use a coarser lattice, or the continuous law where it is "
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
    return finite_bracketing(
        Atoms(above.losses, above.masses, above.p_only, above.q_only + upper.q_only),
        Atoms(
            np.append(lower.losses, tails.losses)[joined],
            np.append(lower.masses, tails.masses)[joined],
            lower.p_only + tails.p_only,
            lower.q_only + tails.q_only,
        ),
        **known,
    )


def _is_shifted_laplace(p: Any, q: Any) -> bool:
    """Whether p is discrete Laplace noise q, moved by few steps enough to list."""
    moved = isinstance(p, Shifted) and isinstance(q, DiscreteLaplace) and p.law == q
    return moved and 0 < p.by <= _CELLS


def bracketing_of_shifted_laplace(p: Shifted, q: DiscreteLaplace) -> Bracketing:
    """X + by against X: the loss is constant outside (0, by): by + 1 atoms."""
    by, inner = p.by, np.arange(1, p.by)
    losses = np.array([float(Fraction(2 * k - by) / q.scale) for k in range(by + 1)])
    left, right = q.log_survival(by - 1), q.log_survival(-1)  # symmetric: P(X <= -by)
    logs = np.concatenate([[left], np.asarray(q.log_pmf(inner - by)).ravel(), [right]])
    pair = Atoms(losses, np.exp(logs))
    law = discrete_loss.of(pair)
    return Bracketing(law, law, pair, pair, symmetric=True)


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
    # A loss is the difference of two rounded logarithms, each off by two roundings.
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
    return pairs_around_cells(mass_p, mass_q, least, most, p_only, q_only)


def pairs_around_cells(
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


def bracketing_of_densities(
    p: Density, q: Density, breaks: tuple[float, ...]
) -> Bracketing:
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
    upper, lower = pairs_around_cells(mass[0], mass[1], least, most, p_only, q_only)
    return finite_bracketing(upper, Atoms(lower.losses - 1e-12, lower.masses))


def _edges(p: Density, q: Density, breaks: tuple[float, ...]) -> Floats:
    """Return cell edges that follow both laws into their tails."""
    low = min(p.support[0], q.support[0])
    high = max(p.support[1], q.support[1])
    if math.isinf(low) or math.isinf(high):
        reach = 1.0
        for _ in range(200):  # to 1.5^200 = 1e35, wherever a law with a tail has ended
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


# -- The pair as a curve ---------------------------------------------------------------

_BRACKETINGS: Final = (
    (Normal, bracketing_of_normals),
    (ContinuousLaplace, bracketing_of_laplaces),
    (Density, bracketing_of_densities),
    (tuple, bracketing_of_tables),
    (Law, bracketing_of_integers),
)


@final
@tagged("pair/1")
@dataclass(frozen=True, repr=False)
class Pair(Curve):
    """The guarantee of two output laws: `p` with the person, `q` without.

    `p` and `q` are laws on the integers, tables of probabilities over the same outcomes
    (fractions stay exact), or densities; for general densities `breaks` lists the
    points where their ratio turns or jumps.

    Guarantee: the hockey-sticks of (p, q) and of (q, p), for neighbors in the remove
    and in the add direction.

    Example:
        >>> yes, no = Fraction(3, 4), Fraction(1, 4)
        >>> response = Pair([yes, no], [no, yes])
        >>> f"{response.epsilon_at(0):.6f}"
        '1.098612'

    Reference: [ZDW22] Definition 7 (N14.def2).
    """

    p: Any
    q: Any
    breaks: tuple[float, ...] = ()
    _bracketing: ClassVar[Bracketing]  # of each pair, and no field: it is not stored

    def __post_init__(self) -> None:
        for name in ("p", "q"):
            value = getattr(self, name)
            if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
                object.__setattr__(self, name, tuple(_plain(each) for each in value))
        p, q = self.p, self.q
        one_kind = (f for k, f in _BRACKETINGS if isinstance(p, k) and isinstance(q, k))
        bracketing_of: Any = next(one_kind, None)
        if bracketing_of is None:
            raise InvalidArgument(
                f"p and q must be two laws of the same kind; got {type(p).__name__} "
                f"and {type(q).__name__}. Use laws on the integers, tables, or "
                "densities."
            )
        more = (self.breaks,) if isinstance(p, Density) else ()
        if _is_shifted_laplace(p, q):
            bracketing_of = bracketing_of_shifted_laplace
        # Bad laws are refused here, not when first asked.
        object.__setattr__(self, "_bracketing", bracketing_of(p, q, *more))

    @classmethod
    def laplace(cls, scale: float) -> "Pair":
        """Return the idealised continuous Laplace mechanism at sensitivity 1.

        Example:
            >>> f"{Pair.laplace(scale=2.0).delta_at(0.25):.4f}"
            '0.1175'
        """
        scale = checks.real("scale", scale, above=0)
        return cls(ContinuousLaplace(1.0, scale), ContinuousLaplace(0.0, scale))

    @classmethod
    def gaussian(cls, std: float) -> "Pair":
        """Return the idealised Gaussian mechanism at sensitivity 1.

        Example:
            >>> f"{Pair.gaussian(std=1.0).epsilon_at(1e-5):.5f}"
            '4.37718'
        """
        std = checks.real("std", std, above=0)
        return cls(Normal(1.0, std), Normal(0.0, std))

    @classmethod
    def shift(cls, law: Law, by: int) -> "Pair":
        """Return additive integer noise on a value of sensitivity `by`.

        Guarantee: covers every shift up to `by`, which needs a law that is symmetric
        and log-concave; others are refused.

        Example:
            >>> f"{Pair.shift(DiscreteLaplace(2), by=1).delta_at(0.25):.4f}"
            '0.1377'
        """
        by = checks.whole("by", by, at_least=0)
        if isinstance(law, Finite):
            table = law.probabilities
            dips = any(
                table[i] ** 2 < table[i - 1] * table[i + 1]
                for i in range(1, len(table) - 1)
            )
            if table != table[::-1] or dips:
                raise NoBound(
                    "a table can stand for noise only if it is symmetric and "
                    "log-concave; give both output laws, Pair(p, q), for every "
                    "neighbor that may occur."
                )
        elif not isinstance(law, DiscreteLaplace | DiscreteGaussian):
            raise NoBound(
                f"{type(law).__name__} is not known to be symmetric and log-concave; "
                "give both output laws, Pair(p, q), for every neighbor that may occur."
            )
        return cls(Shifted(law, by), law)

    def __repr__(self) -> str:
        p, q = self.p, self.q
        if isinstance(p, ContinuousLaplace) and (p.location, q.location) == (1.0, 0.0):
            return f"Pair.laplace(scale={p.scale!r})"
        if isinstance(p, Normal) and (p.mean, q.mean) == (1.0, 0.0):
            return f"Pair.gaussian(std={p.std!r})"
        if isinstance(p, Shifted) and p.law == q:
            return f"Pair.shift({q!r}, by={p.by})"
        if isinstance(p, tuple) and len(p) > 6:
            return f"<{self._with_one_answer(f'Pair of {len(p)} outcomes')}>"
        return f"Pair({p!r}, {q!r})"

    @cached_property
    def _backward(self) -> "tuple[LossLaw, LossLaw]":
        upper, lower = self._bracketing.upper, self._bracketing.lower
        back = upper.reversed()
        return back, back if lower is upper else lower.reversed()

    @property
    def symmetric(self) -> bool:
        """Whether both directions are known to be the same."""
        return self._bracketing.symmetric

    def profile(self, direction: Direction, epsilon: Floats) -> Bracket:
        """Bracket the hockey-stick of the two laws."""
        upper, lower = self._bracketing.upper, self._bracketing.lower
        if direction is Direction.ADD:
            upper, lower = self._backward
        unbounded = np.isinf(epsilon)
        finite = np.where(unbounded, 0.0, epsilon)
        low = np.where(unbounded, lower.infinite_mass_lower, lower.delta(finite)[0])
        high = np.where(unbounded, upper.infinite_mass, upper.delta(finite)[1])
        return low, high

    @cached_property
    def atoms_above(self) -> Atoms:
        """A finite pair that dominates the remove direction."""
        return self._bracketing.above or super().atoms_above

    @cached_property
    def atoms_below(self) -> Atoms:
        """A finite pair that the remove direction dominates."""
        return self._bracketing.below or super().atoms_below

    @cached_property
    def rho(self) -> float:
        """Smallest proven ρ of ρ-zCDP."""
        known = self._bracketing.rho
        return known if math.isfinite(known) else super().rho

    @cached_property
    def mu(self) -> float:
        """Smallest proven μ of μ-GDP."""
        known = self._bracketing.mu
        return known if math.isfinite(known) else super().mu

    def _epsilon(self, delta: float) -> float:
        if delta == 0 and isinstance(self.p, Normal):
            return math.inf if self.mu > 0 else 0.0
        if delta == 0 and isinstance(self.p, ContinuousLaplace):
            gap = abs(self.p.location - self.q.location)
            return float(up(gap / self.p.scale, 1))
        if delta == 0 and self._bracketing.above is not None:
            top = [pair.losses[-1] for pair in self._pairs("above") if pair.losses.size]
            mass = max(pair.p_only for pair in self._pairs("above"))
            return math.inf if mass > 0 else self._largest(top)
        return float(super()._epsilon(delta))

    def _largest(self, losses: list[float]) -> float:
        """Return the largest of some losses, rounded up."""
        if isinstance(self.p, Shifted) and isinstance(self.q, DiscreteLaplace):
            return total_up([self.p.by / self.q.scale])  # exact: the steps count
        return float(up(max(0.0, *losses), 2)) if losses else 0.0

    def _renyi(self, order: float) -> float:
        if isinstance(self.p, Normal):
            return order * float(self.rho)
        if isinstance(self.p, ContinuousLaplace) and math.isfinite(order):
            return float(up(self._laplace_renyi(order), 64)) + 1e-15
        return super()._renyi(order)

    def _renyi_lower(self, order: float) -> float:
        if isinstance(self.p, Normal):
            return float(down(order * self.rho, 8))
        if isinstance(self.p, ContinuousLaplace) and math.isfinite(order):
            return max(0.0, float(down(self._laplace_renyi(order), 64)) - 1e-15)
        return super()._renyi_lower(order)

    def _laplace_renyi(self, order: float) -> float:
        # [M17] Proposition 6: (α e^((α-1)t) + (α-1) e^(-αt))/(2α-1) is the moment.
        t = abs(self.p.location - self.q.location) / self.p.scale
        if order == 1.0:
            return float(t + math.expm1(-t))
        whole = 2 - 1 / order  # (2α-1)/α: 2α may be beyond the floats
        first = -math.log(whole) + (order - 1) * t
        second = math.log((1 - 1 / order) / whole) - order * t
        return float(np.logaddexp(first, second)) / (order - 1)

    def components(self) -> "tuple[Components, Components]":
        """Return the loss laws of both directions, from above."""
        return ((self._bracketing.upper, 1),), ((self._backward[0], 1),)

    def components_lower(self) -> "tuple[Components, Components]":
        """Return the loss laws of both directions, from below."""
        return ((self._bracketing.lower, 1),), ((self._backward[1], 1),)


def _plain(value: Any) -> Fraction | float:
    """Return a probability as a fraction where it is one, a float otherwise."""
    if isinstance(value, Fraction | int) and not isinstance(value, bool):
        return Fraction(value)
    return checks.real("probability", value, at_least=0, at_most=1)


def _storable(pair: Pair) -> Curve:
    """Return the pair, or the tables around it where its laws are functions."""
    told = freeze(pair.p) is not None and freeze(pair.q) is not None
    return pair if told else between(pair)


written_as(Pair, _storable)
