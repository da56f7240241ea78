"""Histograms read each record by itself: one record never moves another's count."""

from decimal import Decimal

import numpy as np
import pytest

from hush import mechanisms as m
from hush.errors import InvalidArgument


class Refuser:
    """A record that says something about itself when it is looked up."""

    def __hash__(self):
        msg = "a secret"
        raise ValueError(msg)


STRANGE = {
    "none": None,
    "word": "three",
    "bytes": b"a",
    "huge": 10**400,
    "wide": 2**64,
    "half": 0.5,
    "signal": Decimal("sNaN"),
    "complex": 1j,
    "list": [1],
    "pair": [1, 1],
    "refuser": Refuser(),
}
WHOLE = [1, 2**53 + 1, 1, 2**53]  # as floats the two large ones are the same
WORDS = ["a", "b", "a", "1"]
CASES = {
    "edges": (m.Histogram(1.0, edges=(0, 5, 2**54)), WHOLE),
    "numbers": (m.Histogram(1.0, categories=(1, 2**53, 2**53 + 1)), WHOLE),
    "words": (m.Histogram(1.0, categories=("a", "b", 1)), WORDS),
}


def moved(counts, data, strange):
    return np.abs(counts(data) - counts([*data, strange])).sum()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("case", CASES)
def test_a_strange_record_moves_no_count_but_its_own(case, strange):
    histogram, data = CASES[case]
    assert moved(histogram.counts, data, strange) <= 1
    assert histogram.run([strange]).shape == (histogram.bins,)


def test_the_twin_that_gives_all_records_one_type_is_caught():
    histogram, data = CASES["numbers"]

    def twin(records):
        return histogram.counts(np.asarray(records).tolist())

    assert moved(twin, data, "three") > 1  # all numbers became words
    assert moved(twin, data, 0.5) > 1  # and two of them one float


def test_a_row_of_several_numbers_is_not_several_records():
    for histogram, _ in CASES.values():
        with pytest.raises(InvalidArgument, match="2 dimensions"):
            histogram.run(np.ones((5, 2)))


def test_bins_that_are_no_list_are_refused():
    for wrong in ({"edges": 10}, {"categories": 10}):
        with pytest.raises(InvalidArgument, match="must be a list; got 10"):
            m.Histogram(1.0, **wrong)


@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE)
def test_a_public_number_of_records_is_counted_without_reading_them(strange):
    for query in (
        m.mean((0, 10), size=3, neighbors="replace-one"),
        m.variance((0, 10), size=3, neighbors="replace-one"),
        m.proportion(size=3, neighbors="replace-one"),
    ):
        assert query([1, strange, 4]) >= 0


def test_data_without_a_length_is_refused_by_its_type():
    with pytest.raises(InvalidArgument, match="got a int"):
        m.count()(7)
