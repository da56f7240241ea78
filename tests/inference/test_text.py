"""What results print: sentences, and one line per number where there are many."""

import numpy as np

from hush.inference import (
    Interval,
    Test,
    confidence_set,
    consistent,
    fit_test,
    independence_test,
    tree,
)
from hush.mechanisms import Geometric
from hush.noise import Seeded


def test_a_test_prints_as_a_sentence():
    found = Test(statistic=11.672, p_value=0.0042, alternative="two-sided")
    assert str(found) == "statistic 11.67, p = 0.0042 (two-sided)"


def test_a_chi_square_test_has_no_sides():
    noise = Geometric(scale=1)
    asked = {"n": 300, "mechanism": noise, "draws": 19, "source": Seeded(1)}
    assert str(independence_test([[90, 60], [50, 100]], **asked)).endswith(
        "p = 0.05 (dependence)"
    )
    assert "(other shares)" in str(fit_test([130, 90, 80], [1, 1, 1], **asked))


def test_many_numbers_print_one_line_each():
    design = tree(4)
    found = consistent(design @ [40.0, 3, 0, 12], design, std=1.0)
    lines = str(found).splitlines()
    assert len(lines) == 8
    assert lines[0].split() == ["estimate", "from", "to", "(95%)"]
    low, high = found.interval(0.95)
    assert lines[7].split() == ["12", f"{low[6]:.4g}", f"{high[6]:.4g}"]


def test_very_many_numbers_are_counted():
    found = Interval(np.arange(50.0), std=1.0, effective=np.nan, level=0.9)
    lines = str(found).splitlines()
    assert len(lines) == 22
    assert lines[-1] == "... and 30 more"
    assert "nan" not in str(found)


def test_a_confidence_set_prints_its_range():
    def near(theta, source):
        return theta + float(source.integers(1, bits=20)[0]) / 2**20 - 0.5

    found = confidence_set(3.0, candidates=[1.0, 3.0, 5.0], simulate=near)
    assert str(found) == "from 1 to 5, 1 of 3 candidates accepted (95%)"
    named = confidence_set(
        3.0, candidates=[(1.0, 0.0)], simulate=lambda t, s: near(t[0], s)
    )
    assert str(named) == "0 of 1 candidates accepted (95%)"
