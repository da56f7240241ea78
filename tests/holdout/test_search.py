"""A grid search of 200 settings on a bundled data set, through a holdout."""

import copy
import pickle

import numpy as np
import pytest
from sklearn import datasets
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from hush.errors import BudgetExceeded, InvalidArgument
from hush.holdout import Holdout, one_fit
from hush.noise import Seeded, permutation

GRID = {
    "max_depth": list(range(1, 21)),
    "min_samples_leaf": [1, 2, 4, 8, 16],
    "criterion": ["gini", "entropy"],
}


def parts() -> tuple:
    rows, labels = datasets.load_digits(return_X_y=True)
    order = permutation(len(labels), source=Seeded(1))
    rows, labels = rows[order], labels[order]
    cuts = (slice(0, 500), slice(500, 1400), slice(1400, None))
    return tuple((rows[cut], labels[cut]) for cut in cuts)


def searched(scorer, train) -> GridSearchCV:
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0),
        GRID,
        scoring=scorer,
        cv=one_fit(len(train[1])),
        error_score="raise",
    )
    return search.fit(*train)


def test_a_grid_of_200_settings_end_to_end():
    train, held, fresh = parts()
    holdout = Holdout.fixed(held, queries=200, source=Seeded(2))
    scorer = holdout.scorer(ParameterGrid(GRID))
    search = searched(scorer, train)
    assert len(scorer.answers) == 200
    assert holdout.left == 0
    settings, answer = scorer.best
    assert settings == search.best_params_
    assert answer.value == search.best_score_
    assert not answer.vacuous
    assert holdout.plan.radius < 0.08
    # People nobody has seen: their mean is within Hoeffding's radius at 1 - 1e-9.
    reach = np.sqrt(np.log(2e9) / (2 * len(fresh[1])))
    low, high = answer.interval()
    assert low - reach <= search.best_estimator_.score(*fresh) <= high + reach
    assert search.best_score_ > 0.5


def test_an_adaptive_holdout_scores_a_grid_too_and_refuses_a_second():
    train, held, _ = parts()
    holdout = Holdout(held, queries=200, source=Seeded(3))
    scorer = holdout.scorer()
    searched(scorer, train)
    assert holdout.left == 0
    assert scorer.best[1].method == "transfer"
    with pytest.raises(BudgetExceeded):
        searched(scorer, train)


def test_fixed_settings_are_declared_and_scored_once():
    train, held, _ = parts()
    holdout = Holdout.fixed(held, queries=3)
    with pytest.raises(InvalidArgument, match="candidates"):
        holdout.scorer()
    scorer = holdout.scorer([{"n_neighbors": 1}, {"n_neighbors": 3}])
    model = KNeighborsClassifier(n_neighbors=1).fit(*train)
    assert scorer(model) > 0.8
    with pytest.raises(InvalidArgument, match="once"):
        scorer(model)
    with pytest.raises(InvalidArgument, match="candidates"):
        scorer(KNeighborsClassifier(n_neighbors=7).fit(*train))
    # One question is left, but it could depend on the answer above.
    with pytest.raises(InvalidArgument, match="one list"):
        holdout.scorer([{"n_neighbors": 5}])


def test_clones_share_the_budget_and_processes_do_not_get_one():
    _, held, _ = parts()
    scorer = Holdout(held, queries=20).scorer()
    search = GridSearchCV(KNeighborsClassifier(), {}, scoring=scorer)
    assert clone(search).scoring is scorer
    assert copy.copy(scorer) is scorer
    with pytest.raises(InvalidArgument, match="n_jobs=1"):
        pickle.dumps(scorer)
