"""One of several canaries per person: the bounds hold, they see, and power is known."""

import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize

from hush import mechanisms as m
from hush.audit import canaries_needed, one_run, one_run_power
from hush.audit.hypothesis_tests import binomial
from hush.audit.one_run import game_of, level_of, right_chance, several, tradeoff
from hush.errors import InvalidArgument
from hush.noise import Seeded, integers
from hush.privacy import GDP, ZCDP, Approx, Pure

DOCS = Path(__file__).parent.parent.parent / "docs"


def most_right(people, choices, guesses, right, epsilon, delta):
    """The largest P(W >= right) of all (ε, δ)-private mechanisms, by a linear program.

    Unknowns are the chances of every set of guesses given who is in (0 for none), and,
    for two such states that differ by adding one canary, what is over e^ε.
    """
    states = list(itertools.product(range(choices + 1), repeat=people))
    weights = [math.prod(0.5 if c == 0 else 0.5 / choices for c in s) for s in states]
    told = [
        list(zip(places, named, strict=True))
        for places in itertools.combinations(range(people), guesses)
        for named in itertools.product(range(1, choices + 1), repeat=guesses)
    ]
    size = len(told)
    pairs = [
        (i, j)
        for i, j in itertools.permutations(range(len(states)), 2)
        if sum(a != b for a, b in zip(states[i], states[j], strict=True)) == 1
        and any(
            a != b and 0 in (a, b) for a, b in zip(states[i], states[j], strict=True)
        )
    ]
    total = size * (len(states) + len(pairs))
    rows, limits = [], []
    for at, (i, j) in enumerate(pairs):
        for k in range(size):
            row = np.zeros(total)
            row[i * size + k], row[j * size + k] = 1, -math.exp(epsilon)
            row[(len(states) + at) * size + k] = -1
            rows.append(row)
            limits.append(0.0)
        over = np.zeros(total)
        over[(len(states) + at) * size :][:size] = 1
        rows.append(over)
        limits.append(delta)
    gain, every = np.zeros(total), np.zeros((len(states), total))
    for i, (state, weight) in enumerate(zip(states, weights, strict=True)):
        every[i, i * size : (i + 1) * size] = 1
        for k, named in enumerate(told):
            gain[i * size + k] = weight * (
                sum(state[place] == value for place, value in named) >= right
            )
    found = optimize.linprog(
        -gain, A_ub=np.array(rows), b_ub=limits, A_eq=every, b_eq=np.ones(len(states))
    )
    return -found.fun


@pytest.mark.parametrize(
    ("people", "choices", "guesses"), [(1, 2, 1), (1, 5, 1), (2, 2, 1), (2, 2, 2)]
)
def test_bounds_cover_the_best_of_all_mechanisms(people, choices, guesses):
    for epsilon, delta in ((1.0, 0.0), (0.3, 0.0), (1.0, 0.1), (2.0, 0.01)):
        needed = several(level_of(Approx(epsilon, delta)), choices)
        for right in range(1, guesses + 1):
            best = most_right(people, choices, guesses, right, epsilon, delta)
            found = tradeoff(people, guesses, right, needed)
            assert found >= best - 1e-9
            # Who cannot pass is right less often: a factor of 2 is left for that.
            if people == 1:
                assert found <= 2 * best
            if delta == 0:
                exact = binomial(right, guesses, right_chance(epsilon, choices))
                assert exact >= best - 1e-9
            wrong = tradeoff(  # the twin: k choices taken for 4k
                people, guesses, right, several(level_of(Approx(0.0, 0.0)), 4 * choices)
            )
            assert wrong < best


EPSILON, NAMED = math.log(2), 0.1


def told(included, source, choices=4, lie=1.0):
    """Name a canary, each with chance 0.1, e^±ε times that if one is in: exactly ε.

    Else nothing is named. Given a name it is right with the chance that ε allows.
    """
    draw = np.asarray(integers(10**6, len(included), source=source)) / 10**6
    share = np.where(
        included[:, None] == np.arange(1, choices + 1),
        NAMED * 2 * lie,
        np.where(included[:, None] > 0, NAMED / 2, NAMED),
    )
    edges = np.cumsum(share, axis=1)
    named = (draw[:, None] >= edges).sum(axis=1)  # `choices` for nothing
    return (named[:, None] == np.arange(choices)) * 1.0


def noisy(included, source, choices=4, std=1.0):
    signal = (included[:, None] == np.arange(1, choices + 1)) * 1.0
    noise = m.Gaussian(std).run(signal.ravel(), source=source)
    return noise.reshape(signal.shape)


def accused(mechanism, claim, runs, *, guesses=None, canaries=200):
    return sum(
        one_run(
            lambda included, s=source: mechanism(included, s),
            canaries,
            claim=claim,
            choices=4,
            guesses=guesses,
            source=source,
        ).violated
        for source in map(Seeded, range(runs))
    )


@pytest.mark.statistical
def test_a_claim_that_is_exactly_true_is_seldom_refuted_and_a_false_one_is():
    # 100 runs at level 0.95: more than 19 accusations have chance below 1e-6.
    made = accused(told, Pure(EPSILON), 100, guesses=50)
    assert made <= 19
    assert accused(told, Approx(EPSILON, 1e-6), 20, guesses=50) <= 9
    # The twin names the canary that is in 2.5 times as often.
    twin = accused(lambda i, s: told(i, s, lie=2.5), Pure(EPSILON), 20, guesses=50)
    assert twin >= 15


def test_the_law_of_that_mechanism_is_as_right_as_pure_privacy_allows():
    # P(in | named) = 2q/8 / (q/2 + (2q + 3q/2)/8), and no smaller than the bound.
    exact = (2 / 8) / (1 / 2 + (2 + 3 / 2) / 8)
    assert right_chance(EPSILON, 4) == pytest.approx(exact, rel=1e-8)
    assert right_chance(EPSILON, 4) >= exact


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("claim", [GDP(1.0), ZCDP(0.5)], ids=str)
def test_gaussian_canaries_are_seldom_accused_at_their_claim(claim):
    # 200 runs at level 0.95: more than 28 accusations have chance 1e-6.
    assert accused(noisy, claim, 200) <= 28


@pytest.mark.statistical
def test_too_little_noise_is_refuted_where_one_canary_each_could_not():
    claim, source = GDP(2.2), Seeded(5)
    few = one_run(
        lambda bits: m.Gaussian(0.1).run(bits * 1.0, source=source),
        1000,
        claim=claim,
        source=source,
    )
    assert not few.violated
    assert not few.can_refute  # whatever the scores
    many = one_run(
        lambda included: noisy(included, source, 50, std=0.1),
        1000,
        claim=claim,
        choices=50,
        source=source,
    )
    assert many.violated
    assert many.can_refute
    assert many.mu_lower > 2.2
    assert many.epsilon_lower > 4
    fair = one_run(
        lambda included: noisy(included, source, 50, std=1 / 2.2),
        1000,
        claim=claim,
        choices=50,
        source=source,
    )
    assert not fair.violated


@pytest.mark.parametrize(
    ("claim", "choices"),
    [(GDP(1.0), 1), (GDP(2.0), 30), (Pure(2.0), 1), (Approx(3.0, 1e-5), 10)],
    ids=str,
)
def test_so_many_canaries_as_are_needed_refute_and_a_third_fewer_do_not(claim, choices):
    needed = canaries_needed(claim, choices=choices)

    def refuted(canaries):
        game = game_of(canaries, claim, choices=choices)
        return one_run(
            game.known_scores, canaries, claim=claim, choices=choices, source=Seeded(1)
        ).violated

    assert refuted(needed)
    assert not refuted(2 * needed // 3)


def test_it_is_said_where_no_number_of_canaries_is_enough():
    with pytest.raises(InvalidArgument, match="most must be larger"):
        canaries_needed(GDP(3.0), most=1000)


@pytest.mark.statistical
@pytest.mark.parametrize("choices", [1, 4])
def test_power_is_that_of_the_audits_that_follow(choices):
    # 60 audits and 200 simulated ones: shares that differ by more than 0.4 are
    # further apart than six deviations of 0.07.
    mu, canaries, claim = 3.0, 300, GDP(0.9)
    power = one_run_power(
        claim, mu=mu, canaries=canaries, choices=choices, runs=200, source=Seeded(2)
    )

    def violated(source):
        def train(included):
            if choices == 1:
                return m.Gaussian(1 / mu).run(included * 1.0, source=source)
            return noisy(included, source, choices, std=1 / mu)

        return one_run(
            train, canaries, claim=claim, choices=choices, source=source
        ).violated

    seen = np.mean([violated(Seeded(100 + i)) for i in range(60)])
    assert abs(seen - power.power) < 0.4
    assert power.low <= power.power <= power.high
    assert 0 < power.high - power.low < 0.2
    # At the claim itself no more than the level allows: 24 of 200 have chance 1e-4.
    true = one_run_power(
        claim, mu=0.9, canaries=canaries, choices=choices, runs=200, source=Seeded(3)
    )
    assert true.refuted < 24
    assert "power" in str(true)
    assert power.power > true.high  # and power sees


def test_wrong_scores_of_several_canaries_are_named():
    with pytest.raises(InvalidArgument, match="3 per canary"):
        one_run(lambda included: included * 1.0, 10, claim=Pure(1.0), choices=3)
    with pytest.raises(InvalidArgument, match="choices"):
        one_run(lambda included: included * 1.0, 10, claim=Pure(1.0), choices=0)


def test_the_table_of_canaries_is_what_its_script_prints(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    import audit_canaries

    text = (DOCS / "audit.md").read_text()
    assert "\n".join(audit_canaries.table()) in text
