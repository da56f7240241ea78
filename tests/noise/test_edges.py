"""Lattices, shapes, memory and refusals."""

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush import noise
from hush.errors import InvalidArgument
from hush.noise import Lattice, Seeded

finite = st.floats(-1e9, 1e9, allow_nan=False)


@given(finite, st.integers(-20, 20))
def test_rounding_moves_a_value_by_half_a_step_at_most(value, exponent):
    grid = Lattice(exponent)
    landed = int(grid.integers(value)) * grid.step
    assert abs(landed - Fraction(value)) <= grid.step / 2


@given(finite, st.floats(0, 1e6), st.integers(-20, 20))
def test_counted_steps_cover_every_pair(value, distance, exponent):
    grid = Lattice(exponent)
    other = value + distance
    true = abs(Fraction(other) - Fraction(value))
    moved = abs(int(grid.integers(other)) - int(grid.integers(value)))
    assert moved <= grid.steps(true)


def test_a_tie_needs_the_extra_step():
    # 0.5 and 1.5 are one apart, and round to 0 and 2.
    grid = Lattice(0)
    assert abs(int(grid.integers(1.5)) - int(grid.integers(0.5))) == 2 == grid.steps(1)
    assert grid.steps(0) == 0


@given(st.integers(-(2**53), 2**53), st.integers(-100, 100))
def test_grid_points_survive_the_round_trip(k, exponent):
    grid = Lattice(exponent)
    assert int(grid.integers(grid.floats(k))) == k


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300])
def test_values_without_a_grid_point_are_refused(value):
    with pytest.raises(InvalidArgument, match="values must be finite"):
        Lattice(-10).integers([0.0, value])


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**9))
def test_the_grid_is_finer_than_its_width(width):
    grid = Lattice.under(width, bits=10)
    assert grid.step * 2**9 < width
    assert grid.step * 2**11 > width


@pytest.mark.parametrize("size", [0, 1, 5, (3, 4), (2, 0), 5000, 131073, (3, 70_000)])
def test_shapes_are_those_of_numpy(size):
    expected = np.empty(size).shape
    for draw in (
        lambda: noise.discrete_laplace(3, size),
        lambda: noise.discrete_gaussian(300, size),
        lambda: noise.geometric(3, size),
        lambda: noise.integers(9, size),
        lambda: noise.bernoulli(0.3, size),
        lambda: noise.bernoulli_exp(0.3, size),
        lambda: noise.categorical([0.0, 1.0], size),
    ):
        assert draw().shape == expected


def test_without_a_size_a_plain_number_comes_back():
    assert type(noise.discrete_laplace(3)) is int
    assert type(noise.discrete_gaussian(3)) is int
    assert type(noise.integers(10**30)) is int
    assert type(noise.bernoulli(0.5)) is bool
    assert noise.ball(2, 3).shape == (3,)
    assert noise.integers(1) == 0


def test_memory_is_the_result_and_a_few_blocks():
    noise.discrete_gaussian(1000, 10**5)
    tracemalloc.start()
    try:
        result = noise.discrete_gaussian(1000, 10**7)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < result.nbytes + 16 * 2**20


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: noise.discrete_laplace(0), "scale"),
        (lambda: noise.discrete_laplace(-1), "scale"),
        (lambda: noise.discrete_laplace(math.nan), "scale"),
        (lambda: noise.discrete_laplace(math.inf), "scale"),
        (lambda: noise.discrete_laplace("2"), "scale"),
        (lambda: noise.discrete_laplace(True), "scale"),
        (lambda: noise.discrete_laplace(2**51), "scale"),
        (lambda: noise.discrete_gaussian(0), "std"),
        (lambda: noise.discrete_gaussian(2**51), "std"),
        (lambda: noise.discrete_gaussian(1, -1), "size"),
        (lambda: noise.discrete_gaussian(1, 2.0), "size"),
        (lambda: noise.bernoulli(1.5), "p"),
        (lambda: noise.bernoulli([0.5, math.nan]), "p"),
        (lambda: noise.bernoulli([0.5], size=3), "size"),
        (lambda: noise.bernoulli_exp(-1), "x"),
        (lambda: noise.bernoulli_exp([-1.0]), "x"),
        (lambda: noise.bernoulli_exp([1.0], size=2), "size"),
        (lambda: noise.integers(0), "high"),
        (lambda: noise.integers(2**64, size=3), "high"),
        (lambda: noise.categorical([]), "log_weights"),
        (lambda: noise.categorical([math.nan, 0]), "log_weights"),
        (lambda: noise.categorical([-math.inf]), "log_weights"),
        (lambda: noise.gumbel_argmax([[1.0]]), "scores"),
        (lambda: noise.gumbel_argmax(["a"]), "scores"),
        (lambda: noise.exponential_argmax([1.0], scale=0), "scale"),
        (lambda: noise.permutation(-1), "count"),
        (lambda: noise.subsample(5), "rate"),
        (lambda: noise.subsample(5, rate=0.1, batch=1), "rate"),
        (lambda: noise.subsample(5, batch=6), "batch"),
        (lambda: noise.ball(3, 2), "norm"),
        (lambda: noise.ball(2, 0), "dimension"),
        (lambda: Lattice(0.5), "exponent"),
        (lambda: Lattice(0).steps(-1), "distance"),
        (lambda: Seeded("x"), "seed"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(InvalidArgument, match=name):
        call()


def test_extreme_scores_neither_overflow_nor_vanish():
    assert noise.gumbel_argmax([-1e308, 1e308]) == 1
    assert noise.gumbel_argmax(np.array([-(2**63), 2**63 - 1])) == 1
    assert noise.exponential_argmax([-np.inf, 5.0, -1e308]) == 1
    # Weights below the smallest float are still a law: all their mass is in one node.
    far = np.full(5000, -1e6)
    far[0] = 0.0
    assert noise.categorical(far, 1000).max() == 0
