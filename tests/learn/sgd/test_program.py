"""The name of a program tells apart everything that changes what is learnt."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from hush.errors import KeyConflict
from hush.learn import sgd
from hush.learn.sgd.program import Program
from hush.ledger import Budget, Ledger

X = np.linspace(-1, 1, 60, dtype=np.float32)


def loss(p, row):
    return p * row


def scaled(factor):
    table = jnp.asarray(factor)
    return lambda p, row: p * row * table.sum()


def named(loss=loss, params=0.0, optimizer=None):
    optimizer = optimizer or optax.sgd(0.1)
    return Program(loss, np.float32(params), optimizer, np.float32(0)).fingerprint


DIFFERENT = {
    "loss": lambda: named(lambda p, row: p * row * row),
    "start": lambda: named(params=1.0),
    "rate": lambda: named(optimizer=optax.sgd(0.2)),
    "schedule": lambda: named(optimizer=optax.sgd(optax.linear_schedule(0.1, 0, 9))),
    "rule": lambda: named(optimizer=optax.adam(0.1)),
    "its memory": lambda: named(optimizer=optax.adam(0.1, b1=0.5)),
    "a constant": lambda: named(scaled([1.0, 2.0])),
    "another constant": lambda: named(scaled([1.0, 3.0])),
    "one inside of a branch": lambda: named(
        lambda p, row: jnp.where(p > 0, scaled([4.0, 2.0])(p, row), 0.0)
    ),
}


def test_programs_that_learn_differently_have_different_names():
    names = [named(), *(make() for make in DIFFERENT.values())]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("which", DIFFERENT)
def test_the_same_program_has_the_same_name(which):
    assert DIFFERENT[which]() == DIFFERENT[which]()


def test_a_key_does_not_return_the_model_of_another_rate():
    ledger = Ledger.open("memory://", budget=Budget(epsilon=1, delta=1e-5))
    plan = {"epsilon": 0.5, "delta": 1e-6, "steps": 5, "ledger": ledger, "key": "a"}
    sgd.train(loss, np.float32(0), X, optimizer=optax.sgd(0.1), **plan)
    with pytest.raises(KeyConflict):
        sgd.train(loss, np.float32(0), X, optimizer=optax.sgd(0.2), **plan)
