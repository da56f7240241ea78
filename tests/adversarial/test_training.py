"""Attempts on DP-SGD: rows that look short and are long, and rows that meet."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from hush.errors import InvalidArgument
from hush.learn import sgd
from hush.learn.sgd import clipping, program
from hush.noise import Seeded

ROWS, WIDE, OUT = 200, 30, 10


def cancelling(p, row):
    """Its slope is x·y - z: zero with two roundings, about 2^16 with one."""
    a, x, y, z = row
    return jnp.sum((x * y - z) * (a @ p["w"]))  # and nothing of p["unused"]


def one_cancels():
    """One row among silent ones; z is x·y as floats round it."""
    x = y = np.zeros(ROWS, np.float32)
    x, y = x.copy(), y.copy()
    x[0], y[0] = 1.637 * 2**20, 1.041 * 2**20
    z = np.repeat((x * y)[:, None], OUT, axis=1)
    a = np.zeros((ROWS, WIDE), np.float32)
    a[0] = 1
    return a, x, y, z


def moved():
    """How far the sum of all rows lies from that of no rows, in clips."""
    start = {"unused": np.float32(0), "w": np.zeros((WIDE, OUT), np.float32)}
    found = [
        np.asarray(
            sgd.train(
                cancelling, start, rows, std=1.0, steps=1,
                optimizer=optax.sgd(float(ROWS)), source=Seeded(1),
            ).params["w"]
        )
        for rows in (one_cancels(), tuple(0 * each for each in one_cancels()))
    ]  # fmt: skip
    return float(np.linalg.norm(found[0] - found[1]))


def test_what_is_added_is_what_was_measured():
    """XLA computes cheap expressions anew for the norm and for the sum.

    With a fused product in one of them only, this row was added at 35 000 clips.
    """
    assert moved() <= 1.01


def test_left_to_the_compiler_a_row_escapes_the_clip(monkeypatch):
    """The sabotaged twin; where a processor has no fused product there is none."""
    fused = jax.jit(lambda x, y, z: x * y - z)
    _, x, y, z = one_cancels()
    if not np.any(fused(x, y, z[:, 0])):
        pytest.skip("no fused products here")
    for module in (clipping, program):
        monkeypatch.setattr(module, "in_memory", lambda tree, _: tree)
    assert moved() > 100


def test_who_else_is_there_changes_no_bit_of_a_row():
    """One row, two rows, ten: the slot of the first adds the same lattice steps."""

    def loss(p, row):
        x, y, z = row
        return jnp.sum(p * jnp.sin(1e9 * (x * y - z) + 1))

    rng = np.random.default_rng(3)
    x, y = (2**10 * (1 + rng.random(10))).astype(np.float32), np.float32([1031.7] * 10)
    z = (x * y).astype(np.float32)[:, None] * np.ones((1, 4), np.float32)
    made, plan = sgd.plan(
        loss, np.zeros(4, np.float32), (x, y, z), std=1.0, batch=6, records=12, steps=1
    )
    slots = np.full(plan.rows, -1, np.int32)
    slots[1] = 0
    sums = jax.jit(made.sum, static_argnums=0)
    found = [
        np.asarray(
            sums(plan, [np.zeros(4, np.float32)], [x[:n], y[:n], z[:n]], slots)[0].high
        )
        for n in (10, 2, 1)
    ]
    assert np.all(found[0])
    assert all(np.array_equal(each, found[0]) for each in found)


# -- rows that meet --------------------------------------------------------------------


@jax.custom_batching.custom_vmap
def centered(x):
    return x


@centered.def_vmap
def _centered(axis_size, in_batched, x):
    return x - x.mean(), True  # every row moves every other


def inside_a_loop(p, x):
    return jax.lax.scan(lambda s, _: (s + p * centered(x), None), 0.0, None, length=2)[
        0
    ]


def shown(p, x):
    jax.debug.print("x = {}", x)
    return p * x


def called_back(p, x):
    kind = jax.ShapeDtypeStruct((), jnp.float32)
    return p * jax.pure_callback(np.tanh, kind, x, vmap_method="broadcast_all")


MEETINGS = {
    "custom_vmap": lambda p, x: p * centered(x),
    "custom_vmap in a scan": inside_a_loop,
    "custom_vmap in a branch": lambda p, x: jax.lax.cond(
        x > 0, lambda: p * centered(x), lambda: p
    ),
    "custom_vmap in a jit": lambda p, x: jax.jit(lambda x: p * centered(x))(x),
    "a print": shown,
    "a callback": called_back,
}


@pytest.mark.parametrize("name", MEETINGS)
def test_losses_through_which_rows_meet_or_speak_are_refused(name):
    x = np.ones(20, np.float32)
    with pytest.raises(InvalidArgument, match="one example"):
        sgd.train(MEETINGS[name], np.float32(1), x, std=1.0, steps=1)


# -- noise -----------------------------------------------------------------------------


def test_every_step_has_noise_of_its_own_and_all_of_it():
    """Noise lies in rooms that are used again: what was drawn is what was added."""
    drawn = []
    codes = program.gradient_noise.codes

    def seen(deviation, room, source):
        found = codes(deviation, room, source)
        drawn.append(
            np.array(program.gradient_noise.decode(deviation, jnp.asarray(found)))
        )
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program.gradient_noise, "codes", seen)
        patch.setattr(program, "_AHEAD", 3)
        found = sgd.train(
            lambda p, row: 0.0 * jnp.sum(p) * row, np.zeros(50, np.float32),
            np.ones(9, np.float32), std=1.0, steps=20, optimizer=optax.sgd(9.0),
        )  # fmt: skip
    steps = np.concatenate(drawn)[: found.steps]
    assert steps.shape == (20, 50)
    assert np.unique(steps[:, 0]).size > 15
    total = -float(found.training.grid.step) * steps.sum(0)
    assert np.allclose(found.params, total, rtol=1e-5, atol=1e-4)
