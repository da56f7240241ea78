"""Holdout: what it answers, when it refuses, and that only mechanisms speak."""

import copy
import pickle
import threading
from fractions import Fraction

import numpy as np
import pytest

from hush.audit import assert_replays, replay
from hush.errors import BudgetExceeded, InvalidArgument
from hush.holdout import Answer, Holdout
from hush.noise import SECURE, Seeded

LABELS = np.arange(2000) % 2


class Model:
    def predict(self, rows):
        return (rows[:, 0] > 0).astype(int)


def features() -> np.ndarray:
    return np.stack([np.where(np.arange(2000) % 4 < 3, LABELS, 1 - LABELS) - 0.5], 1)


def test_answers_are_near_the_sample_and_say_what_is_left():
    holdout = Holdout(LABELS, queries=40, source=Seeded(1))
    for number in range(40):
        answer = holdout.submit(np.ones(2000))
        assert abs(answer.value - 0.5) <= holdout.plan.radius
        assert 0.5 in answer
        assert answer.left == holdout.left == 39 - number
        assert answer.seeded


def test_it_refuses_after_the_last_question():
    holdout = Holdout(LABELS, queries=3)
    for _ in range(3):
        holdout.submit(LABELS)
    with pytest.raises(BudgetExceeded, match="queries=3"):
        holdout.submit(LABELS)
    assert holdout.left == 0


def test_parts_are_fresh_people():
    holdout = Holdout(LABELS, queries=2, source=Seeded(2))
    assert holdout.plan.method == "split"
    seen = []
    for _ in range(2):
        ids = []
        holdout.ask(lambda record, ids=ids: ids.append(record) or 0.5)
        seen.append(len(ids))
    assert seen == [1000, 1000]
    holdout = Holdout(np.arange(2000), queries=2, source=Seeded(2))
    who = [set(), set()]
    for each in who:
        holdout.ask(lambda record, each=each: each.add(int(record)) or 0.5)
    assert not who[0] & who[1]
    assert sorted(who[0])[:5] != [0, 1, 2, 3, 4]  # in random order


def test_models_records_and_predictions_agree():
    data = (features(), LABELS)
    truth = 0.75
    for ask in (
        lambda h: h.score(Model()),
        lambda h: h.score(Model().predict),
        lambda h: h.ask(lambda record: int(record[0][0] > 0) == record[1]),
        lambda h: h.submit(Model().predict(data[0])),
    ):
        holdout = Holdout(data, queries=20, source=Seeded(3))
        assert ask(holdout).value == pytest.approx(truth, abs=holdout.plan.radius)


def test_a_range_and_a_grade_of_ones_own():
    holdout = Holdout(
        np.full(4000, 7.0),
        queries=20,
        score_range=(0, 100),
        grade=lambda p, y: (p - y) ** 2,
    )
    answer = holdout.submit(np.full(4000, 12.0))
    assert 25.0 in answer
    assert answer.interval()[0] >= 0


def test_scores_outside_are_moved_in_and_nan_is_the_lower_end():
    for value, truth in ((np.inf, 1.0), (-5.0, 0.0), (np.nan, 0.0), (1e308, 1.0)):
        holdout = Holdout(LABELS, queries=30, source=Seeded(5))
        answer = holdout.ask(lambda _, value=value: value)
        noise = answer.value - truth
        assert abs(noise) < 8 * float(holdout.plan.mechanism.std)


@pytest.mark.parametrize("where", ["ask", "submit"])
def test_a_query_that_fails_on_one_record_moves_the_mean_by_one_score(where):
    def spy(record, label=0):
        if 1 in (record, label):  # only the person at place 7
            raise ValueError("secret")
        return 1.0

    def answer(labels):
        holdout = Holdout(labels, queries=30, grade=spy, source=Seeded(9))
        if where == "ask":
            return holdout.ask(spy).value
        return holdout.submit(np.zeros(2000)).value

    without, present = np.zeros(2000), np.zeros(2000)
    present[7] = 1
    # The same noise on both: to stop at the failure would tell the two apart.
    assert 0 < answer(without) - answer(present) <= 1 / 2000 + 1e-9


def test_a_model_that_fails_on_one_row_moves_the_mean_by_one_score():
    def spy(rows):  # as a model that refuses NaN
        if np.isnan(rows).any():
            raise ValueError("secret")
        return np.ones(len(rows))

    def answer(features):
        labels = np.ones(2000)
        holdout = Holdout((features, labels), queries=30, source=Seeded(9))
        return holdout.score(spy).value

    without, present = np.zeros((2000, 1)), np.zeros((2000, 1))
    present[7] = np.nan
    assert 0 < answer(without) - answer(present) <= 1 / 2000 + 1e-9


@pytest.mark.parametrize("fault", ["raise", "short", "long"])
def test_a_failing_model_says_nothing_and_is_charged(fault):
    holdout = Holdout((LABELS[:, None], LABELS), queries=30)

    def spy(rows):
        if fault == "raise":
            raise ValueError(f"secret {rows}")
        return np.zeros(0 if fault == "short" else len(rows) + 1)

    assert abs(holdout.score(spy).value) < 8 * float(holdout.plan.mechanism.std)
    assert holdout.left == 29


def test_a_model_of_other_columns_is_refused_before_a_question_is_used():
    class Narrow:
        n_features_in_ = 3

        def predict(self, rows):
            raise AssertionError("asked")

    holdout = Holdout((LABELS[:, None], LABELS), queries=30)
    for ask in (holdout.score, lambda model: holdout.score_all([model])):
        with pytest.raises(InvalidArgument, match="3 columns; the holdout has 1"):
            ask(Narrow())
    assert holdout.left == 30


def test_predictions_may_be_rows_of_probabilities():
    holdout = Holdout(
        (LABELS[:, None], LABELS), queries=30, grade=lambda p, label: p[int(label)]
    )
    sure = holdout.score(lambda rows: np.hstack([1 - rows, rows]))
    assert abs(sure.value - 1) < 8 * float(holdout.plan.mechanism.std)


def test_intervals_hold_where_floats_are_coarser_than_the_radius():
    scores = np.where(np.arange(100_000) % 2 == 0, 1e15, 1e15 + 0.125)
    truth = Fraction(10**15) + Fraction(1, 16)
    for seed in range(10):
        bounds = (1e15, 1e15 + 1)
        holdout = Holdout(scores, queries=1, score_range=bounds, source=Seeded(seed))
        low, high = holdout.ask(float).interval()
        assert Fraction(low) <= truth <= Fraction(high)
        assert holdout.plan.radius < 1 / 16


def test_wrong_sizes_are_refused_before_a_question_is_used():
    holdout = Holdout(LABELS, queries=30)
    with pytest.raises(InvalidArgument, match="2000"):
        holdout.submit(np.ones(5))
    with pytest.raises(InvalidArgument, match="got NoneType"):
        holdout.submit(None)
    with pytest.raises(InvalidArgument, match="features"):
        holdout.score(Model())
    assert holdout.left == 30
    for bad in (
        lambda: Holdout([], queries=1),
        lambda: Holdout((np.ones((3, 1)), LABELS), queries=1),
        lambda: Holdout(LABELS, queries=0),
        lambda: Holdout(LABELS, queries=1, score_range=(1, 1)),
        lambda: Holdout(LABELS, queries=1, score_range=(-1e308, 1e308)),
        lambda: Holdout(LABELS, queries=1, level=0),
    ):
        with pytest.raises(InvalidArgument):
            bad()


def test_nothing_shows_or_copies_the_data():
    holdout = Holdout(np.full(50, 987654.0), queries=3)
    assert "987654" not in repr(holdout) + repr(holdout._people)
    for copying in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(InvalidArgument, match="copied"):
            copying(holdout)


@pytest.mark.parametrize("queries", [2, 30])
def test_neighbors_replay(queries):
    # Mechanisms hear means that differ by at most the sensitivity they are charged at.
    def run(labels):
        holdout = Holdout(labels, queries=queries, source=Seeded(1))
        guess, answers = np.ones(200), []
        for _ in range(queries):
            answers.append(holdout.submit(guess).value)
            guess = guess if answers[-1] > 0.5 else 1 - guess
        return answers

    data = np.arange(200) % 2
    other = data.copy()
    other[17] = 1 - other[17]
    people = 100 if queries == 2 else 200
    assert_replays(run, data, other, sensitivity=Fraction(1, people))
    tight = replay(run, data, other, sensitivity=Fraction(1, people + 1))
    assert not tight.passed  # the sabotaged twin: a smaller sensitivity is noticed


def test_questions_are_counted_across_threads():
    holdout = Holdout(LABELS, queries=50)
    answered, refused = [], []

    def work():
        for _ in range(20):
            try:
                answered.append(holdout.submit(LABELS))
            except BudgetExceeded:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(answered), len(refused)) == (50, 30)


def test_a_fixed_holdout_answers_once_and_together():
    exam = Holdout.fixed(LABELS, queries=3)
    with pytest.raises(InvalidArgument, match="submit_all"):
        exam.submit(LABELS)
    answers = exam.submit_all([np.ones(2000), LABELS])
    assert [answer.method for answer in answers] == ["fixed", "fixed"]
    assert [truth in a for truth, a in zip((0.5, 1.0), answers, strict=True)] == [
        True,
        True,
    ]
    with pytest.raises(InvalidArgument, match="one list"):
        exam.submit_all([LABELS])
    assert exam.plan.radius < Holdout(LABELS, queries=3).plan.radius


def test_adaptive_holdouts_take_lists_too():
    data = (features(), LABELS)
    holdout = Holdout(data, queries=20)
    assert len(holdout.score_all([Model(), Model()])) == 2
    assert len(holdout.ask_all([lambda _: 1.0])) == 1
    assert holdout.left == 17


def test_an_answer_stays_in_its_range():
    far = Answer(1.4, 0.2, (0.0, 1.0), 0.95, 0, "transfer")
    assert far.interval() == (1.0, 1.0)
    assert Answer(0.5, 0.6, (0.0, 1.0), 0.95, 0, "transfer").vacuous
    assert float(far) == 1.4


def test_frames_and_lists_work():
    import pandas

    frame = pandas.DataFrame({"x": features()[:, 0]})
    series = pandas.Series(LABELS, index=np.arange(2000) + 5)
    holdout = Holdout((frame, series), queries=20, source=SECURE)
    answer = holdout.score(lambda rows: (rows["x"] > 0).astype(int))
    assert answer.value == pytest.approx(0.75, abs=holdout.plan.radius)
    listed = Holdout(LABELS.tolist(), queries=20)
    assert listed.ask(float).value == pytest.approx(0.5, abs=listed.plan.radius)
    assert listed.submit(LABELS.tolist()).value == pytest.approx(1, abs=0.5)
