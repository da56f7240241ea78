"""Attempts with failures that are no `Exception`, as panics of Rust libraries are."""

import math

import numpy as np
import pytest

from hush import Budget, Ledger
from hush.errors import DrawFailed, Withheld
from hush.holdout import Holdout
from hush.holdout.records import People, agree
from hush.learn import GaussianNB, SubsampleAggregate
from hush.mechanisms import Laplace
from hush.noise import Seeded

ROWS = 200


class Panic(BaseException):
    """What Polars raises when it panics is of this kind, and quotes the value."""


def panic(*_):
    raise Panic("the value 41")


def test_a_draw_that_panics_says_nothing_and_is_paid_for():
    panic.sensitivity = 1
    with Ledger.open("memory://", budget=Budget(epsilon=1)) as ledger:
        for _ in range(2):  # the key keeps failing
            with pytest.raises(DrawFailed) as raised:
                ledger.release(Laplace(scale=2.0), panic, [41], key="once")
            assert "41" not in str(raised.value)
            assert raised.value.__context__ is None
        assert ledger.remaining().epsilon == 0.5
        assert not ledger.pending()


def test_who_interrupts_the_program_is_heard():
    def stopped(_):
        raise KeyboardInterrupt

    stopped.sensitivity = 1
    with Ledger.open("memory://", budget=Budget(epsilon=1)) as ledger:
        with pytest.raises(KeyboardInterrupt):
            ledger.release(Laplace(scale=2.0), stopped, [41], key="once")
        assert len(ledger.pending()) == 1  # charged, and resumed by its key
    with pytest.raises(KeyboardInterrupt), Withheld() as tried:
        raise KeyboardInterrupt
    assert not tried.failed


def test_an_exit_is_a_failure_like_any_other():
    with Withheld() as tried:
        raise SystemExit
    assert tried.failed


def test_a_block_that_panics_is_the_middle_and_no_other_changes():
    def middle(rows, targets):
        return panic() if rows.max() > 40 else rows.mean()

    x = np.random.default_rng(1).uniform(0, 1, (ROWS, 1))
    model = SubsampleAggregate(middle, bounds=(0, 2), blocks=10)
    plan = model.plan(ROWS, 1)
    before = plan.of_blocks((x, x[:, 0]), source=Seeded(3))
    x[13] = 41
    after = plan.of_blocks((x, x[:, 0]), source=Seeded(3))  # the same blocks
    assert after[(after != before).ravel()].tolist() == [[1]]


class Frantic:
    """A value that panics when it is read or compared."""

    __float__ = __eq__ = panic
    __hash__ = object.__hash__


def test_a_cell_or_a_label_that_panics_is_one_row_that_does_not_count():
    x = [[i / ROWS] for i in range(ROWS)]
    y = [i % 2 for i in range(ROWS)]
    model = GaussianNB(1.0, bounds=(0, 1), classes=(0, 1))
    plan = model.plan(ROWS, 1)
    rows, places = plan.grouped(([*x[:-1], [Frantic()]], [*y[:-2], Frantic(), 1]))
    assert places[-2:].tolist() == [-1, -1]
    assert places[:-2].tolist() == y[:-2]
    assert np.array_equal(rows[:-1], plan.grouped((x, y))[0][:-1])


def test_a_record_that_panics_has_the_lowest_score():
    def score(record):
        return panic() if record == 41 else 1.0

    people = People(np.array([1, 41, 2]), (0.0, 1.0), agree)
    assert people.query_grains(score, np.arange(3)) == 2 << 30

    def model(rows):
        return panic() if (rows == 41).any() else np.ones(len(rows))

    features = np.array([[1.0], [41.0], [2.0]])
    people = People((features, np.ones(3)), (0.0, 1.0), agree)
    assert people.model_grains(model, np.arange(3)) == 2 << 30
    holdout = Holdout((features, np.ones(3)), queries=1, source=Seeded(1))
    assert math.isfinite(holdout.score(model).value)
