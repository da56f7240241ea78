"""Every mechanism of the law-suite, on the neighbors that the law-suite names."""

import dataclasses
import importlib.util
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from suite import Subject

from hush import mechanisms as m
from hush.mechanisms.query import Released
from hush.noise import Source
from hush.privacy import Approx

# These draw fresh noise for every coordinate, so that one long vector is many runs.
_FAST = (
    m.Laplace,
    m.Gaussian,
    m.Geometric,
    m.DiscreteGaussian,
    m.Staircase,
    m.Canonical,
    m.RandomizedResponse,
)
_RUNS, _MANY = 5_000, 400_000

# How much noise the twin keeps where the pair is far from the worst, so that much must
# be missing to be seen; and where more runs are needed.
_FACTORS = {
    "quantile, replace": 0.1,
    "quartiles": 0.1,
    "cells, quantile": 0.1,
    "cells, interval": 0.1,
    "median, no bounds": 0.1,
    "quantile, no bounds": 0.1,
    "clipped mean": 0.03,
    "clipped means": 0.03,
    "cells, top": 0.5,  # with less, the answer no longer depends on the weights
}
_SAMPLES = {"cells, top": 30_000}

# On coarse lattices the curve of a vector has room to spare: with 0.9 of the noise the
# exact laws of these cases still keep the claim, or break it where δ is below 1e-4.
_ROOM = {
    "gaussian, vector": 0.5,
    "discrete gaussian, vector": 0.8,
    "discrete gaussian, narrow vector": 0.6,
}


def registry() -> list[Any]:
    """The cases of the law-suite, whose folder has helpers of its own."""
    home = Path(__file__).parent.parent / "mechanisms"
    sys.path.insert(0, str(home))
    try:
        spec = importlib.util.spec_from_file_location("registry", home / "registry.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault("registry", module)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(home))
    return module.every_mechanism()


def quieter(mechanism: Any, factor: float) -> Any:
    """The same mechanism with less noise than it says."""
    if factor == 1:
        return mechanism
    if isinstance(mechanism, Released):
        inner = quieter(mechanism.mechanism, factor)
        return dataclasses.replace(mechanism, mechanism=inner)
    if isinstance(mechanism, m.RandomizedResponse):
        honesty = 1 - (1 - float(mechanism.honesty)) * factor
        return dataclasses.replace(mechanism, honesty=honesty)
    if isinstance(mechanism, m.Canonical):
        target = mechanism.target
        return dataclasses.replace(
            mechanism, target=Approx(target.epsilon / factor, target.delta)
        )
    if isinstance(mechanism, m.OptimalKeySelection):
        wrong = {
            "epsilon": mechanism.epsilon / factor,
            "delta": mechanism.delta / factor,
        }
        return dataclasses.replace(mechanism, **wrong)
    name = type(mechanism).noise
    noise = float(getattr(mechanism, name)) * factor
    return dataclasses.replace(mechanism, **{name: noise})


def drawn(mechanism: Any) -> Any:
    """Draw from a mechanism: as one array where that is the same."""

    def draws(factor: float, source: Source) -> Any:
        twin = quieter(mechanism, factor)

        def many(data: Any, count: int) -> Any:
            if not isinstance(twin, _FAST):
                return [twin.run(data, source=source) for _ in range(count)]
            tiled = np.broadcast_to(np.asarray(data), (count, *np.shape(data))).copy()
            return np.asarray(twin.run(tiled, source=source))

        return many

    return draws


def _covered(case: Any) -> tuple[str, ...]:
    """The public names of a case; a query is named by its case."""
    if isinstance(case.mechanism, Released):
        return (f"mechanisms.{case.name.split(',')[0]}",)
    return (f"mechanisms.{type(case.mechanism).__name__}",)


def _subject(case: Any) -> Subject:
    additive = isinstance(case.mechanism, _FAST)
    return Subject(
        case.name,
        _covered(case),
        tuple(case.values()),
        lambda: case.curve,
        drawn(case.mechanism),
        factor=_ROOM.get(case.name, 0.9) if additive else _FACTORS.get(case.name, 0.25),
        samples=_SAMPLES.get(case.name, _MANY if additive else _RUNS),
    )


def _vectors() -> list[Subject]:
    """Vectors whose lattice is fine, so that a tenth less noise breaks the claim."""
    gauss, discrete = m.Gaussian(1.0, step=2.0**-11), m.DiscreteGaussian(100)
    return [
        Subject(
            "gaussian, fine vector",
            ("mechanisms.Gaussian",),
            ([0.0, 0.0], [0.75, 0.75]),
            lambda: gauss.curve(math.sqrt(2) * 0.75, dimension=2),
            drawn(gauss),
            samples=_MANY,
        ),
        Subject(
            "discrete gaussian, wide vector",
            ("mechanisms.DiscreteGaussian",),
            ([0, 0], [75, 75]),
            lambda: discrete.curve(math.sqrt(2) * 75, dimension=2),
            drawn(discrete),
            samples=_MANY,
        ),
    ]


def subjects() -> list[Subject]:
    """Return one subject for every case, and the queries that no case has."""
    queries = {
        "sum": (m.sum((0, 1)) >> m.Laplace(1.0), (0.2, 0.7), 0.25),
        "variance": (m.variance((0, 1)) >> m.Laplace(1.0), (0.5, 0.5), 0.05),
    }
    return [
        *map(_subject, registry()),
        *_vectors(),
        *(
            Subject(
                f"{name}, laplace",
                (f"mechanisms.{name}",),
                (data, (*data, 1.0)),
                query.curve,
                drawn(query),
                factor=factor,
                samples=_RUNS,
            )
            for name, (query, data, factor) in queries.items()
        ),
    ]
