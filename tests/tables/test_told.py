"""What an answer says beside its numbers."""

import pytest

import hush


def test_what_a_small_most_cuts_is_said():
    budget = hush.Budget(epsilon=9, delta=1e-5)
    held = {"who": [i // 2 for i in range(4000)], "ill": ["flu", "cold"] * 2000}
    data = hush.open({**held, "x": [0.5] * 4000}, unit="who", rows=2, budget=budget)
    asked = data.group_by("ill", keys="private", most=1)
    alone = asked.agg(n=hush.count())
    beside = asked.agg(n=hush.count(), x=hush.mean("x", bounds=(0, 1)))
    assert "votes for at most 1 of them, and all rows count" in alone.explain()
    assert "of who has more, other rows do not count" in beside.explain()
    shown = {each: each.release(epsilon=2, delta=1e-6) for each in (alone, beside)}
    assert sum(shown[alone]["n"]) > 3800
    assert sum(shown[beside]["n"]) < 2200
    assert "not of what bounds, rows= and most= cut)" in str(shown[beside])


def test_an_interval_for_the_population_is_called_one():
    data = hush.open({"x": range(500)}, budget=hush.Budget(epsilon=9))
    median = hush.median("x", bounds=(0, 500), population=True)
    shown = str(data.agg(n=hush.count(), half=median).release(epsilon=5))
    assert "(intervals of half cover the sampling of people too)" in shown


def test_a_plan_for_the_population_counts_the_sampling():
    size = 4000
    data = hush.open({"x": range(size)}, budget=hush.Budget(epsilon=999))
    asked = data.agg(m=hush.median("x", bounds=(0, size), population=True))
    for epsilon in (1, 50):
        planned = asked.plan(epsilon=epsilon, cell=size).error["m"]
        low, high = asked.release(epsilon=epsilon).interval(0.95)["m"]
        assert 0.8 * planned < 2.2 * (high[0] - low[0]) / 2 < 3 * planned
    with pytest.raises(hush.errors.HushError, match="not reached at any epsilon"):
        asked.plan(within={"m": 20}, cell=size)


def test_a_quantile_below_its_level_says_what_is_missing():
    data = hush.open({"x": range(500)}, budget=hush.Budget(epsilon=99))
    median = hush.median("x", bounds=(0, 500), level=0.9)
    shown = str(data.agg(m=median).release(epsilon=90))
    assert "a quantile has none above its own level=" in shown
