"""Attempts on the numbers of mechanisms: extremes, overflow, types, bounds."""

import json
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hush import mechanisms as m
from hush.errors import HushError, InvalidArgument
from hush.mechanisms import Mechanism
from hush.noise import Seeded

SCALES = [1e-6, 0.1, 1.0, 3.7, 1e6, 2.0**50]
DISTANCES = [1e-300, 1e-12, 1e-3, 0.3, 1, 1.5, 7, 1000, 1e15, 1e300]
ODD = [0.0, -0.0, 5e-324, -5e-324, math.nan, math.inf, -math.inf, 1e308, -1e308, 0.5]


def hockey(scale: Fraction, steps: int, epsilon: float):
    """Return δ(ε) of integer Laplace noise moved by whole steps, to 150 digits."""
    with mpmath.workdps(150):
        s = mpmath.mpf(scale.numerator) / scale.denominator
        q, e = mpmath.exp(-1 / s), mpmath.mpf(epsilon)
        if steps / s <= e:
            return mpmath.mpf(0)
        first = int(mpmath.floor((e * s + steps) / 2)) + 1  # losses above ε from here
        p_mass = 1 - q ** (steps - first + 1) / (1 + q)
        q_mass = q**first / (1 + q)
        return p_mass - mpmath.exp(e) * q_mass


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("distance", DISTANCES)
def test_laplace_never_claims_less_than_its_exact_law(scale, distance):
    noise = m.Laplace(scale=scale)
    curve = noise.curve(distance)
    truth = Fraction(distance) / Fraction(scale)
    claimed = curve.epsilon_at(0.0)
    assert math.isinf(claimed) or Fraction(claimed) >= truth
    fine = noise.error.step
    for step in {Fraction(1), fine}:
        moved = Fraction(distance) / step
        steps = math.floor(moved) if step == 1 else math.ceil(moved)
        if not 0 < steps <= 10**6:
            continue
        for share in (0.0, 0.1, 0.5, 0.9, 0.999):
            epsilon = float(truth) * share
            if epsilon < 600:
                exact = hockey(Fraction(scale) / step, steps, epsilon)
                assert curve.delta_at(epsilon) >= exact


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1.0, 20.0, 50.0])
@pytest.mark.parametrize("distance", [1e-9, 1, 1000.0])
def test_for_epsilon_never_promises_more_than_it_keeps(epsilon, distance):
    found = [
        m.Laplace.for_epsilon(epsilon, distance),
        m.Staircase.for_epsilon(epsilon, distance),
        m.Exponential.for_epsilon(epsilon, distance),
        m.NoisyMax.for_epsilon(epsilon, distance),
        m.PermuteAndFlip.for_epsilon(epsilon, distance),
    ]
    for each in found:
        # The hair is that of reading ε from a table of floats; the ledger forgives it.
        assert each.curve(distance).epsilon_at(0.0) <= epsilon * (1 + 2.0**-48)


@pytest.mark.parametrize("scale", [1e3, 7e6, 1e9, 1e12, 3e14, 1e15])
def test_a_staircase_of_small_loss_is_not_forgotten_by_floats(scale):
    # Before: ε was understated by 3e-8 at ε = 1e-9, by 8e-4 at 1e-15, and δ(0) by 1e-3
    # at 1e-12, because chances near 1/2 were subtracted as floats.
    curve = m.Staircase(scale=scale).curve(1)
    assert Fraction(curve.epsilon_at(0.0)) >= 1 / Fraction(scale)
    assert curve.epsilon_at(0.0) <= 1 / scale * (1 + 1e-12)
    with mpmath.workdps(60):  # steps of width 1 are randomized response
        assert curve.delta_at(0.0) >= mpmath.tanh(1 / (2 * mpmath.mpf(scale)))


@pytest.mark.parametrize("scale", [1e4, 1e9, 1e15])
def test_a_wide_staircase_is_drawn_and_knows_its_spread(scale):
    # Before: its variance was summed level by level (memory ran out at 1e6), and draws
    # were refused beyond 2^20, after the mechanism had been built and charged.
    wide = m.Staircase(scale=scale)
    with mpmath.workdps(40):  # steps of width 1 are two-sided geometric noise
        exact = mpmath.sqrt(2 * mpmath.exp(-1 / mpmath.mpf(scale)))
        exact /= -mpmath.expm1(-1 / mpmath.mpf(scale))
        assert wide.error.std == pytest.approx(float(exact), rel=1e-9)
    assert abs(wide.run(0, source=Seeded(12))) < 60 * scale  # misses with e^-60
    assert abs(wide.run(0, source=Seeded(13))) > scale / 1e6


@pytest.mark.parametrize("public", [{"scale": 1e18}, {"scale": 1e308, "width": 1.5}])
def test_a_staircase_beyond_64_bits_is_refused_at_once(public):
    with pytest.raises(InvalidArgument, match="coarser lattice"):
        m.Staircase(**public)


def test_a_staircase_of_huge_loss_is_not_cut_at_700():
    for epsilon in (600, 699, 701, 5000):  # before: 700 was claimed for 5000
        claimed = m.Staircase(scale=Fraction(1, epsilon)).curve(1).epsilon_at(0.0)
        assert claimed >= epsilon


def test_gaussian_noise_keeps_its_target_at_the_edges():
    for epsilon, delta in ((1e-6, 1e-12), (1e-3, 1e-300), (50.0, 1e-9), (1.0, 0.5)):
        noise = m.Gaussian.for_epsilon(epsilon, delta=delta)
        assert noise.curve(1).delta_at(epsilon) <= delta


@pytest.mark.parametrize("value", [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**60])
def test_whole_numbers_beyond_floats_move_one_for_one(value):
    # Law of the released number around its value, on both paths of the code: the mean
    # of 4000 draws of scale 1 is within 0.15 but with probability 1e-10.
    noise = m.Laplace(scale=1.0, step=0.5)
    source = Seeded(value)
    array = np.full(4000, value)
    one = noise.run(array, source=source)
    assert one.dtype == np.float64
    if value < 2**54:
        shift = np.mean([Fraction(each) - value for each in one.tolist()])
        # Above 2^53 the answer itself is rounded to the next float, by at most 1.
        assert abs(float(shift)) < 0.15 + (value >= 2**53)


def test_the_answers_type_does_not_tell_how_large_a_value_is():
    for noise in (m.Laplace(scale=4.0, step=2), m.Laplace(scale=4.0), m.Gaussian(4.0)):
        kinds = {noise.run(np.array([v])).dtype for v in (0, 2**53, 2**53 + 2, 2**62)}
        assert len(kinds) == 1
        kinds = {type(noise.run(v)) for v in (0, 2**53 + 2, 2**64, 10**40)}
        assert len(kinds) == 1
        kinds = {noise.run([v]).dtype for v in (1, 2**63, 2**64, 10**40)}
        assert len(kinds) == 1
        kind = int if noise.step else float  # declared, whatever the value
        assert {type(noise.run(v)) for v in (0, 0.0, 1e300, -5e-324)} == {kind}


@pytest.mark.parametrize(
    "noise",
    [m.Geometric(2), m.DiscreteGaussian(2), m.Laplace(2.0), m.Gaussian(2.0)],
    ids=repr,
)
def test_integers_at_64_bits_neither_wrap_nor_refuse(noise):
    for value in (2**61, 2**63 - 1, -(2**63), 2**63, 2**64, -(2**80)):
        found = noise.run([value])
        sign = 1 if value > 0 else -1
        assert sign * int(found[0]) > 2**60
        assert abs(noise.run(value) - value) < 2**20  # one number is never cut


def test_signed_zero_and_subnormals_look_like_zero():
    noise = m.Laplace(scale=1.0, step=2.0**-20)
    for value in (0.0, -0.0, 5e-324, -5e-324):
        one, many = (
            noise.run(value, source=Seeded(3)),
            noise.run(np.array([value]), source=Seeded(3)),
        )
        assert one == noise.run(0.0, source=Seeded(3))
        assert not (one == 0 and math.copysign(1, one) < 0)
        assert (many + 0.0).tobytes() == noise.run(
            np.zeros(1), source=Seeded(3)
        ).tobytes()


WIDE = [
    (-1e308, 1e308),
    (-1.7e308, 1.7e308),
    (1e308, 1.7e308),
    (0.0, 5e-324),
    (-1e-310, 1e-310),
    (1e15, 1e15 + 1),
    (0.1, 0.1),
    (-3.0, 5.0),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bounds", WIDE, ids=str)
@pytest.mark.parametrize("query", [m.sum, m.mean, m.variance])
def test_one_strange_record_moves_no_query_more_than_it_states(query, bounds):
    if query is m.variance and bounds[1] - bounds[0] > 1e153:
        with pytest.raises(InvalidArgument, match="larger units"):
            query(bounds=bounds)
        return
    asked = query(bounds=bounds)
    for record in ODD:
        for others in ([], [1.0], [math.nan, 1e308, -0.0], ODD):
            answers = (asked([*others, record]), asked(others))
            a, b = (v if isinstance(v, list) else [v] for v in answers)
            moved = [abs(Fraction(x) - Fraction(y)) for x, y in zip(a, b, strict=True)]
            assert all(x <= y for x, y in zip(moved, asked.moves, strict=True))


BAD_BOUNDS = [
    (math.nan, 1), (0, math.nan), (-math.inf, 1), (0, math.inf), (1, 0), ("0", "1"),
    "01", None, 5, (0, 1, 2), (True, False), (0,), (0j, 1), {0, 1}, (None, 1),
]  # fmt: skip


@pytest.mark.parametrize("bounds", BAD_BOUNDS, ids=str)
def test_bounds_that_are_none_are_refused(bounds):
    makers = [
        m.sum, m.mean, m.variance,
        lambda bounds: m.Quantile.for_epsilon(1, at=0.5, bounds=bounds),
        lambda bounds: m.WinsorizedMean.for_epsilon(1, bounds=bounds),
    ]  # fmt: skip
    for make in makers:
        with pytest.raises(InvalidArgument):
            make(bounds=bounds)


@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf, "1", None, True, 1j])
def test_no_mechanism_is_made_without_noise(scale):
    for kind in (m.Laplace, m.Geometric, m.Gaussian, m.DiscreteGaussian, m.Exponential):
        with pytest.raises(InvalidArgument):
            kind(scale)


@pytest.mark.parametrize("distance", [-1, math.nan, math.inf, "1", None, True, 1j])
def test_no_curve_is_given_for_what_is_no_distance(distance):
    for noise in (m.Laplace(1.0), m.Geometric(1), m.Gaussian(1.0), m.Exponential(1.0)):
        with pytest.raises(InvalidArgument):
            noise.curve(distance)


FORGED = [
    '{"mechanism":"Laplace","scale":-1}', '{"mechanism":"Laplace","scale":NaN}',
    '{"mechanism":"Laplace","scale":Infinity}', '{"mechanism":"Laplace","scale":1e400}',
    '{"mechanism":"Laplace","scale":true}', '{"mechanism":"Laplace","scale":"1"}',
    '{"mechanism":"Laplace","scale":{"fraction":"1/0"}}', "[]", "{", '"x"', "null",
    '{"mechanism":"Laplace","scale":{}}', '{"mechanism":"Laplace","scale":1,"extra":2}',
    '{"mechanism":"Laplace"}', '{"mechanism":"Mechanism"}', '{"mechanism":["Laplace"]}',
    '{"mechanism":"os.system","scale":1}', '{"scale":1}',
]  # fmt: skip


@pytest.mark.parametrize("text", FORGED)
def test_forged_text_makes_no_mechanism(text):
    with pytest.raises(HushError):
        Mechanism.from_json(text)


def test_text_keeps_every_bit_of_a_mechanism():
    for scale in (0.1, 1 / 3, 1e-150 / 3, 1e308, Fraction(1, 3), 2**70 + 1):
        noise = m.Exponential(scale)
        back = Mechanism.from_json(noise.to_json())
        assert back == noise
        assert type(back.scale) is type(noise.scale)
        assert json.loads(back.to_json()) == json.loads(noise.to_json())


def test_a_mechanism_keeps_no_list_that_could_change():
    edges, levels = [0, 1, 2], [0.25, 0.5]
    histogram = m.Histogram.for_epsilon(1, edges=edges)
    quantile = m.Quantile.for_epsilon(1, at=levels, bounds=[0, 1])
    before = histogram.to_json(), quantile.to_json()
    edges.append(3)
    levels.append(0.9)
    assert (histogram.to_json(), quantile.to_json()) == before


@pytest.mark.parametrize("public", [{}, {"size": 4, "neighbors": "replace-one"}])
def test_a_variance_beyond_floats_is_refused_before_it_runs(public):
    with pytest.raises(InvalidArgument, match="larger units"):
        m.variance(bounds=(0, 1e301), **public)  # before: OverflowError when it ran


@pytest.mark.parametrize("bound", [1e6, 1e8, 1e20])
@pytest.mark.parametrize("noise", [m.Laplace, m.Gaussian])
def test_a_variance_of_huge_numbers_is_released_with_noise_of_its_size(bound, noise):
    # Before: refused from 1e8 on, since the default lattice was never above 1.
    public = {"size": 4, "neighbors": "replace-one"}
    query = m.variance(bounds=(0, bound), **public)
    claim = {"delta": 1e-6} if noise is m.Gaussian else {}
    scaled = noise.for_epsilon(1.0, sensitivity=query.sensitivity(), **claim)
    mechanism = query >> scaled
    assert mechanism.curve().epsilon_at(claim.get("delta", 0.0)) <= 1 + 2.0**-35
    found = mechanism.run([0.0, bound] * 2, source=Seeded(7))
    # True value bound²/4; noise beyond 30 scales has chance e^-30.
    assert abs(found - bound**2 / 4) < 30 * mechanism.error.std


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", [np.longdouble("1e4000"), np.ma.masked], ids=repr)
def test_no_record_makes_a_query_or_mechanism_warn(odd):
    """A warning is an answer without noise: somebody's record is odd."""
    records = [1.0, 2.0, odd]
    for query in (m.count(), m.sum((0, 9)), m.mean((0, 9)), m.variance((0, 9))):
        (query >> m.Laplace(scale=1.0)).run(records)
    m.WinsorizedMean(bounds=(0, 9), scale=1.0).run(records)
    m.Quantile(0.5, bounds=(0, 9), scale=1.0).run(records)
    m.Histogram.for_epsilon(1, edges=(0, 2, 9)).run(records)


def test_what_is_masked_is_not_counted_as_what_lies_under_the_mask():
    hidden = np.ma.array([1.0, 2.0, 9.0], mask=[False, False, True])
    assert m.sum((0, 9))(hidden) == m.sum((0, 9))([1.0, 2.0, math.nan])


MIXED = {
    "a word": "text",
    "nothing": None,
    "a half": 0.5,
    "a huge number": 10**400,
    "a list": [1, 2],
    "a complex number": 1j,
    "a set": {1},
    "a day": np.datetime64("2020-01-01"),
    "something masked": np.ma.masked,
}
MOVED = {"a half": 0.5, "a huge number": 9}  # the others count as the lower bound


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", MIXED)
def test_one_record_of_another_type_takes_nobodys_bin_away(odd):
    """As an array, all of a list became what one of them is; or the text was told."""
    large = 2**60 + 1  # no double, and so no category once one record is a float
    named = m.Histogram(1.0, categories=(1, 2, large))
    assert named.counts([1, 2, 2, large, MIXED[odd]]).tolist() == [1, 2, 1]
    binned = m.Histogram(1.0, edges=(1, 2, 3))
    assert binned.counts([1, 2, 2.5, 3, MIXED[odd]]).tolist() == [1, 3]
    for query in (m.mean, m.variance):
        asked = query(bounds=(0, 9), size=3, neighbors="replace-one")
        assert asked([1, 2, MIXED[odd]]) == asked([1, 2, MOVED.get(odd, 0)])
