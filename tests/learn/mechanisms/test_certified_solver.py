"""The solver's certificate against 50-digit arithmetic."""

import mpmath
import numpy as np
import pytest

from hush.learn.losses import HuberHinge, LogCosh, Logistic, Poisson
from hush.learn.mechanisms import certified_solver
from hush.learn.mechanisms.certified_solver import Objective, minimize


def problem(loss, seed, n=60, d=3, size=1.0, penalty=0.5, noise=3.0):
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-size, size, (n, d))
    y = rng.choice([-1.0, 1.0], n)
    if isinstance(loss, Poisson):
        y = rng.integers(0, 6, n).astype(float)
    length = float(np.sqrt(d) * size)
    return Objective(loss, rows, y, penalty, rng.normal(size=d) * noise, length)


def slope(loss, z, y):
    if isinstance(loss, Logistic):
        steep = min(1 / (1 + mpmath.exp(y * z)), mpmath.mpf(loss.slope_bound))
        return -y * steep
    if isinstance(loss, LogCosh):
        return loss.width * mpmath.tanh((z - y) / loss.width)
    if isinstance(loss, Poisson):
        return min(mpmath.exp(z), loss.top) - y
    ramp = (1 - y * z + loss.width) / (2 * mpmath.mpf(loss.width))
    return -y * min(max(ramp, 0), 1)


def true_norm(objective, theta):
    with mpmath.workdps(50):
        theta = [mpmath.mpf(str(t)) if not isinstance(t, float) else t for t in theta]
        total = [
            mpmath.mpf(objective.penalty) * t + mpmath.mpf(v)
            for t, v in zip(theta, objective.linear.tolist(), strict=True)
        ]
        for row, y in zip(
            objective.rows.tolist(), objective.targets.tolist(), strict=True
        ):
            z = mpmath.fdot(row, theta)
            s = slope(objective.loss, z, y)
            total = [g + s * x for g, x in zip(total, row, strict=True)]
        return mpmath.norm(total)


LOSSES = [Logistic(), Logistic(tail=0.5), LogCosh(0.5), HuberHinge(0.5), Poisson(5.0)]
NAMES = ["logistic", "tails", "log-cosh", "hinge", "poisson"]


@pytest.mark.thin(3)
@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_the_certificate_is_above_the_true_gradient(loss, size):
    for seed in range(4):
        objective = problem(loss, seed, size=size, n=300 if seed == 3 else 60)
        rng = np.random.default_rng(seed)
        for theta in (np.zeros(3), rng.normal(size=3), 1e6 * rng.normal(size=3)):
            bound = objective.steepness(theta)
            truth = true_norm(objective, theta.tolist())
            assert truth <= bound
            assert bound <= truth + 1e-9 * (
                1 + bound + 1e6 * size**2 * len(objective.rows)
            )


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
@pytest.mark.parametrize("size", [1e-2, 1.0, 100.0])
def test_minima_are_as_close_as_they_claim(loss, size):
    for seed in range(4):
        penalty = max(0.5, size**2)
        objective = problem(loss, seed, size=size, penalty=penalty, noise=10.0**seed)
        n, bound = len(objective.rows), loss.slope_bound
        tolerance = 2.0**-40 * (n * bound * objective.length + 40 * 10.0**seed)
        found = minimize(objective, tolerance)
        assert isinstance(found, np.ndarray)  # floats were enough
        assert true_norm(objective, found.tolist()) <= tolerance


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
def test_decimals_go_on_where_floats_end(loss):
    objective = problem(loss, 1)
    found = minimize(objective, 1e-30)
    assert not isinstance(found, np.ndarray)
    assert true_norm(objective, found) <= 1e-30


def test_decimals_recover_from_a_useless_start():
    # Far away the Hessian of the start says nothing; plain descent still arrives.
    objective = problem(HuberHinge(0.5), 2, n=8, d=2, penalty=2.0)
    found = certified_solver._precise(objective, np.array([50.0, -80.0]), 1e-12)
    assert true_norm(objective, found) <= 1e-12
