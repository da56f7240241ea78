"""Strange values, extreme parameters and hostile messages, for every randomizer."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.errors import HushError, InvalidArgument
from hush.local import HeavyHitters, RandomizedResponse, VectorMean
from hush.noise import Seeded
from local.laws import every, everything, means, read, some

ALL = everything()
COLLECTORS = [each for each in ALL if not isinstance(each, HeavyHitters)]

# -- values on the device -------------------------------------------------------------

NEVER = [
    ["1"],
    "12",
    b"12",
    [None],
    [1j],
    [Decimal(1)],
    [[1], [1, 2]],
    [[[1.0]]],
    3,
    {1: 2},
    np.array([1], dtype=object),
    np.array(["2020-01-01"], dtype="M8[D]"),
    np.ma.array([1, 0], mask=[False, True]),
    [math.nan],
    [10**400],
]


@pytest.mark.parametrize("randomizer", ALL, ids=repr)
@pytest.mark.parametrize("place", range(len(NEVER)))
def test_what_is_no_value_is_refused_and_not_named(randomizer, place):
    values = NEVER[place]
    if isinstance(randomizer, VectorMean) and isinstance(values, list):
        values = [values * 2]
    with pytest.raises(InvalidArgument, match=r"^values must"):
        randomizer.encode(values)


@pytest.mark.parametrize("oracle", every(9), ids=repr)
@pytest.mark.parametrize(
    "dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4", "?"]
)
def test_every_kind_of_whole_number_is_a_category(oracle, dtype):
    values = np.array([0, 1, 1, 0], dtype=dtype)
    alike = oracle.encode([0, 1, 1, 0], source=Seeded(1))
    assert (oracle.encode(values, source=Seeded(1)).rows == alike.rows).all()
    for beyond in ([2**63], [2**70], [-(2**70)], [-1], [9], [1.0], [0.5]):
        with pytest.raises(InvalidArgument, match="values must"):
            oracle.encode(np.array(beyond))


@pytest.mark.parametrize("mean", means(), ids=repr)
def test_numbers_beyond_the_bounds_are_those_at_the_bounds(mean):
    ends = mean.encode([-1.0, 3.0, 3.0, 3.0], source=Seeded(2))
    wild = mean.encode([-math.inf, math.inf, 1e308, 3.0], source=Seeded(2))
    assert (ends.rows == wild.rows).all()
    for dtype in (np.float16, np.float32, np.longdouble):
        narrow = mean.encode(np.array([-1, 3, 3, 3], dtype), source=Seeded(2))
        assert (narrow.rows == ends.rows).all()
    wide = mean.encode(np.array(["-1e4000", "1e4000", "3", "3"], np.longdouble))
    assert mean.valid(wide.rows).all()


# -- parameters ---------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-3, 50, np.float32(0.5), np.int64(2)])
def test_extreme_epsilons_work_for_one_person_and_for_some(epsilon):
    for randomizer in everything(epsilon):
        assert 0 < randomizer.curve().epsilon_at(0.0) <= epsilon
        for people in (1, 7):
            reports = randomizer.encode(some(randomizer, people), source=Seeded(3))
            assert randomizer.valid(reports.rows).all()
            found = read(randomizer, reports)
            assert np.isfinite(found.value).all()
            assert np.isfinite(found.std).all()
            assert np.isfinite(found.effective).all()
            assert (np.asarray(found.std) >= 0).all()


@pytest.mark.parametrize("epsilon", [None, "1", True, 0, -1, 1e-9, 51, math.inf])
def test_epsilons_that_are_none_are_refused(epsilon):
    for randomizer in ALL:
        with pytest.raises(InvalidArgument, match=r"^epsilon must"):
            type(randomizer)(epsilon, 5)


def test_almost_certain_answers_have_a_noise_above_zero():
    # 1 - u² and u - u² cancel at the ends; the noise is e^-50 and not nothing.
    for mean in means(50.0, (0.0, 1.0)):
        for value in (0.0, 1.0):
            assert mean.variance([value]) > 0
            assert mean.estimate(mean.encode([value] * 3)).std > 0


def test_the_least_symmetric_encoding_exists():
    assert everything(1e-6)[2].curve().epsilon_at(0.0) <= 1e-6


def test_nobody_is_refused_by_every_collector():
    for randomizer in ALL:
        none = randomizer.encode(some(randomizer, 0))
        assert len(none) == 0
        assert len(randomizer.collect([])) == 0
        with pytest.raises(InvalidArgument, match="at least one valid report"):
            read(randomizer, none)


def test_equal_parameters_have_equal_fingerprints():
    # One device writes 1, another 1.0, a third reads NumPy numbers from a file.
    for one, two in (
        (VectorMean(1, 3, 2), VectorMean(np.float64(1), np.int64(3), 2.0)),
        (RandomizedResponse(1, 9), RandomizedResponse(np.float32(1.0), np.int64(9))),
        (means(1, (0, 2))[0], means(1.0, [0.0, np.float64(2)])[0]),
    ):
        assert one == two
        assert one.fingerprint == two.fingerprint
    for one, two in zip(everything(1, 9), everything(1.0, np.int64(9)), strict=True):
        assert one == two
        assert one.fingerprint == two.fingerprint
        assert one.encode(some(one, 3), source=Seeded(1)).to_bytes() == (
            two.encode(some(two, 3), source=Seeded(1)).to_bytes()
        )
    marks = {(each.kind, each.fingerprint) for each in [*ALL, *everything(1.1)]}
    assert len(marks) == 2 * len(ALL)


# -- messages -----------------------------------------------------------------------


@given(st.data())
def test_no_bytes_whatever_crash_any_collector(data):
    randomizer = data.draw(st.sampled_from(ALL))
    w = randomizer.width
    bodies = data.draw(st.lists(st.binary(max_size=3 * w + 1), max_size=6))
    head = randomizer.encode(some(randomizer, 0)).to_bytes()
    heard = randomizer.collect([*bodies, *(head + body for body in bodies)])
    # Every row and every torn end is either kept or counted, none twice.
    rows = sum(len(body) // w + (len(body) % w > 0) for body in bodies)
    foreign = sum(body[:8] != head for body in bodies)
    assert len(heard) + heard.rejected >= rows + foreign
    if foreign == len(bodies):
        assert len(heard) + heard.rejected == rows + foreign
    assert randomizer.valid(heard.rows).all()
    if len(heard):
        found = read(randomizer, heard)
        assert np.isfinite(found.value).all()
        assert np.isfinite(found.std).all()


@pytest.mark.parametrize("randomizer", ALL, ids=repr)
def test_flipped_bits_are_kept_or_counted(randomizer):
    rng = np.random.default_rng(1)
    honest = randomizer.encode(some(randomizer, 200), source=Seeded(4))
    message = bytearray(honest.to_bytes())
    for _ in range(100):
        forged = bytearray(message)
        for place in rng.integers(0, len(forged), 5):
            forged[place] ^= 1 << int(rng.integers(0, 8))
        heard = randomizer.collect([bytes(forged)])
        assert (len(heard), heard.rejected) == (0, 1) or (
            len(heard) + heard.rejected == 200
        )


@pytest.mark.parametrize("randomizer", COLLECTORS, ids=repr)
def test_replayed_and_forged_messages_move_an_estimate_by_their_share(randomizer):
    # 5 of 105 reports are the worst of many random ones, sent five times each.
    n, m = 100, 5
    honest = randomizer.encode(some(randomizer, n), source=Seeded(5))
    before = np.atleast_1d(read(randomizer, honest).value)
    rng, head = np.random.default_rng(6), honest.header()
    limit = m * randomizer.leverage / (n + m)
    rows = rng.integers(0, 256, (400, randomizer.width), dtype=np.uint8)
    rows = np.concatenate([rows[randomizer.valid(rows)][:60], honest.rows[:20]])
    for row in rows:
        replayed = [honest.to_bytes(), *[head + row.tobytes()] * m]
        after = np.atleast_1d(read(randomizer, randomizer.collect(replayed)).value)
        # A report is worth at most its leverage apart from what any other is worth.
        assert np.abs(after - before).max() <= limit * (1 + 1e-6)


@pytest.mark.parametrize("place", range(len(COLLECTORS)))
def test_tallies_of_other_configurations_never_merge(place):
    ours = COLLECTORS[place]
    tally = ours.aggregate(ours.encode(some(ours, 3)))
    others = [*COLLECTORS, *everything(1.1)[:-1], *everything(1.0, 8)[:6]]
    for other in others:
        if other == ours:
            continue
        theirs = other.aggregate(other.encode(some(other, 3)))
        with pytest.raises(InvalidArgument, match="one randomizer"):
            _ = tally + theirs
        with pytest.raises(InvalidArgument, match="must come from"):
            ours.estimate(theirs)
        reports = other.encode(some(other, 3))
        with pytest.raises(InvalidArgument, match="must come from"):
            ours.aggregate(reports)
        assert ours.collect([reports.to_bytes()]).rejected == 1
    with pytest.raises((HushError, TypeError)):
        _ = tally + 1


@pytest.mark.parametrize("randomizer", COLLECTORS, ids=repr)
def test_streams_and_parts_add_up_to_the_whole(randomizer):
    reports = randomizer.encode(some(randomizer, 60), source=Seeded(7))
    whole = randomizer.aggregate(reports)
    parts = [
        randomizer.aggregate(randomizer.collect([message]))
        for message in reports.messages()
    ]
    left = sum(parts[1:30], start=parts[0])
    merged = sum(parts[31:], start=parts[30]) + left
    assert (merged.totals == whole.totals).all()
    assert merged.seeded
    one, two = randomizer.estimate(merged), randomizer.estimate(reports)
    assert np.array_equal(one.value, two.value)
    assert np.array_equal(one.std, two.std)
