"""The kind of a column, a lattice and an answer is declared, never found in the data.

Neighbors may differ by the type of one record. Neither the law of the noise, nor the
type of an answer, nor whether there is one may depend on it, and one strange record
counts as one record.
"""

import math
from collections import deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import hush
from hush import mechanisms as m
from hush.checks import number_array
from hush.errors import DrawFailed, InvalidArgument
from hush.learn.features import numbers
from hush.learn.targets import Classes, Counts, Response
from hush.ledger import Ledger
from hush.mechanisms import lattice_rounding
from hush.mechanisms.queries import column
from hush.noise import Lattice, Seeded
from hush.privacy import Pure
from hush.synth import Bins, Categories, Domain
from hush.synth.rows import private_counts


class Hostile:
    """Something in a list that fails whoever looks at it."""

    def __array__(self, *args, **options):
        raise RuntimeError("looked at")

    def __float__(self):
        raise MemoryError("looked at")

    @property
    def shape(self):
        raise ZeroDivisionError("looked at")


STRANGE = [
    None,
    "7",
    b"7",
    1j,
    [1, 2],
    {},
    object(),
    Hostile(),
    np.timedelta64(5, "s"),
    np.datetime64("2020-01-01"),
    np.str_("x"),
    np.array([1.0, 2.0]),
    np.ma.masked,
    Decimal("sNaN"),
    10**400,
    Fraction(10**400, 3),
    np.longdouble(2) ** 2000,
    math.nan,
    True,
    np.bool_(1),
    np.float16(0.5),
]

PLAIN = [
    [np.bool_(each) for each in (1, 0, 1, 1)],
    [1, 0, 1, 1],
    [1.0, 0.25, 1.0, 0.5],
    [True, 0.5, 1, np.int8(1)],
    [np.array(1.0), np.float32(0.5), Fraction(1, 2), Decimal(1)],
    [2**70, -(2**70), 1, 0],
]


@pytest.mark.parametrize("kept", PLAIN, ids=repr)
@pytest.mark.parametrize("strange", STRANGE, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("container", [list, tuple, deque])
def test_a_strange_record_leaves_the_others_as_they_are(container, kept, strange):
    alone = column(container(kept))
    beside = column(container([*kept, strange]))
    np.testing.assert_array_equal(beside[:-1], alone)
    assert alone.dtype == beside.dtype == np.float64


@pytest.mark.parametrize("strange", STRANGE, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("kept", PLAIN, ids=repr)
def test_queries_move_by_no_more_than_they_say(kept, strange):
    for query in (
        m.sum(bounds=(0, 1)),
        m.sum(bounds=(0.0, 1.0)),
        m.mean(bounds=(0, 1)),
        m.variance(bounds=(0, 1)),
        m.proportion(),
    ):
        before, after = query(kept * 300), query([*kept * 300, strange])
        pairs = zip(np.atleast_1d(before), np.atleast_1d(after), strict=True)
        for (x, y), most in zip(pairs, query.moves, strict=True):
            assert abs(Fraction(y) - Fraction(x)) <= most


def test_one_none_does_not_make_nothing_of_truth_values():
    ages = np.arange(3000) % 90
    older = [age > 50 for age in ages]
    assert type(older[0]) is np.bool_
    total = m.sum(bounds=(0, 1))
    assert total(older) == total([*older, None]) == int((ages > 50).sum())
    assert m.Histogram(edges=(0, 1, 2), scale=1).counts(older)[1] == total(older)


@pytest.mark.parametrize("strange", STRANGE, ids=lambda x: type(x).__name__)
def test_learners_read_every_cell_by_itself(strange):
    rows = [[1, 0.5], [np.bool_(1), np.float32(0.25)], [2**70, 1]]
    np.testing.assert_array_equal(numbers([*rows, [strange, 1.0]])[:3], numbers(rows))
    flat = [1, 0.5, True, np.array(0.25)]
    np.testing.assert_array_equal(numbers([*flat, strange])[:4], numbers(flat))
    for target in (Response((0.0, 1.0)), Counts(3.0), Classes((0, 1))):
        alone, beside = target.map(flat)[0], target.map([*flat, strange])[0]
        np.testing.assert_array_equal(beside[:4], alone)


@pytest.mark.parametrize("strange", STRANGE, ids=lambda x: type(x).__name__)
def test_synthetic_columns_read_every_cell_by_itself(strange):
    flat = [1, 0.5, True, np.bool_(0)]
    for one in (Bins(edges=(0, 0.5, 1)), Categories([0, 1, None])):
        np.testing.assert_array_equal(
            one.places([*flat, strange])[:4], one.places(flat)
        )


@pytest.mark.parametrize("strange", [(), (1,), (1, 2, 3), None, 7, "ab", Hostile()])
def test_a_row_of_another_length_is_one_row_without_values(strange):
    domain = Domain.of({"a": [0, 1], "b": Bins(edges=(0, 1, 2))})
    rows = [(0, 0.5), (1, 1.5), (1, 0.5)]
    counts = private_counts(domain, rows).counts((0, 1))
    beside = private_counts(domain, [*rows, strange]).counts((0, 1))
    np.testing.assert_array_equal(beside, counts)


def test_whole_bounds_do_not_round_the_records():
    rows = [0.4] * 1000
    assert m.sum(bounds=(0, 1))(rows) == 400
    assert float(m.sum(bounds=(0.0, 1.0))(rows)) == pytest.approx(400, abs=1e-6)
    assert m.sum(bounds=(np.int64(0), np.int64(1)))(rows) == 400
    assert m.sum(bounds=(0, 1)).moves == m.sum(bounds=(np.int8(0), np.int8(1))).moves
    assert m.sum(bounds=(-(2**40) + 1, 2**40 - 1))([2**40 - 2, 1]) == 2**40 - 1
    data = hush.open({"x": rows}, budget=hush.Budget(epsilon=1000))
    total = data.agg(s=hush.sum("x", bounds=(0, 1))).release(epsilon=1000)
    assert total["s"] == pytest.approx(400, abs=1)


NOISE = [
    m.Laplace(2.0),
    m.Laplace(2.0, step=1),
    m.Laplace(2.0, step=Fraction(1, 4)),
    m.Laplace(2.0**45),
    m.Laplace(8.0, step=4),
    m.Gaussian(2.0),
    m.Gaussian(2.0, step=1),
    m.Gaussian(2.0, step=Fraction(1, 4)),
    m.Gaussian(2.0**55),
    m.Staircase(1.0),
    m.Staircase(1.0, width=0.5),
    m.Canonical(Pure(1.0)),
    m.Canonical(Pure(1.0), width=0.5),
]
SAME = [3, 3.0, np.int8(3), np.float32(3), Fraction(3), np.uint64(3), np.float16(3)]


@pytest.mark.parametrize("noise", NOISE, ids=repr)
def test_the_type_of_a_value_decides_nothing(noise):
    answers = [noise.run(each, source=Seeded(3)) for each in SAME]
    assert len(set(map(type, answers))) == 1
    assert len(set(answers)) == 1
    lists = [[each, 1] for each in SAME]
    lists += [np.array([3, 1]), np.array([3.0, 1.0]), (True + 2, True)]
    found = [noise.run(each, source=Seeded(4)) for each in lists]
    assert len({each.dtype for each in found}) == 1
    assert len({each.tobytes() for each in found}) == 1


@pytest.mark.parametrize("noise", NOISE, ids=repr)
def test_a_whole_lattice_answers_in_whole_numbers(noise):
    answer = noise.run(2.5, source=Seeded(1))
    step = getattr(noise, "step", None)
    if step is not None:
        assert isinstance(answer, int) == (step >= 1)
    elif isinstance(noise, (m.Laplace, m.Gaussian)):
        assert isinstance(answer, float)
    else:
        assert isinstance(answer, int) == (noise.width == 1)


def test_declared_counts_are_whole_under_any_noise():
    for noise in (m.Laplace(2.0), m.Gaussian(2.0), m.Geometric(2), m.Gaussian(2.0**55)):
        assert type((m.count() >> noise).run([1, 2, 3])) is int
    both = m.proportion() >> m.Gaussian(1.0)
    assert isinstance(both.run([1, 0, 1]), float)
    assert type((m.sum(bounds=(0.0, 1.0)) >> m.Laplace(2.0)).run([1, 1])) is float


@pytest.mark.parametrize("scale", [0.25, 1.0, 3.0, 2.0**45])
def test_noisy_max_has_one_lattice_for_all_scores(scale):
    noise = m.NoisyMax(scale, kind="laplace")
    for turn in range(30):
        chosen = {
            noise.run(each, source=Seeded(turn))
            for each in (
                [3, 4, 2],
                [3.0, 4.0, 2.0],
                [3, 4.0, Fraction(2)],
                np.array([3, 4, 2], dtype=np.uint8),
                np.array([3, 4, 2], dtype=object),
            )
        }
        assert len(chosen) == 1


@pytest.mark.parametrize("exponent", [-60, -40, -3, 0])
def test_gaps_of_scores_are_exact_in_every_type(exponent):
    grid = Lattice(exponent)
    scores = [2**60 + 3, 2**60, 2**60 + 1, -(2**62), 0]
    exact = [max(-((max(scores) - each) << -exponent), -(2**52)) for each in scores]
    for each in (np.array(scores), np.array(scores, dtype=object)):
        assert lattice_rounding.steps_behind_largest(each, grid).tolist() == exact
    assert lattice_rounding.steps_behind_largest(
        np.array([2**64 - 1, 0], np.uint64), grid
    )[1] == -(2**52)


def test_scores_of_truth_values_are_numbers():
    for kind in ("laplace", "gumbel", "exponential"):
        noise = m.NoisyMax(0.001, kind=kind)
        assert noise.run([False, True]) == noise.run([False, 1]) == 1
        assert noise.run(np.array([False, True])) == 1


def test_a_long_double_in_a_list_is_read_exactly():
    near = np.longdouble(1) + np.longdouble(2) ** -60
    found = number_array("value", [near, 2**60 + 1, 0.5])
    assert found.tolist()[1:] == [2**60 + 1, 0.5]
    assert Fraction(found[0]) == Fraction(*map(int, near.as_integer_ratio()))


@pytest.mark.parametrize(
    "value",
    [[1.0, np.timedelta64(5, "s")], [1, np.timedelta64(5, "s")], [1.0, Hostile()]],
    ids=["float", "int", "hostile"],
)
def test_what_is_no_number_is_refused_in_our_words(value):
    for noise in (m.Laplace(1.0), m.Geometric(1), m.Exponential(1)):
        with pytest.raises(InvalidArgument, match="value must"):
            noise.run(value)


class Vector:
    """Ten numbers, each moved by a tenth."""

    name, sensitivity = "vector", 1

    def __init__(self, count, dimension=None):
        self.count, self.dimension = count, dimension

    def __call__(self, data):
        return [float(len(data))] * self.count


@pytest.mark.parametrize("noise", [m.Staircase(1), m.Canonical(Pure(1.0))], ids=repr)
def test_noise_of_one_number_is_not_sold_for_ten(noise):
    """Ten that are stated are refused unpaid; ten that are not fail the draw."""
    budget = hush.Budget(epsilon=100, delta=0.1)
    with Ledger.open("memory://", budget=budget) as ledger:
        before = ledger.remaining()
        with pytest.raises(InvalidArgument, match="charged for one number"):
            ledger.release(noise, Vector(10, 10), [1, 2])
        assert ledger.remaining() == before
        with pytest.raises(DrawFailed):
            ledger.release(noise, Vector(10, None), [1, 2])
        for dimension in (None, 1):
            one = ledger.release(noise, Vector(1, dimension), [1, 2])
            assert np.size(one.values) == 1
