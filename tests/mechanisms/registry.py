"""Every mechanism, once: the law-suite runs all its laws over this list.

Adding a mechanism is one file, one export and one `Case`: here, or in `choices.py`.
"""

import math
from fractions import Fraction

import exact
import numpy as np
import worst
from case import Case, additive
from choices import every_choice

from hush import mechanisms as m
from hush.privacy import Approx


def every_mechanism() -> list[Case]:
    """Return one case or more for every public mechanism."""
    lap, gauss = exact.laplace, exact.gaussian
    quarter, gap3 = Fraction(1, 4), m.Laplace(scale=1.5, step=1)
    inner = m.Staircase(scale=1.0, width=4, inner=0.5)
    return [
        Case(
            "response",
            m.RandomizedResponse(0.75),
            worst.response(2, 0.75),
            lambda: [0, 1],
            tight=True,
        ),
        Case(
            "response of 5",
            m.RandomizedResponse(0.5, categories=5),
            worst.response(5, 0.5),
            lambda: [0, 1],
            tight=True,
        ),
        Case(
            "laplace, whole",
            m.Laplace(2.0, step=1),
            worst.shift(lap, 1, 2.0),
            lambda: [0, 1],
            tight=True,
            grid=1,
            errors=additive(m.Laplace(2.0, step=1)),
        ),
        Case(
            "laplace, distance 3",
            gap3,
            worst.shift(lap, 3, 1.5),
            lambda: [0, 3],
            sensitivity=3,
            tight=True,
            grid=1,
        ),
        Case(
            "laplace, floats",
            m.Laplace(1.0, step=quarter),
            worst.shift(lap, 4, 4.0),
            lambda: [0.0, 1.0],
            tight=True,
            grid=0.25,
            errors=additive(m.Laplace(1.0, step=quarter), 0.0),
        ),
        Case(
            "laplace, vector",
            m.Laplace(1.0, step=1),
            worst.spread(lap, (1, 1), 1.0),
            lambda: [[0, 0], [1, 1]],
            sensitivity=2,
            grid=1,
        ),
        Case(
            "laplace, fine",
            m.Laplace(3.0),
            worst.shift(lap, 96, 96 * 3.0),
            lambda: [0.0, 1.0],
            grid=2.0**-39,
            strict=False,
            errors=additive(m.Laplace(3.0, step=2.0**-39), 0.0),
        ),
        Case(
            "geometric",
            m.Geometric(2),
            worst.shift(lap, 1, 2.0),
            lambda: [0, 1],
            tight=True,
            grid=1,
            errors=additive(m.Geometric(2)),
        ),
        Case(
            "gaussian, coarse",
            m.Gaussian(1.5, step=quarter),
            worst.shift(gauss, 4, 6.0),
            lambda: [0.0, 1.0],
            tight=True,
            pure=False,
            grid=0.25,
            errors=additive(m.Gaussian(1.5, step=quarter), 0.0),
        ),
        Case(
            "gaussian, vector",
            m.Gaussian(1.5, step=quarter),
            worst.spread(gauss, (3, 3), 6.0),
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
            worst.shift(gauss, 2048, 8192.0),
            lambda: [0.0, 1.0],
            pure=False,
            grid=2.0**-11,
            strict=False,
            errors=additive(m.Gaussian(4.0, step=2.0**-11), 0.0),
        ),
        Case(
            "discrete gaussian",
            m.DiscreteGaussian(2),
            worst.shift(gauss, 1, 2.0),
            lambda: [0, 1],
            tight=True,
            pure=False,
            grid=1,
            errors=additive(m.DiscreteGaussian(2)),
        ),
        *(
            Case(
                f"discrete gaussian, {width}vector",
                m.DiscreteGaussian(std),
                worst.spread(gauss, (1, 1), float(std)),
                lambda: [[0, 0], [1, 1]],
                sensitivity=math.sqrt(2),
                pure=False,
                grid=1,
                options={"dimension": 2},
                strict=False,
            )
            for width, std in (("", 5), ("narrow ", 1))
        ),
        Case(
            "staircase",
            inner,
            worst.stairs(1.0, 4, 2),
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
        *every_choice(),
        Case(
            "histogram",
            m.Histogram(2.0, edges=(0, 1, 2)),
            worst.shift(lap, 1, 2.0),
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
            worst.spread(lap, (1, 1), 1.0),
            lambda: [[0.5], [1.5]],
            tight=True,
            grid=1,
        ),
        Case(
            "sparse vector",
            m.SparseVector(threshold=1, scale=2.0),
            worst.sparse(2.0, 4.0),
            lambda: [[0, 1, 2], [1, 0, 1]],
            strict=False,
        ),
        Case(
            "tree of sums",
            m.TreeSum(horizon=2, scale=2.0),
            worst.spread(lap, (1, 1), 2.0),
            lambda: [[0, 0], [1, 0]],
            tight=True,
            grid=1,
        ),
        Case(
            "keys, far threshold",
            m.KeySelection(20.0, threshold=600, keys_per_person=3, whole=8),
            worst.shift(gauss, 8, 20.0),
            lambda: [[10**6, 10**6], [10**6 + 8, 10**6]],
            pure=False,
        ),
        Case(
            "keys, one each",
            m.OptimalKeySelection(1.0, 0.01),
            worst.chances(m.OptimalKeySelection(1.0, 0.01)),
            lambda: [[0, 5000], [1, 5000]],
            pure=False,
            strict=False,
        ),
        Case(
            "count",
            m.count() >> m.Laplace(2.0),
            worst.shift(lap, 1, 2.0),
            lambda: [[7], [7, 8]],
            tight=True,
            grid=1,
        ),
        Case(
            "mean",
            m.mean((0, 1), size=4, neighbors="replace-one")
            >> m.Laplace(0.25, step=Fraction(1, 64)),
            worst.shift(lap, 16, 16.0),
            lambda: [[0, 0, 0, 0], [1, 0, 0, 0]],
            tight=True,
            grid=1 / 64,
        ),
        Case(
            "mean, size secret",
            m.mean((0, 1)) >> m.Laplace(2.0, step=quarter),
            worst.spread(lap, (4, 4), 8.0),
            lambda: [[0.0], [0.0, 1.0]],
            strict=False,
        ),
    ]
