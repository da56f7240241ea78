"""Numbers at the ends of what floats and 64 bits hold: neighbors stay neighbors."""

import importlib
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from hush import mechanisms as m
from hush import noise
from hush.checks import fraction, number_array
from hush.errors import InvalidArgument
from hush.mechanisms.mechanism import listen_with
from hush.noise import Seeded
from hush.privacy import Pure

ADDITIVE = [
    m.Laplace(1.0),
    m.Laplace(1.0, step=Fraction(1, 4)),
    m.Gaussian(1.0),
    m.Staircase(1.0, width=2),
    m.Canonical(Pure(1.0), width=2),
    m.KNorm(1.0, dimension=2, norm=1),
]
# Lists in which the first number moves by one, and NumPy would make floats of both.
MIXED = [
    ([2**60 + 128, 0.5], [2**60 + 129, 0.5]),
    ([2**53 + 1, -0.25], [2**53 + 2, -0.25]),
    ([2**63 + 1024, -1], [2**63 + 1025, -1]),
    ([2**64 - 1, 0.5], [2**64, 0.5]),
    ([-(2**90), 3.0], [-(2**90) - 1, 3.0]),
    ([Fraction(2**61 + 1, 2), 0.5], [Fraction(2**61 + 3, 2), 0.5]),
]


class _Still:
    """A source of noise that adds nothing: what was to be hidden can be read."""

    def __init__(self, monkeypatch):
        self.seen = []
        moved = importlib.import_module("hush.mechanisms.lattice_rounding")
        keep = moved.as_float

        def as_float(value):
            self.seen.append(value)
            return keep(value)

        monkeypatch.setattr(moved, "as_float", as_float)


@pytest.mark.parametrize(("one", "other"), MIXED, ids=str)
@pytest.mark.parametrize("mechanism", ADDITIVE, ids=repr)
def test_mixed_lists_move_no_farther_than_their_numbers(
    monkeypatch, mechanism, one, other
):
    """The exact sum before it becomes a float moves by one and its lattice step."""
    still = _Still(monkeypatch)
    for value in (one, other):
        answer = mechanism.run(value, source=Seeded(3))
        assert answer.dtype in (np.float64, np.int64)
    seen = still.seen
    if not seen:  # whole numbers: moved inside the range, and exact
        a, b = (mechanism.run(v, source=Seeded(3))[0].item() for v in (one, other))
        assert abs(a - b) <= mechanism.error.step
        return
    half = len(seen) // 2
    assert abs(seen[0] - seen[half]) <= 2
    assert seen[1] == seen[half + 1]


@pytest.mark.parametrize("mechanism", ADDITIVE[:5], ids=repr)
def test_whole_numbers_beyond_64_bits_are_no_cliff(mechanism):
    """2^64 is one more than 2^64 - 1, alone and in a list."""
    for low, high in ((2**63 - 1, 2**63), (2**64 - 1, 2**64), (2**53, 2**53 + 1)):
        a, b = (mechanism.run([v], source=Seeded(5))[0] for v in (low, high))
        assert abs(float(a) - float(b)) <= 2**12  # one spacing of floats at 2^64


def share(mechanism, utilities, draws=100):
    source = Seeded(11)
    chosen = [mechanism.run(utilities, source=source) for _ in range(draws)]
    return np.mean([int(np.ravel(each)[0]) == 1 for each in chosen])


SELECTIONS = [
    m.Exponential(2.0),
    m.PermuteAndFlip(2.0),
    m.NoisyMax(2.0, kind="laplace"),
    m.TopK(count=1, scale=2.0),
]


@pytest.mark.parametrize("mechanism", SELECTIONS, ids=repr)
@pytest.mark.parametrize(
    "utilities",
    [
        [2**63 + 1025, 2**63 + 1024, -1],
        [2**60 + 129, 2**60 + 128, 0.5],
        [2**90 + 1, 2**90, 3],
        [Fraction(1, 3), Fraction(-2, 3), -(10**400)],
        np.array([2**64 - 1, 2**64 - 2, 0], dtype=np.uint64),
    ],
    ids=str,
)
def test_a_utility_that_is_one_less_keeps_its_chance(mechanism, utilities):
    """The chance is at least 0.3 by each law: 3 of 100 fail with chance 1e-10."""
    if isinstance(mechanism, m.NoisyMax) and utilities[0] > 2**62:
        return  # saturated: a tie, at even chance, and no farther apart than before
    assert share(mechanism, utilities) > 3 / 100


@pytest.mark.parametrize("mechanism", [m.Exponential(1e308), m.PermuteAndFlip(1e308)])
def test_utilities_farther_apart_than_the_largest_float(mechanism):
    """P = 1/(1+e²) = 0.119, or e^-2/2 = 0.068: 1 of 400 fails with chance 1e-11."""
    assert share(mechanism, [1e308, -1e308], 400) > 1 / 400


def test_gaps_keep_their_digits_in_every_type():
    utilities = np.array([2048, -1, -2, -3], dtype=np.float16)
    gaps = importlib.import_module("hush.noise.categorical").gaps
    for array in (utilities, utilities.astype(np.float32), utilities.astype(object)):
        exact = [float(2048 - int(x)) / 7 for x in utilities]
        found = gaps(array, array.max(), Fraction(7))
        assert np.allclose(found, exact, rtol=1e-15)


@pytest.mark.parametrize("wide", [np.longdouble(1), np.array([1], np.longdouble)])
@pytest.mark.skipif(np.longdouble(0).nbytes == 8, reason="no wider float here")
def test_floats_of_more_than_64_bits_are_refused_by_type(wide):
    for mechanism in (m.Laplace(1.0), m.Gaussian(1.0)):
        with pytest.raises(InvalidArgument, match="64 bits"):
            mechanism.run(wide)
    with pytest.raises(InvalidArgument, match="64 bits"):
        m.Exponential(1.0).run(np.atleast_1d(wide))


def test_what_is_no_number_is_refused_by_type():
    for value in ([None, 1], [2**70, "1"], [object()]):
        with pytest.raises(InvalidArgument):
            m.Laplace(1.0).run(value)
        with pytest.raises(InvalidArgument):
            noise.gumbel_argmax(value)
    with pytest.raises(InvalidArgument, match="finite"):
        m.Laplace(1.0).run([2**70, math.nan])
    with pytest.raises(InvalidArgument, match="NaN"):
        noise.gumbel_argmax([2**70, math.inf])
    assert noise.gumbel_argmax([2**70, -math.inf]) == 0


def test_numbers_are_as_they_were_given():
    mixed = number_array("value", [2**60 + 1, np.float32(0.1), np.uint64(2**64 - 1)])
    assert [fraction(x) for x in mixed] == [
        2**60 + 1,
        Fraction(float(np.float32(0.1))),
        2**64 - 1,
    ]
    assert number_array("value", [1e300, 2.5]).dtype == np.float64
    assert number_array("value", [[1, 2**70], [3, 4]]).shape == (2, 2)


def test_votes_beyond_63_bits_do_not_turn_negative():
    """A key that everybody holds is named: its votes are clipped, never wrapped."""
    for mechanism in (
        m.KeySelection(20.0, 600, whole=8),
        m.OptimalKeySelection(1, 0.1),
    ):
        for votes in ([2**63], [2**64 + 5, 0], np.array([2**64 - 1], np.uint64)):
            found = mechanism.run(votes)
            assert getattr(found, "places", found).tolist() == [0]


def test_totals_beyond_64_bits_are_clipped_after_the_noise():
    stream = [2**62, 2**62, 2**70, -(2**75)]
    found = m.TreeSum(horizon=4, scale=1.0).run(stream)
    assert found.tolist() == [2**61, 2**61, 2**61, -(2**61)]


NARROW = [(0.0, 1e-300), (0.0, 5e-324), (-1e-310, 1e-310), (1e308, 1.7e308)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bounds", NARROW, ids=str)
def test_no_record_decides_whether_a_quantile_answers(bounds):
    """Every record used to be a cell number; some became NaN and were refused."""
    records = [bounds[0], bounds[1], 0.0, math.nan, math.inf, 1e-301, 1.0]
    for make in (
        lambda: m.Quantile(0.5, bounds, scale=10.0),
        lambda: m.Quantile((0.25, 0.75), bounds, scale=10.0),
        lambda: m.WinsorizedMean(bounds, scale=0.01),
    ):
        for record in records:
            answer = make().run([record], source=Seeded(1))
            assert np.all(np.isfinite(answer))


@pytest.mark.parametrize("bounds", [(-1e308, 1e308), (-1.7e308, 1.7e308)])
def test_bounds_farther_apart_than_floats_are_refused_before_any_data(bounds):
    for make in (
        lambda: m.Quantile(0.5, bounds, scale=1.0),
        lambda: m.WinsorizedMean(bounds, scale=1.0),
        lambda: m.Exponential(1.0).run_pieces([0.0], edges=bounds),
    ):
        with pytest.raises(InvalidArgument, match="apart"):
            make()


class _Quartiles:
    """Answers for the quartiles of a winsorized mean; the rest runs."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def on_run(self, mechanism, value, run):
        return self.answers.pop(0) if isinstance(mechanism, m.Quantile) else run(value)

    def on_turn(self, *_):
        raise AssertionError


@pytest.mark.parametrize("bounds", [(0, 10), (0.1, 0.3), (-1e300, 1e300), (0, 1e-300)])
def test_winsorized_means_of_neighbors_differ_by_one_share_of_the_range(bounds):
    """Same quartiles, same noise: what moves is the mean, by range/k at most."""
    low, high = map(float, bounds)
    width = high - low
    mean = m.WinsorizedMean(bounds, scale=1.0)
    points = [low, high, low + 0.31 * width, math.nan, math.inf]
    for quartiles in ((low, high), (low + 0.6 * width, low + 0.58 * width), (low, low)):
        reach = 4 * 2 ** (1 / 3 + 0.1) * abs(quartiles[1] - quartiles[0])
        middle = (quartiles[0] + quartiles[1]) / 2
        used = min(high, middle + reach) - max(low, middle - reach)
        answers = []
        for record in points:
            with listen_with(_Quartiles(*quartiles)):
                answers.append(mean.run([low, record], source=Seeded(1)))
        moved = max(answers) - min(answers)
        assert moved <= used / 2 * (1 + 1e-9)


def test_the_ball_s_acceptance_keeps_its_digits_in_high_dimensions():
    radial = importlib.import_module("hush.noise.ball")
    with mp.workdps(40):
        for d, radius in ((10**4, 9_835_347), (9995, 9_835_347), (3000, 2_999_001)):
            std = radial._std(d, radius)
            mass = mp.log(std * mp.sqrt(2 * mp.pi))
            points = mp.loggamma(radius + d + 1) - mp.loggamma(radius + 1)
            points -= mp.loggamma(d + 1)
            truth = mp.mpf(radius) ** 2 / (2 * std * std) + d * mass - points
            found = radial._log_ratio(d, radius, radius * radius)
            assert abs(found - truth) < radial._LOOSE / 10
