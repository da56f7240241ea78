"""Subsample and aggregate: one row, one block, whatever the estimator does."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression as Plain

from hush.errors import InvalidArgument, NoBound
from hush.learn import BlockAverage, SubsampleAggregate, progress_bar
from hush.ledger import Budget, Ledger
from hush.mechanisms import ClippedMean
from hush.noise import Seeded, permutation


def median(x, y):
    return np.median(x)


def nasty(x, y):
    """Raise, warn, return the wrong shape, NaN or infinity: whatever the data say."""
    first = int(x[0, 0])
    x[:] = -1  # an attempt to reach other blocks
    if first == 0:
        raise RuntimeError(first)
    return {1: np.nan, 2: [1, 2], 3: np.inf, 4: "a", 5: np.float64(1) / 0}.get(first, 7)


@pytest.mark.parametrize("statistic", [median, nasty], ids=["median", "nasty"])
def test_n8_t2_one_row_changes_one_block(statistic):
    rng = np.random.default_rng(0)
    mechanism = SubsampleAggregate(statistic, bounds=(0, 10), blocks=7).plan(50, 1)
    for _ in range(30):
        x = rng.integers(0, 8, (50, 1)).astype(float)
        row = int(rng.integers(50))
        other = x.copy()
        other[row] = rng.integers(0, 8)
        seed = int(rng.integers(1000))
        one, two = (
            mechanism.of_blocks((each, each[:, 0]), source=Seeded(seed))
            for each in (x, other)
        )
        place = int(np.flatnonzero(permutation(50, source=Seeded(seed)) == row)[0])
        changed = np.flatnonzero((one != two).any(axis=1))
        assert set(changed) <= {place % 7}
        assert not np.isnan(one).any()
    assert mechanism.curve().epsilon_at(0) <= 1


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("word", ["x", None, float("nan"), 1 + 2j, 10**400])
def test_a_word_in_one_row_changes_one_block(listed, word):
    # One array of all rows would make words of all numbers, in every block.
    mechanism = SubsampleAggregate(median, bounds=(0, 10), blocks=3).plan(6, 1)
    x, y = [[float(i)] for i in range(6)], [0.0] * 6
    other = np.array(x, dtype=object)
    other[4, 0] = word
    one = mechanism.of_blocks((x if listed else np.array(x), y), source=Seeded(1))
    two = mechanism.of_blocks(
        (other.tolist() if listed else other, [*y[:4], "?", y[5]]), source=Seeded(1)
    )
    assert np.flatnonzero((one != two).any(axis=1)).size <= 1


def test_n8_a1_coefficients_of_any_estimator():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (60_000, 2))
    y = x @ [2.0, -1.0] + 0.5 + 0.1 * rng.normal(size=60_000)
    seen = []
    model = SubsampleAggregate(
        Plain(),
        epsilon=3.0,
        bounds=(-5, 5),
        blocks=400,
        progress=lambda done, total: seen.append((done, total)),
    )
    model.fit(x, y, source=Seeded(3))
    assert model.coef_ == pytest.approx([2, -1], abs=0.1)
    assert model.predict(x[:3]) == pytest.approx(y[:3], abs=0.6)
    assert seen == [(i, 400) for i in range(1, 401)]
    assert model.curve_.epsilon_at(0) <= 3


def test_blocks_in_parallel_give_the_same_answer():
    x = np.random.default_rng(2).uniform(0, 8, (400, 1))
    for statistic in (median, nasty):
        answers = []
        for jobs in (None, 3):
            model = SubsampleAggregate(
                statistic, bounds=(0, 10), blocks=40, n_jobs=jobs
            )
            model.fit(x, x[:, 0], source=Seeded(6))
            answers.append(model.value_.tolist())
        assert answers[0] == answers[1]


def test_a_bar_shows_how_many_blocks_are_done(capsys):
    shown = progress_bar()
    for done in range(1, 4):
        shown(done, 3)
    x = np.arange(100.0)[:, None] % 10
    model = SubsampleAggregate(
        median, bounds=(0, 10), blocks=5, progress=progress_bar()
    )
    assert np.isfinite(model.fit(x, x[:, 0], source=Seeded(0)).value_).all()


def test_the_budget_is_shared_by_the_coordinates():
    for outputs in (1, 3, 7):
        model = SubsampleAggregate(median, bounds=(0, 1), outputs=outputs)
        curve = model.plan(10_000, 1).curve()
        assert 0.99 <= curve.epsilon_at(0) <= 1


def test_blocks_are_chosen_from_public_numbers():
    plan = SubsampleAggregate(median, bounds=(0, 1)).plan
    assert plan(10**6, 1).blocks == 2010  # 8·n^(2/5)
    assert plan(10**5, 1).blocks == 800
    assert plan(2000, 1).blocks == 100  # of twenty rows
    assert plan(5, 1).blocks == 1
    several = {"epsilon": 2.0, "bounds": ([0] * 30, [1] * 30)}
    assert SubsampleAggregate(median, **several).plan(10**7, 1).blocks == 16666
    assert SubsampleAggregate(median, **several).plan(10**9, 1).blocks == 477729
    tighter = SubsampleAggregate(median, delta=1e-6, **several).plan(10**9, 1)
    assert tighter.blocks < 300_000
    assert tighter.curve().delta_at(2.0) <= 1e-6


def test_a_ledger_is_charged():
    x = np.arange(3000.0)[:, None] % 10
    ledger = Ledger.open("memory://", budget=Budget(epsilon=2))
    model = clone(SubsampleAggregate(median, bounds=(0, 10)))
    model.fit(x, x[:, 0], ledger=ledger)
    assert 0.99 < ledger.remaining().epsilon <= 1.01
    assert 0 <= model.value_[0] <= 10


def test_bounds_are_needed_where_blocks_are_few():
    with pytest.raises(InvalidArgument, match="bounds must be given for 5 blocks"):
        SubsampleAggregate(median).plan(100, 1)
    for size, epsilon in ((40_000, 1.0), (4_000, 4.0)):
        model = SubsampleAggregate(median, epsilon=epsilon)
        assert model.plan(size, 1).sure
        assert model.plan(size, 1).mean.bounds is None
    with pytest.raises(InvalidArgument, match="one per output"):
        SubsampleAggregate(median, bounds=([0, 0], 1), outputs=3).plan(100, 1)
    with pytest.raises(InvalidArgument, match="got a ndarray") as refused:
        SubsampleAggregate(median, bounds=np.full(5, 7351.0)).plan(100, 1)
    assert "7351" not in str(refused.value)
    with pytest.raises(InvalidArgument, match="all lower ends, then all upper"):
        SubsampleAggregate(median, bounds=[(0, 1), (0, 5)]).plan(100, 1)


def test_lists_of_bounds_say_how_many_numbers_there_are():
    x = np.tile([[1.0, 4.0]], (4000, 1))
    model = SubsampleAggregate(lambda x, _: x.mean(axis=0), bounds=([0, 3], [2, 9]))
    model.fit(x, x[:, 0], source=Seeded(1))
    assert model.value_ == pytest.approx([1, 4], abs=0.5)


X = np.sin(np.arange(600.0)).reshape(300, 2)
FAULTS = {
    "no name": (lambda x, _: np.meen(x), "AttributeError"),
    "a frame": (lambda x, _: x.groupby("a").mean(), "AttributeError"),
    "one argument": (lambda x: x.mean(), "two arguments"),
    "nothing": (lambda x, _: x.sort(), "lack a return"),
    "two numbers": (lambda x, _: x.mean(axis=0), "outputs=2"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_function_that_always_fails_is_refused_before_it_is_paid_for(fault):
    function, told = FAULTS[fault]
    ledger = Ledger.open("memory://", budget=Budget(epsilon=2))
    with pytest.raises(InvalidArgument, match=told):
        SubsampleAggregate(function, bounds=(0, 1)).fit(X, X[:, 0], ledger=ledger)
    assert ledger.remaining().epsilon == 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x, _: np.linalg.inv(x[:2] * 0)[0, 0],  # as other numbers might
        lambda x, y: x[y == 5][0, 0],  # nobody has such a label among made-up ones
        lambda _, y: np.bincount(y).argmax(),  # only of whole numbers
        max,  # says nothing of its arguments
    ],
    ids=["singular", "no label", "whole", "builtin"],
)
def test_a_function_that_the_made_up_numbers_may_stop_is_admitted(function):
    y = np.arange(300) % 9
    model = SubsampleAggregate(function, bounds=(0, 9), blocks=5)
    assert np.isfinite(model.fit(X, y, source=Seeded(1)).value_).all()


def test_a_function_is_tried_on_no_data():
    seen = []

    def spy(x, y):
        seen.append((x.copy(), y.copy()))
        return 0.5

    y = np.full(300, 7351)
    SubsampleAggregate(spy, bounds=(0, 1), blocks=4).fit(np.full((300, 2), 7351.0), y)
    first, *others = seen
    assert [each.shape for each in first] == [(75, 2), (75,)]
    assert not any((each == 7351).any() for each in first)
    # Four blocks and the halves of each.
    assert sorted(len(each[0]) for each in others) == [37] * 4 + [38] * 4 + [75] * 4
    # Words and lists have no declared type of numbers: nothing is made up for them.
    seen.clear()
    words = np.array(["a", "b", "c"] * 100)
    alone = SubsampleAggregate(spy, bounds=(0, 1), blocks=4, correct=False)
    alone.fit(np.zeros((300, 2)), words)
    assert len(seen) == 4


def standard_normal(size, seed):
    return np.random.default_rng(seed).normal(size=(size, 1))


def second(x, _):
    return np.var(x)  # its bias is -1/rows of a block


def test_a_bias_of_one_over_the_rows_of_a_block_is_taken_away():
    x = standard_normal(20_000, 1)
    plans = {
        correct: SubsampleAggregate(
            second, bounds=(0, 9), blocks=800, correct=correct
        ).plan(20_000, 1)
        for correct in (True, False)
    }
    found = {
        correct: plan.of_blocks((x, x[:, 0]), source=Seeded(2)).mean() - np.var(x)
        for correct, plan in plans.items()
    }
    # Of blocks of 25 rows: -0.04 without it; the mean of 800 blocks scatters by 0.002.
    assert found[False] == pytest.approx(-0.04, abs=0.004)
    assert abs(found[True]) < 0.012
    # Of a mean halves say the same as the whole: nothing is lost.
    both = [
        SubsampleAggregate(lambda x, _: x.mean(), bounds=(-9, 9), correct=correct)
        .plan(20_000, 1)
        .of_blocks((x, x[:, 0]), source=Seeded(2))
        for correct in (True, False)
    ]
    assert np.abs(both[0] - both[1]).max() < 0.1


def test_halves_that_fail_leave_the_block_as_it_is():
    def small(x, _):
        return 7.0 if len(x) >= 20 else 1 / 0

    x = np.zeros((400, 1))
    plan = SubsampleAggregate(small, bounds=(0, 9), blocks=20).plan(400, 1)
    assert plan.of_blocks((x, x[:, 0])).ravel().tolist() == [7.0] * 20


@pytest.mark.statistical
@pytest.mark.parametrize("bounds", [None, ([-50, 0, -99], [50, 9, 99])])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_several_outputs_are_answered_jointly(bounds, delta):
    def both(x, _):
        return x.mean(), x.var(), np.median(x)

    x = 30 + 2 * standard_normal(60_000, 4)
    model = SubsampleAggregate(both, epsilon=3.0, delta=delta, outputs=3, bounds=bounds)
    model.fit(x, x[:, 0], source=Seeded(5))
    exact = np.clip([x.mean(), x.var(), np.median(x)], *(bounds or (-99, 99)))
    # 60 000 rows: the noise is below half of the sampling errors, 0.008 and 0.023.
    assert model.value_ == pytest.approx(exact, abs=0.1)
    assert model.curve_.epsilon_at(delta) <= 3
    low, high = model.interval(0.999)
    assert np.all((low < exact) & (exact < high))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("blocks", "bounds", "wide"),
    [(200, (-10, 10), None), (800, None, None), (800, None, 0.25)],
)
def test_intervals_hold_the_parameter(blocks, bounds, wide):
    # Block estimates as the theorem has them: normal. 400 intervals of 95 % hold it
    # fewer than 347 times with chance below 1e-9, and all 400 with chance 1.2e-9. The
    # twin, intervals of a quarter of the width, holds it far less.
    mean = ClippedMean.planned(1.0, records=blocks, bounds=bounds)
    plan = BlockAverage(median, 100 * blocks, blocks, mean)
    rng, held = np.random.default_rng(6), 0
    for seed in range(400):
        answer = mean.run(rng.normal(size=blocks), source=Seeded(seed))
        low, high = plan.interval(answer.reshape(3, 1))
        center, half = (low + high) / 2, (high - low) / 2 * (wide or 1.0)
        held += int(abs(center[0]) <= half[0])
    assert (347 <= held < 400) if wide is None else held < 347


def test_no_interval_is_given_where_none_is_known_to_cover():
    x = standard_normal(8000, 7)
    few = SubsampleAggregate(median, bounds=(-5, 5), blocks=100)
    with pytest.raises(NoBound, match="epsilon is too small"):
        few.fit(x, x[:, 0], source=Seeded(1)).interval()
    small = SubsampleAggregate(median, bounds=(-5, 5), blocks=400)
    with pytest.raises(NoBound, match="blocks of 20 rows"):
        small.fit(x, x[:, 0], source=Seeded(1)).interval()
    alike = SubsampleAggregate(lambda *_: 3.0, epsilon=4.0, bounds=(0, 9), blocks=200)
    alike.fit(x, x[:, 0], source=Seeded(1))
    assert alike.value_.tolist() == [3.0]
    with pytest.raises(NoBound, match="half of the blocks agree"):
        alike.interval()
