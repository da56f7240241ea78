"""Quantiles of weighted cells: exact laws, ranges by enumeration, coverage, poison.

Statistical checks fail wrongly with probability 1e-9 each (binomial: 6.1 deviations).
"""

import functools
import itertools
import math
from fractions import Fraction

import cell_laws
import numpy as np
import pytest
from scipy import stats

from goodness import FALSE_ALARM, p_value
from hush import mechanisms as m
from hush.errors import InvalidArgument
from hush.mechanisms import cell_draw, cell_interval, cell_quantile
from hush.mechanisms.cell_draw import Choice, Pieces
from hush.mechanisms.cell_quantile import factor
from hush.mechanisms.cells import Cells, Group
from hush.noise import Seeded

HALF = Fraction(1, 2)


def group(weights):
    return Cells.of(np.asarray(weights)).groups[0]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("weights", "target", "scale"),
    [
        ([3, 0, 0, 5, 1, 0], Fraction(9, 2), Fraction(2)),
        ([0, 0, 0, 0, 0, 0], Fraction(0), Fraction(1)),
        ([0, 0, 9, 0, 0, 0], Fraction(17, 7), Fraction(3)),
        ([5, 0, 0, 0, 0, 5], Fraction(-3), Fraction(4)),
        ([1, 2, 0, 3, 0, 4], Fraction(13), Fraction(5)),
    ],
    ids=["middle", "empty", "one cell", "target below", "target above"],
)
@pytest.mark.parametrize("pad", [(0, 0), (4, 0), (0, 3)], ids=str)
def test_draws_follow_the_law(weights, target, scale, pad):
    runs, source = 4000, Seeded(61)
    edges = (-pad[0], len(weights) + pad[1])
    one = group(weights)
    draws = cell_draw.draw([Choice.of(one, edges, target, scale)] * runs, source)
    observed = np.bincount(draws + pad[0], minlength=edges[1] - edges[0])
    expected = cell_laws.law(weights, target, scale, pad) * runs
    assert p_value(observed, expected) > FALSE_ALARM
    if sum(weights):  # the twin with half of the noise
        twin = cell_laws.law(weights, target, scale / 3, pad) * runs
        assert p_value(observed, twin) < FALSE_ALARM


@pytest.mark.statistical
def test_draws_beyond_the_window_follow_the_law_too():
    # Never reached in practice (e^-80): the pieces outside are drawn on their own.
    weights, target, scale = [40, 30, 1, 2, 0, 60, 50], Fraction(145, 2), Fraction(20)
    choice = Choice.of(group(weights), (0, 7), target, scale)
    near = Pieces(choice, 2, 4)
    e = cell_laws.errors(weights, target)
    whole = np.exp(-e / 20).sum()
    low, high = near.total(0, near.chance.size, 30)
    assert low / 10**30 <= whole * (1 + 1e-12)
    assert high / 10**30 >= whole * (1 - 1e-12)
    assert high - low < 100
    rest, source, runs = near.rest(), Seeded(62), 3000
    p = np.exp(-e / 20)
    outside = p.copy()
    for start, count in zip(near.starts, near.counts, strict=True):
        outside[start : start + count] = 0
    assert 0 < np.count_nonzero(outside) < 7
    observed = np.bincount([rest.draw(source) for _ in range(runs)], minlength=7)
    assert not observed[outside == 0].any()
    assert p_value(observed, outside / outside.sum() * runs) > FALSE_ALARM
    assert p_value(observed, p / p.sum() * runs) < FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "value"), [("ERROR", 0.5), ("_WIDE", 0)], ids=["all ties", "one by one"]
)
def test_ties_and_wide_groups_follow_the_law_too(monkeypatch, name, value):
    # Ties have probability 2^-38 or so, wide groups are rare: force both.
    monkeypatch.setattr(cell_draw, name, value)
    weights, target, runs = [40, 30, 1, 2, 0, 60, 50], Fraction(145, 2), 400
    choice = Choice.of(group(weights), (-2, 7), target, Fraction(20))
    draws = cell_draw.draw([choice] * runs, Seeded(60))
    expected = cell_laws.law(weights, target, 20, (2, 0)) * runs
    assert p_value(np.bincount(draws + 2, minlength=9), expected) > FALSE_ALARM


def test_a_window_leaves_out_almost_nothing():
    weights = np.random.default_rng(2).integers(0, 9, 3000)
    for target in (0, 1, 5000, int(weights.sum())):
        choice = Choice.of(group(weights), (0, 3000), Fraction(target), Fraction(5))
        near = Pieces(choice, *choice.near())
        assert near.chance.size < 3000
        p = cell_laws.law(weights, target, 5)
        inside = np.zeros(3000)
        for start, count in zip(near.starts, near.counts, strict=True):
            inside[start : start + count] = 1
        assert (p * (1 - inside)).sum() < math.exp(-79)


TARGETS = {
    "median": (lambda w: Fraction(w, 2), (HALF, HALF)),
    "third": (lambda w: Fraction(w, 3), (Fraction(1, 3), Fraction(1, 3))),
    "nine tenths": (lambda w: Fraction(9 * w, 10), (Fraction(9, 10), Fraction(9, 10))),
    "minimum": (lambda w: min(Fraction(2), Fraction(w, 2)), (Fraction(0), HALF)),
    "maximum": (lambda w: w - min(Fraction(2), Fraction(w, 2)), (HALF, Fraction(1))),
    "low end": (lambda w: Fraction(w, 4) - 1, (Fraction(1, 4), Fraction(1, 4))),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_ranges_by_enumeration(kind):
    # Every small histogram of one group, and every way to add 1 or 2 units.
    target, slopes = TARGETS[kind]
    largest = 0.0
    for moved in (1, 2):
        for one, other in cell_laws.neighbors(1, 4, 2, moved, times=8):
            p, q = (
                cell_laws.law(row[0], target(int(row.sum())), 1.0, (2, 1))
                for row in (one, other)
            )
            largest = max(largest, cell_laws.largest_range(p, q) / moved)
    assert largest <= float(factor(*slopes)) + 1e-9
    # And the factor is not idle: a claim of 5 % less is caught.
    assert largest > 0.95 * float(factor(*slopes))


@pytest.mark.parametrize("at", [0.5, 0.25, 0.0, 1.0])
def test_ranges_add_up_over_groups(at):
    # The joint law over two groups, weights of one person in both of them.
    mechanism = m.CellQuantile(at, 3, 1.0)
    target = mechanism._target(mechanism._levels[0])
    limit = float(mechanism._rounds[0])
    times = 8 if 0 < at < 1 else 60
    largest = 0.0
    for one, other in cell_laws.neighbors(2, 3, 1, 2, times=times):
        laws = [
            cell_laws.joint(
                *[cell_laws.law(row, target(int(row.sum())), 1.0) for row in side]
            )
            for side in (one, other)
        ]
        largest = max(largest, cell_laws.largest_range(*laws))
    assert largest <= 2 * limit + 1e-9
    assert largest > limit  # one group's range alone would be a false claim


@pytest.mark.parametrize("at", [0.5, 0.8])
def test_an_exchanged_person_is_two_moves(at):
    # Replace-one: a unit leaves one cell and another enters anywhere, in two groups.
    mechanism = m.CellQuantile(at, 3, 1.0)
    target = mechanism._target(mechanism._levels[0])
    limit = 2 * float(mechanism._rounds[0])

    @functools.cache
    def law(row):
        return cell_laws.law(row, target(sum(row)), 1.0)

    largest, alone = 0.0, 0.0
    for base in itertools.product((0, 5, 10), repeat=6):
        for out, into in itertools.permutations(range(6), 2):
            one, other = list(base), list(base)
            one[out] += 1
            other[into] += 1
            spans = [
                cell_laws.largest_range(law(tuple(one[part])), law(tuple(other[part])))
                for part in (slice(0, 3), slice(3, 6))
            ]
            largest = max(largest, sum(spans))
            if (out < 3) == (into < 3):
                alone = max(alone, sum(spans))
    assert largest <= limit + 1e-9
    assert largest > 0.95 * limit  # leaving one group for the other attains it
    assert alone <= 2 + 1e-9  # within one group an exchange costs less


def test_a_split_divides_the_distance():
    shares = [Fraction(0), Fraction(1, 3), Fraction(5, 7), Fraction(1)]
    for one, other in cell_laws.neighbors(1, 3, 2, 2):
        for place, share in itertools.product(range(3), shares):
            sides = [group(side).split(place, share) for side in (one, other)]
            moved = 0
            for before, after in zip(*sides, strict=True):
                dense = np.zeros((2, 3), dtype=int)
                dense[0, before.places] = before.weights
                dense[1, after.places] = after.weights
                assert np.all(dense[1] >= dense[0])
                moved += int((dense[1] - dense[0]).sum())
            assert moved == 2


@pytest.mark.parametrize("at", [0.5, pytest.param(0.2, marks=pytest.mark.slow)])
def test_the_interval_s_joint_law_is_within_its_curve(at):
    mechanism = m.CellInterval(at, 2, 2.0, level=0.5)
    point, miss = mechanism.point, mechanism._miss
    pad = math.ceil(2 / miss)
    alpha = mechanism._alpha

    def whole(row):
        total = int(row.sum())
        laws = [cell_laws.law(row, alpha * total, point.scale)]
        for side in (-1, 1):
            scale = mechanism._end_scale(side)
            beyond = cell_quantile.depth(scale, 2, miss)
            padded = (pad, 0) if side < 0 else (0, pad)
            laws.append(
                cell_laws.law(row, alpha * total + side * beyond, scale, padded)
            )
        return cell_laws.joint(*laws)

    worst, claimed = 0.0, mechanism.curve(1).delta_at(0.1)
    for one, other in cell_laws.neighbors(1, 2, 3, 1, times=9):
        p, q = whole(one[0]), whole(other[0])
        assert np.abs(np.log(p / q)).max() <= 0.5 + 1e-9
        worst = max(worst, cell_laws.hockey(p, q, 0.1))
    assert 0 < worst <= claimed


@pytest.mark.parametrize(
    ("kind", "public"),
    [
        (m.CellQuantile, {"at": 0.5, "size": 100}),
        (m.CellQuantile, {"at": 0.0, "size": 100}),
        (m.CellQuantile, {"at": (0.1, 0.25, 0.5, 0.9), "size": 100}),
        (m.CellInterval, {"at": 0.5, "size": 100}),
        (m.CellInterval, {"at": 0.9, "size": 100, "person": 5}),
        (m.CellInterval, {"at": 1.0, "size": 100}),
        (m.CellTop, {"count": 3}),
    ],
    ids=["median", "minimum", "four", "between", "sampled", "maximum", "top"],
)
def test_epsilon_is_spent_and_no_more(kind, public):
    found = kind.for_epsilon(1, sensitivity=5 << 20, **public)
    spent = found.curve(5 << 20).epsilon_at(0.0)
    assert spent == pytest.approx(1, rel=1e-6)


def inside(found, low_truth, high_truth):
    return np.mean((found.low <= low_truth) & (found.high >= high_truth))


def deviations(level, runs):
    return 6.1 * math.sqrt(level * (1 - level) / runs)


def tight(size, half):
    """A group whose other cells all lie just beyond the reach of the low end."""
    return [[half] + [0] * (size - 2) + [half]] * 2000


@pytest.mark.statistical
def test_ends_cover_at_the_nominal_level_where_it_is_hardest(monkeypatch):
    # All cells right of the quantile are wrong and just beyond reach: the chance to
    # miss is β/(1+β), which both the claim and the bound allow no more than.
    mechanism = m.CellInterval(0.5, 256, 1.0, level=0.8)
    value = tight(256, 8000)
    missed = np.mean(mechanism.run(value, source=Seeded(63)).low > 0)
    assert missed <= 0.1 + deviations(0.1, 2000)
    assert missed >= 0.1 / 1.1 - deviations(0.1, 2000)
    real = cell_interval.depth
    monkeypatch.setattr(cell_interval, "depth", lambda *given: real(*given) * 4 // 5)
    twin = np.mean(mechanism.run(value, source=Seeded(63)).low > 0)
    assert twin > 0.1 + deviations(0.1, 2000)


@pytest.mark.statistical
@pytest.mark.parametrize("at", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(
    "people",
    [
        pytest.param(0, marks=pytest.mark.slow),
        pytest.param(1, marks=pytest.mark.slow),
        pytest.param(20, marks=pytest.mark.slow),
        300,
        pytest.param(3000, marks=pytest.mark.slow),
    ],
)
def test_intervals_cover_the_quantile_of_the_data(at, people):
    # 2000 groups at once; the true quantiles are those cells that the interval holds.
    rng, runs = np.random.default_rng(3), 2000 if people < 3000 else 300
    value = np.stack(
        [
            np.bincount(
                np.minimum(rng.lognormal(3, 1, people), 199).astype(int), None, 200
            )
            for _ in range(runs)
        ]
    )
    mechanism = m.CellInterval.for_epsilon(1, at=at, size=200, level=0.9)
    found = mechanism.run(value, source=Seeded(64))
    up_to = np.cumsum(value, axis=1)
    rank = Fraction(at).limit_denominator(10**6) * people
    low = np.argmax(up_to >= max(float(rank), 1), axis=1)
    high = np.argmax(up_to >= min(math.floor(rank) + 1, people), axis=1)
    if people == 0:
        low = high = found.point
    assert inside(found, low, high) >= 0.9 - deviations(0.9, runs)
    assert np.all(found.low <= found.point)
    assert np.all(found.point <= found.high)
    if people == 3000 and 0 < at < 1:  # and they say something
        assert np.median(found.high - found.low) < 60


@pytest.mark.statistical
@pytest.mark.parametrize("at", [0.5, pytest.param(0.9, marks=pytest.mark.slow)])
def test_intervals_cover_the_population(at):
    # People with 1 to 4 rows that depend on each other, weights 12/rows (rows = 1).
    rng, runs, people = np.random.default_rng(4), 2000, 1000
    person = 12
    value = np.zeros((runs, 2000), dtype=np.int64)
    for run in range(runs):
        rows = rng.integers(1, 5, people)
        own = rng.integers(0, 1900, people)
        x = np.repeat(own, rows) + rng.integers(0, 100, rows.sum())
        np.add.at(value[run], x, np.repeat(person // rows, rows))
    # Every person weighs 12: the population law is that of own + jitter.
    law = np.convolve(np.full(1900, 1 / 1900), np.full(100, 1 / 100))
    truth = int(np.searchsorted(np.cumsum(law), at))
    make = m.CellInterval.for_epsilon
    public = {"at": at, "size": 2000, "level": 0.9}
    found = make(20, sensitivity=12, person=person, **public).run(
        value, source=Seeded(65)
    )
    assert inside(found, truth, truth) >= 0.9 - deviations(0.9, runs)
    assert np.median(found.high - found.low) < 400
    # The twin that leaves sampling out.
    noise = make(20, sensitivity=12, **public).run(value, source=Seeded(65))
    assert inside(noise, truth, truth) < 0.9 - deviations(0.9, runs)


@pytest.mark.parametrize(("chance", "slope"), [(0.5, 0.1), (0.5, 0.001), (0.1, 0.02)])
def test_lines_stay_above_the_sampling_error(chance, slope):
    rate = cell_interval.exponent(chance, slope)
    n = np.arange(1, 4000)
    closest = 0.0
    for t in (1.0, 5.0, 20.0):
        below = np.ceil(n * (chance - slope) - t) - 1  # strictly below the line
        miss = stats.binom.cdf(below, n, chance)
        assert np.all(miss <= math.exp(-rate * t) * (1 + 1e-9))
        closest = max(closest, float(miss.max()) / math.exp(-rate * t))
    assert closest > 0.1


POISON = {
    "empty": [],
    "one cell": [(7, 10**9)],
    "far apart": [(0, 1), (1, 2**55), (999_999, 2**55)],
    "weightless": [(3, 0), (5, 0)],
    "edges": [(0, 5), (999_999, 5)],
}


@pytest.mark.parametrize("scale", [1e-9, 1.0, Fraction(2**40, 3), 1e12], ids=str)
@pytest.mark.parametrize("kind", POISON)
def test_n10_nothing_under_or_overflows(kind, scale):
    places = [p for p, _ in POISON[kind]]
    value = Cells.listed(10**6, [(places, [w for _, w in POISON[kind]])] * 2)
    source = Seeded(66)
    for at in (0.0, 0.5, 0.123456, 1.0, (0.25, 0.5, 0.75)):
        found = m.CellQuantile(at, 10**6, scale).run(value, source=source)
        assert np.all((found >= 0) & (found < 10**6))
    for at in (0.0, 0.5, 1.0):
        between = m.CellInterval(at, 10**6, scale, person=3).run(value, source=source)
        assert np.all((between.low >= 0) & (between.high < 10**6))
        assert np.all(between.low <= between.high)


def test_n10_a_million_crowded_cells():
    # The rank leaves ±200 with probability below e^-90.
    weights = np.random.default_rng(1).integers(1, 9, 10**6)
    value = Cells.listed(10**6, [(np.arange(10**6), weights)])
    found = m.CellQuantile.for_epsilon(1, at=0.9, size=10**6).run(value)
    assert abs(weights[: found[0]].sum() - 0.9 * weights.sum()) < 400


@pytest.mark.statistical
def test_one_heavy_cell_is_found():
    value = [[0] * 30 + [100_000] + [0] * 69]
    found = m.CellQuantile.for_epsilon(1, at=0.5, size=100).run(value)
    assert found.tolist() == [30]


@pytest.mark.statistical
def test_several_levels_see_through_a_heavy_cell():
    # Ratings: a tenth each below, one cell from 0.3 to 0.99. Without the division of
    # that cell the lower quartile would be looked for at rank 0.5 of 0.99.
    value = [[1000, 1000, 1000, 6900, 100]]
    mechanism = m.CellQuantile.for_epsilon(1, at=(0.25, 0.5, 0.75), size=5)
    source = Seeded(67)
    for _ in range(20):
        assert mechanism.run(value, source=source).tolist() == [[2, 3, 3]]


@pytest.mark.statistical
def test_several_levels_come_in_order_and_share_the_budget():
    rng = np.random.default_rng(8)
    levels = tuple(np.arange(1, 16) / 16)
    value = np.bincount(rng.integers(0, 4096, 20_000), minlength=4096)[None, :]
    joint = m.CellQuantile.for_epsilon(1, at=levels, size=4096)
    single = [m.CellQuantile.for_epsilon(1 / 15, at=a, size=4096) for a in levels]
    source = Seeded(68)
    truth = np.searchsorted(np.cumsum(value[0]), np.arange(1, 16) / 16 * 20_000)
    together, apart = [], []
    for _ in range(10):
        found = joint.run(value, source=source)[0]
        assert np.all(np.diff(found) >= 0)
        together.append(np.abs(found - truth).mean())
        each = [one.run(value, source=source)[0] for one in single]
        apart.append(np.abs(np.array(each) - truth).mean())
    assert np.mean(together) < 0.6 * np.mean(apart)


@pytest.mark.statistical
def test_an_extreme_leaves_the_empty_cells_behind():
    # Weight only in cells 4000..4999 of 10^4: it may not fall below more than 5 %.
    row = np.zeros(10_000, dtype=np.int64)
    row[4000:5000] = 10
    runs = 2000
    for at in (0.0, 1.0):
        mechanism = m.CellQuantile.for_epsilon(1, at=at, size=10_000)
        group_ = Cells.of(row).groups[0]
        value = Cells(10_000, (group_,) * runs)
        found = mechanism.run(value, source=Seeded(69))
        outside = np.mean((found < 4000) | (found > 4999))
        assert outside <= 0.05 + deviations(0.05, runs)
        ignored = cell_quantile.depth(mechanism._exact, 10_000, 0.05)
        lost = (found - 4000 if at == 0 else 4999 - found) * 10
        assert np.mean(lost <= 2 * ignored) >= 0.95 - deviations(0.05, runs)


def test_the_rank_error_is_bounded_by_its_law():
    mechanism = m.CellQuantile(0.3, 50, 2.0)
    for t in (5.0, 15.0):
        worst = 0.0
        for row in ([0] * 49 + [9], [30] + [0] * 49, list(range(50)), [20, 20]):
            full = np.array(row + [0] * (50 - len(row)))
            p = cell_laws.law(full, Fraction(3, 10) * int(full.sum()), 2.0)
            e = cell_laws.errors(full, Fraction(3, 10) * int(full.sum()))
            worst = max(worst, p[e >= t].sum())
        assert worst <= mechanism.error.tail(t) + 1e-12


@pytest.mark.statistical
def test_rank_errors_of_all_groups_stay_within_the_plan():
    # The worst case: one cell holds the target, all others lie at the planned error.
    mechanism = m.CellQuantile(0.5, 100, 50.0)
    plan = mechanism.rank_error(0.8, groups=5)
    half = math.floor(plan) + 1
    groups, runs = 5, 2000
    value = np.zeros((groups * runs, 100), dtype=np.int64)
    value[:, 40] = 2 * half
    found = mechanism.run(value, source=Seeded(71)).reshape(runs, groups)
    held = np.mean(np.all(found == 40, axis=1))
    assert 0.8 - deviations(0.8, runs) <= held <= 0.85 + deviations(0.8, runs)


def test_the_top_of_each_group_by_enumeration():
    largest = 0.0
    for p, q in cell_laws.top_pairs(1.0, moved=2)(1.0):
        largest = max(largest, cell_laws.largest_range(p, q))
    assert 1.9 < largest <= 2 + 1e-9  # moved by 2 at scale 1, whatever the groups


@pytest.mark.statistical
def test_the_top_follows_the_exponential_law():
    source, runs = Seeded(70), 3000
    value = np.array([[0, 2, 1, 4]] * runs)
    found = m.CellTop(2, 2.0).run(value, source=source)
    p = np.exp(value[0] / 2.0)
    expected = [
        p[a] / p.sum() * p[b] / (p.sum() - p[a])
        for a, b in itertools.permutations(range(4), 2)
    ]
    observed = [
        np.count_nonzero((found[:, 0] == a) & (found[:, 1] == b))
        for a, b in itertools.permutations(range(4), 2)
    ]
    assert p_value(observed, np.array(expected) * runs) > FALSE_ALARM
    assert p_value(observed, np.full(12, runs / 12)) < FALSE_ALARM


@pytest.mark.parametrize(
    "bad",
    [
        lambda: m.CellQuantile((0.5, 0.5), 4, 1.0),
        lambda: m.CellQuantile(1.5, 4, 1.0),
        lambda: m.CellQuantile(0.5, 0, 1.0),
        lambda: m.CellInterval(0.5, 4, 1.0, level=1.0),
        lambda: m.CellInterval(0.5, 4, 1.0, person=0),
        lambda: m.CellQuantile(0.5, 4, 1.0).run([[1, 2]]),
        lambda: m.CellQuantile(0.5, 2, 1.0).run([[1.0, 2.0]]),
        lambda: Cells.listed(4, [([1, 1], [1, 1])]),
        lambda: Cells.listed(4, [([4], [1])]),
        lambda: Cells.listed(4, [([1], [-1])]),
        lambda: Cells.listed(4, [([1], [2**62])]),
        lambda: m.CellTop(3, 1.0).run([[1, 2]]),
    ],
)
def test_bad_arguments_are_refused(bad):
    with pytest.raises(InvalidArgument):
        bad()


def test_groups_may_be_empty_arrays():
    one = Group(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    assert one.total == 0
    assert m.CellQuantile(0.5, 3, 1.0).run(Cells(3, ())).shape == (0,)
