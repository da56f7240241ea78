"""The auditor against training: no conviction, and a sabotaged twin convicted."""

import numpy as np
import optax
import pytest

from hush.audit import one_run
from hush.learn import sgd
from hush.learn.sgd import clipping, gradient_noise
from hush.noise import Seeded

pytestmark = [pytest.mark.slow, pytest.mark.statistical]
CANARIES = 2000
LEVEL = 1 - 1e-6


def loss(p, row):
    return p @ row  # a canary's gradient is its own direction


def scores(included, source):
    """Train on the included canaries, orthogonal to each other; score by projection."""
    rows = np.eye(CANARIES, dtype=np.float32)[included] * 10
    found = sgd.train(
        loss,
        np.zeros(CANARIES, np.float32),
        rows,
        std=10.0,
        clip=1.0,
        batch=CANARIES,
        records=CANARIES,
        steps=4,
        optimizer=optax.sgd(1.0),
        source=source,
    )
    return -np.asarray(found.params), found.curve


def audited():
    _, claim = scores(np.arange(CANARIES) < 3, Seeded(0))
    return one_run(
        lambda included: scores(included, Seeded(1))[0],
        CANARIES,
        claim=claim,
        level=LEVEL,
        source=Seeded(7),
    )


def test_training_is_not_convicted():
    assert not audited().violated


def test_a_quarter_of_the_noise_is_convicted(monkeypatch):
    def weak(deviation, room, source):
        return gradient_noise.steps(deviation, room.shape, source) // 4

    monkeypatch.setattr(gradient_noise, "codes", weak)
    assert audited().violated


def test_rows_that_are_not_clipped_are_convicted(monkeypatch):
    def unclipped(parts, valid, clip):
        return valid.astype(np.float32), valid

    monkeypatch.setattr(clipping, "weights", unclipped)
    assert audited().violated
