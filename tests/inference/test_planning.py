"""Plans meet their targets when they are run, and divide budgets as well as any."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from hush import bounds, inference
from hush.errors import InvalidArgument
from hush.inference import Question, plan_accuracy, plan_budget
from hush.mechanisms import Gaussian, Laplace
from hush.noise import Seeded

TEN = [
    *(Question(f"count{i}", within=10 + 5 * i) for i in range(4)),
    Question("sum", sensitivity=100, within=3000),
    Question("ages", dimension=20, touched=1, within=30),
    Question("regions", dimension=8, within=60, level=0.9),
    Question("income", sensitivity=2.5, within=40),
    Question("answers", dimension=50, within=200),
    Question("days", dimension=7, touched=3, within=35, level=0.99),
]


@pytest.mark.statistical
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_plan_of_ten_questions_meets_its_targets(delta):
    plan = plan_accuracy(TEN, delta=delta)
    source, runs = Seeded(4), 2000
    for answer in plan.answers:
        q = answer.question
        assert answer.reach <= q.within
        for zeros in (np.zeros, lambda shape: np.zeros(shape, int)):
            errors = answer.mechanism.run(zeros((runs, q.dimension)), source=source)
            kept = int((np.abs(errors).max(axis=1) <= q.within).sum())
            assert stats.binom.cdf(kept, runs, q.level) > 1e-9, q.name
    assert plan.epsilon <= math.fsum(
        float(a.curve.epsilon_at(delta / 10)) for a in plan.answers
    ) * (1 + 1e-9)
    assert f"epsilon {plan.epsilon:.4g}" in str(plan)
    with pytest.raises(KeyError):
        plan["nothing"]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_budget_is_kept_and_used_up(delta):
    plan = plan_budget(TEN, epsilon=1.5, delta=delta)
    assert 1.5 * (1 - 1e-4) <= plan.epsilon <= 1.5


def test_no_other_division_is_better():
    asked = [Question("a", weight=5), Question("b", sensitivity=3), Question("c")]
    plan = plan_budget(asked, epsilon=1.0)

    def loss(scales):
        return sum(q.weight * s**2 for q, s in zip(asked, scales, strict=True))

    scales = [plan[q.name].mechanism.scale for q in asked]
    best = loss(scales)
    for moves in itertools.product([0.9, 1.0, 1.1], repeat=3):
        other = [s * m for s, m in zip(scales, moves, strict=True)]
        spent = sum(q.sensitivity / s for q, s in zip(asked, other, strict=True))
        assert loss([s * spent for s in other]) >= best * (1 - 1e-5)


def test_n9_ex1_few_counts_take_laplace_and_many_gauss():
    delta = 1e-6
    kinds = {}
    for d in (1, 3, 30, 200):
        plan = plan_budget([Question("d", dimension=d)], epsilon=1.0, delta=delta)
        kinds[d] = type(plan["d"].mechanism)
    assert kinds[1] is Laplace
    assert kinds[200] is Gaussian
    order = [kinds[d] is Gaussian for d in sorted(kinds)]
    assert order == sorted(order)  # one crossing
    assert bounds.counts_crossing(delta) <= 30


def test_sizes_are_the_first_that_do():
    n = inference.people_for_mean(0.02, epsilon=0.5, bounds=(0, 1), std=0.2)
    reach = [
        inference.mean_reach(k, 0.5, bounds=(0, 1), std=0.2, level=0.95)
        for k in (n - 1, n)
    ]
    assert reach[1] <= 0.02 < reach[0]
    epsilon = inference.epsilon_for_mean(0.02, n=2 * n, bounds=(0, 1), std=0.2)
    assert inference.mean_reach(
        2 * n, epsilon, bounds=(0, 1), std=0.2, level=0.95
    ) == pytest.approx(0.02, rel=1e-6)
    with pytest.raises(InvalidArgument, match="sampling"):
        inference.epsilon_for_mean(0.001, n=100, bounds=(0, 1))
    with pytest.raises(InvalidArgument, match="theta"):
        inference.people_for_power(0.8, null=0.5, theta=0.4, epsilon=1.0)


def test_the_reach_of_a_mean_is_the_quantile_of_its_two_errors():
    # Normal with std σ/√n plus Laplace of scale (b - a)/(nε), by quadrature.
    n, epsilon, sigma = 400, 0.25, 1.5
    found = inference.mean_reach(n, epsilon, bounds=(-2, 4), std=sigma, level=0.9)
    scale, std = mp.mpf(6) / (n * epsilon), mp.mpf(sigma) / mp.sqrt(n)

    def beyond(z):
        return mp.exp(-abs(z) / scale) / (2 * scale) * mp.ncdf((z - found) / std)

    far = mp.quad(beyond, [-30 * scale, 0, found, found + 10 * std, 60 * scale])
    assert float(far) == pytest.approx(0.05, rel=1e-3)
    # Left out, the largest standard deviation: half of the range.
    widest = inference.mean_reach(n, 50.0, bounds=(-2, 4), level=0.95)
    assert widest == pytest.approx(1.96 * 3 / 20, rel=1e-2)


def test_privacy_costs_more_people():
    found = inference.price_of_privacy(10_000, 0.1, moments=2)
    assert 1 < found["central"] < found["local"]
    # 1 + 1/ε in the centre and √n/ε at home, for two moments.
    assert found["central"] == pytest.approx(1 + 1 / 0.1, rel=1e-12)
    assert found["local"] == pytest.approx(math.sqrt(10_000) / 0.1, rel=1e-12)


def test_questions_are_checked():
    with pytest.raises(InvalidArgument, match="within"):
        plan_accuracy([Question("a")])
    with pytest.raises(InvalidArgument, match="questions"):
        plan_budget([Question("a"), Question("a")], epsilon=1.0)
    with pytest.raises(InvalidArgument, match="touched"):
        Question("a", dimension=2, touched=3)
