"""hush audits itself: every mechanism at its claim, and twins that must be caught.

`python tests/audit/suite.py` prints the table of docs/audit.md.
"""

import dataclasses
import importlib.util
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hush import mechanisms as m
from hush.audit import Audit, audit
from hush.mechanisms.query import Released
from hush.noise import Seeded
from hush.privacy import GDP, Approx, Curve, Pure

FAMILY = 1e-3  # chance that any correct mechanism of the suite is accused
LEVEL = 1 - 1e-5  # bets stop there
_FAST = (
    m.Laplace,
    m.Gaussian,
    m.Geometric,
    m.DiscreteGaussian,
    m.Staircase,
    m.Canonical,
    m.RandomizedResponse,
)


# Pairs that are far from the worst, so that much noise must be missing to be seen.
_FACTORS = {
    "quantile, replace": 0.1,
    "quartiles": 0.1,
    "cells, quantile": 0.1,
    "cells, interval": 0.1,
    "cells, top": 0.5,  # with less, the answer no longer depends on the weights
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


def runs_of(case: Any) -> int:
    """How many runs an audit gets: arrays of noise are cheap, single runs are not."""
    if isinstance(case.mechanism, _FAST):
        return 400_000
    return 30_000 if case.name == "cells, top" else 6_000  # there little can be seen


def honest(case: Any, seed: int) -> Audit:
    """Audit one mechanism at its own claim."""
    return audit(
        case.mechanism,
        *case.values(),
        claim=case.curve,
        samples=runs_of(case),
        level=LEVEL,
        source=Seeded(seed),
    )


def quieter(mechanism: Any, factor: float) -> Any:
    """The same mechanism with less noise than it says."""
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


def sabotaged(case: Any, factor: float, seed: int) -> Audit:
    """Audit a mechanism with less noise at the claim of the right one."""
    twin = quieter(case.mechanism, factor)
    return audit(
        twin,
        *case.values(),
        claim=case.curve,
        samples=runs_of(case),
        level=LEVEL,
        source=Seeded(seed),
    )


@dataclasses.dataclass(frozen=True)
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
    """The sabotages of the issue and of HAZARDS, each made by hand."""
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


def factor_of(case: Any) -> float:
    """How much of the noise a sabotaged twin keeps.

    0.9 where the pair is the worst one; other pairs leak less than the curve says, so
    that less can be seen.
    """
    scalar = isinstance(case.mechanism, _FAST) and not isinstance(
        case.values()[0], list
    )
    if not scalar:
        return _FACTORS.get(case.name, 0.25)
    return 0.9 if case.tight else 0.8


def main() -> None:
    """Print the table of docs/audit.md."""
    print(
        "| mechanism | runs | p at its claim | twin: noise × | p of the twin | caught |"
    )
    print("|---|---|---|---|---|---|")
    for i, case in enumerate(registry()):
        factor = factor_of(case)
        good, bad = honest(case, i), sabotaged(case, factor, i)
        caught = "yes" if bad.p_value <= FAMILY else "no"
        print(
            f"| {case.name} | {good.samples:,} | {good.p_value:.2g} | {factor} "
            f"| {bad.p_value:.1g} | {caught} |",
            flush=True,
        )
    print(
        "\n| sabotage | runs | p | epsilon at least | caught |\n|---|---|---|---|---|"
    )
    for i, twin in enumerate(twins(Seeded(99))):
        found = twin.audit(i)
        caught = "yes" if found.p_value <= FAMILY else "no"
        print(
            f"| {twin.name} | {found.samples:,} | {found.p_value:.1g} "
            f"| {found.epsilon_lower:.2f} | {caught} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
