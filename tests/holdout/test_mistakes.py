"""A question that no record could answer is refused before it is used up."""

import numpy as np
import pandas
import pytest
from sklearn.tree import DecisionTreeClassifier

from hush.errors import InvalidArgument
from hush.holdout import Holdout, ReusableHoldout

LABELS = np.arange(400) % 2
ROWS = np.column_stack([LABELS - 0.5, np.zeros(400)])
FRAME = pandas.DataFrame(ROWS, columns=["x", "z"])


class Misspelt:
    """A model with a mistake in its first line."""

    def predict(self, rows):
        return nmpy.zeros(len(rows))  # noqa: F821 (the mistake)


class Particular:
    """A model that may fail for what is in the rows: that is not told."""

    def predict(self, rows):
        if len(rows) == 0:
            raise ValueError("no rows")
        return (rows[:, 0] > 0).astype(int)


def opened(features):
    yield Holdout((features, LABELS), queries=9)
    data = (features, LABELS)
    yield ReusableHoldout(data, training=data, queries=9, hits=1, tolerance=0.3)


@pytest.mark.parametrize(
    "query", ["label == 1", 3, lambda row, label: row[0] > label, lambda: 1]
)
def test_a_query_is_a_function_of_one_record(query):
    for holdout in opened(ROWS):
        with pytest.raises(InvalidArgument, match=r"the pair \(row, label\)"):
            holdout.ask(query)
        assert holdout.left == 9
        assert holdout.ask(lambda record: record[1]).left == 8
    fixed = Holdout.fixed(LABELS, queries=2)
    with pytest.raises(InvalidArgument, match="one argument, a record"):
        fixed.ask_all([float, query])
    assert [0.5 in answer for answer in fixed.ask_all([float, bool])] == [True, True]


@pytest.mark.parametrize(
    "model",
    [DecisionTreeClassifier, DecisionTreeClassifier(), Misspelt(), "model", Particular],
    ids=lambda model: getattr(model, "__name__", type(model).__name__),
)
@pytest.mark.parametrize("features", [ROWS, FRAME, ROWS.tolist()], ids=len)
def test_a_model_that_cannot_predict_costs_no_question(model, features):
    for holdout in opened(features):
        if isinstance(features, list) and hasattr(type(model), "predict"):
            continue  # a list says nothing of its rows: nothing can be tried
        with pytest.raises(InvalidArgument, match="model"):
            holdout.score(model)
        assert holdout.left == 9


def test_a_model_that_may_fail_on_rows_alone_is_asked():
    for holdout in opened(ROWS):
        assert 1.0 in holdout.score(Particular())
        assert 1.0 in holdout.score(lambda rows: (rows[:, 0] > 0).astype(int))
        assert 1.0 in holdout.score(DecisionTreeClassifier().fit(ROWS, LABELS))


def test_questions_may_come_from_a_generator():
    # To check them and then to ask them goes through them twice.
    guesses = [np.zeros(400, int), np.ones(400, int)]
    right = (lambda rows: (rows[:, 0] > 0).astype(int) for _ in range(2))
    for ask, listed in (
        (Holdout.fixed(LABELS, queries=2).ask_all, (each for each in (float, bool))),
        (Holdout.fixed(LABELS, queries=2).submit_all, iter(guesses)),
        (Holdout.fixed((ROWS, LABELS), queries=2).score_all, right),
    ):
        assert len(ask(listed)) == 2


def test_a_reusable_holdout_says_how_far_off_it_may_be():
    shown = repr(list(opened(ROWS))[1])
    assert "where training agrees" in shown
    assert "vacuous" in shown
    assert repr(next(opened(ROWS)).scorer()) == "Scorer(0 answers)"
