"""A handful of designs of `benchmarks/coverage.py`, drawn anew, from both sides."""

import importlib.util

import numpy as np
import pytest
from scipy import stats

from hush import inference
from hush.mechanisms import Geometric

RUNS = 500
# Each side of a design fails wrongly with a chance below 1e-9.
FLOOR = stats.binom.ppf(1e-9, RUNS, 0.94)
TOP = stats.binom.isf(1e-9, RUNS, 0.97)


@pytest.fixture(scope="module")
def benchmark(root):
    # By its path: `coverage` is also the name of a package that tests may run under.
    path = root / "benchmarks" / "coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_of_intervals", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


NOMINAL = {
    "proportion": (100, 0.1, 1.0),
    "share of a noisy number": (1_000, 0.1, 1.0),
    "total": (30, 1.0),
    "mean": (1_000, "uniform", 5.0),
    "mean from totals": (1_000, "spikes 0.1", 5.0),
    "difference of shares": (15, 15, 0.5, 0.9, 5.0),
    "difference of means": (500, 1_000, 5.0),
    "ratio": (1_000, 500, 0.1, 0.2, 5.0),
    "weighted mean": (1_000, 1.0),
    "paired difference": (1_000, 0.2, 0.1, 1.0),
    "regression": (2_000, 1, 1.0, 0.0),
    "χ² fit": (2_000, 1.0),
    "χ² independence": (2_000, 1.0),
}
SAFE = {  # a worst case is assumed, and others are covered more often
    "variance": (300, "exponential", 5.0),
    "quantile": (1_000, 0.5, 5.0),
    "holdout, fixed questions": (500, 10),
}


@pytest.mark.statistical
@pytest.mark.parametrize("family", NOMINAL)
def test_a_design_is_covered_as_stated_from_both_sides(benchmark, family):
    held = benchmark.coverage(family, NOMINAL[family], RUNS) * RUNS
    assert FLOOR <= held <= TOP


@pytest.mark.statistical
@pytest.mark.parametrize("family", SAFE)
def test_a_design_is_covered_at_least_as_stated(benchmark, family):
    assert benchmark.coverage(family, SAFE[family], RUNS) * RUNS >= FLOOR


@pytest.mark.statistical
def test_a_blind_interval_is_caught(benchmark, monkeypatch):
    # The twin takes noise of scale 5 for next to none: it holds the truth too seldom.
    quiet, exact = Geometric(scale=0.05), inference.proportion_interval

    def blind(released, *, n, mechanism, source):
        return exact(released, n=n, mechanism=quiet, source=source)

    monkeypatch.setattr(benchmark.inference, "proportion_interval", blind)
    held = benchmark.coverage("proportion", (100, 0.1, 0.2), RUNS) * RUNS
    assert held < FLOOR


def test_there_are_two_hundred_designs_and_each_family_is_drawn(benchmark):
    designs = [d for _, each in benchmark.FAMILIES.values() for d in each]
    assert len(designs) >= 200
    assert set(NOMINAL) | set(SAFE) == set(benchmark.FAMILIES) - {"simultaneous"}
    rng = np.random.default_rng(0)
    for law, (sampler, mean, variance) in benchmark.LAWS.items():
        x = sampler(rng, 400_000)
        assert x.mean() == pytest.approx(mean, rel=0.02), law
        assert x.var() == pytest.approx(variance, rel=0.03), law
