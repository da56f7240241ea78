"""Clipped sums agree with one gradient per example, and survive any row."""

import functools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hush.errors import InvalidArgument
from hush.learn.sgd import clipped_sum, clipping, rounding_slack
from hush.learn.sgd.per_example import trace
from learn.sgd.models import MODELS, floats


@functools.cache
def summed(name, clip):
    """The clipped sum of a model, compiled once."""
    loss = MODELS[name][0]
    return jax.jit(lambda p, rows: clipped_sum(loss, p, rows, clip=clip))


@functools.cache
def gradients(loss):
    """One gradient per example, compiled once for rows of one shape."""
    return jax.jit(jax.vmap(jax.grad(loss), (None, 0)))


def by_hand(loss, params, rows, clip):
    """One gradient per example in float64, clipped and added: the definition."""
    found = gradients(loss)(params, rows)
    leaves = [np.asarray(g, np.float64) for g in jax.tree.leaves(found)]
    flat = [g.reshape(len(g), -1) for g in leaves]
    norm = np.sqrt(sum((g**2).sum(1) for g in flat))
    weight = np.minimum(1, clip / np.maximum(norm, 1e-30))
    return [np.tensordot(weight, g, 1) for g in leaves]


@pytest.mark.thin(5)
@pytest.mark.parametrize("name", MODELS)
def test_clipped_sums_are_those_of_vmap(name):
    clip = 0.5
    loss, params, rows, kinds = MODELS[name]
    example = jax.tree.map(lambda leaf: jnp.asarray(leaf)[0], rows)
    assert {tap.kind for tap in trace(loss, params, example).taps} == kinds
    found = jax.tree.leaves(summed(name, clip)(params, rows))
    for one, two in zip(found, by_hand(loss, params, rows, clip), strict=True):
        assert np.allclose(one, two, rtol=1e-4, atol=2e-5 * clip)


BAD = [np.nan, np.inf, -np.inf, 1e38, 3e19]


@pytest.mark.thin(7)
@pytest.mark.parametrize("bad", BAD, ids=repr)
@pytest.mark.parametrize("name", ["mlp", "conv", "attention"])
def test_a_bad_row_counts_as_zero_and_spoils_no_other(name, bad):
    loss, params, rows, _ = MODELS[name]
    leaves, tree = jax.tree.flatten(rows)
    spoilt = [np.array(leaf) for leaf in leaves]
    spoilt[0][3] = bad
    got = jax.tree.leaves(summed(name, 0.5)(params, tree.unflatten(spoilt)))
    leaves = [np.delete(leaf, 3, axis=0) for leaf in leaves]
    rest = by_hand(loss, params, tree.unflatten(leaves), 0.5)
    gap = np.sqrt(sum(((a - b) ** 2).sum() for a, b in zip(got, rest, strict=True)))
    assert gap <= 0.5 * (1 + 1e-4)  # 1e38 is clipped or dropped
    if not np.isfinite(bad):
        assert gap < 1e-4


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e38], ids=repr)
def test_gradients_that_are_not_finite_count_as_zero(bad):
    def loss(p, row):
        return p[0] * row * jnp.float32(2.0) + p[1] * 0.0

    params = (np.float32(1), np.float32(1))
    rows = np.array([bad, 0.0, 0.25], np.float32)
    first, second = clipped_sum(loss, params, rows, clip=1.0)
    assert float(first) == 0.5
    assert float(second) == 0.0


def test_zero_gradients_stay_zero():
    _, params, rows, _ = MODELS["transposed"]
    found = summed("transposed", 0.5)(params, 0 * rows)
    assert not np.any(found["w"])


def test_labels_out_of_range_do_not_raise():
    _, params, (x, _), _ = MODELS["mlp"]
    for labels in (np.full(12, 10**6), np.full(12, -(10**6))):
        found = summed("mlp", 0.5)(params, (x, labels))
        assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(found))


def test_a_loss_must_be_one_number():
    with pytest.raises(InvalidArgument, match="one float"):
        clipped_sum(lambda p, x: p * x, np.ones(2, np.float32), np.ones((3, 2)))


# -- the slack, in exact arithmetic ---------------------------------------------------

NASTY = {
    "aligned": lambda m: np.ones((m, 1)),
    "alternating": lambda m: np.where(np.arange(m)[:, None] % 2, 1.0, -1.0 + 2**-9),
    "spread": lambda m: 2.0 ** np.linspace(-20, 0, m)[:, None],
    "random": lambda m: np.random.default_rng(1).normal(size=(m, 1)),
    "last bit": lambda m: 1 + 2.0**-23 * (np.arange(m)[:, None] % 3),
}


def exact_norm(difference):
    return float(np.sqrt(np.sum(difference.astype(np.float64) ** 2)))


@pytest.mark.thin(4)
@pytest.mark.parametrize("rows", [16, 128])
@pytest.mark.parametrize("kind", NASTY)
def test_one_row_moves_a_float_sum_by_no_more_than_the_slack(kind, rows):
    """The computed sums with and without one row, for products, in exact arithmetic."""
    inputs = (NASTY[kind](rows) * floats(2, rows, 24)).astype(np.float32)
    outputs = (NASTY[kind](rows) * floats(3, rows, 8)).astype(np.float32)
    inputs[rows // 2 :] = inputs[0]  # many aligned rows: the worst partial sums
    outputs[rows // 2 :] = outputs[0]
    part = clipping.Product(jnp.asarray(inputs), jnp.asarray(outputs), rows_first=True)
    longest = rounding_slack.depth(24) + rounding_slack.depth(8) + 2
    allowed = float(rounding_slack.distance(rows=rows, longest=longest, replaced=False))
    sums = jax.jit(lambda valid: clipping.group_sums([part], valid, 0.1, 1)[0])
    whole = sums(jnp.ones(rows, bool))
    for gone in (0, 1, rows // 2, rows - 1):
        valid = jnp.ones(rows, bool).at[gone].set(False)
        less = sums(valid)
        moved = exact_norm(np.asarray(whole, np.float64) - np.asarray(less, np.float64))
        assert moved <= allowed


@pytest.mark.thin(3)
@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_clipped_rows_are_no_longer_than_stated_in_rationals(scale):
    inputs = (scale * floats(1, 6, 40)).astype(np.float32)
    outputs = (floats(2, 6, 30) / np.float32(scale) ** np.float32(0.5)).astype(
        np.float32
    )
    part = clipping.Product(jnp.asarray(inputs), jnp.asarray(outputs), rows_first=True)
    weight, kept = clipping.weights([part], jnp.ones(6, bool), 1.0)
    bound = rounding_slack.contribution(
        rounding_slack.depth(40) + rounding_slack.depth(30) + 2
    )
    assert bool(kept.all())
    for a, g, w in zip(inputs, np.asarray(outputs), np.asarray(weight), strict=True):
        scaled = (jnp.asarray(g) * w).tolist()  # as the contraction sees it
        square = sum(Fraction(x) ** 2 for x in a.tolist()) * sum(
            Fraction(x) ** 2 for x in scaled
        )
        assert square <= bound**2


def test_tiny_factors_of_huge_ones_are_dropped_rather_than_missed():
    """Squares of 2^-70 underflow; a gradient of 2^-70 · 2^63 must not escape."""
    inputs = np.full((1, 4), 2.0**-70, np.float32)
    outputs = np.full((1, 4), 2.0**60, np.float32)
    tap = trace(
        lambda w, x: jnp.sum(x @ w), np.ones((4, 4), np.float32), jnp.ones(4)
    ).taps[0]
    part = clipping._from_tap(tap, jnp.asarray(inputs), jnp.asarray(outputs), (4, 4))
    (found,) = clipping.group_sums([part], jnp.ones(1, bool), 1.0, 1)
    assert exact_norm(np.asarray(found)) <= 1.001


def test_slack_is_small_and_refuses_what_it_cannot_bound():
    assert rounding_slack.distance(rows=128, longest=2000, replaced=False) < 1.0025
    with pytest.raises(OverflowError):
        rounding_slack.gamma(1 << 22)
