"""Every mechanism, once: the law-suite runs all its laws over this list.

Adding a mechanism is one file, one export and one `Case` here.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from typing import Any

import cell_laws
import exact
import numpy as np

from hush import mechanisms as m
from hush.privacy import Approx


@dataclass(eq=False)
class Case:
    """A mechanism, the distance of its neighbors, and their exact output laws."""

    name: str
    mechanism: Any
    pairs: Callable[
        [float], list
    ]  # noise factor -> pairs (p, q) of the worst neighbors
    values: Callable[[], list]  # two neighboring inputs for `run`
    sensitivity: Any = 1
    tight: bool = False  # the curve is attained by one of the pairs, within 1e-9
    pure: bool = True  # every output has positive chance under both neighbors
    grid: float | None = None  # lattice step of the outputs
    options: dict = field(default_factory=dict)  # for curve()
    errors: Callable[[Any, int], Any] | None = None  # (source, count) -> errors
    strict: bool = True  # 5 % less noise shows up in the pairs

    def __repr__(self) -> str:
        return self.name

    @cached_property
    def curve(self):
        return self.mechanism.curve(self.sensitivity, **self.options)

    def louder(self):
        """The same mechanism with twice the noise."""
        kind = type(self.mechanism)
        named = {f.name: getattr(self.mechanism, f.name) for f in fields(kind)}
        return kind(**{**named, kind.noise: 2 * named[kind.noise]})


def additive(mechanism, zero=0):
    """Errors of an additive mechanism: a long vector of zeros."""

    def draw(source, count):
        return mechanism.run(np.full(count, zero), source=source)

    return draw


def _response(k, honesty):
    def pairs(factor):
        lie = min(1 - honesty, (1 - honesty) * factor)
        other = lie / (k - 1)
        p, q = np.full(k, other), np.full(k, other)
        p[0], q[1] = 1 - lie, 1 - lie
        return exact.both(p, q)

    return pairs


def _selection(law, scale, monotone=False):
    """Worst pairs among small score vectors moved by 1 up or down."""

    def pairs(factor):
        found = []
        moves = (0, 1) if monotone else (-1, 0, 1)
        for size in (2, 3):
            for u in itertools.product((0, 1, 3), repeat=size):
                for step in itertools.product(moves, repeat=size):
                    v = np.array(u) + step
                    if size == 2 or sorted(step) == sorted(moves):
                        found += exact.both(
                            law(u, scale * factor), law(v.tolist(), scale * factor)
                        )
        return found

    return pairs


def _exponential(scale, span):
    """The two-candidate pairs that attain the curve at each ε of the law-suite."""

    def pairs(factor):
        found = []
        for e in np.linspace(0, 1.2 * span, 200)[:166]:  # the rates of the law-suite
            t = (span + e) / 2
            p = -math.expm1(t - span) / -math.expm1(-span)
            gap = math.log(p / (1 - p)) * scale
            found.append(
                (
                    exact.softmax([gap, 0], scale * factor),
                    exact.softmax([gap - span * scale, 0], scale * factor),
                )
            )
        return found

    return pairs


def _records(at, bounds, scale, *, replace):
    def pairs(factor):
        found = []
        points = [bounds[0], 0.3, 0.5, 0.9, bounds[1]]
        for n in (1, 2, 3):
            for data in itertools.combinations_with_replacement(points, n):
                others = (
                    [(x, *data[1:]) for x in points]
                    if replace
                    else [data[1:], (*data, 0.5), (*data, bounds[0]), (*data, 0.9)]
                )
                for other in others:
                    if other:
                        pair = exact.quantile(data, other, at, bounds, scale * factor)
                        found += exact.both(*pair)
        return found

    return pairs


def _shift(law, by, noise):
    return lambda factor: exact.both(*exact.shifted(law(noise * factor), by))


def _spread(law, shifts, noise):
    """Independent coordinates, each moved by its own shift."""

    def pairs(factor):
        moved = [exact.shifted(law(noise * factor), by) for by in shifts]
        p, q = (exact.product(*[each[side] for each in moved]) for side in (0, 1))
        return exact.both(p, q)

    return pairs


def _stairs(epsilon, width, inner):
    def pairs(factor):
        law = exact.staircase(epsilon / factor, width, inner)
        found = []
        for by in range(1, width + 1):
            found += exact.both(*exact.shifted(law, by))
        return found

    return pairs


def _sparse(scale, hits_scale):
    def pairs(factor):
        found = []
        for a, b in itertools.product(itertools.product((0, 1, 2), repeat=3), repeat=2):
            if max(abs(x - y) for x, y in zip(a, b, strict=True)) == 1:
                p, q = (
                    exact.above_threshold(x, 1, scale * factor, hits_scale * factor)
                    for x in (a, b)
                )
                found.append((p, q))
        return found[::7]

    return pairs


def _chances(mechanism):
    """A key with n and n + 1 holders: named or not."""

    def pairs(_):
        named = [mechanism.chance(n) for n in range(mechanism.chances.size + 1)]
        found = []
        for p, q in itertools.pairwise(named):
            found += exact.both(np.array([p, 1 - p]), np.array([q, 1 - q]))
        return found

    return pairs


def every_mechanism() -> list[Case]:
    """Return one case or more for every public mechanism."""
    lap, gauss = exact.laplace, exact.gaussian
    quarter, gap3 = Fraction(1, 4), m.Laplace(scale=1.5)
    inner = m.Staircase(scale=1.0, width=4, inner=0.5)
    unit = (0.0, 1.0)
    return [
        Case(
            "response",
            m.RandomizedResponse(0.75),
            _response(2, 0.75),
            lambda: [0, 1],
            tight=True,
        ),
        Case(
            "response of 5",
            m.RandomizedResponse(0.5, categories=5),
            _response(5, 0.5),
            lambda: [0, 1],
            tight=True,
        ),
        Case(
            "laplace, whole",
            m.Laplace(2.0),
            _shift(lap, 1, 2.0),
            lambda: [0, 1],
            tight=True,
            grid=1,
            errors=additive(m.Laplace(2.0, step=1)),
        ),
        Case(
            "laplace, distance 3",
            gap3,
            _shift(lap, 3, 1.5),
            lambda: [0, 3],
            sensitivity=3,
            tight=True,
            grid=1,
        ),
        Case(
            "laplace, floats",
            m.Laplace(1.0, step=quarter),
            _shift(lap, 4, 4.0),
            lambda: [0.0, 1.0],
            tight=True,
            grid=0.25,
            errors=additive(m.Laplace(1.0, step=quarter), 0.0),
        ),
        Case(
            "laplace, vector",
            m.Laplace(1.0),
            _spread(lap, (1, 1), 1.0),
            lambda: [[0, 0], [1, 1]],
            sensitivity=2,
            grid=1,
        ),
        Case(
            "laplace, fine",
            m.Laplace(3.0),
            _shift(lap, 96, 96 * 3.0),
            lambda: [0.0, 1.0],
            grid=2.0**-39,
            strict=False,
            errors=additive(m.Laplace(3.0, step=2.0**-39), 0.0),
        ),
        Case(
            "geometric",
            m.Geometric(2),
            _shift(lap, 1, 2.0),
            lambda: [0, 1],
            tight=True,
            grid=1,
            errors=additive(m.Geometric(2)),
        ),
        Case(
            "gaussian, coarse",
            m.Gaussian(1.5, step=quarter),
            _shift(gauss, 4, 6.0),
            lambda: [0.0, 1.0],
            tight=True,
            pure=False,
            grid=0.25,
            errors=additive(m.Gaussian(1.5, step=quarter), 0.0),
        ),
        Case(
            "gaussian, vector",
            m.Gaussian(1.5, step=quarter),
            _spread(gauss, (3, 3), 6.0),
            lambda: [[0.0, 0.0], [0.75, 0.75]],
            sensitivity=math.sqrt(2) * 0.75,
            pure=False,
            grid=0.25,
            options={"dimension": 2},
            strict=False,
        ),
        Case(
            "gaussian, fine",
            m.Gaussian(4.0, step=2.0**-11),
            _shift(gauss, 2048, 8192.0),
            lambda: [0.0, 1.0],
            pure=False,
            grid=2.0**-11,
            strict=False,
            errors=additive(m.Gaussian(4.0, step=2.0**-11), 0.0),
        ),
        Case(
            "discrete gaussian",
            m.DiscreteGaussian(2),
            _shift(gauss, 1, 2.0),
            lambda: [0, 1],
            tight=True,
            pure=False,
            grid=1,
            errors=additive(m.DiscreteGaussian(2)),
        ),
        Case(
            "discrete gaussian, vector",
            m.DiscreteGaussian(5),
            _spread(gauss, (1, 1), 5.0),
            lambda: [[0, 0], [1, 1]],
            sensitivity=math.sqrt(2),
            pure=False,
            grid=1,
            options={"dimension": 2},
            strict=False,
        ),
        Case(
            "discrete gaussian, narrow vector",
            m.DiscreteGaussian(1),
            _spread(gauss, (1, 1), 1.0),
            lambda: [[0, 0], [1, 1]],
            sensitivity=math.sqrt(2),
            pure=False,
            grid=1,
            options={"dimension": 2},
            strict=False,
        ),
        Case(
            "staircase",
            inner,
            _stairs(1.0, 4, 2),
            lambda: [0, 4],
            sensitivity=4,
            tight=True,
            grid=1,
            errors=additive(inner),
        ),
        Case(
            "canonical",
            m.Canonical(Approx(1.0, 0.01)),
            lambda f: exact.both(*exact.shifted(exact.tulap(1 / f, 0.01 / f), 1)),
            lambda: [0, 1],
            tight=True,
            pure=False,
            grid=1,
            errors=additive(m.Canonical(Approx(1.0, 0.01))),
        ),
        Case(
            "exponential",
            m.Exponential(2.0),
            _exponential(2.0, 1.0),
            lambda: [[0, 1, 1], [1, 1, 0]],
            tight=True,
            strict=False,
        ),
        Case(
            "exponential, monotone",
            m.Exponential(1.0, monotone=True),
            _selection(exact.softmax, 1.0, monotone=True),
            lambda: [[0, 1, 1], [1, 1, 2]],
            strict=False,
        ),
        Case(
            "noisy max, laplace",
            m.NoisyMax(2.0, kind="laplace"),
            _selection(exact.noisy_max, 2.0),
            lambda: [[0, 1, 1], [1, 1, 0]],
            strict=False,
        ),
        Case(
            "noisy max, gumbel",
            m.NoisyMax(2.0, kind="gumbel"),
            _exponential(2.0, 1.0),
            lambda: [[0, 1, 1], [1, 1, 0]],
            tight=True,
            strict=False,
        ),
        Case(
            "noisy max, exponential",
            m.NoisyMax(2.0),
            _selection(exact.permute_and_flip, 2.0),
            lambda: [[0, 1, 1], [1, 1, 0]],
            strict=False,
        ),
        Case(
            "permute and flip, monotone",
            m.PermuteAndFlip(1.0, monotone=True),
            _selection(exact.permute_and_flip, 1.0, monotone=True),
            lambda: [[0, 1, 1], [1, 1, 2]],
            strict=False,
        ),
        Case(
            "top two",
            m.TopK(2, scale=2.0),
            _selection(exact.top_two, 2.0),
            lambda: [[0, 1, 1], [1, 1, 0]],
            strict=False,
        ),
        Case(
            "norm of infinity",
            m.KNorm(2.0, dimension=2, norm=math.inf, bits=1),
            lambda f: exact.both(*exact.radial(np.inf, 2, 2 * f, 70, (3, 2))),
            lambda: [[0.0, 0.0], [2.0, 2.0]],
            sensitivity=2,
            strict=False,
        ),
        Case(
            "norm 2",
            m.KNorm(2.0, dimension=2, norm=2, bits=1),
            lambda f: exact.both(*exact.radial(2, 2, 2 * f, 70, (2, 3))),
            lambda: [[0.0, 0.0], [2.0, 0.0]],
            sensitivity=2,
            strict=False,
        ),
        Case(
            "median, add or remove",
            m.Quantile(0.5, unit, 1.0),
            _records(0.5, unit, 1.0, replace=False),
            lambda: [[0.1], [0.1, 0.9]],
            strict=False,
        ),
        Case(
            "quantile, replace",
            m.Quantile(0.25, unit, 2.0, "replace-one"),
            _records(0.25, unit, 2.0, replace=True),
            lambda: [[0.1], [0.9]],
            strict=False,
        ),
        Case(
            "quartiles",
            m.Quantile((0.25, 0.5, 0.75), unit, 4.0),
            _records(0.5, unit, 4.0, replace=False),
            lambda: [[0.1], [0.1, 0.9]],
            strict=False,
        ),
        Case(
            "winsorized mean",
            m.WinsorizedMean(unit, 2.0),
            _records(0.25, unit, 8.0, replace=True),
            lambda: [[0.1, 0.2, 0.3], [0.9, 0.2, 0.3]],
            strict=False,
        ),
        Case(
            "cells, median",
            m.CellQuantile(0.5, 3, 1.0),
            cell_laws.quantile_pairs(0.5, 1.0),
            lambda: [[[1, 0, 1], [0, 2, 0]], [[1, 0, 1], [0, 2, 1]]],
            strict=False,
        ),
        Case(
            "cells, quantile",
            m.CellQuantile(0.9, 3, 1.0),
            cell_laws.quantile_pairs(0.9, 1.0, moved=2),
            lambda: [[[1, 0, 1], [0, 2, 0]], [[1, 0, 2], [0, 2, 1]]],
            sensitivity=2,
            strict=False,
        ),
        Case(
            "cells, interval",
            m.CellInterval(0.5, 3, 2.0, level=0.5, person=1),
            cell_laws.quantile_pairs(0.5, 4.0),
            lambda: [[[1, 0, 1], [0, 20, 0]], [[1, 0, 1], [0, 20, 1]]],
            strict=False,
        ),
        Case(
            "cells, top",
            m.CellTop(1, 2.0),
            cell_laws.top_pairs(2.0),
            lambda: [[[1, 0], [0, 2]], [[1, 0], [0, 3]]],
            strict=False,
        ),
        Case(
            "histogram",
            m.Histogram(2.0, edges=(0, 1, 2)),
            _shift(lap, 1, 2.0),
            lambda: [[0.5], [0.5, 1.5]],
            tight=True,
            grid=1,
            errors=lambda source, count: np.array(
                m.Histogram(2.0, categories=tuple(range(count))).run([], source=source)
            ),
        ),
        Case(
            "histogram, replace",
            m.Histogram(1.0, edges=(0, 1, 2), neighbors="replace-one"),
            _spread(lap, (1, 1), 1.0),
            lambda: [[0.5], [1.5]],
            tight=True,
            grid=1,
        ),
        Case(
            "sparse vector",
            m.SparseVector(threshold=1, scale=2.0),
            _sparse(2.0, 4.0),
            lambda: [[0, 1, 2], [1, 0, 1]],
            strict=False,
        ),
        Case(
            "tree of sums",
            m.TreeSum(horizon=2, scale=2.0),
            _spread(lap, (1, 1), 2.0),
            lambda: [[0, 0], [1, 0]],
            tight=True,
            grid=1,
        ),
        Case(
            "keys, far threshold",
            m.KeySelection(20.0, threshold=600, keys_per_person=3, whole=8),
            _shift(gauss, 8, 20.0),
            lambda: [[10**6, 10**6], [10**6 + 8, 10**6]],
            pure=False,
        ),
        Case(
            "keys, one each",
            m.OptimalKeySelection(1.0, 0.01),
            _chances(m.OptimalKeySelection(1.0, 0.01)),
            lambda: [[0, 5000], [1, 5000]],
            pure=False,
            strict=False,
        ),
        Case(
            "count",
            m.count() >> m.Laplace(2.0),
            _shift(lap, 1, 2.0),
            lambda: [[7], [7, 8]],
            tight=True,
            grid=1,
        ),
        Case(
            "mean",
            m.mean((0, 1), size=4, neighbors="replace-one")
            >> m.Laplace(0.25, step=Fraction(1, 64)),
            _shift(lap, 16, 16.0),
            lambda: [[0, 0, 0, 0], [1, 0, 0, 0]],
            tight=True,
            grid=1 / 64,
        ),
        Case(
            "mean, size secret",
            m.mean((0, 1)) >> m.Laplace(2.0, step=quarter),
            _spread(lap, (4, 4), 8.0),
            lambda: [[0.0], [0.0, 1.0]],
            strict=False,
        ),
    ]
