"""A sample has the sums of the engine's own relation, however rows are handed over."""

import itertools
import math

import ibis
import numpy as np
import pyarrow
import pytest

import hush
from hush.audit import neighbors_of, replay
from hush.tables.bounding import in_process
from hush.tables.bounding.contribution_bounds import UNIT
from hush.tables.bounding.contribution_caps import Caps
from hush.tables.bounding.in_process import Rows, SampledSums
from hush.tables.bounding.relations import Sums
from tables.desk import base, parts

CAPS = [(5, 3), (1, 1), (3, 5), (8, 2), (30, 30)]


def people(seed, count=500):
    """Rows with NULL in every column; some people have many, some equal ones."""
    generator = np.random.default_rng(seed)
    who = generator.integers(0, 40, count) ** 2 // 40 - 7
    h = generator.integers(-1, 4, count)
    x = generator.choice([0.0, 3.0, 7.5, 12.0, math.nan, math.inf], count)
    gone = generator.random((3, count)) < 0.05
    return pyarrow.table(
        {
            "who": pyarrow.array(who, pyarrow.int32(), mask=gone[0]),
            "h": pyarrow.array(h, pyarrow.int64(), mask=gone[1]),
            "x": pyarrow.array(x, pyarrow.float64(), mask=gone[2]),
        }
    )


def asked(table, rows=5, groups=3, unit="who", **more):
    budget = hush.Budget(epsilon=9)
    data = hush.open(table, unit=unit, rows=rows, groups=groups, budget=budget)
    aggregates = more or {"n": hush.count(), "m": hush.mean("x", bounds=(0, 10))}
    return data.group_by("h", keys=range(-1, 4)).agg(**aggregates)


def read(query, *, own=True):
    """Sums by key, from the sample or from the engine's relation."""
    sums = Sums(query.compiled.terms)
    found = query.compiled.result(query.compiled.relations if own else (sums,))[sums]
    return {
        key: {name: int(row[name] or 0) for name in row if name not in ("_g", "h")}
        for key, row in found.items()
    }


HOW = {
    "at once": lambda patch: patch.setattr(in_process, "PART", 1 << 25),
    "parts": lambda patch: patch.setattr(in_process, "PART", 100),
    "far": lambda patch: patch.setattr(in_process, "_FEW", -(10**9)),
    "far parts": lambda patch: (
        patch.setattr(in_process, "_FEW", -(10**9)),
        patch.setattr(in_process, "PART", 30),
    ),
    "no room": lambda patch: patch.setattr(in_process, "_LEAD", 0),
    "little room": lambda patch: patch.setattr(in_process, "_LEAD", 3),
    "small blocks": lambda patch: patch.setattr(in_process, "_BLOCK", 7),
}


WAYS = [*((caps, "at once") for caps in CAPS), *(((5, 3), how) for how in HOW)]


@pytest.mark.thin(5)
@pytest.mark.parametrize(("caps", "how"), dict.fromkeys(WAYS), ids=str)
def test_it_has_the_sums_of_the_relation(monkeypatch, caps, how):
    HOW[how](monkeypatch)
    table = people(1)
    query = asked(table, *caps)
    assert [type(each) for each in query.compiled.relations] == [SampledSums]
    expected = read(query, own=False)
    assert len(expected) == 5
    assert read(query) == expected
    turned = table.take(np.random.default_rng(0).permutation(len(table)))
    assert read(asked(turned, *caps)) == expected


@pytest.mark.thin(4)
@pytest.mark.parametrize("how", HOW)
def test_a_person_moves_their_own_part(monkeypatch, how):
    # HAZARDS S8, S9.
    HOW[how](monkeypatch)

    def sums(table):
        found = np.zeros((5, 3), dtype=object)
        for (key,), row in read(asked(table, 4, 2)).items():
            found[key + 1] = [row["_n"], row["_m0_w"], row["_m0_sum"]]
        return found

    for person, own in parts(sums, people(2)):
        assert own[:, 0].sum() <= 4 * UNIT
        assert np.count_nonzero(own[:, 0]) <= 2
        assert (person is None) == (own[:, 0].sum() == 0)


def oracle(rows, caps, shift, mask):
    """The same in plain Python, person by person."""
    found = []
    for person in sorted({who for who, _ in rows}):
        first = sorted(word for who, word in rows if who == person)[: caps.rows]
        groups = list(dict.fromkeys((word >> shift) & mask for word in first))
        stay = groups[: caps.groups] if caps.groups else groups
        found += [word for word in first if (word >> shift) & mask in stay]
    return found


@pytest.mark.parametrize("lead", [0, 1, 4, 63])
@pytest.mark.parametrize("caps", [Caps(3, 2), Caps(5, 1), Caps(2), Caps(9, 4)], ids=str)
def test_every_tiny_table_keeps_what_it_should(monkeypatch, caps, lead):
    # Words of a group (one bit, then two) below one bit of hash: ties everywhere.
    monkeypatch.setattr(in_process, "_LEAD", lead)
    shift, mask = 58, 15
    words = [hash_ << 62 | group << 58 | 5 for hash_ in (0, 1) for group in (0, 3)]
    cases = [
        chosen
        for size in range(1, 5)
        for chosen in itertools.product([*words, words[0] + 1], repeat=size)
    ]
    rows = [(person, word) for person, case in enumerate(cases) for word in case]
    order = np.random.default_rng(3).permutation(len(rows))
    who, word = (np.array(each)[order] for each in zip(*rows, strict=True))
    found = in_process.kept_words(
        Rows(who, len(cases), {"_word": word}), caps, (shift, mask)
    )
    assert found.tolist() == oracle(rows, caps, shift, mask)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_rows(count):
    query = asked(people(3).slice(0, count))
    assert read(query) == read(query, own=False)


def test_counts_alone_and_keys_of_one_group():
    query = asked(people(4), n=hush.count())
    assert read(query) == read(query, own=False)
    data = hush.open(
        people(4), unit="who", rows=2, groups=1, budget=hush.Budget(epsilon=1)
    )
    whole = data.agg(n=hush.count(), s=hush.sum("x", bounds=(-1, 1)))
    assert [type(each) for each in whole.compiled.relations] == [SampledSums]
    assert read(whole) == read(whole, own=False)


def test_sums_beyond_64_bits_are_exact():
    who = np.arange(2**20)
    table = pyarrow.table({"who": who, "h": 0 * who, "x": np.full(2**20, 1e9)})
    query = asked(table, s=hush.sum("x", bounds=(0, 1e9)))
    row = read(query)[0,]
    assert row["_m0_sum"] == read(query, own=False)[0,]["_m0_sum"] > 2**63


@pytest.mark.thin(2)
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_replays_on_neighbors(neighbors, desk):
    # HAZARDS §3.2: sums of a sample, and cells of one that the engine keeps.
    def release(columns):
        data = hush.open(
            desk.lay(columns),
            unit="who",
            rows=3,
            groups=2,
            neighbors=neighbors,
            budget=hush.Budget(epsilon=1e6),
        )
        query = data.group_by("h", keys=range(3)).agg(
            n=hush.count(), m=hush.mean("x", (0, 30)), q=hush.median("x", (0, 30))
        )
        assert SampledSums in map(type, query.compiled.relations)
        return query.release(epsilon=20)

    pairs = 0
    for seed in (1, 2):
        for pair in neighbors_of(base(seed), unit="who", neighbors=neighbors, rows=200):
            found = replay(
                release, pair.data, pair.neighbor, released=lambda each: each.values
            )
            assert found.passed, f"{pair}: {found}"
            pairs += 1
    assert pairs >= 30


def test_a_sample_that_others_disturb_is_found(monkeypatch, desk):
    # The twin that must fail (HAZARDS S9): the smallest words of all people together.
    from hush.tables.bounding import in_process

    def first(rows, caps, group):
        return np.sort(rows.numbers["_word"])[: 10 * caps.rows]

    monkeypatch.setattr(in_process, "kept_words", first)
    with pytest.raises(AssertionError, match="passed"):
        test_replays_on_neighbors("add-remove", desk)


def test_public_types_and_numbers_decide():
    table = people(5)
    wide = {f"s{name}": hush.sum(name, bounds=(0, 10)) for name in ("x", "h")}
    assert [type(each) for each in asked(table, **wide).compiled.relations] == [Sums]
    assert [type(each) for each in asked(table, 9, 3).compiled.relations] == [Sums]
    assert [type(each) for each in asked(table, groups=None).compiled.relations] == [
        Sums
    ]
    everyone = asked(table, rows=1, groups=None, unit=None)
    assert [type(each) for each in everyone.compiled.relations] == [Sums]
    polars = ibis.polars.connect().create_table("t", table)
    assert [type(each) for each in asked(polars).compiled.relations] == [Sums]


def test_a_plan_says_where_rows_are_kept():
    query = asked(people(6))
    assert SampledSums.note in query.explain()
    assert '"_word"' in query.sql_text()
