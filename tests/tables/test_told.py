"""What an answer says beside its numbers."""

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
