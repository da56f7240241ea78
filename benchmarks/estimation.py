"""What privacy adds to the sampling error of an estimate, by subsample and aggregate.

Run `python benchmarks/estimation.py [RUNS]`. Printed is rms(M - T)·√n/σ at ε = 1: M the
private estimate, T the same function of all rows, σ/√n its sampling error, which is 1
on this scale. The slope is that of the logarithms over n. N Theorem 8.2 says that it
is negative for ever.
"""

import math
import sys

import numpy as np

from hush.learn import SubsampleAggregate
from hush.noise import Seeded

SIZES = (4_000, 16_000, 64_000, 100_000, 1_000_000)
RUNS = 40


def slope(x, y):
    """Logistic slope without a constant, penalised by θ²/2."""
    found, x = 0.0, x[:, 0]
    for _ in range(12):
        p = 1 / (1 + np.exp(-found * x))
        step = (x @ (y - p) - found) / ((x * x * p * (1 - p)).sum() + 1)
        found += min(max(step, -1), 1)
        if abs(step) < 1e-10:
            break
    return found


STATISTICS = {  # name: (function, public bounds, σ)
    "mean": (lambda x, _: x.mean(), (-10, 10), 1.0),
    "median": (lambda x, _: np.median(x), (-10, 10), math.sqrt(math.pi / 2)),
    "variance": (lambda x, _: x.var(), (0, 10), math.sqrt(2)),
    "logistic slope": (slope, (-10, 10), 2.35),
}


def price(name, n, runs, *, bounded):
    function, bounds, sigma = STATISTICS[name]
    errors = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, 1))
        y = (rng.uniform(size=n) < 1 / (1 + np.exp(-x[:, 0]))).astype(float)
        model = SubsampleAggregate(function, bounds=bounds if bounded else None)
        private = model.fit(x, y, source=Seeded(seed)).value_[0]
        errors.append((private - function(x, y)) * math.sqrt(n) / sigma)
    return math.sqrt(np.mean(np.square(errors)))


def main(runs):
    print(f"| statistic | bounds | {' | '.join(f'{n:,}' for n in SIZES)} | slope |")
    print("|---|---" + "|---" * len(SIZES) + "|---|")
    for name, (_, bounds, _) in STATISTICS.items():
        for bounded in (True, False):
            # Without bounds 320 blocks of twenty rows are needed.
            sizes = SIZES if bounded else SIZES[1:]
            costs = [price(name, n, runs, bounded=bounded) for n in sizes]
            power = np.polyfit(np.log(sizes), np.log(costs), 1)[0]
            shown = ["–"] * (len(SIZES) - len(sizes)) + [f"{c:.2f}" for c in costs]
            said = bounds if bounded else "none"
            print(
                f"| {name} | {said} | {' | '.join(shown)} | {power:.2f} |", flush=True
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
