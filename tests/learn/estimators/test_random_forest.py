"""Random forest: every pair of neighbours, trees without data, and what it predicts."""

import itertools
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from goodness import FALSE_ALARM, fits
from hush.audit import replay
from hush.errors import InvalidArgument
from hush.learn import LeafCounts, RandomForestClassifier
from hush.learn.estimators.random_forest import Odds
from hush.learn.mechanisms.leaf_counts import Trees
from hush.ledger import Budget, Ledger
from hush.mechanisms import Gaussian, Geometric
from hush.noise import Seeded

NAMES = ("ash", "birch", "cedar")
RECORDS = [
    *itertools.product(((-1.0, -1.0), (-1.0, 1.0), (0.1, -0.2), (1.0, 1.0)), NAMES),
    ((math.nan, 0.0), "ash"),
    ((0.0, math.inf), "ash"),
    ((1e308, -1e308), "cedar"),
    ((0.0, 0.0), "oak"),
]


def counts(size=3, trees=3, depth=2, **options):
    model = RandomForestClassifier(
        bounds=(-1, 1),
        classes=NAMES,
        n_estimators=trees,
        max_depth=depth,
        **options,
    )
    return model.plan(size, 2)


def table(records):
    return np.array([row for row, _ in records]), [label for _, label in records]


def squares(n=4000, seed=0):
    """Two classes like a chess board of four fields: no straight line helps."""
    x = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    return x, (x[:, 0] * x[:, 1] > 0).astype(int)


def moves(count, mechanism, trees):
    """How far every neighbour of every table of two records is, tree by tree."""
    found = []
    for one, two in itertools.product(RECORDS, repeat=2):
        base = count(mechanism, table([one, two]), trees)
        for other in RECORDS:
            moved = count(mechanism, table([one, other]), trees) - base
            found.append(np.abs(moved).reshape(mechanism.trees, -1))
    return np.array(found)


def bounded(moved, trees):
    each, total = moved.sum(axis=2), moved.sum(axis=(1, 2))
    return moved.max() <= 1 and each.max() <= 2 and total.max() == 2 * trees


@pytest.mark.thin(2)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_sensitivity_covers_every_pair_of_tables(seed):
    mechanism = counts(size=2)
    trees = Trees.drawn(trees=3, depth=2, columns=2, source=Seeded(seed))
    moved = moves(LeafCounts.counts, mechanism, trees)
    assert bounded(moved, 3)
    norms = np.sqrt((moved**2).sum(axis=(1, 2)))
    assert norms.max() == pytest.approx(math.sqrt(6))
    # A row that is nowhere was never there: one count in each tree, or none.
    gone = [
        LeafCounts.counts(mechanism, table([RECORDS[0], r]), trees) for r in RECORDS
    ]
    assert {int(each.sum()) for each in gone} == {3, 6}


def test_a_twin_that_counts_a_row_twice_is_noticed():
    def doubled(mechanism, value, trees):
        found = LeafCounts.counts(mechanism, value, trees)
        found[0] *= 2  # as a bootstrap of rows would
        return found

    mechanism = counts(size=2)
    trees = Trees.drawn(trees=3, depth=2, columns=2, source=Seeded(1))
    assert not bounded(moves(doubled, mechanism, trees), 3)


def test_one_row_replaced_replays():
    x, y = table(RECORDS)
    other, labels = x.copy(), list(y)
    other[0], labels[0] = (1.0, 1.0), "cedar"
    for delta in (0.0, 1e-6):
        mechanism = counts(size=len(y), trees=3, delta=delta)
        far = math.sqrt(6) * (1 + 1e-15) if delta else 6

        def run(data, mechanism=mechanism):
            trees = Trees.drawn(trees=3, depth=2, columns=2, source=Seeded(5))
            return mechanism.inner.run(mechanism.counts(data, trees))

        assert replay(run, (x, y), (other, labels), sensitivity=far).passed
        assert not replay(run, (x, y), (other, labels), sensitivity=far - 0.1).passed


def test_trees_do_not_depend_on_the_data_and_a_twin_that_peeks_is_noticed():
    mechanism = counts(size=50, trees=5, depth=3)
    rng = np.random.default_rng(0)
    tables = [
        (rng.uniform(-1, 1, (50, 2)), rng.choice(NAMES, 50)),
        (rng.normal(5, 9, (50, 2)), ["ash"] * 50),
        (np.full((50, 2), math.nan), ["oak"] * 50),
    ]

    def drawn(run, seed=7):
        answers = [run(each, source=Seeded(seed)) for each in tables]
        return [mechanism.read(each)[0].packed().tolist() for each in answers]

    def peeking(value, *, source):
        found = mechanism.run(value, source=source)
        found[:, 7] = np.nan_to_num(np.median(value[0])) * 2**30  # the first cut
        return found

    found = drawn(mechanism.run)
    assert found[0] == found[1] == found[2]
    assert found[0] != drawn(mechanism.run, seed=8)[0]
    peeked = drawn(peeking)
    assert peeked[0] != peeked[1]


def test_counts_are_those_of_a_loop():
    x, y = table(RECORDS)
    mechanism = counts(size=len(y), trees=4, depth=3)
    trees = Trees.drawn(trees=4, depth=3, columns=2, source=Seeded(1))
    expected = np.zeros((4, 8, 3), dtype=int)
    for row, label in RECORDS:
        if all(map(math.isfinite, row)) and label in NAMES:
            for tree in range(4):
                leaf = int(trees.leaves(np.clip([row], -1, 1), tree)[0])
                expected[tree, leaf, NAMES.index(label)] += 1
    assert (mechanism.counts((x, y), trees) == expected).all()
    assert expected.sum() == 4 * (len(RECORDS) - 3)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_more_people_cost_more_and_nobody_nothing(delta):
    for trees in (1, 7, 50):
        mechanism = counts(trees=trees, delta=delta)
        assert mechanism.curve(0).epsilon_at(0) == 0
        cost = [mechanism.curve(k).epsilon_at(delta) for k in (1, 2, 3)]
        assert 0.999 < cost[0] <= 1
        assert cost[0] < cost[1] < cost[2]


def test_the_pure_curve_is_that_of_the_noise():
    # One tree: two independent counts, one up and one down; the sum over all outcomes.
    mechanism = counts(trees=1)
    law = mechanism.inner.error.law
    k = np.arange(-200, 201)
    p, q = (np.outer(law.pmf(k), law.pmf(k)), np.outer(law.pmf(k - 1), law.pmf(k + 1)))
    for epsilon in (0.0, 0.2, 0.7, 0.999):
        exact = np.maximum(p - math.exp(epsilon) * q, 0).sum()
        assert mechanism.curve().delta_at(epsilon) >= exact - 1e-12
        assert mechanism.curve().delta_at(epsilon) == pytest.approx(exact, abs=1e-6)


def test_the_gaussian_curve_is_that_of_the_distance():
    mechanism = counts(trees=8, delta=1e-6)
    assert mechanism.curve().mu == pytest.approx(4 / mechanism.inner.std, rel=1e-4)
    assert mechanism.curve().mu >= 4 / mechanism.inner.std


@pytest.mark.statistical
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_the_noise_has_its_law_and_a_twin_has_not(delta):
    mechanism = counts(size=1, trees=500, depth=4, delta=delta, epsilon=200.0)
    nobody = (np.full((1, 2), math.nan), ["ash"])
    drawn = mechanism.read(mechanism.run(nobody, source=Seeded(3)))[1].ravel()
    assert drawn.dtype == np.int64
    whole = mechanism.error.cases[-1][0]
    assert fits(whole, drawn) > FALSE_ALARM
    noise = mechanism.inner
    less = Gaussian(noise.std * 0.9) if delta else Geometric(float(noise.scale) * 0.9)
    twin = replace(mechanism, inner=less)
    weak = mechanism.read(twin.run(nobody, source=Seeded(3)))[1].ravel()
    assert fits(whole, weak) < FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize(("delta", "floor"), [(0.0, 0.92), (1e-6, 0.96)])
def test_a_chess_board_is_learnt(delta, floor):
    # 150 fits had means 0.956 and 0.978, standard deviations 0.012 and 0.006: the mean
    # of ten is nine of its own above the floor, so it fails with chance below 1e-9.
    x, y = squares()
    model = RandomForestClassifier(
        epsilon=1.0, delta=delta, bounds=(-1, 1), classes=(0, 1)
    )
    scores = [model.fit(x, y, source=Seeded(s)).score(x, y) for s in range(10)]
    assert np.mean(scores) > floor
    blind = model.fit(np.zeros_like(x), y, source=Seeded(1))
    assert blind.score(x, y) < 0.8


def test_without_noise_more_rows_and_depth_are_better():
    x, y = squares(20_000)
    new, truth = squares(2000, seed=1)
    found = [
        RandomForestClassifier(
            epsilon=1e6,
            bounds=(-1, 1),
            n_estimators=20,
            max_depth=depth,
            classes=(0, 1),
        )
        .fit(x[:n], y[:n], source=Seeded(1))
        .score(new, truth)
        for depth, n in ((1, 20_000), (3, 20_000), (8, 20_000), (8, 100))
    ]
    assert found[0] < 0.7 < found[1] < found[2]
    assert found[2] > 0.95
    assert found[3] < found[2]


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 100.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_it_exists_whatever_the_data(epsilon, delta):
    tables = [
        (np.full((4, 2), math.nan), ["oak"] * 4),
        (np.full((4, 2), 1e308), ["ash"] * 4),
        (np.array([[math.inf, 0], [-math.inf, 0]]), ["ash", "birch"]),
        (np.zeros((1, 2)), ["ash"]),
        ([["?", None], [1, 2]], ["ash", 3]),
    ]
    for seed, (x, y) in enumerate(tables):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = RandomForestClassifier(
                epsilon=epsilon, delta=delta, bounds=(0, 9), classes=NAMES
            )
            model.fit(x, y, source=Seeded(seed))
            shares = model.predict_proba(x)
        assert np.isfinite(shares).all()
        assert shares.sum(axis=1) == pytest.approx(1)
        assert (model.class_prior_ > 0).all()
        assert set(model.predict(x)) <= set(NAMES)


def test_no_rows_are_refused_as_everywhere():
    with pytest.raises(InvalidArgument, match="no empty table"):
        RandomForestClassifier(bounds=(-1, 1), classes=(0, 1)).fit(np.zeros((0, 2)), [])


def test_one_label_alone_is_predicted():
    x, _ = squares(3000)
    model = RandomForestClassifier(epsilon=1.0, bounds=(-1, 1), classes=NAMES)
    model.fit(x, ["birch"] * 3000, source=Seeded(1))
    assert set(model.predict(x)) == {"birch"}


def test_wild_counts_give_odds_all_the_same():
    rng = np.random.default_rng(0)
    for _ in range(300):
        wild = rng.normal(size=(3, 4, 2)) * 10.0 ** rng.integers(0, 15)
        found = Odds.of(np.rint(wild).astype(np.int64), std=rng.exponential())
        assert np.isfinite(found.ratios).all()
        assert found.shares.sum() == pytest.approx(1)
        assert found.shares.min() > 0
    # What noise hides is as above.
    hidden = Odds.of(np.array([[[9, 1], [1, 9]]]), std=1e9)
    assert np.abs(hidden.ratios).max() < 1e-6


def test_probabilities_are_tempered_odds_of_leaves():
    x, y = squares(500)
    model = RandomForestClassifier(
        epsilon=5.0, bounds=(-1, 1), n_estimators=4, max_depth=2, classes=(0, 1)
    )
    model.fit(x, y, source=Seeded(1))
    odds = Odds.of(model.counts_, model.mechanism_.std)
    for row, shares in zip(x[:20], model.predict_proba(x[:20]), strict=True):
        leaves = [int(model.trees_.leaves(row[None], t)[0]) for t in range(4)]
        ratio = np.prod([np.exp(odds.ratios[t, at]) for t, at in enumerate(leaves)], 0)
        weight = odds.shares * np.sqrt(ratio)  # √4 trees
        assert shares == pytest.approx(weight / weight.sum())
    assert (np.exp(model.predict_log_proba(x)) == model.predict_proba(x)).all()
    chosen = model.classes_[model.predict_proba(x).argmax(axis=1)]
    assert (chosen == model.predict(x)).all()


def test_a_column_without_width_decides_nothing():
    x, y = squares(3000)
    wide = np.column_stack([x, np.ones(3000)])
    model = RandomForestClassifier(
        epsilon=3.0, bounds=([-1, -1, 1], [1, 1, 1]), classes=(0, 1)
    )
    model.fit(wide, y, source=Seeded(1))
    moved = np.add(wide, [0, 0, 5])
    assert (model.predict_proba(wide) == model.predict_proba(moved)).all()


def test_a_ledger_pays_once():
    x, y = squares(500)
    ledger = Ledger.open("memory://", budget=Budget(epsilon=1))
    model = RandomForestClassifier(epsilon=0.6, bounds=(-1, 1), classes=(0, 1))
    first = model.fit(x, y, ledger=ledger, key="trees").predict_proba(x)
    again = model.fit(x, y, ledger=ledger, key="trees").predict_proba(x)
    assert (first == again).all()
    assert ledger.remaining().epsilon == pytest.approx(0.4, abs=0.001)
    assert model.release_.receipt.neighbors == "replace-one"


def test_conventions_of_scikit_learn():
    x, y = squares(2000)
    model = RandomForestClassifier(
        epsilon=3.0, bounds=(-1, 1), n_estimators=9, classes=(0, 1)
    )
    assert clone(model).get_params() == model.get_params()
    piped = make_pipeline(FunctionTransformer(), model)
    assert cross_val_score(piped, x, y, cv=2).shape == (2,)
    fitted = model.fit(x, y)
    assert (fitted.mechanism_.trees, fitted.n_features_in_) == (9, 2)
    assert isinstance(fitted.noise_, Geometric)
    assert not fitted.seeded_
    assert fitted.error_.std == pytest.approx(math.sqrt(2) * 6, rel=0.01)
    with pytest.raises(InvalidArgument, match="expecting 2 features"):
        fitted.predict(x[:, :1])


def test_plans_follow_from_public_numbers():
    def shape(size, epsilon, delta=0.0):
        model = RandomForestClassifier(
            epsilon=epsilon, delta=delta, bounds=(-1, 1), classes=(0, 1)
        )
        found = model.plan(size, 5)
        return found.trees, found.depth

    assert shape(1000, 1.0) == shape(2000, 0.5) == shape(100, 10.0)
    assert shape(10, 0.1)[0] == 1
    for more in ({}, {"delta": 1e-6}):
        found = [shape(size, 1.0, **more) for size in (10, 300, 10_000, 10**6)]
        assert found == sorted(found)
        assert found[0] < found[-1]
    assert shape(200, 1.0) == (5, 3)
    assert shape(200, 1.0, 1e-6)[0] == 100
    assert shape(1 << 24, 1e6) == (100, 10)


def test_what_does_not_fit_is_refused():
    mechanism = counts(size=3)
    with pytest.raises(InvalidArgument, match="data must be 3 rows of 2 columns"):
        mechanism.run((np.zeros((4, 2)), ["ash"] * 4))
    with pytest.raises(InvalidArgument, match="constant"):
        replace(mechanism, rows=replace(mechanism.rows, intercept=False))
    with pytest.raises(InvalidArgument, match="fewer trees"):
        replace(mechanism, trees=100_000, depth=16)
    for delta in (0.0, 1e-30):
        with pytest.raises(InvalidArgument, match="larger epsilon"):
            RandomForestClassifier(
                epsilon=1e-30, delta=delta, bounds=(-1, 1), classes=(0, 1)
            ).plan(10, 1)
    for bad in ({"n_estimators": 0}, {"max_depth": 0}, {"max_depth": 40}):
        with pytest.raises(InvalidArgument, match=r"trees|depth"):
            RandomForestClassifier(bounds=(-1, 1), classes=(0, 1), **bad).plan(10, 1)
