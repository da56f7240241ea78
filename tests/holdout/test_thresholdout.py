"""The reusable holdout: training data answers until it is wrong."""

import numpy as np
import pytest
from scipy import stats

from goodness import FALSE_ALARM
from hush.errors import BudgetExceeded
from hush.holdout import ReusableHoldout
from hush.holdout.thresholdout import sparse
from hush.noise import Seeded, integers

PEOPLE = 40_000
BITS = np.arange(PEOPLE) % 2


def opened(**more) -> ReusableHoldout:
    options = {"training": BITS[:1000], "queries": 500, "hits": 3, "tolerance": 0.1}
    return ReusableHoldout(BITS, **(options | {"source": Seeded(4)} | more))


def test_agreement_costs_nothing():
    holdout = opened()
    for _ in range(100):
        answer = holdout.ask(float)
        assert (answer.value, answer.method) == (0.5, "training")
        assert answer.radius == holdout.plan.agreed
    assert (holdout.left, holdout.hits_left) == (400, 3)


def test_disagreement_is_corrected_and_counted_until_it_refuses():
    holdout = opened(training=np.ones(1000), tolerance=0.05)
    for number in range(3):
        answer = holdout.ask(float)
        assert answer.method == "transfer"
        assert 0.5 in answer
        assert holdout.hits_left == 2 - number
    assert holdout.left == 0
    with pytest.raises(BudgetExceeded, match="hits=3"):
        holdout.ask(float)


def test_questions_are_limited_as_well():
    holdout = opened(queries=5)
    for _ in range(5):
        holdout.ask(float)
    with pytest.raises(BudgetExceeded, match="queries=5"):
        holdout.ask(float)


def test_models_are_scored():
    rows = np.stack([BITS], 1)
    holdout = opened(training=(rows[:1000], BITS[:1000]))
    with pytest.raises(ValueError, match="features"):
        holdout.score(lambda x: x[:, 0])
    holdout = ReusableHoldout(
        (rows, BITS),
        training=(rows[:500], BITS[:500]),
        queries=10,
        hits=2,
        tolerance=0.2,
    )
    assert holdout.score(lambda x: x[:, 0]).value == 1.0


def test_the_plan_is_charged_for_every_hit():
    plan = sparse(PEOPLE, 500, 5, tolerance=0.1)
    check = plan.check.curve(1 << 30).mu
    answer = plan.mechanism.curve(1 / PEOPLE).mu
    assert plan.curve.mu >= np.sqrt(5 * (check**2 + answer**2)) * (1 - 1e-9)
    assert plan.curve.mu <= np.sqrt(5 * (check**2 + answer**2)) * (1 + 1e-6)


def test_checks_err_within_what_the_plan_allows_for():
    plan = sparse(10_000, 200, 4, tolerance=0.1, level=0.5)
    allowed = int((plan.agreed - plan.tolerance) * 10_000 * 2**30)
    rounds, source = 200, Seeded(9)

    def unseen(excess: int) -> int:
        value = plan.check.threshold + excess
        return sum(
            not plan.check.start(source=source).ask(value) for _ in range(rounds)
        )

    # One check of 204 errs beyond `allowed` with chance at most 2/408 of 1/2.
    assert unseen(allowed) <= stats.binom.isf(FALSE_ALARM, rounds, 0.5 / 204)
    assert unseen(0) > rounds // 4  # the sabotaged twin allows for nothing


@pytest.mark.parametrize("signal", [False, True])
def test_every_answer_covers_in_adaptive_use(signal):
    # 15 features, most without signal; the analyst asks about what looked best.
    size, wide = 30_000, 15
    source = Seeded(11 + signal)
    rows = 2 * integers(2, (size + 300, wide), source=source) - 1
    labels = 2 * integers(2, size + 300, source=source) - 1
    if signal:
        labels = np.where(
            integers(10, size + 300, source=source) < 6, rows[:, 0], labels
        )
    train = (rows[:300], labels[:300])
    holdout = ReusableHoldout(
        (rows[300:], labels[300:]),
        training=train,
        queries=wide + 1,
        hits=4,
        tolerance=0.1,
        score_range=(-1, 1),
        source=source,
    )
    for j in range(wide):
        answer = holdout.ask(lambda record, j=j: record[0][j] * record[1])
        assert (0.6 if signal and j == 0 else 0.0) in answer


def test_checks_of_neighbors_move_by_one_record():
    # What the sparse vector is asked moves by at most the sensitivity it is charged at.
    class Heard:
        def __init__(self):
            self.values = []

        def ask(self, value):
            self.values.append(value)
            return False

    def asked(bits):
        holdout = ReusableHoldout(
            bits, training=BITS[:77], queries=3, hits=1, tolerance=0.3
        )
        heard = holdout._talk = Heard()
        holdout.ask(lambda bit: 0.3 + 0.4 * bit)
        return heard.values[0]

    small = BITS[:51]
    for place in range(0, 51, 10):
        other = small.copy()
        other[place] = 1 - other[place]
        assert 0 < abs(asked(small) - asked(other)) <= 1 << 30
