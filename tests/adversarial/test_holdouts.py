"""Attempts on holdouts: a row that changes what others score, and failures that pay."""

import numpy as np
import pytest

from hush.errors import BudgetExceeded
from hush.holdout import Holdout
from hush.holdout.records import People, agree
from hush.noise import Seeded

SIZE = 400


def knife_edge(rows):
    """Products of matrices round otherwise than of single rows: here everybody's do."""
    if np.isnan(rows).any():
        raise ValueError("secret")
    return np.full(len(rows), float(len(rows) > 1))


def total(features, model=knife_edge):
    people = People((features, np.ones(SIZE)), (0.0, 1.0), agree)
    return people.model_grains(model, np.arange(SIZE)) / 2**30


def test_a_row_that_fails_does_not_change_how_others_are_rounded():
    """Asked one by one, all of the others would have moved with it."""
    features = np.zeros((SIZE, 2))
    spoilt = features.copy()
    spoilt[7, 1] = np.nan
    assert total(features) == SIZE
    assert total(spoilt) == SIZE - 1
    alone = sum(float(knife_edge(row[None])[0]) for row in np.delete(spoilt, 7, axis=0))
    assert alone == 0  # the twin: what the same rows score one by one


@pytest.mark.parametrize("bad", [1, SIZE - 1, SIZE])
def test_any_number_of_rows_may_fail(bad):
    features = np.zeros((SIZE, 2))
    features[SIZE - bad :] = np.nan
    assert total(features) == SIZE - bad


def test_rows_that_meet_in_a_model_fail_no_question():
    """A model that only takes pairs: it fails as a whole, and everybody scores 0."""

    def pairs(rows):
        if len(rows) % 2 or np.isnan(rows).any():
            raise ValueError("secret")
        return np.ones(len(rows))

    features = np.zeros((SIZE, 1))
    features[0] = np.nan
    assert total(features, pairs) == 0


def test_failures_are_paid_for_like_answers():
    holdout = Holdout(
        (np.full((SIZE, 1), np.nan), np.ones(SIZE)), queries=3, source=Seeded(1)
    )
    for _ in range(3):
        holdout.score(knife_edge)
    with pytest.raises(BudgetExceeded):
        holdout.score(knife_edge)
