"""Shuffled reports, conversations and heavy hitters."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from goodness import FALSE_ALARM, p_value
from hush.errors import BudgetExceeded, InsecureSource, InvalidArgument
from hush.local import (
    Conversation,
    DuchiMean,
    HadamardResponse,
    HeavyHitters,
    LaplaceMean,
    LocalHashing,
    RandomizedResponse,
    Reports,
    SubsetSelection,
    UnaryEncoding,
)
from hush.local.frequency import heavy_hitters
from hush.local.frequency.heavy_hitters import least_supporters
from hush.noise import Seeded
from hush.privacy import Pure, shuffle
from local.laws import law, seen

# -- shuffling ----------------------------------------------------------------------


def histograms(laws):
    """Law of the multiset of independent reports, by listing."""
    state = {(): 1.0}
    for each in laws:
        grown = Counter()
        for key, chance in state.items():
            for report, p in each.items():
                grown[tuple(sorted((*key, report)))] += chance * float(p)
        state = grown
    return state


def hockey(p, q, epsilon):
    return sum(max(p[y] - math.exp(epsilon) * q.get(y, 0.0), 0.0) for y in p)


@pytest.mark.parametrize(
    "oracle",
    [
        RandomizedResponse(1.0),
        RandomizedResponse(1.0, 3),
        UnaryEncoding(1.0, 2),
        UnaryEncoding.symmetric(1.5, 3),
        SubsetSelection(0.5, 4),
        HadamardResponse(1.0, 3),
    ],
    ids=repr,
)
@pytest.mark.parametrize("people", [2, 3, 4])
def test_shuffled_reports_are_covered_exactly(oracle, people):
    laws, curve = law(oracle), oracle.shuffled(people)
    for other in range(min(oracle.size, 3)):
        rest = [laws[other]] * (people - 1)
        one, two = histograms([laws[0], *rest]), histograms([laws[1], *rest])
        for epsilon in (0.0, 0.1, 0.4, 0.8):
            exact = max(hockey(one, two, epsilon), hockey(two, one, epsilon))
            assert exact <= curve.delta_at(epsilon) * (1 + 1e-12)
    assert curve.delta_at(0.1) <= oracle.curve().delta_at(0.1) * (1 + 1e-9)


def test_the_bound_is_close_for_binary_responses():
    oracle = RandomizedResponse(1.0)
    laws, curve = law(oracle), oracle.shuffled(4)
    rest = [laws[0]] * 3
    one, two = histograms([laws[0], *rest]), histograms([laws[1], *rest])
    exact = max(hockey(one, two, 0.2), hockey(two, one, 0.2))
    assert curve.delta_at_lower(0.2) <= exact * (1 + 1e-9)
    assert exact > 0.5 * curve.delta_at(0.2)


def four_outputs(r, w, people, epsilon):
    """Exact δ of the histogram of reports A, B, D, E, when all others hold one value.

    A and B tell the two values apart; D is likely under both and rare for the others,
    E the converse: so D tells whether the one report is among A and B at all.
    """
    d = (1 - (r + 1) * w - (1 - 2 * w) / r) / (r - 1 / r)
    e = (1 - 2 * w - d) / r
    laws = (r * w, w, r * d, e), (w, r * w, r * d, e)
    others, n = np.array([w, w, d, r * e]), people - 1
    assert all(sum(law) == pytest.approx(1) for law in (*laws, others))
    counts = np.indices((people + 1,) * 3).reshape(3, -1)
    counts = np.vstack([counts, people - counts.sum(axis=0)])
    chances = []
    for law_ in laws:
        total = 0.0
        for place, p in enumerate(law_):
            rest = counts - np.eye(4, dtype=int)[:, [place]]
            inside = (rest >= 0).all(axis=0)
            log = special.gammaln(n + 1) - special.gammaln(rest[:, inside] + 1).sum(0)
            log += np.log(others) @ rest[:, inside]
            part = np.zeros(counts.shape[1])
            part[inside] = p * np.exp(log)
            total = total + part
        assert total.sum() == pytest.approx(1)
        chances.append(total)
    one, two = chances
    gap = one - math.exp(epsilon) * two, two - math.exp(epsilon) * one
    return max(float(np.maximum(each, 0).sum()) for each in gap)


@pytest.mark.parametrize("people", [2, 6, 20])
@pytest.mark.parametrize("r", [2.0, 10.0, 50.0])
def test_shuffling_covers_reports_whose_common_part_tells_something(r, people):
    curve = shuffle(Pure(epsilon=math.log(r)), people=people)
    for share in (0.05, 0.3, 0.6):
        for part in (0.0, 0.3, 0.8):
            epsilon = part * math.log(r)
            exact = four_outputs(r, share / (r + 1), people, epsilon)
            assert exact <= curve.delta_at(epsilon)


@pytest.mark.statistical
def test_shuffling_forgets_the_order():
    # Where the first of four reports lands is uniform.
    oracle = UnaryEncoding(1.0, 64)
    reports = oracle.encode([1, 2, 3, 4], source=Seeded(1))
    source, seen_at = Seeded(2), Counter()
    for _ in range(4000):
        rows = reports.shuffle(source=source).rows
        place = int(np.flatnonzero((rows == reports.rows[0]).all(axis=1))[0])
        seen_at[place] += 1
    assert p_value([seen_at[i] for i in range(4)], [1000] * 4) > FALSE_ALARM
    shuffled = reports.shuffle()
    assert sorted(map(bytes, shuffled.rows)) == sorted(map(bytes, reports.rows))


# -- conversations --------------------------------------------------------------------

COARSE, FINE = RandomizedResponse(0.4), RandomizedResponse(0.5, 3)


def strategy(past):
    """The next question after some answers: (person, randomizer), or None at the end.

    It asks the first person again after a yes, and with another randomizer.
    """
    if len(past) == 0:
        return 0, COARSE
    if len(past) == 1:
        return (0, FINE) if past[0] == (1,) else (1, FINE)
    if len(past) == 2:
        return (1, COARSE) if sum(past[1]) else (2, COARSE)
    return None


def transcripts(values):
    """Law of whole transcripts, by listing answers in order."""
    done, open_ = {}, {(): Fraction(1)}
    while open_:
        grown = {}
        for past, chance in open_.items():
            turn = strategy(past)
            if turn is None:
                done[past] = chance
                continue
            person, randomizer = turn
            for report, p in law(randomizer)[values[person]].items():
                grown[(*past, report)] = chance * p
        open_ = grown
    return done


def test_n4_2def_an_interactive_transcript_is_private_for_everyone():
    # All values of three people, all replacements of one: every transcript's chance
    # changes by e^ε at most, where ε is the budget of the conversation; it is attained.
    limit = COARSE.ratio * FINE.ratio
    worst = Fraction(0)
    for values in np.ndindex(2, 2, 2):
        base = transcripts(values)
        assert sum(base.values()) == 1
        for person in range(3):
            moved = list(values)
            moved[person] = 1 - moved[person]
            other = transcripts(moved)
            worst = max(worst, *(base[t] / other[t] for t in base))
    assert worst == limit
    assert limit <= Fraction(math.exp(0.9) * (1 + 1e-12))


def test_the_conversation_allows_that_strategy_and_no_more():
    values, source = (1, 0, 1), Seeded(3)
    counts, runs = Counter(), 2000
    for _ in range(runs):
        talk, past = Conversation(epsilon=0.9, rehearsal=True), ()
        while (turn := strategy(past)) is not None:
            person, randomizer = turn
            report = talk.ask(person, randomizer, values[person], source=source)
            past = (*past, *seen(randomizer, report.rows))
        assert len(talk.transcript) == 3
        counts[past] += 1
    wanted = transcripts(values)
    expected = [float(p) * runs for p in wanted.values()]
    assert p_value([counts[t] for t in wanted], expected) > FALSE_ALARM


def test_a_person_is_never_asked_too_much():
    talk = Conversation(epsilon=1.0)
    talk.ask("a", DuchiMean(0.7), 0.5)
    with pytest.raises(BudgetExceeded, match=r"0\.3 of 1 is left"):
        talk.ask("a", LaplaceMean(0.31), 0.5)
    assert len(talk.transcript) == 1
    talk.ask("b", LaplaceMean(1.0), 0.5)
    assert talk.left("b") == 0
    assert talk.curve().epsilon_at(0) == 1.0
    with pytest.raises(InsecureSource, match="rehearsal"):
        talk.ask("c", LaplaceMean(0.1), 0.5, source=Seeded(1))
    with pytest.raises(InvalidArgument, match="randomizer"):
        talk.ask("c", "anything", 0.5)


# -- heavy hitters --------------------------------------------------------------------


def test_common_values_of_a_huge_domain_are_found():
    rng = np.random.default_rng(1)
    hot = [7, 2**47 + 12345, 2**48 - 1]
    values = np.concatenate(
        [
            np.repeat(hot, [9_000, 6_000, 4_000]),
            rng.integers(0, 2**48, 11_000),
        ]
    )
    finder = HeavyHitters(epsilon=4.0, bits=48, step=6)
    reports = finder.encode(values, source=Seeded(1))
    found = finder.find(reports)
    assert found.values.tolist() == hot
    shares = np.array([9, 6, 4]) / 30
    assert (np.abs(found.value - shares) < 6 * (found.std + 0.01)).all()
    low, high = found.interval(0.999999)
    assert (low < high).all()


@pytest.mark.statistical
def test_shares_of_hitters_have_honest_intervals():
    # 200 intervals of level 0.95, far above the threshold: fewer than 165 hold with
    # probability below 1e-8.
    finder = HeavyHitters(epsilon=3.0, bits=10, step=5)
    values = np.repeat([5, 1000, 77], [900, 600, 500])
    source, held = Seeded(9), 0
    for _ in range(200):
        found = finder.find(finder.encode(values, source=source))
        low, high = found.interval(0.95)
        assert found.values[0] in (5, 1000)
        place = found.values.tolist().index(5)
        held += bool(low[place] <= 0.45 <= high[place])
    assert held >= 165


@pytest.mark.slow
@pytest.mark.statistical
def test_the_variance_of_hitters_is_that_of_the_theory():
    # 20 shares in 4500 runs: their mean square strays by √(2/90 000) = 0.5 %, six of
    # these are 3 %. All hitters lie eight stds above the threshold: none is missed.
    # At most 1 % of runs may find one more: 45 expected, and 40 for six deviations.
    finder, source = HeavyHitters(epsilon=6.0, bits=6, step=5), Seeded(17)
    hot = np.sort(np.random.default_rng(1).choice(64, 20, replace=False))
    values, total, more = np.repeat(hot, 200), 0.0, 0
    # The last level is a random part of the people: f(1-f)/n', n' its number.
    people = round(4000 * finder.last_share)
    theory = finder.oracles[-1].share_variance(people, np.array([0.05]))[0]
    theory += 0.05 * 0.95 / people * (1 - people / 4000)
    for _ in range(4500):
        found = finder.find(finder.encode(values, source=source))
        true = np.isin(found.values, hot)
        assert true.sum() == 20
        more += not true.all()
        total += float(((found.value[true] - 0.05) ** 2).mean()) / theory
    assert total / 4500 == pytest.approx(1, rel=0.03)
    assert more <= 85


def test_reports_of_hitters_add_up():
    finder, values = HeavyHitters(epsilon=4.0, bits=24, step=8), [0xC0FFEE] * 4000
    parts = [finder.encode(values[i::3], source=Seeded(i)) for i in range(3)]
    whole = parts[0] + parts[1] + finder.collect([parts[2].to_bytes(), b"?"])
    assert (len(whole), whole.rejected, whole.seeded) == (4000, 1, True)
    assert finder.find(whole).values.tolist() == [0xC0FFEE]
    with pytest.raises(InvalidArgument, match="must come from"):
        _ = whole + HeavyHitters(epsilon=4.1, bits=24, step=8).encode([1])
    with pytest.raises(TypeError):
        _ = whole + 1


def test_nothing_is_found_where_nothing_is_common():
    values = np.random.default_rng(2).integers(0, 2**20, 5000)
    finder = HeavyHitters(epsilon=1.0, bits=20, step=5)
    found = finder.find(finder.encode(values, source=Seeded(4)))
    assert found.values.size == 0


def test_the_last_level_has_its_share_the_others_are_alike_and_rows_valid():
    finder = HeavyHitters(epsilon=1.0, bits=20, step=3)
    assert finder.lengths == (3, 6, 9, 12, 15, 18, 20)
    reports = finder.encode(np.arange(20_000), source=Seeded(5))
    assert finder.valid(reports.rows).all()
    levels = np.bincount(reports.rows[:, 0], minlength=7)
    shares = np.array([0.1] * 6 + [0.4])
    assert p_value(levels, shares * 20_000) > FALSE_ALARM
    assert p_value(levels, np.full(7, 20_000 / 7)) < FALSE_ALARM  # it can see
    rng = np.random.default_rng(6)
    forged = rng.integers(0, 256, (5000, finder.width), dtype=np.uint8)
    back = finder.collect([reports.header() + forged.tobytes()])
    assert len(back) + back.rejected == 5000
    if len(back):
        finder.find(back)
    with pytest.raises(InvalidArgument, match="at least one"):
        finder.find(finder.encode([]))


@pytest.mark.parametrize("people", [1, 30, 4_000, 10**6])
@pytest.mark.parametrize("miss", [Fraction(1, 4), Fraction(3, 100), Fraction(1, 2)])
def test_the_bar_is_the_least_number_that_chance_seldom_reaches(people, miss):
    for chance in (0.4, 1e-3, 6e-7, 1e-12):
        least = least_supporters(people, miss, chance)
        law = stats.binom(people, float(miss))  # by the incomplete beta function
        assert law.sf(least - 1) <= chance * (1 + 1e-9)
        if least - 1 > people * miss:  # one fewer is too few, up to rounding
            assert law.sf(least - 2) > chance * (1 - 1e-6)


def test_runs_are_supported_as_their_values_one_by_one():
    for size in (2**14, 2**30, 2**48):  # a field of each width
        oracle = LocalHashing(epsilon=2.0, size=size)
        reports = oracle.encode(np.arange(500) * (size // 500), source=Seeded(7))
        first = np.array([0, 64, size - 16])
        found = oracle.support_of_runs(reports.rows, first, 16)
        values = (first[:, None] + np.arange(16)).ravel()
        assert found.ravel().tolist() == oracle.support(reports.rows, values).tolist()
        with pytest.raises(InvalidArgument, match="first must lie in"):
            oracle.support_of_runs(reports.rows, [size - 15], 16)


def inventions(runs, level, seed):
    """In how many runs a value is named that nobody holds: 512 of 1024 are held."""
    finder, source = HeavyHitters(epsilon=2.0, bits=10, step=6), Seeded(seed)
    values = np.concatenate([np.zeros(700, dtype=int), 2 * np.arange(512)])
    made = 0
    for _ in range(runs):
        found = finder.find(finder.encode(values, source=source), level=level)
        made += bool((found.values % 2).any())
    return made


@pytest.mark.statistical
def test_inventions_are_as_rare_as_they_are_said_to_be(monkeypatch):
    # At most 10 % of 400 runs: more than 80 have chance 3e-9. Half of the values tried
    # are held by nobody, so 5 % are expected, less what whole numbers leave: fewer than
    # 3 would mean a bar that is far too high.
    made = inventions(400, 0.9, seed=11)
    assert 3 <= made <= 80
    monkeypatch.setattr(  # a bar that forgets how many values are tried
        heavy_hitters,
        "least_supporters",
        lambda n, q, p: least_supporters(n, q, 30 * p),
    )
    assert inventions(400, 0.9, seed=11) > 80


def recall(holders, others, runs, seed):
    """How often a value with so many holders is found, of 256 in one level."""
    finder, source = HeavyHitters(epsilon=2.0, bits=8), Seeded(seed)
    values = np.concatenate([np.full(holders, 7), 8 + np.arange(others) % 248])
    return sum(
        7 in finder.find(finder.encode(values, source=source)).values
        for _ in range(runs)
    )


@pytest.mark.statistical
def test_values_are_found_as_often_as_the_law_of_supporters_says(monkeypatch):
    # Supporters are Bin(m, hit) + Bin(n - m, miss): their law, by convolution. 300 runs
    # stray by more than six deviations of a binomial with chance below 1e-8.
    oracle = HeavyHitters(epsilon=2.0, bits=8).oracles[-1]
    hit, miss = float(oracle.hit), float(oracle.miss)
    assert oracle.buckets == 8
    m, others = 150, 2350
    law = np.convolve(
        stats.binom.pmf(np.arange(m + 1), m, hit),
        stats.binom.pmf(np.arange(others + 1), others, miss),
    )
    bar = stats.binom.isf(0.01 / 256, m + others, miss) + 1
    chance = law[int(bar) :].sum()
    assert 0.2 < chance < 0.8
    room = 6 * math.sqrt(300 * chance * (1 - chance))
    assert abs(recall(m, others, 300, seed=12) - 300 * chance) <= room
    for factor in (1e-3, 1e3):  # a bar too high, or too low, is seen
        monkeypatch.setattr(
            heavy_hitters,
            "least_supporters",
            lambda n, q, p, f=factor: least_supporters(n, q, f * p),
        )
        assert abs(recall(m, others, 300, seed=12) - 300 * chance) > room


@pytest.mark.statistical
def test_prefixes_below_the_bar_are_followed_to_values_above_it():
    # Eight values of 4 % each: 5.9 deviations of the noise at the last level, 5.1
    # at the two before. Sixty-four of 16 384 stay, above 2.7: 6.8 are expected; 4 or
    # fewer have chance 0.01 (the seed is fixed). A bar of 4.9 everywhere finds 2.5.
    finder = HeavyHitters(epsilon=3.0, bits=24)
    hot = np.random.default_rng(3).integers(0, 2**24, 8)
    rest = np.random.default_rng(4).integers(0, 2**24, 8160)
    values = np.concatenate([np.repeat(hot, 480), rest])
    found = finder.find(finder.encode(values, source=Seeded(5)))
    assert set(found.values.tolist()) <= set(hot.tolist())
    assert len(found.values) >= 5
    rarely = HeavyHitters(epsilon=3.0, bits=24, last_share=0.05)  # the twin
    assert len(rarely.find(rarely.encode(values, source=Seeded(5))).values) <= 2
    assert len(finder.find(finder.encode(values), most=3).values) <= 3


def test_a_finder_says_its_share_and_reads_reports_from_before():
    same = HeavyHitters(2.0, bits=20, step=4, last_share=0.4)
    assert same == HeavyHitters(2.0, bits=20, step=4)
    assert repr(same) == "HeavyHitters(epsilon=2.0, bits=20, step=4)"
    other = HeavyHitters(2.0, bits=20, step=4, last_share=0.2)
    assert "last_share=0.2" in repr(other)
    assert other.collect([same.encode([1, 2]).to_bytes()]).rejected == 1
    # Reports of equal levels, as they were drawn before, are read as they are.
    equal = HeavyHitters(4.0, bits=24, step=8, last_share=1 / 3)
    finder = HeavyHitters(4.0, bits=24, step=8)
    old = Reports(finder, equal.encode([0xC0FFEE] * 4000, source=Seeded(1)).rows)
    assert finder.find(old).values.tolist() == [0xC0FFEE]
    for wrong in (0.0, 1.0, 1e-9, math.nan):
        with pytest.raises(InvalidArgument, match="last_share"):
            HeavyHitters(2.0, bits=20, last_share=wrong)


def test_what_was_found_is_named_where_it_is_printed():
    finder = HeavyHitters(epsilon=4.0, bits=16, step=8)
    words = np.concatenate([np.full(3000, 4242), np.arange(3000)])
    lines = str(finder.find(finder.encode(words, source=Seeded(1)))).splitlines()
    assert lines[0].split() == ["value", "estimate", "from", "to", "(95%)"]
    assert lines[1].split()[0] == "4242"
    oracle = UnaryEncoding(epsilon=1.0, size=30)
    shares = oracle.estimate(oracle.encode(np.arange(600) % 30, source=Seeded(2)))
    lines = str(shares).splitlines()
    assert lines[0].split()[0] == "category"
    assert [line.split()[0] for line in lines[1:21]] == [str(i) for i in range(20)]
    assert lines[21] == "... and 10 more"
