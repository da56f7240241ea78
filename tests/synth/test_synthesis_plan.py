"""The guarantee: the curve of the noise that runs, computed by other means too."""

import itertools
import math

import pytest

from hush.errors import InvalidArgument
from hush.mechanisms import DiscreteGaussian, Exponential, Geometric, PermuteAndFlip
from hush.privacy import GDP, Approx, Pure, compose
from hush.privacy.notions.bounded_range import BoundedRange
from hush.synth import Bins, TreeSynthesizer
from hush.synth.marginal_queries import Columns, NextPair, Pairs

DOMAIN = {"a": [0, 1], "b": list("xyz"), "c": Bins.of((0, 1), bins=5), "d": [0, 1]}
BOTH = [("add-remove", 1), ("replace-one", 2)]


@pytest.mark.parametrize(("relation", "both"), BOTH)
@pytest.mark.parametrize("rows", [1, 3])
def test_gaussian_steps_compose_to_the_curve(relation, both, rows):
    maker = TreeSynthesizer(DOMAIN, 1.0, 1e-6, neighbors=relation)
    plan = maker.plan(rows=rows, whole=1 << 20)
    kinds = [type(each) for each in plan.mechanisms]
    assert kinds == [DiscreteGaussian, *[Exponential] * 3, DiscreteGaussian]
    asked = [type(each) for each in plan.questions]
    assert asked == [Columns, *[NextPair] * 3, Pairs]
    # By hand: 4 tables, then 3 choices, then 3 tables; a person has weight R.
    weight = rows << 20
    first, last = plan.mechanisms[0].std, plan.mechanisms[-1].std
    far = [math.sqrt(both * count) * weight for count in (4, 3)]
    mu = [
        d / math.sqrt(float(s) ** 2 - 4)
        for d, s in zip(far, (first, last), strict=True)
    ]
    span = 2 * both * weight / float(plan.mechanisms[1].scale)
    hand = compose(GDP(math.hypot(*mu)), *[BoundedRange(span)] * 3)
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        found = plan.curve.delta_at(epsilon)
        assert found == pytest.approx(hand.delta_at(epsilon), rel=1e-6)
        assert found >= hand.delta_at_lower(epsilon) * (1 - 1e-9)
    assert plan.curve.delta_at(1.0) <= 1e-6
    assert plan.curve.delta_at(1.0) >= 0.999e-6  # no budget is left lying about


@pytest.mark.parametrize(("relation", "both"), BOTH)
def test_pure_steps_add_up_to_epsilon(relation, both):
    plan = TreeSynthesizer(DOMAIN, 0.7, neighbors=relation).plan()
    first, choice, *_, last = plan.mechanisms
    assert isinstance(first, Geometric)
    assert isinstance(choice, PermuteAndFlip)
    by_hand = both * (4 / first.scale + 3 * 2 / choice.scale + 3 / last.scale)
    assert plan.curve.epsilon_at(0) == pytest.approx(by_hand, rel=1e-9)
    assert 0.7 * (1 - 1e-9) <= plan.curve.epsilon_at(0) <= 0.7


def test_a_rho_is_met():
    plan = TreeSynthesizer(DOMAIN, rho=0.1).plan()
    assert 0.0999 <= plan.curve.rho <= 0.1


def test_one_column_needs_no_pairs():
    for budget in ({"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}, {"rho": 0.1}):
        plan = TreeSynthesizer({"a": [0, 1, 2]}, **budget).plan()
        assert len(plan.mechanisms) == 1
    assert TreeSynthesizer({"a": [0]}, 1.0).plan().curve.epsilon_at(0) <= 1.0
    assert "1 column" in str(plan)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_less_budget_is_more_noise_everywhere(delta):
    plans = [TreeSynthesizer(DOMAIN, e, delta).plan() for e in (0.01, 0.1, 1.0, 10.0)]
    for more, less in itertools.pairwise(plans):
        assert more.within()[0] > less.within()[0]
        assert more.within()[1] > less.within()[1]
        assert more.mechanisms[1].scale > less.mechanisms[1].scale
        assert more.curve.epsilon_at(1e-9) < less.curve.epsilon_at(1e-9)


def test_as_many_pairs_as_columns_does_not_end_the_noise():
    # A peer's scale falls to zero where one parameter meets the number of columns.
    for count in range(1, 9):
        domain = {f"c{i}": [0, 1] for i in range(count)}
        for budget in ({"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}):
            plan = TreeSynthesizer(domain, **budget).plan()
            assert min(plan.within()) >= 1
            assert plan.curve.delta_at(1.0) <= budget.get("delta", 0.0)


@pytest.mark.parametrize(
    "budget",
    [
        {},
        {"epsilon": 0.0},
        {"epsilon": -1.0},
        {"epsilon": math.inf},
        {"epsilon": math.nan},
        {"epsilon": 1.0, "rho": 0.1},
        {"epsilon": 1.0, "delta": 1.0},
        {"epsilon": 1.0, "delta": -1e-9},
        {"rho": 0.0},
        {"rho": 0.1, "delta": 1e-6},
        {"epsilon": 1.0, "neighbors": "edit"},
        {"epsilon": "1"},
    ],
    ids=str,
)
def test_a_budget_that_is_none_is_refused(budget):
    with pytest.raises(InvalidArgument):
        TreeSynthesizer(DOMAIN, **budget)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_too_little_epsilon_is_refused_before_anything_is_read(delta):
    with pytest.raises(InvalidArgument, match="epsilon"):
        TreeSynthesizer(DOMAIN, 1e-17, delta).plan(rows=1 << 10, whole=1 << 20)


def test_a_domain_with_too_many_pairs_of_cells_is_refused():
    wide = {name: Bins.of((0, 1), bins=5000) for name in "ab"}
    with pytest.raises(InvalidArgument, match="coarser"):
        TreeSynthesizer(wide, 1.0).plan()


def test_much_budget_is_no_mistake():
    for delta in (0.0, 1e-6):
        model = TreeSynthesizer(DOMAIN, 1e4, delta).fit(
            {"a": [0, 1], "b": ["x", "y"], "c": [0.1, 0.9], "d": [0, 0]}
        )
        assert len(model.sample(3)) == 3


def test_a_target_is_a_curve():
    assert TreeSynthesizer(DOMAIN, 1.0).target == Pure(1.0)
    assert TreeSynthesizer(DOMAIN, 1.0, 1e-6).target == Approx(1.0, 1e-6)


def test_a_near_miss_says_what_to_write():
    with pytest.raises(AttributeError, match="Fit first"):
        _ = TreeSynthesizer(DOMAIN, 1.0).sample
    with pytest.raises(TypeError, match="Seeded"):
        TreeSynthesizer(DOMAIN, 1.0).fit([], seed=3)
