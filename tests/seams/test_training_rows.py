"""A stated number of records hides the number of rows, above it as below it."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from hush.learn import sgd
from hush.learn.sgd import batches
from hush.ledger import Budget, Ledger
from hush.noise import Seeded

X = np.linspace(-1, 1, 60, dtype=np.float32)
LEAST = 2.0**-8  # the least noise there is, in clips


def loss(p, row):
    return p * row


def trained(rows, records, **options):
    options = {"std": 1.0, "steps": 2, "batch": min(5, records), **options}
    return sgd.train(loss, np.float32(0), rows, records=records, **options)


@pytest.mark.parametrize("sampling", ["poisson", "fixed-size"])
def test_bisection_of_records_tells_nothing(sampling):
    """Thirteen calls once told the exact number of rows, and cost nothing."""
    for records in (30, 59, 60):
        spent = []
        for rows in (X, X[:59]):
            ledger = Ledger.open("memory://", budget=Budget(epsilon=1000, delta=0.1))
            trained(rows, records, sampling=sampling, ledger=ledger, delta=1e-5)
            spent.append(ledger.remaining().epsilon)
        assert len(set(spent)) == 1
        assert spent[0] < 1000


def moved(sampling, one, other, *, records, times=1):
    """How far two data sets are apart in clips; the noise is below 0.06."""
    found = [
        float(
            trained(
                rows, records, std=LEAST, steps=1, batch=records, sampling=sampling,
                optimizer=optax.sgd(float(records)), source=Seeded(i),
            ).params
        )
        for rows in (one, other)
        for i in range(times)
    ]  # fmt: skip
    first, second = found[:times], found[times:]
    return max(abs(a - b) for a in first for b in second)


def test_rows_beyond_records_take_part_like_all_others():
    everybody = np.ones(60, np.float32)
    assert abs(moved("poisson", everybody, everybody[:0], records=20) - 60) < 0.1
    assert abs(moved("poisson", everybody, everybody[:59], records=59) - 1) < 0.1


def test_one_row_more_moves_one_row_on_either_side_of_records():
    for n in (20, 21, 40):
        one = np.where(np.arange(n) < n // 2, 1, -1).astype(np.float32)
        assert moved("poisson", one, one[1:], records=20) < 1.1


def test_leaving_rows_out_would_move_two(monkeypatch):
    """The twin: the first `records` rows only, so that another one moves in."""
    monkeypatch.setattr(batches, "positions", lambda records, _: records)
    one = np.where(np.arange(21) < 10, 1, -1).astype(np.float32)
    assert moved("poisson", one, one[1:], records=20) > 1.9


def test_a_replaced_row_is_one_of_a_batch_of_the_same_size():
    one = np.ones(40, np.float32)
    two = np.where(np.arange(40) == 7, -1, one).astype(np.float32)
    assert moved("fixed-size", one, two, records=20, times=5) < 2.1
    nobody = np.zeros(40, np.float32)
    assert abs(moved("fixed-size", one, nobody, records=20) - 20) < 0.1


def lattice_sum(made, plan, rows, order):
    """Return the exact whole-number sum of all passes, rows in the given order."""
    slots = batches.arranged([np.asarray(order)], plan.rows, 2)[0]
    params = [jnp.zeros(3, jnp.float32)]
    parts = [made.sum(plan, params, [rows], each)[0] for each in slots]
    return sum(np.asarray(each.high, np.int64) for each in parts)


def test_a_row_that_takes_the_slot_of_another_moves_no_more_than_is_charged():
    """Neighbors' batches in random order differ by one swap: in two groups at most."""
    rng = np.random.default_rng(1)
    rows = (rng.normal(size=(601, 3)) * 10.0 ** rng.integers(-3, 4, (601, 1))).astype(
        np.float32
    )
    made, plan = sgd.plan(
        lambda p, x: p @ x, np.zeros(3, np.float32), rows, std=1.0, records=500,
        batch=400,
    )  # fmt: skip
    assert plan.rows < 400
    allowed = float(plan.distance / plan.grid.step)
    for _ in range(20):
        order = rng.permutation(600)
        slot = int(rng.integers(601))
        other = np.append(order, 600)
        other[[slot, 600]] = other[[600, slot]]
        before = lattice_sum(made, plan, rows[:600], order)
        after = lattice_sum(made, plan, rows, other)
        assert np.linalg.norm(after - before) <= allowed


def test_a_loop_of_ones_own_tells_nothing_either():
    made, plan = sgd.plan(loss, np.float32(0), X[:20], std=LEAST, steps=1)
    found = sgd.step(made, plan, np.float32(0), np.ones(57, np.float32))
    assert abs(float(found) * plan.batch - 57) < 0.1
