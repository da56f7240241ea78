"""A seal is one to one, can be taken back, and orders rows like a hash of its own."""

from collections import Counter, defaultdict

import ibis
import numpy as np
import pyarrow
import pytest

from hush.tables.bounding import contribution_caps
from hush.tables.bounding.contribution_bounds import UNIT
from hush.tables.bounding.contribution_caps import Caps, Field, capped_rows
from hush.tables.engines.engine import fetch

MOST = (1 << contribution_caps.BITS) - 1


def table(people, **numbers):
    kinds = {name: pyarrow.array(each, "int64") for name, each in numbers.items()}
    rows = pyarrow.table({"u": people, **kinds})
    return ibis.duckdb.connect().create_table("t", rows)


def test_what_is_sealed_can_be_opened():
    generator = np.random.default_rng(1)
    given = [0, 1, MOST, None, *generator.integers(0, MOST, 500).tolist()]
    turned = given[::-1]
    people = [i % 7 - 3 for i in range(len(given))]
    rows = table(people, a=given, b=turned)
    closed = contribution_caps.seal(rows, "u", ["a", "b"], 9)
    found = fetch(contribution_caps.unseal(closed, "u", ["a", "b"], 9))
    same = Counter(zip(people, given, turned, strict=True))
    assert Counter(found.tuples(("u", "a", "b"))) == same
    words = [word for word in fetch(closed)["a"].tolist() if word is not None]
    assert all(0 <= word <= MOST for word in words)
    assert (
        fetch(contribution_caps.unseal(closed, "u", ["a", "b"], 8))["a"].tolist()
        != given
    )


def test_seals_are_different_and_everybody_has_an_order_of_their_own():
    numbers = list(range(2000))
    orders = []
    for person in ("a", "b"):
        closed = fetch(
            contribution_caps.seal(table([person] * 2000, n=numbers), "u", ["n"], 0)
        )["n"]
        assert len(set(closed.tolist())) == 2000
        orders.append(np.argsort(closed))
    # The mean distance of places in two fair orders is a third, its deviation 0.6 %.
    apart = np.abs(np.argsort(orders[0]) - np.argsort(orders[1])).mean() / 2000
    assert abs(apart - 1 / 3) < 0.04
    assert abs(np.abs(orders[0] - np.arange(2000)).mean() / 2000 - 1 / 3) < 0.04


@pytest.mark.parametrize("caps", [Caps(5, 3), Caps(5), Caps(2, 1), Caps(8, 4)], ids=str)
def test_wide_rows_are_kept_in_the_order_of_their_seals(caps):
    generator = np.random.default_rng(2)
    count = 3000
    people = (generator.integers(0, 200, count) ** 2 // 200).tolist()
    group = generator.integers(0, 8, count)
    value = generator.integers(0, 3, count) << 57  # many equal rows
    rows = table(people, g=group, x=value)
    found = fetch(
        capped_rows(
            rows,
            "u",
            [Field("g", rows["g"], 3), Field("x", rows["x"], 59)],
            caps,
            group="g" if caps.groups else None,
            salt=4,
        )
    )
    assert set(found["_w"].tolist()) == {UNIT}
    numbers = ((group << 59) + value).tolist()
    asked = contribution_caps.seal(table(people, n=numbers), "u", ["n"], 4)
    closed = fetch(asked).tuples(("u", "n"))
    assert [person for person, _ in closed] == people  # in the order of the rows
    plain = dict(zip(closed, numbers, strict=True))
    words = defaultdict(list)
    for person, word in closed:
        words[person].append(word)
    kept = Counter()
    for person, mine in words.items():
        met = []
        for word in sorted(mine)[: caps.rows]:
            number = plain[person, word]
            if number >> 59 not in met:
                met.append(number >> 59)
            if caps.groups is None or met.index(number >> 59) < caps.groups:
                kept[number >> 59, number & ((1 << 59) - 1)] += 1
    assert Counter(found.tuples(("g", "x"))) == kept
