"""What a table says of a population, as estimates that tests of differences take."""

import numpy as np
import pytest

import hush
from hush.errors import InvalidArgument, Unsupported
from hush.inference import difference_interval, difference_test
from hush.noise import Seeded

BOUNDS = (0, 100)


def answer(table, seed, epsilon=1.0, **aggregates):
    budget = hush.Budget(epsilon=epsilon)
    ledger = hush.Ledger.open("memory://", budget=budget, rehearsal=True)
    data = hush.open(table, unit="id", rows=1, ledger=ledger)
    query = data.group_by("sex", keys=["f", "m"]).agg(**aggregates)
    return query.release(epsilon=epsilon, source=Seeded(seed))


def staff(gap, seed, size=2000):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], size)
    pay = np.clip(rng.normal(45, 12, size) + gap * (sex == "m"), *BOUNDS)
    return {"id": range(size), "sex": sex, "pay": pay}


def both(table, seed, epsilon=1.0):
    pay, spread = hush.mean("pay", bounds=BOUNDS), hush.std("pay", bounds=BOUNDS)
    return answer(table, seed, epsilon, n=hush.count(), pay=pay, spread=spread)


def test_estimates_are_the_intervals_of_the_population():
    found = both(staff(3, 1), 1)
    for name in ("n", "pay"):
        low, high = found.interval(0.9, population=True)[name]
        ends = [each.interval(0.9) for each in found.estimates(name)]
        np.testing.assert_allclose(ends, np.transpose([low, high]), rtol=1e-9)


def test_a_known_variance_makes_a_mean_narrow_and_not_the_value_another():
    found = both(staff(3, 2), 2)
    wide = found.estimates("pay")
    narrow = found.estimates("pay", variance=found["spread"] ** 2)
    one = found.estimates("pay", variance=144)
    for a, b, c in zip(wide, narrow, one, strict=True):
        assert a.value == b.value == c.value
        assert b.std < a.std / 2
        assert c.std == pytest.approx(b.std, rel=0.2)


@pytest.mark.slow
def test_differences_are_covered_and_by_the_noise_alone_they_are_not():
    # Nominal 0.95, or 57 of 60; fewer than 46 come with a chance below 1e-5. The seeds
    # are fixed: this fails with a change of code, and never by chance.
    inside, alone = 0, 0
    for seed in range(60):
        found = both(staff(3, seed, size=1000), seed, epsilon=4.0)
        women, men = found.estimates("pay", variance=found["spread"] ** 2)
        low, high = difference_interval(men, women)
        inside += low < 3 < high
        noise = found["pay"] - found.interval(0.95)["pay"][0]
        alone += abs(men.value - women.value - 3) < np.hypot(*noise)
    assert inside >= 46
    assert alone < 46


def test_a_difference_is_found_and_none_is_not():
    gaps = {gap: both(staff(gap, 3, size=8_000), 3) for gap in (0, 3)}
    p = {
        gap: difference_test(*found.estimates("pay", variance=144)).p_value
        for gap, found in gaps.items()
    }
    assert p[3] < 1e-9
    assert p[0] > 1e-4


def test_what_has_no_estimate_says_so():
    found = answer(
        staff(0, 4),
        4,
        median=hush.median("pay", bounds=BOUNDS),
        change=hush.sum("pay - 50", bounds=(-50, 50)),
        pay=hush.sum("pay", bounds=BOUNDS),
    )
    assert len(found.estimates("pay")) == 2
    for name in ("median", "change"):
        with pytest.raises(Unsupported, match="estimates are of means"):
            found.estimates(name)
    with pytest.raises(InvalidArgument, match="there are median, change, pay"):
        found.estimates("pays")
    with pytest.raises(InvalidArgument, match="variance is for means"):
        found.estimates("pay", variance=3)


@pytest.mark.parametrize("variance", [-1, "large", [1, 2, 3], float("nan")])
def test_a_variance_is_a_number_or_one_for_each_group(variance):
    found = answer(staff(0, 5), 5, pay=hush.mean("pay", bounds=BOUNDS))
    with pytest.raises(InvalidArgument, match="variance"):
        found.estimates("pay", variance=variance)
