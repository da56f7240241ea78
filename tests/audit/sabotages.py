"""Sabotages that are not in the amount of noise, each made by hand.

Those of the issue and of peers: a row that is not clipped, a seed that is fixed, a
coordinate without noise, a δ that is too small, noise in floats, a NaN.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from suite import LEVEL

from hush import mechanisms as m
from hush.audit import Audit, audit
from hush.noise import Seeded
from hush.privacy import GDP, Approx, Curve, Pure


@dataclass(frozen=True)
class Twin:
    """A way to get it wrong that is not in the noise."""

    name: str
    run: Callable[[Any], Any]
    inputs: tuple[Any, Any]
    claim: Curve
    samples: int = 8000
    batch: Callable[[Any, int], Any] | None = None

    def audit(self, seed: int) -> Audit:
        """Audit the twin at the claim it pretends to keep."""
        return audit(
            self.run,
            *self.inputs,
            claim=self.claim,
            samples=self.samples,
            batch=self.batch,
            level=LEVEL,
            source=Seeded(seed),
        )


def twins(source: Any) -> list[Twin]:
    """The sabotages that an auditor must catch, each made by hand."""
    laplace, gauss = m.Laplace(1.0), m.Gaussian(1.0)
    weak = np.random.default_rng(5)
    true = math.exp(-4) / (1 + math.exp(-1))

    def unclipped(data: Any) -> Any:
        clipped = [min(x, 1.0) for x in data[:-1]] + list(data[-1:])
        return laplace.run(float(sum(clipped)), source=source)

    def unnoised(data: Any) -> Any:
        noisy = laplace.run(np.array(data, dtype=float), source=source)
        noisy[-1] = data[-1]
        return noisy

    def threshold(count: int, runs: int) -> Any:
        noisy = count + m.Geometric(1).run(np.zeros(runs, dtype=int), source=source)
        return [int(y) if count and y >= 5 else None for y in noisy]

    def nan_mean(data: Any) -> Any:
        return float(np.mean(data)) + laplace.run(0.0, source=source)

    return [
        Twin("one unclipped row", unclipped, ([0.5, 0.5], [0.5, 0.5, 9.0]), Pure(1.0)),
        Twin(
            "fixed seed",
            lambda x: laplace.run(x, source=Seeded(1)),
            (0, 1),
            Pure(1.0),
        ),
        Twin("unnoised coordinate", unnoised, ([0, 0, 0], [0, 0, 1]), Pure(1.0)),
        Twin(
            "delta 2.7 times too small",
            lambda count: threshold(count, 1)[0],
            (0, 1),
            Approx(1.0, true / 2.7),
            40_000,
            threshold,
        ),
        Twin(
            "noise of NumPy, Laplace",
            lambda x: x + weak.laplace(0, 1),
            (0.0, 1.0),
            Pure(1.0),
        ),
        Twin(
            "noise of NumPy, Gauss",
            lambda x: x + weak.normal(0, 1),
            (0.0, 1.0),
            GDP(1.0),
            16_000,
        ),
        Twin("a mean that turns NaN", nan_mean, ([1.0], [1.0, math.nan]), Pure(2.0)),
        Twin(
            "gauss charged as if halved",
            lambda x: gauss.run(x, source=source),
            (0.0, 1.0),
            GDP(0.5),
        ),
    ]
