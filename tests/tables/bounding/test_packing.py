"""Sorted words: what one person does to votes and counts, over all tiny tables."""

import itertools
from collections import Counter

import numpy as np
import pytest

from hush.mechanisms.partition_selection import vote
from hush.tables.bounding import packing as module
from hush.tables.bounding.contribution_bounds import UNIT
from hush.tables.bounding.packing import Rule, Words, mixed_words

BITS = 4


def marked(people, keys):
    return mixed_words(people.astype(np.uint64), keys.astype(np.uint64))


def tallied(rows, rule, mark=marked):
    """Votes and weights by key, of rows (person, key)."""
    listed = np.array([p << BITS | k for p, k in rows], dtype=np.int64)
    found = Words(listed, BITS, 1 << BITS, mark).votes_and_weights(rule)
    return tuple(Counter(dict(enumerate(map(int, each)))) for each in found)


def plain(counter):
    return {key: value for key, value in counter.items() if value}


def by_hand(rows, rule, mark=marked):
    """The definition, person by person, in Python integers."""
    votes, weights = Counter(), Counter()
    for person in {p for p, _ in rows}:
        held = Counter(k for p, k in rows if p == person)
        kept = set(held)
        if len(held) > rule.cap:
            hashes = {
                k: int(mark(np.array([person]), np.array([k]))[0]) >> 32 for k in held
            }
            edge = sorted(hashes.values())[rule.cap]
            kept = {k for k in held if hashes[k] < edge}
        mine = {k: n for k, n in held.items() if k in kept or not rule.cut}
        weight = UNIT * rule.rows // max(sum(mine.values()), rule.rows)
        for k in kept:
            votes[k] += 1 if rule.cap == 1 else vote(min(len(held), rule.cap))
        for k, n in mine.items():
            weights[k] += n * weight
    return plain(votes), plain(weights)


def agree(rows, rule, mark=marked):
    votes, weights = tallied(rows, rule, mark)
    assert (plain(votes), plain(weights)) == by_hand(rows, rule, mark)


def check_one_person(rows, rule, mark=marked):
    """One person adds their own part, and it is bounded."""
    everyone = tallied(rows, rule, mark)
    for person in {p for p, _ in rows}:
        own = tallied([row for row in rows if row[0] == person], rule, mark)
        rest = tallied([row for row in rows if row[0] != person], rule, mark)
        for all_of_them, mine, others in zip(everyone, own, rest, strict=True):
            assert plain(all_of_them) == plain(mine + others)
        whole = 1 if rule.cap == 1 else UNIT
        assert sum(v * v for v in own[0].values()) <= whole**2
        assert len(plain(own[0])) <= rule.cap
        assert sum(own[1].values()) <= rule.rows * UNIT
        if rule.cut:
            assert len(plain(own[1])) <= rule.cap


RULES = [
    Rule(cap, rows, cut)
    for cap in (1, 2, 3)
    for rows in (1, 2)
    for cut in (True, False)
]
LIGHT = [(p, k) for p in (0, 5) for k in range(3)]


@pytest.mark.thin(2)
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_every_tiny_table(rule):
    for size in range(1, 5):
        for rows in itertools.combinations_with_replacement(LIGHT, size):
            agree(rows, rule)
            check_one_person(rows, rule)


def crowd(seed, rows=300):
    generator = np.random.default_rng(seed)
    people = (generator.integers(0, 30, rows) ** 2 // 30).tolist()
    keys = (generator.integers(0, 16, rows) ** 2 // 16).tolist()
    return list(zip(people, keys, strict=True))


@pytest.mark.parametrize("rule", [*RULES, Rule(5, 7, cut=False)], ids=str)
def test_a_crowd(rule):
    for seed in range(3):
        agree(crowd(seed), rule)
        check_one_person(crowd(seed), rule)


@pytest.mark.parametrize("size", [1, 7, 50])
def test_blocks_change_nothing(monkeypatch, size):
    rule = Rule(3, 2, cut=True)
    whole = tallied(crowd(4), rule)
    monkeypatch.setattr(module, "_BLOCK", size)
    listed = np.array([p << BITS | k for p, k in crowd(4)], dtype=np.int64)
    blocks = Words(listed, BITS, 1 << BITS, marked)
    assert len(list(Words(np.sort(listed), BITS, 1, marked)._blocks())) > 4
    assert tuple(map(tuple, blocks.votes_and_weights(rule))) == tuple(
        tuple(each[k] for k in range(1 << BITS)) for each in whole
    )


def test_equal_marks_never_exceed_the_cap():
    def same(people, keys):
        return np.zeros(len(people), np.uint64)

    def halves(people, keys):
        return (keys % 2).astype(np.uint64) << np.uint64(63)

    rows = [(1, k) for k in range(9)] + [(2, 1)]
    assert plain(tallied(rows, Rule(4, 5, cut=True), same)[0]) == {1: UNIT}
    for mark in (same, halves):
        for rule in RULES:
            agree(rows, rule, mark)
            check_one_person(rows, rule, mark)


def test_votes_are_exact():
    found = Rule(100_000, 1, cut=False).votes
    assert found[1:].astype(int).tolist() == [vote(k) for k in range(1, 100_001)]


def test_a_mark_of_places_is_found():
    # The twin that must fail: which keys are kept depends on who else is there.
    def placed(people, keys):
        return mixed_words(
            (people - people.min()).astype(np.uint64), keys.astype(np.uint64)
        )

    with pytest.raises(AssertionError):
        check_one_person(crowd(1), Rule(2, 3, cut=False), placed)


def test_keeping_every_key_is_found(monkeypatch):
    # The twin that must fail: a heavy person votes for all of their keys.
    monkeypatch.setattr(Words, "_kept_keys", lambda _, person, *__: person >= 0)
    with pytest.raises(AssertionError):
        check_one_person([(1, k) for k in range(5)], Rule(2, 3, cut=False))
