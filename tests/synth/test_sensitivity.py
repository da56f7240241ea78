"""How far one person moves each question: by enumeration, for both relations."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from hush.audit.metric import lp
from hush.synth.marginal_queries import Columns, NextPair, Pairs, Person
from hush.synth.rows import Private
from hush.synth.spanning_forest import forest_of_choices
from hush.units import Neighbors

SIZES = (2, 2, 2)
CELLS = list(itertools.product(*map(range, SIZES)))
BOTH = list(Neighbors)
# Answers that a first step may have given, and choices that may have followed.
FIRST = [np.array([3, 1, 2, 2, 0, 4]), np.array([-7, 2, 0, 0, 1, -1])]
CHOICES = [(), (0,), (2,), (0, 1), (3, 0)]


def held(rows, weights=None):
    codes = [np.array([row[i] for row in rows], dtype=np.int64) for i in range(3)]
    return Private(SIZES, lambda: (codes, weights))


def neighbors(relation):
    """Yield all pairs of neighbors about a few tables, of no row, one and four."""
    for rows in ([], [CELLS[0]], [CELLS[5], CELLS[5], CELLS[2], CELLS[7]]):
        tables = {one: held([*rows, one]) for one in CELLS}
        if relation is Neighbors.ADD_REMOVE:
            yield from ((held(rows), table) for table in tables.values())
        else:
            yield from itertools.permutations(tables.values(), 2)


def questions(relation, norm):
    person = Person(neighbors=relation)
    first = Columns(SIZES, person, norm)
    yield first, ()
    between = NextPair(SIZES, person, first, (1.0, 1.0))
    last = Pairs(SIZES, person, norm)
    for answer, choices in itertools.product(FIRST, CHOICES):
        yield between, (answer, *choices)
        yield last, (answer, *choices, 3)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("relation", BOTH, ids=str)
def test_no_neighbors_are_farther_apart_than_is_stated_and_some_are_as_far(
    relation, norm
):
    reached = Counter()
    pairs = list(neighbors(relation))
    for question, earlier in questions(relation, norm):
        scores = isinstance(question, NextPair)
        for one, two in pairs:
            a, b = question(one, earlier), question(two, earlier)
            assert a.shape == b.shape
            moved = np.abs(a - b)
            power = 1 if scores else norm
            apart = int(moved.max() if scores else (moved**power).sum())
            assert apart <= Fraction(question.sensitivity) ** power, (question, earlier)
            kind = type(question)
            reached[kind] = max(reached[kind], apart ** (1 / power))
    person = Person(neighbors=relation)
    assert reached[Columns] == pytest.approx(float(person.tables(3, norm=norm)))
    assert reached[Pairs] == pytest.approx(float(person.tables(2, norm=norm)))
    assert reached[NextPair] == person.tables(1, norm=1)


@pytest.mark.parametrize("relation", BOTH, ids=str)
def test_people_with_many_weighted_rows_move_no_more_than_their_weight(relation):
    rng = np.random.default_rng(0)
    person = Person(rows=2, whole=10, neighbors=relation)
    asked = [(Columns(SIZES, person, norm), (), norm) for norm in (1, 2)] + [
        (Pairs(SIZES, person, norm), (FIRST[0], 0, 1), norm) for norm in (1, 2)
    ]
    scored = NextPair(SIZES, person, asked[0][0], (1.0, 1.0))

    def own():
        count = rng.integers(1, 6)
        rows = [CELLS[i] for i in rng.integers(0, len(CELLS), count)]
        return rows, [int(20 // count)] * count  # adds up to at most 2·10

    for _ in range(40):
        others, weights = own()
        sides = [own(), own() if relation is Neighbors.REPLACE_ONE else ([], [])]
        one, two = (
            held([*others, *rows], np.array([*weights, *more])) for rows, more in sides
        )
        for question, earlier, norm in asked:
            apart = lp(question(one, earlier), question(two, earlier), norm)
            assert apart.within(question.sensitivity)
        apart = lp(scored(one, (FIRST[0],)), scored(two, (FIRST[0],)), float("inf"))
        assert apart.within(scored.sensitivity)


def test_roots_are_rounded_up_and_hardly():
    for tables in range(1, 40):
        for relation in BOTH:
            person = Person(rows=3, whole=1 << 20, neighbors=relation)
            both = 2 if relation is Neighbors.REPLACE_ONE else 1
            exact = both * tables * (3 << 20) ** 2
            found = Fraction(person.tables(tables, norm=2))
            assert exact <= found**2 <= exact * (1 + Fraction(1, 1 << 30))


def test_the_candidates_follow_from_released_choices_alone():
    between = NextPair(SIZES, Person(), Columns(SIZES, Person(), 2), (1.0, 1.0))
    assert between.candidates((FIRST[0],)) == ((0, 1), (0, 2), (1, 2))
    assert between.candidates((FIRST[0], 0)) == ((0, 2), (1, 2))
    assert between.candidates((FIRST[0], 3)) == ()  # to stop
    assert between(held(CELLS), (FIRST[0], 3)).tolist() == [0]
    assert forest_of_choices(3, (3, 0)).edges == ()


def test_places_that_are_left_over_go_to_lone_columns():
    last = Pairs(SIZES, Person(), 2)
    assert last.asked((FIRST[0], 0, 0)) == ((0, 1), (0, 2))
    assert last.asked((FIRST[0], 0, 2)) == ((0, 1), (2,))
    assert last.asked((FIRST[0], 3, 0)) == ((0,), (1,))


def test_a_score_is_what_a_pair_tells_beyond_its_columns():
    rows = [(0, 0, 0), (1, 1, 0)] * 500
    first = Columns(SIZES, Person(), 2)
    between = NextPair(SIZES, Person(), first, (1.0, 1.0))
    answer = first(held(rows), ())
    scores = between(held(rows), (answer,))
    assert scores[0] > 900  # of at most 1000, less what little noise does
    assert scores[1] <= 0
    assert scores[2] <= 0
    noisy = NextPair(SIZES, Person(), first, (1.0, 1e6))
    assert noisy(held(rows), (answer,))[0] < scores[0] - 200
