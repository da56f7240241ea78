"""The auditor is valid whatever it learned, and finds what is wrong.

Seeds are fixed, so the fast tests repeat; each says how often it would fail on fresh
randomness if hush were right.
"""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from hush import mechanisms as m
from hush.audit import Verdict, assert_private, audit, holm, neighbors_of
from hush.audit.distinguisher import Event
from hush.audit.hypothesis_tests import PASS, RIGHT, Point
from hush.errors import InvalidArgument
from hush.law import Finite
from hush.noise import Seeded, bernoulli
from hush.privacy import GDP, Approx, Pair, Pure

# -- verdicts ------------------------------------------------------------------------

NOISE = m.Laplace(scale=1.0)


def leaking(kind, source):
    """Known ways in which peers leaked, made again by hand."""
    generator = np.random.default_rng(5)

    def float_laplace(x):
        return x + generator.laplace(0, 1)

    def float_gauss(x):
        return x + generator.normal(0, 1)

    def nan_mean(data):
        return float(np.mean(data)) + NOISE.run(0.0, source=source)

    def classes(data):
        return {label: NOISE.run(1, source=source) for label in sorted(set(data))}

    def raises(data):
        if len(data) < 2:
            raise ValueError("too few")
        return NOISE.run(len(data), source=source)

    def longer(data):
        return [0] * len(data)

    def reused(x):
        noise = NOISE.run(0.0, source=source)
        return [x + noise, noise]

    def fixed(x):
        return NOISE.run(x, source=Seeded(1))

    return {
        "float laplace": (float_laplace, 0.0, 1.0, Pure(1.0)),
        "float gauss": (float_gauss, 0.0, 1.0, GDP(1.0)),
        "nan": (nan_mean, [1.0] * 9, [*[1.0] * 9, math.nan], Pure(5.0)),
        "classes": (classes, [0, 1], [0, 1, 9], Pure(2.0)),
        "error": (raises, [1, 2], [1], Pure(1.0)),
        "length": (longer, [1, 2], [1], Approx(1.0, 1e-3)),
        "reused": (reused, 0.0, 1.0, Pure(2.0)),
        "fixed seed": (fixed, 0, 1, Pure(1.0)),
    }[kind]


@pytest.mark.thin(3)
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "kind",
    ["float laplace", "float gauss", "nan", "classes", "error", "length", "reused",
     "fixed seed"],
)  # fmt: skip
def test_what_peers_got_wrong_is_caught(kind):
    source = Seeded(11)
    run, data, neighbor, claim = leaking(kind, source)
    found = audit(run, data, neighbor, claim=claim, samples=8000, source=source)
    assert found.violated, str(found)


def test_the_precision_event_is_what_gives_float_noise_away():
    source = Seeded(12)
    run, data, neighbor, _ = leaking("float laplace", source)
    found = audit(run, data, neighbor, claim=Pure(1.0), samples=6000, source=source)
    assert "lowest bit" in found.event
    assert found.epsilon_lower > 3


def test_exact_noise_shows_no_precision_event():
    for run in (m.Laplace(1.0), m.Gaussian(1.0)):
        claim = run.curve(1.0)
        found = audit(run, 0.0, 1.0, claim=claim, samples=20_000, source=Seeded(3))
        assert found.p_value > 1e-4


def test_a_threshold_with_too_small_a_delta_is_caught():
    # An under-reported δ as in a peer's issue: 2.7 times too small.
    source = Seeded(13)
    mechanism, bar = m.Geometric(1), 5
    true = math.exp(-4) / (1 + math.exp(-1))  # P(noise >= 4)

    def run(count):
        noisy = count + mechanism.run(0, source=source)
        return int(noisy) if count and noisy >= bar else None

    def batch(count, runs):
        noisy = count + mechanism.run(np.zeros(runs, dtype=int), source=source)
        kept = (noisy >= bar) & (count > 0)
        return [int(y) if k else None for y, k in zip(noisy, kept, strict=True)]

    wrong = Approx(1.0, true / 2.7)
    found = audit(run, 0, 1, claim=wrong, samples=30_000, batch=batch, source=source)
    assert found.violated
    right = Approx(1.0, true)
    held = audit(run, 0, 1, claim=right, samples=30_000, batch=batch, source=source)
    assert not held.violated
    assert held.epsilon_lower < 1.0


@pytest.mark.thin(4)
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("run", "inputs", "claim"),
    [
        (m.Laplace(1.0), (0, 1), Pure(1.0)),
        (m.Laplace(1.0), (0.0, 1.0), Pure(1.0)),
        (m.Gaussian(1.0), (0.0, 1.0), m.Gaussian(1.0).curve(1.0)),
        (m.Laplace(1.0), (0, 1), Approx(1.0, 1e-3)),
    ],
    ids=["whole", "float", "gauss", "approximate"],
)
def test_correct_mechanisms_are_rarely_accused(run, inputs, claim):
    # 60 audits at level 0.95: more than 13 accusations have chance below 1e-6.
    accused = sum(
        audit(run, *inputs, claim=claim, samples=2000, source=Seeded(i)).violated
        for i in range(60)
    )
    assert accused <= 13


@pytest.mark.statistical
def test_small_violations_are_found():
    # At least 8 of 10, where the power is above 0.99: fails with chance below 1e-4.
    found = [
        audit(m.Laplace(1 / 1.1), 0.0, 1.0, claim=Pure(1.0), samples=25_000, source=s)
        for s in map(Seeded, range(10))
    ]
    assert sum(each.violated for each in found) >= 8
    assert all(each.epsilon_lower < 1.1 * 1.05 for each in found)


@pytest.mark.slow
@pytest.mark.statistical
def test_a_tenth_too_much_is_found_95_times_in_100_with_25_000_runs():
    def hits(run, inputs, claim):
        return sum(
            audit(run, *inputs, claim=claim, samples=25_000, source=Seeded(i)).violated
            for i in range(100)
        )

    assert hits(m.Laplace(1 / 1.1), (0.0, 1.0), Pure(1.0)) >= 95
    assert hits(m.Laplace(1 / 1.1), (0, 1), Pure(1.0)) >= 95


@pytest.mark.slow
@pytest.mark.statistical
def test_false_alarms_in_200_audits_are_as_rare_as_the_level_says():
    # Bin(200, 0.05) exceeds 28 with chance 1e-6.
    cases = [
        (m.Laplace(1.0), (0, 1), Pure(1.0)),
        (m.Laplace(1.0), (0.0, 1.0), Pure(1.0)),
        (m.Gaussian(1.0), (0.0, 1.0), GDP(1.0)),
        (m.Laplace(1.0), (0.0, 1.0), Approx(1.0, 1e-4)),
        (m.RandomizedResponse(0.75), (0, 1), Pure(math.log(3))),
    ]
    for run, inputs, claim in cases:
        accused = sum(
            audit(run, *inputs, claim=claim, samples=8000, source=Seeded(i)).violated
            for i in range(200)
        )
        assert accused <= 28, (run, accused)


def test_pairs_are_searched():
    # Only the outlier shows that nothing is clamped.
    source = Seeded(4)

    def unclamped(data):
        return NOISE.run(
            float(min(np.nansum(np.asarray(data, float)), 1e6)), source=source
        )

    data = [0.5, 0.25, 0.75]
    found = audit(
        unclamped,
        claim=Pure(1.0),
        samples=4000,
        pairs=neighbors_of(data, how=["random", "outlier"]),
        source=source,
    )
    assert found.violated
    assert found.pair.startswith("outlier")
    calm = audit(
        unclamped, data, data[1:], claim=Pure(1.0), samples=4000, source=source
    )
    assert not calm.violated


@pytest.mark.slow
def test_a_table_query_can_be_audited():
    import pyarrow

    import hush

    def counted(rows):
        budget = hush.Budget(epsilon=1)
        data = hush.open(pyarrow.table(rows), unit="who", rows=1, budget=budget)
        return data.agg(n=hush.count()).release(epsilon=1)

    few, more = {"who": [1, 2, 3]}, {"who": [1, 2, 3, 4]}
    source = Seeded(3)
    right = audit(counted, few, more, claim=Pure(1.0), samples=400, source=source)
    assert right.p_value > 1e-4
    wrong = audit(counted, few, more, claim=Pure(0.2), samples=400, source=source)
    assert wrong.violated


def test_timing_is_seen_only_on_request():
    import time

    source = Seeded(6)

    def slow(bit):
        time.sleep(2e-3 * bit)
        return int(bernoulli(0.5, source=source))

    seen = audit(slow, 0, 1, claim=Pure(1.0), samples=400, timing=True, source=source)
    assert seen.violated
    assert "time" in seen.event or "all values" in seen.event
    calm = audit(slow, 0, 1, claim=Pure(1.0), samples=400, source=source)
    assert not calm.violated


def test_the_outcome_can_be_read_stored_and_drawn():
    found = audit(NOISE, 0, 1, claim=Pure(0.5), samples=4000, source=Seeded(1))
    shown = json.loads(found.to_json())
    assert shown["audit"] == "violated"
    assert shown["epsilon_lower"] == found.epsilon_lower > 0.5
    assert "neighbor when value >=" in found.event
    assert "guesses right" in str(found)
    assert "with 95% confidence" in str(found)
    assert "(claimed: 0.5)" in str(found)
    # e^0.5 / (1 + e^0.5) is what the claim allows, and more were right.
    assert "the claim allows 62.2%" in str(found)
    assert found.right / found.guesses > found.allowed == pytest.approx(0.62246, 1e-5)
    assert [line.split(" when ")[0] for line in str(found).splitlines()[3:]] == [
        "guessed neighbor",
        "guessed data",
    ]
    axes = found.plot()
    assert axes.get_xlabel().startswith("false positives")
    calm = audit(NOISE, 0, 1, claim=Pure(1.0), samples=4000, source=Seeded(1))
    assert calm.verdict is Verdict.NOT_REFUTED
    assert "an audit like this catches" in str(calm)
    assert 1.0 < calm.catches < 1.5


def test_the_power_statement_is_kept():
    # The estimate must be right within the noise of 60 audits.
    calm = audit(NOISE, 0, 1, claim=Pure(1.0), samples=4000, source=Seeded(1))
    worse = m.Laplace(1 / calm.catches)
    hits = sum(
        audit(worse, 0, 1, claim=Pure(1.0), samples=4000, source=Seeded(i)).violated
        for i in range(60)
    )
    assert hits >= 48


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"claim": 1.0}, "claim"),
        ({"claim": Pure(1.0), "samples": 3}, "samples"),
        ({"claim": Pure(1.0), "level": 1.0}, "level"),
    ],
)
def test_wrong_arguments_are_named(arguments, word):
    with pytest.raises(InvalidArgument, match=word):
        audit(NOISE, 0, 1, **arguments)


@pytest.mark.parametrize(
    "claim",
    [Pure(0.0), Pure(1e4), Approx(1e4, 0.1), Approx(0.0, 0.5), GDP(50.0), GDP(1e-9),
     m.Canonical(Approx(1.0, 0.01)).curve(1)],
    ids=str,
)  # fmt: skip
def test_extreme_claims_are_looked_at_without_a_warning(claim):
    found = audit(NOISE, 0, 1, claim=claim, samples=1000, source=Seeded(2))
    assert found.violated is (claim in (Pure(0.0), GDP(1e-9)))


def test_a_run_that_never_answers_is_refused():
    def broken(data):
        raise KeyError(data)

    with pytest.raises(InvalidArgument, match="KeyError"):
        audit(broken, 0, 1, claim=Pure(1.0))
    with pytest.raises(InvalidArgument, match="data and neighbor"):
        audit(NOISE, claim=Pure(1.0))
    with pytest.raises(InvalidArgument, match="function of data"):
        audit(3, 0, 1, claim=Pure(1.0))


def test_assert_private_holds_and_fails():
    assert_private(NOISE, 0, 1, samples=4000)
    with pytest.raises(AssertionError, match="violated"):
        assert_private(NOISE, 0, 1, Pure(0.5), samples=4000)
    with pytest.raises(InvalidArgument, match="claim"):
        assert_private(lambda x: x, 0, 1)


def test_holm_keeps_the_family_error():
    # 50 uniform p-values, 400 families at 0.05: above 45 has chance 3e-7.
    generator = np.random.default_rng(7)
    alarms = sum(any(holm(generator.random(50).tolist(), 0.05)) for _ in range(400))
    assert alarms <= 45
    assert holm([0.5, 1e-9], 1e-3) == [False, True]


def test_infinite_and_missing_scores_keep_the_sides_that_the_proof_counts():
    values, side = np.array([np.inf, np.nan, -np.inf, 0.5]), np.ones(4, dtype=np.bool_)

    def event(kind, low, high):
        return Event(None, Point(0.0, 0.1, kind), low, high, 0.0, 0.0)

    never = event("betting", -np.inf, np.inf)
    assert never.sides == 0
    assert np.all(never.judge(values, side) == PASS)
    down, up = event("betting", 0.2, np.inf), event("betting", -np.inf, 0.2)
    assert (down.sides, up.sides) == (1, 1)
    assert not np.any(down.judge(values, side) == RIGHT)  # "neighbor" is never said
    assert not np.any(up.judge(values, ~side) == RIGHT)  # nor is "data"
    everybody = event("accuracy", float(np.nextafter(0.2, -1)), 0.2)
    assert not np.any(everybody.judge(values, side) == PASS)


def test_an_assertion_says_which_error_it_was_held_to():
    with pytest.raises(AssertionError) as raised:
        assert_private(NOISE, 0, 1, Pure(0.5), false_alarm=1e-6, source=Seeded(3))
    last = str(raised.value).splitlines()[-1]
    assert "both at most 0.001: a claim that holds" in last
    assert last.endswith("with chance at most 1e-06")


def test_a_claim_with_a_long_law_is_told_in_one_line():
    coins = Finite(tuple(Fraction(math.comb(60, k), 1 << 60) for k in range(61)))
    claim = Pair.shift(coins, by=1)
    assert len(repr(claim)) > 1000
    found = audit(NOISE, 0, 1, claim=claim, samples=400, source=Seeded(1))
    told = str(found).splitlines()[0]
    assert f"epsilon {claim.epsilon_at(1e-6):.6g} at delta 1e-06" in told
    assert len(told) < 100
