"""Data of every kind: taken as numbers, or refused without a word about a value."""

from datetime import date

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pytest

from hush.errors import InvalidArgument
from hush.learn import sgd
from hush.ledger import Budget, Ledger
from hush.noise import Seeded

SECRET = 7351
ROWS = np.full((40, 2), float(SECRET), np.float32)
ROWS[::2] *= -1
LABELS = np.tile([0, 1], 20)
WORDS = [f"secret {SECRET}"] * 40


def loss(p, row):
    x, y = row
    return jnp.logaddexp(0.0, (1 - 2 * y) * (x @ p / SECRET))


def trained(data, **options):
    options = {"std": 3.0, "steps": 2, "source": Seeded(3), **options}
    return sgd.train(loss, np.zeros(2, np.float32), data, **options)


FRAMES = {
    "pandas": (pd.DataFrame(ROWS), pd.Series(LABELS)),
    "pandas, labels of an odd index": (
        pd.DataFrame(ROWS, index=range(80, 120)),
        pd.Series(LABELS, index=range(40)[::-1]),
    ),
    "pandas, nullable": (
        pd.DataFrame(ROWS).astype("Float64"),
        pd.Series(LABELS).astype("Int64"),
    ),
    "pandas, whole and not": (
        pd.DataFrame({"a": ROWS[:, 0], "b": ROWS[:, 1].astype(int)}),
        pd.Series(LABELS.astype(bool)),
    ),
    "polars": (pl.DataFrame(ROWS), pl.Series(LABELS)),
    "polars, truth values": (pl.DataFrame(ROWS), pl.Series(LABELS.astype(bool))),
    "a memory map of doubles": (ROWS.astype(np.float64), LABELS),
}


@pytest.mark.thin(3)
@pytest.mark.thin(3)
@pytest.mark.parametrize("name", FRAMES)
def test_frames_train_as_their_arrays_do(name):
    def shift(p, row):  # truth values have no minus
        return loss(p, (row[0], row[1] * 1.0))

    options = {"std": 3.0, "steps": 2, "source": Seeded(3)}
    start = np.zeros(2, np.float32)
    found = sgd.train(shift, start, FRAMES[name], **options)
    options["source"] = Seeded(3)
    plain = sgd.train(shift, start, (ROWS, LABELS.astype(np.float32)), **options)
    assert np.allclose(found.params, plain.params)


def test_a_null_is_a_row_that_counts_as_absent_and_changes_no_type():
    y = LABELS.astype(object)
    y[5] = None
    nullable = pd.Series(y, dtype="Int64"), pl.Series(list(y), dtype=pl.Int64)
    whole = pd.Series(LABELS, dtype="Int64"), pl.Series(LABELS)
    for some, none in zip(nullable, whole, strict=True):
        plans = [
            sgd.plan(loss, np.zeros(2, np.float32), (ROWS, each), std=1.0)[1]
            for each in (some, none)
        ]
        assert plans[0] == plans[1]
        assert np.isfinite(trained((ROWS, some)).params).all()


LISTS = ROWS.tolist()
REFUSED = {
    "lists": (LISTS, LABELS.tolist()),
    "ragged lists": ([*LISTS, [1.0]], LABELS),
    "objects": (ROWS.astype(object), LABELS),
    "ragged objects": (np.array([*LISTS[:-1], [1.0]], dtype=object), LABELS),
    "words": (ROWS, np.array(WORDS)),
    "a word": (ROWS, WORDS[0]),
    "nothing but None": (None, None),
    "dates": (ROWS, np.full(40, np.datetime64("2026-01-01"))),
    "pandas words": (ROWS, pd.Series(WORDS)),
    "pandas categories": (ROWS, pd.Series(WORDS, dtype="category")),
    "pandas mixed": (pd.DataFrame({"a": ROWS[:, 0], "b": WORDS}), LABELS),
    "pandas objects": (pd.DataFrame(ROWS).astype(object), LABELS),
    "pandas index": (ROWS, pd.Index(WORDS)),
    "polars words": (ROWS, pl.Series(WORDS)),
    "polars categories": (ROWS, pl.Series(WORDS, dtype=pl.Enum(WORDS[:1]))),
    "polars dates": (ROWS, pl.Series([date(2026, 1, 1)] * 40)),
    "polars lazy": (pl.LazyFrame({"a": WORDS}), LABELS),
    "no columns": (pd.DataFrame(index=range(40)).T, LABELS),
    "a number": (ROWS, np.float32(SECRET)),
    "an object": (ROWS, object()),
    "fewer labels": (ROWS, LABELS[1:]),
}


@pytest.mark.filterwarnings("ignore::polars.exceptions.PerformanceWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_array_of_numbers_is_refused_without_a_value(name):
    ledger = Ledger.open("memory://", budget=Budget(epsilon=100, delta=1e-5))
    for act in (
        lambda: trained(REFUSED[name]),
        lambda: sgd.train(
            loss, np.zeros(2, np.float32), REFUSED[name], std=3.0, ledger=ledger
        ),
        lambda: sgd.clipped_sum(loss, np.zeros(2, np.float32), REFUSED[name]),
    ):
        with pytest.raises(InvalidArgument, match="data must") as refused:
            act()
        assert str(SECRET) not in str(refused.value)
        assert "secret" not in str(refused.value)
        assert refused.value.__cause__ is None
    assert ledger.remaining().epsilon == 100


def test_a_part_that_is_none_is_no_row_at_all():
    found = sgd.train(
        lambda p, row: loss(p, row[:2]),
        np.zeros(2, np.float32),
        (ROWS, LABELS, None),
        std=3.0,
        steps=2,
        source=Seeded(3),
    )
    assert np.allclose(found.params, trained((ROWS, LABELS)).params)


def test_a_number_too_large_for_the_device_is_no_warning():
    huge = ROWS.astype(np.float64)
    huge[7] = 1e300
    assert np.isfinite(trained((huge, LABELS)).params).all()
    assert np.isfinite(trained((pd.DataFrame(huge), LABELS)).params).all()


@pytest.mark.parametrize("name", [*FRAMES, *REFUSED])
def test_data_in_the_place_of_parameters_are_not_quoted(name):
    given = {**FRAMES, **REFUSED}[name]
    with pytest.raises(InvalidArgument) as refused:
        sgd.plan(loss, given, np.zeros((2, 2), object), std=1.0)
    assert str(SECRET) not in str(refused.value)
    found = None
    try:
        sgd.plan(loss, given, (ROWS, LABELS), std=1.0)
    except Exception as error:  # a loss of other shapes may fail in its own words
        found = str(error)
    assert found is None or str(SECRET) not in found
