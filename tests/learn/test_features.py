"""Rows and targets: total, bounded, one person at a time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.errors import InvalidArgument
from hush.learn.features import Ball, Box, numbers, shape
from hush.learn.targets import Classes, Response

ODD = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0, 1.0, -2.5]


@given(
    st.lists(st.lists(st.sampled_from(ODD), min_size=3, max_size=3), min_size=1),
    st.sampled_from([1e-200, 1e-3, 1.0, 1e100]),
    st.booleans(),
)
def test_s13_rows_stay_inside_their_bounds(rows, norm, intercept):
    ball = Ball(norm, intercept)
    mapped = ball.map(rows) / norm
    assert np.linalg.norm(mapped, axis=1).max() <= ball.bound() / norm
    box = Box.of((-1.0, 3.0), 3, intercept=intercept)
    assert np.abs(box.map(rows)).max() <= 1
    for rule in (ball, box):
        mapped = rule.map(rows)
        for row, found in zip(rows, mapped, strict=True):
            if not np.isfinite(row).all():
                assert not found.any()
            assert (rule.map([row])[0] == found).all()  # no row sees another


def test_long_rows_of_a_box_are_shortened():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-2, 2, (500, 6))
    box = Box.of((-1, 1), 6, intercept=True, reach=1.5)
    mapped = box.map(rows)
    assert np.linalg.norm(mapped[:, :-1], axis=1).max() <= 1.5 * (1 + 1e-12)
    assert np.linalg.norm(mapped, axis=1).max() <= box.length(6)
    assert box.length(6) == pytest.approx(math.sqrt(1.5**2 + 1))
    wide = Box.of((-1, 1), 6, intercept=True).map(rows)
    short = np.linalg.norm(wide[:, :-1], axis=1) <= 1.5
    assert 0 < short.sum() < 500
    assert (mapped[short] == wide[short]).all()
    assert mapped[0] @ wide[0] > 0  # the direction is kept


def test_short_rows_are_kept():
    rows = np.array([[0.3, -0.4], [0.0, 0.0]])
    mapped = Ball(1.0, intercept=False).map(rows)
    assert mapped == pytest.approx(rows, abs=1e-15)


def test_v4_no_value_raises():
    rows = [[1.0, "x"], [None, 2.0], [3.0, 10**400], [1.0, 1.0]]
    for rule in (Ball(1.0), Box.of((0, 1), 2, intercept=True)):
        mapped = rule.map(rows)
        assert not mapped[:3].any()
        assert mapped[3].any()
    _, without = Classes((0, 1)).map([0, "a", None, 1])
    assert without.tolist() == [False, True, True, False]
    assert Response((0, 1)).map([0.5, None, "a", math.inf])[0].tolist() == [0, 0, 0, 1]


def test_v5_an_unknown_class_changes_no_domain():
    y, without = Classes((0, 1)).map(np.array([0, 1, 9]))
    assert y.tolist() == [-1, 1, -1]
    assert without.tolist() == [False, False, True]
    y, without = Classes((0, 1, 2), positive=2).map(np.array([0, 1, 2, 9]))
    assert y.tolist() == [-1, -1, 1, -1]
    assert without.tolist() == [False, False, False, True]
    for names in [(0,), (0, 0), (0, 1, 0)]:
        with pytest.raises(InvalidArgument, match="two different"):
            Classes(names)


@pytest.mark.parametrize("rule", [Ball(2.0), Box.of((0, [4, 9]), 2, intercept=True)])
def test_coefficients_are_those_of_the_columns_as_given(rule):
    rows = np.array([[0.5, 1.0], [1.5, 0.25]])
    theta = np.array([0.5, -2.0, 0.75])
    slopes, constant = rule.unmap(theta)
    assert rows @ slopes + constant == pytest.approx(rule.map(rows) @ theta)


def test_v6_bounds_are_needed_and_sane():
    with pytest.raises(InvalidArgument, match="pair"):
        Box.of(3, 2, intercept=True)
    with pytest.raises(InvalidArgument, match="lower <= upper"):
        Box.of((1, 0), 2, intercept=True)
    with pytest.raises(InvalidArgument, match="finite"):
        Box.of((0, math.inf), 2, intercept=True)
    with pytest.raises(InvalidArgument, match="one per column"):
        Box.of(([0, 0, 0], 1), 2, intercept=True)
    for pairs in (
        [(18, 90), (20, 200)],
        [[18, 90], [0, 1e5]],
        ((-1, 1), (-1, 1)),
    ):  # of two columns, read as lower ends and upper ends they would be other bounds
        with pytest.raises(InvalidArgument, match=r"tuple\(zip\(\*pairs\)\)"):
            Box.of(pairs, 2, intercept=True)
    assert Box.of(tuple(zip(*[(18, 90), (20, 200)], strict=True)), 2, intercept=True)
    flat = Box.of((1, 1), 1, intercept=False)
    assert flat.map([[5.0], [0.0]]).tolist() == [[0.0], [0.0]]


def test_shapes_are_read_without_values():
    from scipy import sparse

    assert shape([[1, 2], [3, 4]]) == (2, 2)
    with pytest.raises(InvalidArgument, match="two dimensions"):
        shape([1, 2])
    for bad in (np.zeros((0, 2)), np.zeros((2, 0))):
        with pytest.raises(InvalidArgument, match="empty"):
            shape(bad)
    with pytest.raises(InvalidArgument, match="sparse"):
        shape(sparse.eye(3))
    with pytest.raises(InvalidArgument, match="real"):
        shape(np.zeros((2, 2), dtype=complex))


STRANGE = [
    *(0, 1, True, 2.5, 2**53 + 1, 10**400, 1 + 2j, None, "1", "x", b"1"),
    *(np.float32(0.1), np.complex64(1), np.str_("3"), np.bool_(1), object()),
    *(np.datetime64("2020-01-01"), np.timedelta64(5, "s")),
]


def test_values_are_read_one_by_one():
    # In one array NumPy gives all values of a list one type: a word makes words.
    alone = [numbers([each])[0] for each in STRANGE]
    for each, found in zip(STRANGE, alone, strict=True):
        for other in STRANGE:
            together = numbers([each, other])
            np.testing.assert_array_equal(together[0], found)
    assert np.isnan(alone[-2:]).all()  # a date is no number, in whatever company


@pytest.mark.parametrize("names", [(0, 1), (2**53, 2**53 + 1), ("x", "1"), (0.5, None)])
def test_labels_are_read_one_by_one(names):
    rule = Classes(names)
    for each in (*names, *STRANGE):
        found = rule.places([each])[0]
        for other in STRANGE:
            assert rule.places([each, other])[0] == found
            assert rule.map([each, other])[1][0] == (found < 0)
