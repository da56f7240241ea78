"""What plain aggregates give away, and what noise of the right size keeps."""

import math

import numpy as np
import pytest

from hush import mechanisms as m
from hush.audit import Experiment, Move, audit, difference, reconstruct
from hush.errors import InvalidArgument, NoBound
from hush.noise import Seeded, integers
from hush.privacy import ZCDP, Pure
from hush.privacy.rules.filters import fits

# -- differencing --------------------------------------------------------------------


def test_n1_diff_two_aggregates_isolate_one_person():
    salaries = np.array([41, 56, 39, 120, 77])
    for person in range(5):
        found = difference(lambda asked: salaries[asked].sum(), 5, person)
        assert found.value == salaries[person]
        mean = difference(lambda asked: salaries[asked].mean(), 5, person, kind="mean")
        assert mean.value == pytest.approx(salaries[person])


@pytest.mark.statistical
def test_n1_diff_noise_hides_the_person():
    # Noise of scale 200 on both answers: within 20 of the truth has chance < 0.06.
    salaries, source = np.array([41, 56, 39, 120, 77]), Seeded(1)
    noise = m.Laplace(scale=200.0)

    def noisy(asked):
        return noise.run(int(salaries[asked].sum()), source=source)

    near = sum(abs(difference(noisy, 5, 3).value - 120) <= 20 for _ in range(100))
    assert near < 25


def test_wrong_questions_are_named():
    with pytest.raises(InvalidArgument, match="person"):
        difference(sum, 5, 5)
    with pytest.raises(InvalidArgument, match="kind"):
        difference(sum, 5, 1, kind="median")


# -- reconstruction ------------------------------------------------------------------


def secret_of(people, seed=0):
    return np.asarray(integers(2, people, source=Seeded(seed))) == 1


def bounded(secret, error, seed):
    """Answers with errors of exactly ±error: the worst that the theorem allows."""
    generator = np.random.default_rng(seed)

    def batch(asked):
        signs = generator.choice([-1, 1], len(asked))
        return asked @ secret.astype(np.float64) + error * signs

    return batch


@pytest.mark.parametrize("error", [0, 0.4, 1, 1.5])
@pytest.mark.parametrize("people", [3, 8, 12])
def test_n2_1_all_subsets_recover_all_but_four_errors(people, error):
    for seed in range(3):
        secret = secret_of(people, seed)
        found = reconstruct(
            None,
            people,
            method="exhaustive",
            within=error,
            batch=bounded(secret, error, seed),
        )
        assert np.sum(found.bits != secret) <= 4 * error
        assert found.residual <= error + 1e-9
        assert found.queries == 2**people


@pytest.mark.slow
def test_n2_1_twenty_people():
    secret = secret_of(20)
    batch = bounded(secret, 1, 3)
    found = reconstruct(None, 20, method="exhaustive", within=1, batch=batch)
    assert np.sum(found.bits != secret) <= 4


def test_n2_1_answers_that_nothing_explains_are_refused():
    with pytest.raises(NoBound):
        reconstruct(lambda _: 99, 3, method="exhaustive", within=1)
    with pytest.raises(InvalidArgument, match="within"):
        reconstruct(lambda _: 99, 3, method="exhaustive")
    with pytest.raises(InvalidArgument, match="people"):
        reconstruct(lambda _: 99, 21, method="exhaustive", within=1)


@pytest.mark.parametrize("method", ["least squares", "linear program"])
def test_n2_2_small_errors_recover_nearly_everything(method):
    people = 100
    secret = secret_of(people)
    error = 0.15 * math.sqrt(people)
    batch = bounded(secret, error, 1)
    found = reconstruct(None, people, method=method, batch=batch, source=Seeded(2))
    assert found.recovered(secret) >= 0.95


def test_n2_2_the_break_point_is_near_the_root_of_n():
    # Far below √n everything is found, far above it little more than by luck.
    shares = {}
    for people in (150, 600):
        secret = secret_of(people)
        for factor in (0.05, 4.0):
            batch = bounded(secret, factor * math.sqrt(people), 3)
            found = reconstruct(None, people, batch=batch, source=Seeded(4))
            shares[people, factor] = found.recovered(secret)
    assert shares[150, 0.05] == shares[600, 0.05] == 1.0
    assert shares[150, 4.0] < 0.75
    assert shares[600, 4.0] < 0.7


def test_the_program_beats_least_squares_on_bounded_errors():
    people = 60
    secret = secret_of(people)
    wrong = {}
    for method in ("least squares", "linear program"):
        batch = bounded(secret, 0.45 * math.sqrt(people), 5)
        found = reconstruct(None, people, method=method, batch=batch, source=Seeded(6))
        wrong[method] = 1 - found.recovered(secret)
    assert wrong["linear program"] <= wrong["least squares"]


@pytest.mark.parametrize("error", [0.0, 0.1, 0.5, 2.0])
@pytest.mark.parametrize("shape", [(40, 10), (60, 60), (320, 80)])
def test_the_program_is_solved_as_highs_solves_it(shape, error):
    from hush.audit.attacks.reconstruction import _vertex, minimax

    generator = np.random.default_rng(9)
    asked = generator.random(shape) < 0.5
    answers = asked @ (generator.random(shape[1]) < 0.5).astype(float)
    answers += generator.choice([-1, 1], shape[0]) * error * math.sqrt(shape[1])

    def largest(x):
        return np.max(np.abs(asked @ x - answers))

    best, found = _vertex(asked, answers), minimax(asked, answers)
    assert np.all((found >= 0) & (found <= 1))
    assert largest(found) <= largest(best) + 1.01e-3 * max(largest(best), 1)
    assert largest(found) >= largest(best) - 1e-9


def test_least_squares_are_those_of_linear_algebra():
    from hush.audit.attacks.reconstruction import _least_squares

    generator = np.random.default_rng(8)
    asked = generator.random((200, 50)) < 0.5
    answers = asked @ generator.random(50) + generator.normal(0, 1, 200)
    expected = np.linalg.lstsq(asked.astype(float), answers, rcond=None)[0]
    assert _least_squares(asked, answers) == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_n2_2_two_thousand_people_with_four_questions_each():
    secret = secret_of(2000)
    batch = bounded(secret, 0.1 * math.sqrt(2000), 7)
    found = reconstruct(None, 2000, batch=batch, source=Seeded(1))
    assert found.queries == 8000
    assert found.recovered(secret) >= 0.999


@pytest.mark.slow
def test_n2_2_a_program_for_two_thousand_people():
    # At 0.4·√n least squares get one bit in eight wrong, the program none.
    secret = secret_of(2000)
    batch = bounded(secret, 0.4 * math.sqrt(2000), 7)
    found = reconstruct(
        None, 2000, method="linear program", batch=batch, source=Seeded(1)
    )
    assert found.queries == 8000
    assert found.recovered(secret) >= 0.999


@pytest.mark.slow
def test_n2_2_ten_thousand_people():
    secret = secret_of(10_000)
    batch = bounded(secret, 0.05 * 100, 7)
    found = reconstruct(None, 10_000, queries=20_000, batch=batch, source=Seeded(1))
    assert found.recovered(secret) >= 0.99


def test_private_answers_protect():
    # 4n Laplace answers under one ε = 1 have noise of scale 4n.
    people, source = 60, Seeded(3)
    secret = secret_of(people)
    noise = m.Laplace(scale=4.0 * people)

    def answer(asked):
        return noise.run(int(secret[asked].sum()), source=source)

    assert reconstruct(answer, people, source=source).recovered(secret) < 0.75


def test_the_figure_shows_the_break():
    from hush.audit.attacks.reconstruction import recovered_figure

    axes = recovered_figure(people=60, source=Seeded(2))
    most = axes.get_lines()[2]  # four questions per person
    sizes, shares = most.get_xdata(), most.get_ydata()
    assert min(shares[sizes < 0.1]) > 0.95
    assert max(shares[sizes > 20]) < 0.8
    assert [line for line in axes.get_lines() if line.get_label() == "error √n"]


def test_wrong_reconstructions_are_named():
    with pytest.raises(InvalidArgument, match="method"):
        reconstruct(lambda _: 1, 5, method="magic")
    with pytest.raises(InvalidArgument, match="least squares"):
        reconstruct(lambda _: 1, 4001, queries=1, method="linear program")
    with pytest.raises(InvalidArgument, match="batch"):
        reconstruct(None, 5, batch=lambda _: [1])
    with pytest.raises(InvalidArgument, match="secret"):
        reconstruct(lambda _: 1, 5).recovered([1])


# -- adaptive composition ------------------------------------------------------------


class Greedy:
    """Spends little after a helpful answer and all it can after a useless one."""

    def move(self, answers):
        helpful = bool(answers) and abs(answers[-1] - 0.5) > 2
        scale = 8.0 if helpful else 4.0
        return Move((0, 1), m.Laplace(scale), Pure(1 / scale))


class Gambler:
    """Doubles the precision until the answers agree."""

    def move(self, answers):
        std = max(1.0, 4.0 / 2 ** (sum(y > 0.5 for y in answers) % 3))
        return Move((0.0, 1.0), m.Gaussian(std), m.Gaussian(std).curve(1.0))


class Mixed:
    """Alternates between kinds of mechanisms, by what the last answer said."""

    def move(self, answers):
        if len(answers) % 2 and int(answers[-1]) > 0:
            return Move((0, 1), m.Geometric(4), Pure(0.25))
        return Move(
            (0, 1), m.RandomizedResponse(0.5625), Pure(math.log(0.5625 / 0.4375))
        )


def played(answers):
    """What an adversary makes of all answers: their number and their sum."""
    return [len(answers), float(np.sum(answers))]


@pytest.mark.thin(3)
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("adversary", "budget"),
    [(Greedy(), Pure(1.0)), (Gambler(), ZCDP(0.5)), (Mixed(), Pure(1.0))],
    ids=["greedy", "gambler", "mixed"],
)
def test_n10_a5_no_adversary_beats_the_filter(adversary, budget):
    # Refuted with chance at most 1e-6 if the filter is right.
    source = Seeded(5)
    game = Experiment(adversary, budget, source=source)
    found = audit(
        lambda bit: played(game.run(bit)),
        0,
        1,
        claim=budget,
        samples=1200,
        level=1 - 1e-6,
        source=source,
    )
    assert not found.violated


class Insistent:
    """Asks the same question again and again."""

    def move(self, answers):
        return Move((0, 1), m.RandomizedResponse(0.75), Pure(math.log(3)))


@pytest.mark.statistical
def test_n10_a5_a_filter_that_counts_wrong_is_caught():
    source = Seeded(6)

    def forgetful(budget, spent, charge):
        return len(spent) < 6  # counts rounds, not privacy

    budget = Pure(1.5 * math.log(3))
    for admits, caught in ((forgetful, True), (fits, False)):
        game = Experiment(Insistent(), budget, admits=admits, source=source)
        found = audit(
            lambda bit, game=game: played(game.run(bit)),
            0,
            1,
            claim=budget,
            samples=1500,
            level=1 - 1e-6,
            source=source,
        )
        assert found.violated is caught


def test_n10_a5_the_experiment_stops_with_the_budget():
    game = Experiment(Greedy(), Pure(1.0), source=Seeded(1))
    for bit in (0, 1):
        assert 4 <= len(game.run(bit)) <= 8
    assert len(Experiment(Greedy(), Pure(1e9), rounds=7).run(0)) == 7
    with pytest.raises(InvalidArgument, match="bit"):
        game.run(2)
