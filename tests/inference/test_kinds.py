"""What is of the wrong kind is refused at the door, by name and with a way out."""

import pytest

from hush.errors import InvalidArgument
from hush.inference import (
    Question,
    bootstrap,
    confidence_set,
    consistent,
    difference_interval,
    difference_test,
    fit_test,
    independence_test,
    marginals,
    nonnegative,
    plan_accuracy,
    plan_budget,
    proportion_interval,
    quantile_interval,
    regression_interval,
)
from hush.mechanisms import Geometric
from hush.privacy import GDP

NOISE = Geometric(scale=1)
DESIGN = [[1, 1], [1, 0], [0, 1]]


def share(count=30):
    return proportion_interval(count, n=100, mechanism=NOISE, tie=0.5)


def three(theta, source):
    return [3.0]


WRONG = {
    "first": lambda: difference_test(1, 2),
    "second": lambda: difference_test(share(), 2),
    "first must": lambda: difference_interval("a", share()),
    "one number": lambda: difference_test(
        share(), consistent([3, 1, 2], DESIGN, std=1.0)
    ),
    "counts": lambda: fit_test("34", [0.5, 0.5], n=7, mechanism=NOISE),
    "probabilities": lambda: fit_test([3, 4], {}, n=7, mechanism=NOISE),
    "table": lambda: independence_test(["a"], n=7, mechanism=NOISE),
    "released": lambda: consistent("x", DESIGN, std=1.0),
    "design": lambda: consistent([3, 1, 2], object(), std=1.0),
    "std": lambda: consistent([3, 1, 2], DESIGN, std=[1, 2]),
    "values": lambda: nonnegative({"a": 1}),
    "shape": lambda: marginals(4, [[0]]),
    "keep": lambda: marginals((2, 2), [0]),
    "keep must be": lambda: marginals((2, 2), [[2]]),
    "edges": lambda: quantile_interval([3], None, at=0.5, n=3, mechanism=NOISE),
    "gram": lambda: regression_interval(
        "x", [1.0], 1.0, n=9, gram_std=1.0, moment_std=1.0
    ),
    "questions": lambda: plan_accuracy(3),
    "Question": lambda: plan_budget(["visits"], epsilon=1.0),
    "simulate": lambda: confidence_set(3.0, candidates=[1], simulate=None),
    "simulate must return": lambda: confidence_set(
        [3.0, 4.0], candidates=[1], simulate=three
    ),
    "candidates": lambda: confidence_set(3.0, candidates=1, simulate=three),
    "estimate": lambda: bootstrap(3.0, estimate=2, simulate=three),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kind_is_named(name):
    with pytest.raises(InvalidArgument, match=name):
        WRONG[name]()


def test_what_is_right_still_works():
    assert difference_test(share(), share(70)).rejects(0.01)
    assert plan_accuracy([Question("a", within=3.0)]).epsilon > 0
    assert marginals((2, 2), [(0,), (1,)]).shape == (4, 4)


@pytest.mark.parametrize("delta", ["1e-6", ["1e-6"], True, b"1", None, [None]])
def test_an_epsilon_is_not_read_at_a_text(delta):
    with pytest.raises(InvalidArgument, match="delta"):
        GDP(mu=1.0).epsilon_at(delta)


def test_an_epsilon_is_read_at_many_deltas():
    curve = GDP(mu=1.0)
    assert curve.epsilon_at([1e-6, 1e-5]).shape == (2,)
    assert curve.delta_at([[0, 1], [2, 3]]).shape == (2, 2)
