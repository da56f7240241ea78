"""People: one person's record decides over that person's score, and no other."""

import warnings
from fractions import Fraction

import numpy as np
import pandas
import polars
import pytest

from hush.audit import assert_replays, replay
from hush.errors import InvalidArgument
from hush.holdout import Answer, Holdout
from hush.ledger import Budget, Ledger
from hush.noise import Seeded
from hush.privacy import Pure

SIZE = 400
LABELS = [0, 1] * (SIZE // 2)


def holdout(data, queries=30, **options):
    return Holdout(data, queries=queries, source=Seeded(1), **options)


class Odd:
    """A label that compares with nothing."""

    def __eq__(self, other):
        raise RuntimeError("secret")

    __hash__ = None


@pytest.mark.parametrize(
    "label",
    ["word", None, 0.5, [1, 2], np.array([1, 2]), Odd(), pandas.NA, 10**400, 1 + 2j],
    ids=lambda label: type(label).__name__,
)
@pytest.mark.parametrize("listed", [True, False])
def test_a_label_of_another_type_moves_the_mean_by_one_score(label, listed):
    # One array of all labels would make words of all numbers: nobody were right.
    other = np.empty(SIZE, dtype=object)
    other[:] = LABELS
    other[7] = label

    def run(labels):
        return [holdout(labels).submit(np.array(LABELS)).value]

    given = list(other) if listed else other
    assert_replays(run, LABELS, given, sensitivity=Fraction(1, SIZE))
    assert not replay(run, LABELS, given, sensitivity=Fraction(1, SIZE + 1)).passed


def test_a_prediction_of_another_type_moves_the_mean_by_one_score():
    def model(rows):
        return ["unknown" if np.isnan(row[0]) else int(row[0] > 0) for row in rows]

    def run(features):
        return [holdout((features, LABELS)).score(model).value]

    features = np.array(LABELS)[:, None] - 0.5
    other = features.copy()
    other[7] = np.nan
    assert_replays(run, features, other, sensitivity=Fraction(1, SIZE))


def test_a_warning_about_one_record_is_not_heard():
    def model(rows):
        if np.isnan(rows).any():
            warnings.warn("secret", stacklevel=1)
        return np.zeros(len(rows))

    features = np.zeros((SIZE, 1))
    features[7] = np.nan
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        holdout((features, LABELS)).score(model)
    assert not heard


def test_a_column_of_predictions_is_not_compared_with_everybody():
    asked = holdout((np.array(LABELS)[:, None], LABELS))
    answer = asked.score(lambda rows: rows)  # of shape (400, 1)
    assert abs(answer.value - 1) < 8 * float(asked.plan.mechanism.std)


@pytest.mark.parametrize("made", [pandas.DataFrame, polars.DataFrame])
@pytest.mark.parametrize("queries", [2, 30])
def test_records_of_a_frame_are_asked_by_name(made, queries):
    frame = made({"age": np.arange(SIZE) % 80, "sex": ["f", "m"] * (SIZE // 2)})
    asked = holdout(frame, queries)
    answer = asked.ask(lambda person: person["sex"] == "f")
    assert abs(answer.value - 0.5) < asked.plan.radius


def test_a_list_of_what_no_label_can_equal_is_refused_too():
    holdout = Holdout(np.array(["yes", "no"] * 50), queries=3)
    for wrong in ([0] * 100, np.zeros(100, object)):
        with pytest.raises(InvalidArgument, match="numbers and labels are texts"):
            holdout.submit(wrong)
    assert holdout.left == 3
    holdout.submit(["yes", 0] * 50)  # some may be right


def test_a_plan_is_charged_for_one_record_replaced():
    budget = Budget(epsilon=9, delta=1e-5)
    plan = Holdout(np.arange(100) % 2, queries=3).plan
    ledger = Ledger.open("memory://", budget=budget)
    receipt = ledger.charge(plan, delta=1e-6)
    assert (receipt.neighbors, receipt.unit) == ("replace-one", "row")
    assert receipt.cost["dataset:default"][0] >= plan.curve.epsilon_at(1e-6)
    about = {"neighbors": "add-remove", "unit": "row"}
    ledger = Ledger.open("memory://", budget=budget)
    ledger.charge(Pure(epsilon=0.1), notes=about)
    with pytest.raises(InvalidArgument, match="'replace-one', and dataset"):
        ledger.charge(plan)


def test_what_no_label_can_equal_is_refused_before_a_question_is_used():
    asked = holdout(np.array(LABELS))
    both = np.zeros((SIZE, 2))
    for submit in (asked.submit, lambda each: asked.submit_all([each])):
        with pytest.raises(InvalidArgument, match=r"got shape \(400, 2\).*grade="):
            submit(both)
        with pytest.raises(InvalidArgument, match="texts and labels are numbers"):
            submit(np.array(["no", "yes"] * (SIZE // 2)))
    assert asked.left == 30
    column = holdout((both, np.array(LABELS)[:, None]))
    with pytest.raises(InvalidArgument, match=r"labels must be one for each record"):
        column.score(lambda rows: rows[:, 0])
    assert column.left == 30
    with pytest.raises(InvalidArgument, match=r"data=\(features, labels\), a tuple"):
        holdout([both, np.array(LABELS)])


def test_an_answer_prints_what_may_be_said():
    answer = Answer(1.0175, 0.0977, (0.0, 1.0), 0.95, 18, "transfer")
    assert str(answer) == (
        "1.018, from 0.9198 to 1 (95%, all answers at once), 18 questions left"
    )
    assert f"{answer:.1%}, {answer}" == f"101.8%, {answer!s}"
    wide = Answer(0.5, 0.6, (0.0, 1.0), 0.999, 0, "transfer", seeded=True)
    assert "99.9%" in str(wide)
    assert "the whole range" in str(wide)
    assert "seeded" in str(wide)


def test_a_holdout_says_that_it_is_too_small():
    assert "vacuous" in repr(holdout(LABELS[:50], 100))
    assert "vacuous" not in repr(holdout(LABELS, 2))
