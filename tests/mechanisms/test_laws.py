"""The law-suite: every law over every mechanism, each with a twin that must fail.

Statistical checks use fixed seeds and fail wrongly with probability 1e-9 each.
"""

import math
from dataclasses import FrozenInstanceError, fields
from functools import cache

import exact
import numpy as np
import pytest
from registry import every_mechanism

from goodness import FALSE_ALARM, fits
from hush.mechanisms import Mechanism
from hush.mechanisms.query import Released
from hush.noise import Seeded

CASES = every_mechanism()
every = pytest.mark.parametrize("case", CASES, ids=repr)


@cache
def top(case):
    """The largest loss, or where δ is tiny, or where it stays above its floor."""
    found = case.curve.epsilon_at(0.0)
    found = found if math.isfinite(found) else case.curve.epsilon_at(1e-9)
    return found if math.isfinite(found) else 2.0


@cache
def span(case):
    """200 exchange rates from 0 to beyond the largest loss."""
    return np.linspace(0, 1.2 * top(case), 200)


@cache
def claimed(case):
    return case.curve.delta_at(span(case))


def worst(case, epsilon, factor=1.0):
    return np.max([exact.hockey(p, q, epsilon) for p, q in case.pairs(factor)], axis=0)


@pytest.mark.thin(2)
@every
def test_the_curve_covers_the_law(case):
    # The enumeration itself sums thousands of floats: 1e-12.
    assert np.all(claimed(case) >= worst(case, span(case)) * (1 - 1e-9) - 1e-12)


@pytest.mark.parametrize("case", [c for c in CASES if c.tight], ids=repr)
def test_a_tight_curve_is_attained(case):
    assert np.all(claimed(case) <= worst(case, span(case)) + 1e-9)


@pytest.mark.parametrize("case", [c for c in CASES if c.strict], ids=repr)
def test_a_twin_with_less_noise_is_caught(case):
    assert np.any(claimed(case) < worst(case, span(case), 0.95) - 1e-6)


@pytest.mark.thin(2)
@every
def test_noise_buys_privacy(case):
    noise = case.mechanism.noise
    if noise == "target" or noise not in {f.name for f in fields(case.mechanism)}:
        pytest.skip("its noise is a probability, or belongs to another mechanism")
    louder = case.louder().curve(case.sensitivity, **case.options)
    quiet, loud = claimed(case), louder.delta_at(span(case))
    assert np.all(loud <= quiet * (1 + 1e-9) + 1e-15)
    assert loud[0] < quiet[0]


@every
def test_distance_costs_privacy(case):
    if case.name == "canonical":
        farther = case.mechanism.curve(2)
    else:
        farther = case.mechanism.curve(2 * case.sensitivity, **case.options)
    assert case.mechanism.curve(0).delta_at(0.0) == 0.0
    assert farther.delta_at(0.0) > case.curve.delta_at(0.0)


@every
def test_mechanisms_are_values(case):
    mechanism = case.mechanism
    assert hash(mechanism) == hash(mechanism)
    with pytest.raises(FrozenInstanceError):
        mechanism.scale = 1.0
    if isinstance(mechanism, Released):
        pytest.skip("a query is a function: store its plan, not its text")
    again = Mechanism.from_json(mechanism.to_json())
    assert again == mechanism
    assert repr(again) == repr(mechanism)
    assert type(mechanism).__name__ in repr(mechanism)


@every
def test_neighbors_reach_the_same_answers(case):
    if case.grid is None:
        pytest.skip("its answers are indices or points of a continuum")
    for seed, value in enumerate(case.values()):
        for turn in range(50):
            answer = case.mechanism.run(value, source=Seeded(1000 * seed + turn))
            steps = np.asarray(answer, dtype=float) / case.grid
            assert np.array_equal(steps, np.rint(steps))
    if case.pure:
        for p, q in case.pairs(1.0):
            body = (p > 1e-300) & (q > 1e-300)
            assert p[~body].sum() < 1e-12
            assert q[~body].sum() < 1e-12


@every
def test_types_and_shapes_do_not_depend_on_the_data(case):
    seen = set()
    for value in case.values():
        answer = case.mechanism.run(value, source=Seeded(5))
        if isinstance(answer, list):  # sparse vector stops at a hit
            answer = np.array(answer[:1])
        rows = case.name in ("tree of sums",) or np.ndim(answer) == 0
        seen.add((type(answer), None if rows else np.shape(answer)))
    assert len(seen) == 1


NOISED = [
    pytest.param(c, id=c.name)
    for c in CASES
    if c.name not in ("sparse vector", "quantile, replace")
    and not c.name.startswith(("top", "keys"))
]


@pytest.mark.thin(2)
@pytest.mark.statistical
@pytest.mark.parametrize("case", NOISED)
def test_every_coordinate_is_noised(case):
    # A coordinate that stays put in 400 runs while it should move has chance < 1e-9
    # for every law here (each moves with probability above 0.05).
    value = case.values()[1]
    if case.errors is not None and np.ndim(value) == 0:
        value = [value] * 6
    runs = np.array(
        [case.mechanism.run(value, source=Seeded(turn)) for turn in range(400)],
        dtype=float,
    ).reshape(400, -1)
    assert np.all(np.ptp(runs, axis=0) > 0)
    twin = runs.copy()
    twin[:, 0] = np.ravel(np.asarray(value, dtype=float))[0]
    assert not np.all(np.ptp(twin, axis=0) > 0)


ERRORS = [pytest.param(c, id=c.name) for c in CASES if c.errors is not None]


@pytest.mark.statistical
@pytest.mark.parametrize("case", ERRORS)
def test_the_error_law_is_what_happens(case):
    draws = case.errors(Seeded(77), 100_000)
    error = case.mechanism.error
    law, step = next(
        (law, step) for law, step in error.cases if float(step) == case.grid
    )
    steps = np.rint(np.asarray(draws, dtype=float) / float(step)).astype(np.int64)
    assert fits(law, steps) > FALSE_ALARM
    # Twins: 5 % less noise, and one value in twenty without any.
    assert fits(law, np.trunc(0.95 * steps + 0.3).astype(np.int64)) < FALSE_ALARM
    steps[::20] = 0
    assert fits(law, steps) < FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("case", ERRORS)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_cover(case, level):
    error = case.mechanism.error.joint(1)
    low, high = error.interval(level)
    draws = np.abs(case.errors(Seeded(78), 100_000))
    inside = np.mean(draws <= high + 1e-12)
    # Binomial at n = 10^5: six standard deviations.
    assert low == -high
    assert inside >= level - 6 * math.sqrt(level * (1 - level) / 100_000)
    assert abs(error.std - np.sqrt(np.mean(draws**2))) < 0.05 * error.std
    assert error.quantile((1 + level) / 2) == pytest.approx(high)
