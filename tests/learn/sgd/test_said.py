"""What training says: what it cost, how to plan it, and what a loss is given."""

import jax
import numpy as np
import pytest

from hush.errors import InvalidArgument
from hush.learn import sgd
from hush.learn.sgd import Trained, Training

X = np.linspace(-1, 1, 60, dtype=np.float32).reshape(20, 3)
Y = np.arange(20) % 2
START = np.zeros(3, np.float32)


def squares(w, example):
    row, label = example
    return (row @ w - label) ** 2


def said(**public):
    run = Training(clip=1.0, records=1000, steps=5, **public)
    return Trained(None, None, run, seeded=False, delta=1e-5)


def test_a_run_prints_what_it_cost_and_for_whom():
    one = sgd.train(squares, START, (X, Y), epsilon=2.0, delta=1e-6, steps=3)
    assert one.delta == 1e-6
    assert 1.99 < one.epsilon <= 2
    assert "epsilon 2 at delta 1e-06, for one row added or removed" in str(one)
    fixed = str(said(std=1.0, batch=100, sampling="fixed-size"))
    assert fixed.endswith("for one row replaced")


@pytest.mark.parametrize("std", [0.7, 1.0, 3.3])
def test_a_printed_epsilon_is_never_below_the_proven_one(std):
    run = said(std=std, batch=1000)
    shown = float(str(run).split("epsilon ")[1].split(" ")[0])
    assert run.epsilon * (1 - 1e-8) <= shown <= run.epsilon * 1.001


def test_noise_for_a_target_needs_no_data():
    planned = Training.for_epsilon(2.0, delta=1e-6, records=20, steps=9)
    assert (planned.batch, planned.clip) == (20, 1.0)
    assert planned.curve().delta_at(2.0) <= 1e-6
    less = Training(std=planned.std * 0.999, clip=1.0, batch=20, records=20, steps=9)
    assert less.curve().delta_at(2.0) > 1e-6
    trained = sgd.plan(squares, START, (X, Y), epsilon=2.0, delta=1e-6, steps=9)[1]
    assert planned.std == pytest.approx(trained.std, rel=0.01)
    assert Training.for_epsilon(2.0, records=20).steps == 120


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({}, "records must be a whole number"),
        ({"records": 20, "batch": 0}, "batch must be"),
        ({"records": 20, "delta": 0}, "delta must be"),
        ({"records": 20, "sensitivity": 2}, "planned for one row"),
    ],
)
def test_a_target_is_refused_by_name(wrong, told):
    with pytest.raises(InvalidArgument, match=told):
        Training.for_epsilon(2.0, **wrong)


def test_a_target_in_epochs_says_what_to_write():
    with pytest.raises(TypeError, match="epochs·records/batch"):
        Training.for_epsilon(2.0, records=20, epochs=3)


def test_a_loss_of_a_batch_is_told_what_it_is_given():
    def batched(w, batch):
        return ((batch[0] @ w)[:, None] - batch[1]).mean()

    with pytest.raises(IndexError) as told:
        sgd.train(batched, START, (X, Y), epsilon=1.0)
    note = told.value.__notes__[-1]
    assert "one row of data, without a batch axis" in note
    assert "'float32[3]'" in note


def test_a_key_of_jax_is_no_seed():
    with pytest.raises(InvalidArgument, match="It is no seed"):
        sgd.train(squares, START, (X, Y), epsilon=1.0, key=jax.random.key(0))
