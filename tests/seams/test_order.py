"""The order of rows means nothing: what looks like chance is drawn."""

import numpy as np
import pytest

from hush.learn import SubsampleAggregate
from hush.noise import Seeded

DAYS = np.arange(14_000)
# High on working days, low at weekends, and sorted by day.
WEEKLY = np.where(DAYS % 7 < 5, 5.0, 0.0) + np.sin(DAYS) * 0.1


def median(x, _):
    return np.median(x)


def middle(rows, source, blocks=700):
    model = SubsampleAggregate(median, bounds=(0, 10), blocks=blocks, epsilon=10.0)
    return float(model.fit(rows[:, None], rows, source=source).value_[0])


@pytest.mark.parametrize("blocks", [70, 700])
def test_blocks_of_a_weekly_series_have_the_median_of_the_series(blocks):
    """By i mod 700 each block was one weekday: their mean is 3.6, the median 5.

    A block of 20 random days or more has a median below 4 with chance at most 0.05:
    less than 1 in 7 of 700 are, or of 70 of 200 days, but for 1e-9. Noise is below 0.3
    but for 1e-9.
    """
    exact = float(np.median(WEEKLY))
    assert abs(middle(WEEKLY, Seeded(1), blocks) - exact) < 0.8


def test_sorted_and_shuffled_rows_give_the_same_law():
    """Blocks have the means of random samples: none is all of one kind."""
    rows = np.sort(WEEKLY)
    plan = SubsampleAggregate(lambda x, _: x.mean(), bounds=(0, 10), blocks=70)
    mechanism = plan.plan(len(rows), 1)
    means = mechanism.of_blocks((rows[:, None], rows), source=Seeded(2))[:, 0]
    # Of 200 rows each with standard deviation 2.3: six deviations of 0.16.
    assert np.all(np.abs(means - rows.mean()) < 6.5 * 0.16)


def test_blocks_are_drawn_from_the_source_of_the_noise():
    rows = np.arange(100.0)
    mechanism = SubsampleAggregate(median, bounds=(0, 100), blocks=5).plan(100, 1)

    def found(source):
        return mechanism.of_blocks((rows[:, None], rows), source=source).tolist()

    assert found(Seeded(3)) == found(Seeded(3)) != found(Seeded(4))
    assert found(Seeded(3)) != mechanism.of_blocks((rows[:, None], rows)).tolist()


def test_every_row_is_in_one_block_and_blocks_have_one_size():
    seen = []

    def kept(x, _):
        seen.append(x[:, 0].copy())
        return 0.0

    rows = np.arange(103.0)
    mechanism = SubsampleAggregate(kept, bounds=(0, 1), blocks=10).plan(103, 1)
    mechanism.of_blocks((rows[:, None], rows))
    assert sorted(np.concatenate(seen)) == rows.tolist()
    assert {each.size for each in seen} == {10, 11}
