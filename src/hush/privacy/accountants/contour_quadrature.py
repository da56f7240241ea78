"""A contour of the inversion integral: laid through the saddle point, and read.

Any tilt gives a sound answer; the saddle point gives a sharp one. It is looked for by a
quick search that certifies nothing. The contour then has a width, at which aliases are
negligible, a last node, beyond which the transform is, and the transform on its nodes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.privacy.accountants import transforms
from hush.privacy.accountants.transforms import Complexes, rule_at_tilt
from hush.privacy.pld.gaussian_loss import GaussianLoss
from hush.privacy.pld.loss_distribution import (
    NO_DECAY,
    ROUNDING,
    Decay,
    Floats,
    LossLaw,
)

Components = Sequence[tuple[LossLaw, int]]


def distinct_laws(components: Components) -> Components:
    """Return the components with equal laws joined, or name what is wrong."""
    merged: dict[LossLaw, int] = {}
    for law, times in components:
        count = checks.whole("times", times, at_least=0, at_most=10**15)
        if count:
            plain = law.plain()
            merged[plain] = merged.get(plain, 0) + count
    if not merged:
        raise InvalidArgument("components must hold at least one law; got none.")
    return tuple(merged.items())


@final
@dataclass(frozen=True)
class Sketch:
    """All laws of a composition, side by side."""

    loss: Floats
    log_weight: Floats
    starts: NDArray[np.intp]
    owner: NDArray[np.intp]
    times: Floats
    open_ended: NDArray[np.bool_]  # laws whose largest loss is a cut of the window
    gaussian: float
    log_drop: float  # mass left out of each law

    @classmethod
    def of(cls, components: Components, log_drop: float) -> "Sketch":
        """Sketch every law with about e^log_drop of its mass left out."""
        drawn = [law.sketch(log_drop) for law, _ in components]
        sizes = np.array([loss.size for loss, _ in drawn], dtype=np.intp)
        return cls(
            loss=np.concatenate([loss for loss, _ in drawn]),
            log_weight=np.concatenate([weight for _, weight in drawn]),
            starts=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp),
            owner=np.repeat(np.arange(sizes.size), sizes),
            times=np.array([float(times) for _, times in components]),
            open_ended=np.array(
                [math.isinf(law.largest_loss) for law, _ in components]
            ),
            gaussian=math.fsum(law.gaussian_variance * k for law, k in components),
            log_drop=log_drop,
        )

    def log_masses(self, c: float) -> Floats:
        """Return log E e^(cL) of each law."""
        size = c * self.loss
        exponent = self.log_weight + size
        top = np.maximum.reduceat(exponent, self.starts)
        total = np.add.reduceat(np.exp(exponent - top[self.owner]), self.starts)
        plain = top + np.log(total)
        # For a log near zero E e^(cL) - 1 = Σ w expm1(cL) keeps the digits, as long as
        # no term is so large that it takes those of all others.
        if size.max() > 30:
            return np.asarray(plain)
        excess = np.add.reduceat(np.exp(self.log_weight) * np.expm1(size), self.starts)
        return np.asarray(np.where(np.abs(plain) < 1e-3, np.log1p(excess), plain))

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K(c), K'(c) and K''(c) of the composition.

        K = Σ k log E e^(cL) + v c(c+1)/2; K' and K'' are the tilted mean and variance.
        """
        exponent = self.log_weight + c * self.loss
        top = np.maximum.reduceat(exponent, self.starts)
        p = np.exp(exponent - top[self.owner])
        total = np.add.reduceat(p, self.starts)
        mean = np.add.reduceat(p * self.loss, self.starts) / total
        spread = (self.loss - mean[self.owner]) ** 2
        variance = np.add.reduceat(p * spread, self.starts) / total
        g = self.gaussian
        return (
            float(self.times @ self.log_masses(c)) + g * c * (c + 1) / 2,
            float(self.times @ mean) + g * (c + 0.5),
            float(self.times @ variance) + g,
        )

    def edge(self, c: float) -> float:
        """Return how much of the tilted mass sits on the largest kept loss, in logs."""
        exponent = self.log_weight + c * self.loss
        top = np.maximum.reduceat(exponent, self.starts)
        total = np.add.reduceat(np.exp(exponent - top[self.owner]), self.starts)
        last = np.lexsort((self.loss, self.owner))[
            np.concatenate([self.starts[1:], [self.loss.size]]) - 1
        ]
        share = exponent[last] - top - np.log(total)
        return float(share[self.open_ended].max(initial=-np.inf))

    def calm(self, c: float, epsilon: float, log_value: float) -> float:
        """Lower the tilt where a heavy tail would make the cut of the window dominate.

        Tails that fall slower than exponentially have no saddle: there the tilted law
        leans on the end of the window, whose jump makes the transform decay slowly. A
        smaller tilt costs digits by cancellation instead; sixteen are too many. A
        share of e^-30 on the edge is as little as what is cut off elsewhere, and e^18
        lost leaves eight digits of sixteen.
        """
        if c <= 0 or self.edge(c) < -30:
            return c
        low, high = c / 100, c
        for _ in range(20):  # the tilt to a millionth of itself
            middle = (low + high) / 2
            k = self.cumulants(middle)[0]
            lost = k - middle * epsilon - log_value
            low, high = (
                (low, middle)
                if self.edge(middle) > -30 and lost < 18
                else (
                    middle,
                    high,
                )
            )
        return high

    def at_epsilon(
        self, epsilon: float, *, positive: bool = False
    ) -> tuple[float, float]:
        """Return the saddle and log of the saddle-point estimate there.

        At the saddle Φ(c) = K(c) - cε - log|c(1+c)| has no slope; it is found by Newton
        on u, c = e^u or -1/(1+e^-u), with halving where that leaves its bounds. A
        positive tilt measures delta; one in (-1, 0) measures 1 - delta, which is
        not what a part of a law can use: it asks for `positive`.
        """
        _, mean, variance = self.cumulants(0.0)
        positive = positive or epsilon > mean - math.sqrt(variance)

        def place(u: float) -> float:
            return math.exp(u) if positive else -1 / (1 + math.exp(-u))

        # Tilts from e^-60 to e^60, or no nearer than e^-40 to one of the two poles.
        low, high = (-60.0, 60.0) if positive else (-40.0, 40.0)
        u = min(max(-0.5 * math.log(variance), low + 1), high - 1) if positive else 0.0
        c = place(u)
        for _ in range(100):
            c = place(u)
            k, slope, bend = self.cumulants(c)
            # Φ'(c), Φ''(c), and dc/du.
            gradient = slope - epsilon - 1 / c - 1 / (1 + c)
            curvature = bend + 1 / c**2 + 1 / (1 + c) ** 2
            jacobian = c if positive else c * (1 + c)
            if gradient * jacobian > 0:
                high = u
            else:
                low = u
            move = -gradient / max(abs(curvature * jacobian), 1e-300)
            move = move if jacobian > 0 else -move
            # Any tilt is sound, and within a thousandth of the saddle none is better.
            if abs(move) < 1e-3 or high - low < 1e-6:
                break
            u = u + max(-3.0, min(3.0, move))
            if not low < u < high:
                u = (low + high) / 2
        return c, _estimate(c, k - c * epsilon, bend)

    def at_delta(self, log_delta: float) -> tuple[float, float]:
        """Return the tilt and epsilon at which the saddle-point estimate is delta.

        Every c is the saddle of ε(c) = K'(c) - 1/c - 1/(1+c); c is found by Newton on
        log c, as in `at_epsilon`.
        """
        _, _, variance = self.cumulants(0.0)
        low, high = -60.0, 60.0
        # That of a Gaussian loss of this variance: δ is about e^(-c² variance/2).
        u = 0.5 * math.log(2 * max(-log_delta, 0.1) / variance)
        u = min(max(u, low + 1), high - 1)
        c, epsilon = 1.0, 0.0
        for _ in range(100):
            c = math.exp(u)
            k, slope, bend = self.cumulants(c)
            epsilon = slope - 1 / c - 1 / (1 + c)
            excess = _estimate(c, k - c * epsilon, bend) - log_delta
            if excess < 0:
                high = u
            else:
                low = u
            # d/dc of the estimate is -c Φ''(c), up to its slowly varying width.
            move = excess / (c * c * bend + 1 + (c / (1 + c)) ** 2)
            if abs(move) < 1e-3 or high - low < 1e-6:
                break
            u = u + max(-3.0, min(3.0, move))
            if not low < u < high:
                u = (low + high) / 2
        return c, epsilon


def _estimate(c: float, exponent: float, bend: float) -> float:
    """Return log of e^exponent / (|c(c+1)| √(2πΦ'')), Φ'' = K'' + 1/c² + 1/(1+c)²."""
    curvature = bend + 1 / c**2 + 1 / (1 + c) ** 2
    return (
        exponent - math.log(abs(c * (c + 1))) - 0.5 * math.log(2 * math.pi * curvature)
    )


def log_chernoff(s: float) -> float:
    """Return log sup_x of the hockey stick over e^(sx): s^s / (1+s)^(1+s)."""
    if s <= 0:
        return 0.0
    return -s * math.log1p(1 / s) - math.log1p(s)


# -- One contour of the inversion integral, and what rounding and cutting cost it ------

TINY = 5e-324  # the smallest upper bound that is not a claim of perfect privacy


@final
@dataclass(frozen=True)
class Contour:
    """One contour with the transform on its nodes; it answers any epsilon nearby.

    Guarantee: `delta(epsilon)` brackets the truth for every epsilon.
    """

    c: float
    step: float
    log_scale: float  # K(c)
    log_scale_error: float
    mean: float  # K'(c)
    mean_error: float
    logs: Complexes  # log of the transform on the nodes, over e^(K(c) + it K'(c))
    errors: Floats  # absolute error of each exponential of those, from the transform
    log_tail: float  # of Σ |transform| beyond the last node, on that scale
    aliases: tuple[tuple[float, float], ...]  # tilts left and right, upper bounds of K
    top: float  # upper bound of the sum without its Gaussian part
    gaussian: float  # variance of the Gaussian part
    smoothing: float  # variance of the Gaussian composed to make the tail converge
    missing: float  # P-mass of finite losses left out
    infinite: tuple[float, float]  # bracket of the mass at +infinity

    def _alias(self, epsilon: float) -> float:
        """Return log of a bound on what the trapezoid rule adds to the integral.

        That is Σ_m of δ(ε ± m width) e^(±cm width), by Chernoff at some tilts s, the
        best of which counts: δ(x) <= κ(s) e^(K(s) - sx), so the terms m = 1, 2, … are
        a geometric series.
        """
        width = 2 * math.pi / self.step
        total = -math.inf
        room = width - (self.top - epsilon)
        for s, log_mass in self.aliases:
            tilts = [(s, log_mass)]
            if s > self.c and room > 0:
                # Few can exceed the top: K(s) <= s top + v s (s+1)/2 at any tilt. This
                # one puts aliases of a law without Gaussian part below e^-60 of K(c).
                rise = 60 + self.c * max(self.top - epsilon, 0.0)
                s = self.c + (rise + abs(self.log_scale - self.c * epsilon)) / room
                bound = s * self.top + 0.5 * self.gaussian * s * (s + 1)
                tilts.append((s, bound))
            least = math.inf
            for tilt, log_bound in tilts:
                fall = abs(tilt - self.c) * width
                if fall > 1e-3:  # else the series hardly falls: nothing is claimed
                    first = log_chernoff(tilt) + log_bound - tilt * epsilon - fall
                    least = min(least, first - math.log(-math.expm1(-fall)))
            total = float(np.logaddexp(total, least))
        return total

    def _phases(self, epsilon: float) -> tuple[Floats, Complexes, Floats]:
        """Return the nodes, e^(logs + turn) there, and a bound on the error of each."""
        t = self.step * np.arange(self.logs.size, dtype=np.float64)
        turn = (self.mean - epsilon) * t
        terms: Complexes = np.exp(self.logs + 1j * turn)
        # The turn is off by t times the error of its factor; exponentials by theirs.
        blur = self.mean_error + ROUNDING * (abs(self.mean) + abs(epsilon))
        shift = np.minimum(t * blur, 2.0) + ROUNDING * (16 + np.abs(turn))
        error = self.errors + np.abs(terms) * shift
        terms[0] *= 0.5
        return t, terms, error

    @cached_property
    def _kernel(self) -> tuple[Complexes, Floats]:
        """1/(z(z+1)) on the nodes, and its modulus."""
        z = self.c + 1j * self.step * np.arange(self.logs.size, dtype=np.float64)
        kernel: Complexes = np.asarray(1 / (z * (z + 1)), dtype=np.complex128)
        return kernel, np.abs(kernel)

    def _sums(self, epsilon: float) -> tuple[float, float, float]:
        """Return value, error and the share of smoothing, over e^(K(c) - cε)."""
        t, terms, error = self._phases(epsilon)
        kernel, size = self._kernel
        weight = self.step / math.pi
        total = float((terms * kernel).real.sum()) * weight
        blur = float(error @ size) * weight * (1 + 1e-9)
        beyond = math.exp(min(self.log_tail, 700.0))
        if not self.smoothing:
            return total, blur + beyond, 0.0
        # δ_v - v e^(v/8) p_v(ε) <= δ <= δ_v, p_v the density of the smoothed loss,
        # whose trapezoid sum errs upwards as well. Beyond the last node the Gaussian
        # factor makes |terms| fall faster than 1/t², so `beyond` times t² covers it.
        density = (float(terms.real.sum()) + float(error.sum())) * weight
        density += beyond * float(t[-1]) ** 2
        v = self.smoothing
        return total, blur + beyond, max(density, 0.0) * v * _exp(v / 8)

    def log_delta(self, epsilon: float) -> tuple[float, float]:
        """Return a bracket of log delta."""
        lower, upper = self.delta(epsilon)
        return (
            math.log(lower) if lower > 0 else -math.inf,
            math.log(upper) if upper > 0 else -math.inf,
        )

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return a bracket of delta."""
        total, error, smooth = self._sums(epsilon)
        factor = self.log_scale - self.c * epsilon
        slack = self.log_scale_error + ROUNDING * (
            8 + 4 * abs(self.log_scale) + 4 * abs(self.c * epsilon)
        )
        up, down = _exp(factor + slack), _exp(factor - slack)
        alias = _exp(self._alias(epsilon))
        low_mass, high_mass = self.infinite
        # Chernoff at this very tilt is always there to fall back on.
        chernoff = up * _exp(log_chernoff(self.c)) * (1 + float(self.errors[0]))
        sign = 1.0 if self.c > 0 else -1.0
        most = min(up * (sign * total + error), chernoff)
        least = down * max(sign * total - error, 0.0) - alias
        if not math.isfinite(most + least):
            most, least = chernoff, 0.0
        if self.c < 0:
            # This contour measures 1 - δ; smoothing raised δ, so it lowered that.
            lower = 1 - (most + up * smooth) - self.missing - 4 * ROUNDING
            return max(lower, low_mass), min(1 - max(least, 0.0) + 4 * ROUNDING, 1.0)
        lower = (max(least - up * smooth, 0.0) + low_mass) * (1 - 2 * ROUNDING)
        upper = (most + self.missing + high_mass) * (1 + 4 * ROUNDING)
        return lower, min(max(upper, TINY), 1.0)


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


# -- Laying a contour: its width, its last node, and the transform on its nodes --------

# Everything that is cut off is asked to be below e^-32 = 1.3e-14 of the answer: some
# sixty roundings, so that it costs less than rounding does.
LOG_PRECISION = -32.0
# Mass outside the window, e^-20 = 2e-9 of the answer, is added to delta whole. Where
# tails are heavy a wide window costs dearly, and this is already far below what shows
# in epsilon.
LOG_OUTSIDE = -20.0
# What one contour may cost: four million exponentials take about a tenth of a second.
_MOST_NODES = 1 << 16
_MOST_WORK = 1 << 22  # nodes times points


class Exhausted(Exception):
    """The transform cannot be resolved at reasonable cost."""


@final
@dataclass(frozen=True)
class _Line:
    """Where a contour runs, and how much each law may leave out on it."""

    c: float
    step: float
    count: int  # of nodes beyond the first
    patient: bool  # whether the decay beyond them is bounded the slow way
    gaussian: float  # variance of the Gaussian factor, with what smooths it
    smoothing: float
    beside: tuple[float, float]  # tilts left and right of c, which bound the aliases
    copies: float  # of all laws together
    lost: float  # log of the integrand's height over the answer
    log_drop: float  # of the mass outside of the window of each law

    @property
    def reach(self) -> float:
        """The last node."""
        return self.step * self.count

    @cached_property
    def nodes(self) -> Floats:
        """The imaginary parts t of the nodes."""
        return self.step * np.arange(self.count + 1, dtype=np.float64)


def prepare(
    components: Components,
    sketch: Sketch,
    c: float,
    epsilon: float,
    log_value: float,
    most_work: int = _MOST_WORK,
) -> Contour:
    """Lay a contour at tilt c for answers near epsilon, of size e^log_value."""
    c = sketch.calm(c, epsilon, log_value)
    height, _, bend = sketch.cumulants(c)
    # How far the integrand stands above the answer: digits lost by cancellation.
    excess = height - c * epsilon - log_value
    left, right, width = alias_window(sketch, c, epsilon, log_value, bend)
    step = 2 * math.pi / width
    times = [float(count) for _, count in components]
    estimates = sketch.log_masses(c)
    decays = [NO_DECAY] * len(times)
    if sketch.gaussian < 0.1 * bend:  # else the Gaussian part does it alone
        decays = [
            law.decay(c, float(estimate), sketch.log_drop)
            for (law, _), estimate in zip(components, estimates, strict=True)
        ]
    count, patient, smoothing = _reach(
        decays,
        times,
        sketch.gaussian,
        step,
        goal=LOG_PRECISION - excess,
        most=max(256, min(_MOST_NODES, most_work // sketch.loss.size)),
    )
    line = _Line(
        c=c,
        step=step,
        count=count,
        patient=patient,
        gaussian=sketch.gaussian + smoothing,
        smoothing=smoothing,
        beside=(left, right),
        copies=math.fsum(times),
        lost=max(excess, 0.0),
        log_drop=sketch.log_drop,  # the laws the sketch has seen, and no more
    )
    product = _Product(line)
    members = product.start(components, decays, estimates)
    for i, (law, copies) in enumerate(components):
        # The others are done, or all of them is in the Gaussian factor.
        if i not in members and not isinstance(law, GaussianLoss):
            product.append(law, copies, decays[i], float(estimates[i]))
    return product.contour()


@final
@dataclass
class _Product:
    """The product of the transforms of all laws on the nodes of a line, in logs.

    Each law has E e^((c+it)L) = e^(log_mass + it mean) (1 + S(t)). Their copies
    multiply, so logs, means and relative errors add up.
    """

    line: _Line
    logs: Complexes = field(init=False)  # Σ k log(1 + S)
    log_bound: Floats = field(init=False)  # Σ k log of a bound on |1 + S|
    relative: Floats = field(init=False)  # error of the product over e^log_bound
    log_mass: float = 0.0  # Σ k log E e^(cL)
    log_mass_error: float = 0.0
    mean: float = 0.0
    mean_error: float = 0.0
    tail: float = 0.0  # log of a bound on the product beyond the last node
    top: float = 0.0  # of the sum of all losses
    missing: float = 0.0  # P-mass of finite losses left out
    alias_mass: list[float] = field(default_factory=lambda: [0.0, 0.0])
    log_finite: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def __post_init__(self) -> None:
        size = self.line.count + 1
        self.logs = np.zeros(size, dtype=np.complex128)
        self.log_bound, self.relative = np.zeros(size), np.zeros(size)

    def start(
        self, components: Components, decays: Sequence[Decay], estimates: Floats
    ) -> list[int]:
        """Take in all laws with hyperbolic transforms at once; return which they are.

        `estimates` are the log masses by which `decays` are measured.
        """
        line, (left, right) = self.line, self.line.beside
        family, members = transforms.gather(components, (line.c, left, right))
        if family is None:
            return members
        known = family.at(line.c, line.nodes)
        self.logs, self.log_bound = known.logs, known.log_bound
        self.relative, self.top = known.relative, known.top
        self.log_mass, self.log_mass_error = known.log_mass, known.log_mass_error
        self.mean, self.mean_error = known.mean, known.mean_error
        self.alias_mass = [family.log_mass_above(s) for s in line.beside]
        for i, mass, off in zip(members, known.each, known.each_error, strict=True):
            decay = decays[i].with_slack(abs(float(mass) - float(estimates[i])) + off)
            self.tail += float(components[i][1]) * decay.log_bound(
                line.reach, patient=line.patient
            )
        return members

    def append(self, law: LossLaw, copies: int, decay: Decay, estimate: float) -> None:
        """Take in `copies` of a law whose decay is measured by e^estimate."""
        line = self.line
        # All quadratures together err by e^LOG_PRECISION of the answer.
        tolerance = estimate + LOG_PRECISION - line.lost - math.log(line.copies)
        rule = law.rule(line.c, line.reach, tolerance, line.log_drop)
        at = rule_at_tilt(rule, line.c, line.reach)
        if not copies * at.quadrature_error < 0.1:
            raise Exhausted
        value, error = at.ratio(line.step, line.count + 1, copies)
        self._multiply(value, error, copies)
        self.log_mass += copies * at.log_mass
        self.log_mass_error += copies * at.log_mass_error
        self.mean += copies * at.mean
        self.mean_error += copies * (at.mean_error + ROUNDING * abs(at.mean))
        off = abs(at.log_mass - estimate) + at.log_mass_error
        off += at.log_quadrature
        beyond = decay.with_slack(off).log_bound(line.reach, patient=line.patient)
        self.tail += copies * (beyond + at.log_quadrature)
        for i, s in enumerate(line.beside):
            # E e^(0L) = 1: of a law some may be at infinity, but never more.
            above = rule_at_tilt(rule, s, 0.0).log_mass_above if s else 0.0
            self.alias_mass[i] += copies * above
        self.missing += copies * rule.missing
        self.top += copies * rule.top
        for i, mass in enumerate((law.infinite_mass_lower, law.infinite_mass)):
            self.log_finite[i] += copies * math.log1p(-min(mass, 1 - 1e-16))

    def _multiply(self, value: Complexes, error: Floats, copies: int) -> None:
        """Multiply by (1 + value)^copies, where `value` errs by `error`."""
        size = np.hypot(1 + value.real, value.imag)
        with np.errstate(divide="ignore"):
            # |1 + S|² = 1 + 2 Re S + |S|²: log1p keeps the digits of a small S.
            near_one = 2 * value.real + value.real**2 + value.imag**2
            real = np.where(
                np.abs(near_one) < 0.5,
                0.5 * np.log1p(np.maximum(near_one, -0.5)),
                np.log(np.maximum(size, 1e-300)),
            )
            self.logs += copies * (real + 1j * np.arctan2(value.imag, 1 + value.real))
            # |a^k - b^k| <= k |a - b| max(|a|, |b|)^(k-1), law by law.
            self.log_bound += copies * np.log(size + error)
        self.relative += copies * error / np.maximum(size + error, 1e-300)

    def contour(self) -> Contour:
        """Return the contour, the Gaussian factor e^(v z(z+1)/2) multiplied in."""
        line, c, v = self.line, self.line.c, self.line.gaussian
        # On z = c + it its modulus is e^(vc(c+1)/2) e^(-vt²/2).
        t = line.nodes
        bell = -0.5 * v * t * t
        # log1p and arctan err by two roundings of themselves, times the copies.
        self.relative += 4 * ROUNDING * (np.abs(self.logs) - bell + 1)
        self.logs += bell
        with np.errstate(under="ignore", over="ignore"):
            errors = np.exp(np.minimum(self.log_bound + bell, 700.0)) * self.relative
        self.tail += -0.5 * v * line.reach * line.reach
        return Contour(
            c=c,
            step=line.step,
            log_scale=self.log_mass + v * c * (c + 1) / 2,
            log_scale_error=self.log_mass_error
            + 4 * ROUNDING * (abs(self.log_mass) + v * abs(c) * (c + 1)),
            mean=self.mean + v * (c + 0.5),
            mean_error=self.mean_error
            + 4 * ROUNDING * (abs(self.mean) + v * abs(c + 1)),
            logs=self.logs,
            errors=errors,
            # Σ_{n>N} h/(π |z(z+1)|) <= 1/(π t_N), as |z(z+1)| >= t².
            log_tail=self.tail - math.log(math.pi * line.reach),
            aliases=tuple(
                (s, mass + v * s * (s + 1) / 2 + 1e-9)  # some roundings of the log
                for s, mass in zip(line.beside, self.alias_mass, strict=True)
            ),
            top=self.top,
            gaussian=v,
            smoothing=line.smoothing,
            missing=self.missing,
            infinite=(
                -math.expm1(self.log_finite[0]) * (1 - 1e-12),
                -math.expm1(self.log_finite[1]) * (1 + 1e-12),
            ),
        )


def alias_window(
    sketch: Sketch, c: float, epsilon: float, log_value: float, bend: float
) -> tuple[float, float, float]:
    """Return tilts beside c and the width at which aliases are negligible."""
    # The tilts that are tried lie up to 13 standard deviations of the tilted integrand
    # away. Beside the top of a bounded law nothing varies, and the kernel sets the
    # scale.
    spread = 1 / math.sqrt(bend + 0.01 / c**2)
    offsets = np.array([0.3, 1.0, 2.0, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0, 13.0]) * spread

    def width(s: float) -> float:
        excess = log_chernoff(s) + sketch.cumulants(s)[0] - s * epsilon - log_value
        return (excess - LOG_PRECISION) / abs(s - c)

    floor, ceiling = (0.0, math.inf) if c > 0 else (-1.0, 0.0)
    lefts = [s for s in c - offsets if s > floor]
    lefts += [floor + (c - floor) * part for part in (0.0, 0.3, 0.6)]
    rights = [s for s in c + offsets if s < ceiling]
    if c > 0:
        # Heavy tails leave little room to the right of the tilt.
        rights += [c * part for part in (1.05, 1.15, 1.3, 1.6, 2.0)]
    if c < 0:
        rights += [c * part for part in (0.0, 0.3, 0.6)]
    best_left = min((width(s), s) for s in lefts)
    best_right = min((width(s), s) for s in rights)
    if not sketch.gaussian:
        # Beyond the largest loss there is nothing to alias.
        largest = np.maximum.reduceat(sketch.loss, sketch.starts)
        room = float(sketch.times @ largest) - epsilon  # five percent more is safe
        best_right = min(best_right, (1.05 * max(room, 0.0) + 0.1 / spread, rights[-1]))
    return best_left[1], best_right[1], max(best_left[0], best_right[0], 1 / spread)


def _reach(
    decays: Sequence[Decay],
    times: Sequence[float],
    gaussian: float,
    step: float,
    goal: float,
    most: int,
) -> tuple[int, bool, float]:
    """Return how many nodes are needed, with which bound, and the smoothing if any."""

    def log_tail(count: float, *, patient: bool = False) -> float:
        t = step * count
        total = -0.5 * gaussian * t * t - math.log(t)
        for decay, copies in zip(decays, times, strict=True):
            total += copies * decay.log_bound(t, patient=patient)
        return total

    if all(decay is NO_DECAY for decay in decays) and gaussian > 0:
        # Solve v t²/2 + log t = -goal, from above.
        t = math.sqrt(2 * max(-goal - math.log(step), 1.0) / gaussian)
        t = math.sqrt(2 * max(-goal - min(math.log(t), 0.0), 1.0) / gaussian)
        count = max(t / step, 8.0)
        if count <= most:
            return math.ceil(count), False, 0.0
    # Where it falls slowly, bound it the slow way from 160 nodes on, ask for e^9 less,
    # nine digits, from 1024 on, and for e^14 less, seven digits, from 4096 on.
    for enough, relief, patient in (
        (160, 0.0, False),
        (1024, 0.0, True),
        (4096, 9.0, True),
        (most, 14.0, True),
    ):
        count = 8.0
        while log_tail(count, patient=patient) > goal + relief:
            count *= 1.25  # at most a quarter more nodes than are needed
            if count > min(enough, most):
                break
        else:
            return math.ceil(count), patient, 0.0
    t = step * most
    # A Gaussian of variance v takes v t²/2 more off the tail: what is short of nine
    # digits, at least one, so that it alone makes the density's tail converge.
    short = max(log_tail(most, patient=True) - goal - 9.0, 1.0)
    return most, True, 2 * short / (t * t)
