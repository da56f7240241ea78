"""HAZARDS N1, N2, N5, N8-N11 and S3, S5 as they concern mechanisms."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from goodness import FALSE_ALARM
from hush import mechanisms as m
from hush.errors import InvalidArgument
from hush.mechanisms.laplace import cover
from hush.noise import Body, Seeded

DRAWS = 200_000

FLOATS = [
    m.Laplace(1.0),
    m.Gaussian(1.0),
    m.Staircase(1.0, width=1.0, step=2.0**-20),
    m.mean((0, 1), size=1, neighbors="replace-one") >> m.Laplace(1.0),
]


def noisy(mechanism, value, seed, count=DRAWS):
    source = Seeded(seed)
    if isinstance(mechanism, (m.Laplace, m.Gaussian, m.Staircase)):
        return mechanism.run(np.full(count, value), source=source)
    few = count // 100
    return np.array([mechanism.run([value], source=source) for _ in range(few)])


def strange(y):
    """The event of the precision attack: small, and not a multiple of 2^-53."""
    scaled = np.ldexp(y, 53)
    return np.count_nonzero((np.abs(y) < 0.25) & (scaled != np.rint(scaled)))


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", FLOATS, ids=repr)
def test_n2_precision_tells_nothing(mechanism):
    zero, one = (strange(noisy(mechanism, v, 41 + int(v))) for v in (0.0, 1.0))
    assert zero == one == 0
    # The twin: NumPy's float noise is caught at once.
    rng = np.random.default_rng(1)
    twin = [strange(v + rng.laplace(size=DRAWS)) for v in (0.0, 1.0)]
    assert twin[0] > 25
    assert twin[1] == 0


@pytest.mark.statistical
def test_n1_points_are_as_likely_as_the_curve_allows():
    mechanism, epsilon = m.Laplace(1.0, step=Fraction(1, 8)), 1.0
    a = noisy(mechanism, 0.0, 43)
    for twin, caught in (
        (mechanism, False),
        (m.Laplace(0.5, step=Fraction(1, 8)), True),
    ):
        b = noisy(twin, 1.0, 44)
        points = np.arange(-40, 48) / 8
        x = np.array([np.count_nonzero(a == p) for p in points])
        y = np.array([np.count_nonzero(b == p) for p in points])
        limit = math.exp(epsilon) / (1 + math.exp(epsilon))
        p = [stats.binom.sf(u - 1, u + v, limit) for u, v in ((x, y), (y, x))]
        assert (np.min(p) < FALSE_ALARM) == caught


def test_n2_the_lattice_is_public():
    for mechanism in (m.Laplace(3.0), m.Gaussian(3.0)):
        step = mechanism.error.step
        for value in (0.1, 2.0**30, 1e300, -1e-300):
            y = mechanism.run(value, source=Seeded(2))
            assert Fraction(y) % step == 0
        assert mechanism.error.step == step


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, [1.0, math.nan]])
@pytest.mark.parametrize(
    "mechanism",
    [m.Laplace(1.0), m.Gaussian(1.0), m.KNorm(1.0, dimension=2), m.NoisyMax(1.0)],
    ids=repr,
)
def test_n11_scalars_that_are_no_numbers_are_refused_before_anything_is_drawn(
    mechanism, value
):
    class Untouched(Seeded):
        def words(self, count, dtype):
            raise AssertionError("drawn before the check")

    if isinstance(mechanism, (m.KNorm, m.NoisyMax)) and np.ndim(value) == 0:
        value = [value, 0.0]
    with pytest.raises(InvalidArgument) as refused:
        mechanism.run(value, source=object.__new__(Untouched))
    assert (
        "nan"
        not in str(refused.value).lower().replace("not nan", "").split("nan and")[0]
    )


ODD = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7e308, -1.7e308]
QUERIES = [
    m.sum((-3, 5)),
    m.sum((-2.5, 5.25)),
    m.mean((0, 10)),
    m.variance((0, 10)),
    m.proportion(),
    m.count(),
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.name)
@pytest.mark.parametrize("odd", ODD)
def test_n11_a_strange_record_moves_a_query_no_more_than_any_other(query, odd):
    clean = [0.5, 1.0, 7.0]
    a, b = query(clean), query([*clean, odd])
    a, b = (x if isinstance(x, list) else [x] for x in (a, b))
    for x, y, move in zip(a, b, query.moves, strict=True):
        assert abs(Fraction(x) - Fraction(y)) <= move


@pytest.mark.parametrize("odd", ODD)
def test_n11_data_mechanisms_answer_whatever_they_find(odd):
    for mechanism in (
        m.Quantile(0.5, (0, 1), 1.0),
        m.WinsorizedMean((0, 1), 1.0),
        m.Histogram(1.0, edges=(0, 1)),
    ):
        answer = mechanism.run([0.5, odd, 0.25], source=Seeded(3))
        assert np.all(np.isfinite(np.asarray(answer, dtype=float)))
    lowest = [
        m.Quantile(0.0, (0, 1), 0.001).run([odd] * 50, source=Seeded(i))
        for i in range(9)
    ]
    assert all(0 <= x <= 1 for x in lowest)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_n5_whole_numbers_never_wrap_around(dtype):
    kind = np.iinfo(dtype)
    data = np.array([kind.max, kind.max, kind.min], dtype=dtype)
    top = min(kind.max, 2**39)
    query = m.sum((-top, top), neighbors="replace-one")
    assert query(data) == sum(max(-top, min(int(x), top)) for x in data.tolist())
    whole = m.Laplace(2.0, step=1), m.Geometric(2), m.Gaussian(2.0, step=1)
    for mechanism in whole:
        y = mechanism.run(data, source=Seeded(6))
        truth = [max(-(2**61), min(int(x), 2**61)) for x in data.tolist()]
        assert y.dtype == np.int64
        assert max(abs(int(u) - v) for u, v in zip(y, truth, strict=True)) < 200


def test_n5_scalars_are_of_any_size():
    for mechanism in (m.Laplace(2.0), m.Geometric(2), m.DiscreteGaussian(2)):
        assert abs(mechanism.run(10**40, source=Seeded(7)) - 10**40) < 200


def test_n8_a_threshold_has_exactly_the_tail_it_claims():
    # The chance that integer noise reaches t, from the error law, against a sum.
    for scale in (0.5, 1.0, 3.0, 10.0):
        law = m.Geometric(scale).error.law
        r = math.exp(-1 / scale)
        for t in (1, 5, 20):
            exact = math.fsum(r**k * (1 - r) / (1 + r) for k in range(t, t + 2000))
            assert float(law.survival(t - 1)) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(
    "mechanism",
    [
        m.Exponential(1e-6),
        *(m.NoisyMax(1e-6, kind=k) for k in ("laplace", "exponential")),
    ],
    ids=repr,
)
def test_n10_utilities_far_apart_neither_overflow_nor_underflow(mechanism):
    u = np.concatenate([np.full(1000, -1e6), [0.0], np.full(1000, -1e300)])
    assert mechanism.run(u, source=Seeded(8)) == 1000
    assert mechanism.run(np.array([2**62, -(2**62)]), source=Seeded(8)) == 0


def test_n10_a_million_equal_records():
    mechanism = m.Quantile(0.5, (0, 1), 0.01)
    assert 0 <= mechanism.run(np.full(10**6, 0.25), source=Seeded(9)) <= 1
    assert m.Quantile(0.5, (2, 2), 1.0).run([1, 2, 3], source=Seeded(9)) == 2.0


@pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, None, "1"])
def test_s3_noise_that_is_none_is_refused(bad):
    for make in (m.Laplace, m.Gaussian, m.Geometric, m.DiscreteGaussian, m.Exponential):
        with pytest.raises(InvalidArgument):
            make(bad)
    if bad != 0:
        with pytest.raises(InvalidArgument):
            m.Laplace(1.0).curve(bad)


@pytest.mark.parametrize("bounds", [(1, 0), (0, math.inf), (math.nan, 1), None, (1,)])
def test_s3_bounds_must_be_finite_and_ordered(bounds):
    for make in (m.sum, m.mean, m.variance):
        with pytest.raises(InvalidArgument):
            make(bounds)
    with pytest.raises(InvalidArgument):
        m.Quantile(0.5, bounds, 1.0)


def test_s3_equal_bounds_depend_on_nothing():
    query = m.sum((3, 3), neighbors="replace-one")
    assert query.sensitivity() == 0
    assert (query >> m.Laplace(1.0)).curve(1).delta_at(0.0) == 0.0


def test_s5_the_number_of_records_is_not_used_under_add_remove():
    for make in (m.mean, m.variance):
        with pytest.raises(InvalidArgument):
            make((0, 1), size=10)
        with pytest.raises(InvalidArgument):
            make((0, 1), neighbors="replace-one")
    # One more record changes no scale, step or moves: they are fields of the query.
    query = m.mean((0, 1)) >> m.Laplace(1.0)
    assert query.curve(1).epsilon_at(0) == query.curve(1).epsilon_at(0)


def test_coarse_lattices_dominate_fine_ones():
    # docs/proofs/laplace_lattices.md, numerically: 1, 2, 8 and 64 steps of one shift.
    epsilon = np.linspace(0, 1, 50)
    curves = [
        cover(Fraction(n), n, Fraction(1)).delta_at(epsilon) for n in (1, 2, 8, 64)
    ]
    for coarse, fine in pairwise(curves):
        assert np.all(coarse >= fine - 1e-13)
        assert np.any(coarse > fine + 1e-6)


def test_one_far_coordinate_dominates_several_near_ones():
    # docs/proofs/laplace_vectors.md: shifts (a, b) against one shift a + b.
    from exact import both, hockey, laplace, product, shifted

    epsilon = np.linspace(0, 4, 40)
    for scale in (0.5, 1.0, 3.0):
        for a, b in ((1, 1), (1, 2), (2, 2), (1, 4), (3, 2)):
            law = laplace(scale, math.ceil(40 * scale))
            far = shifted(law, a + b)
            one, two = shifted(law, a), shifted(law, b)
            near = product(one[0], two[0]), product(one[1], two[1])
            for p, q in both(*near):
                assert np.all(hockey(*far, epsilon) >= hockey(p, q, epsilon) - 1e-12)


def test_rounding_along_a_slanted_ball_is_charged_by_its_worst_corner():
    def inside(x, radius):  # (1, 1) has norm 2, and (1, -1) has norm 20
        return 10 * abs(x[0] - x[1]) + abs(x[0] + x[1]) <= radius

    with pytest.raises(InvalidArgument, match="ones"):
        m.KNorm(1.0, dimension=2, norm=Body(inside, box=0.5, ones=2), bits=0)
    mechanism = m.KNorm(1.0, dimension=2, norm=Body(inside, box=0.5, ones=20), bits=0)
    # Two points 0.004 apart that are rounded to (0, 1) and (1, 0): 20 steps apart.
    assert mechanism.curve(0.004).epsilon_at(0) >= 20
