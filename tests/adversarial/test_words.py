"""Attempts to make a refusal repeat data that stands in the place of something else."""

import numpy as np
import pytest

import hush
from hush.errors import HushError
from hush.mechanisms import Laplace
from hush.privacy import GDP

SECRET = 8123456789.5
DATA = np.full(40, SECRET)
BOTH = (DATA, DATA)  # as (X, y) is
BUDGET = hush.Budget(epsilon=9)
TABLE = {"u": [1, 2], "x": [1.0, 2.0]}


def asked(**more):
    return hush.open(TABLE, budget=BUDGET, **more).agg(n=hush.count())


MISTAKES = {
    "a pair as epsilon": lambda: hush.Budget(epsilon=BOTH),
    "a pair as rows": lambda: asked(unit="u", rows=BOTH),
    "a pair as unit": lambda: asked(unit=BOTH),
    "an array as neighbors": lambda: asked(neighbors=DATA),
    "a list as key": lambda: asked().release(1, key=DATA.tolist()),
    "a pair as width": lambda: asked().plan(within={"n": BOTH}),
    "a pair as scale": lambda: Laplace(scale=BOTH),
    "a pair as edges": lambda: hush.histogram("x", edges=[BOTH, DATA]),
    "lists of a curve": lambda: GDP(mu=1.0).delta_at([DATA.tolist(), "text"]),
    "texts of a curve": lambda: GDP(mu=1.0).delta_at(DATA.astype(str)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_refusal_does_not_repeat_data_that_is_in_the_wrong_place(mistake):
    with pytest.raises(HushError) as refusal:
        MISTAKES[mistake]()
    assert "8123456789" not in str(refusal.value)


def test_a_file_whose_first_line_is_no_header_is_refused_without_its_words(tmp_path):
    (tmp_path / "t.csv").write_text("8123456789" * 20_000 + ",y\n1,2\n")
    with pytest.raises(HushError, match="too long for a name") as refusal:
        hush.open(tmp_path / "t.csv", budget=BUDGET)
    assert "8123456789" not in str(refusal.value)
    with pytest.raises(HushError) as refusal:
        hush.open(tmp_path / "t.csv", budget=BUDGET, types={"x": BOTH})
    assert "8123456789" not in str(refusal.value)
