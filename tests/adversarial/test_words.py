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


LINES = {
    "an ending of another system": b"900,3,a\r\n",
    "a carriage return inside": b"900,3,a\rb\n",
    "several of them": b"900\r,3\r,\r\n",
    "text behind a closed quote": b'900,3,"a"b\n',
    "too few fields": b"900,3\n",
    "too many fields": b"900,3,z,z\n",
    "bytes that are no text": b"900,3,caf\xe9\n",
    "a quote inside": b'900,3,a"b\n',
    "nothing": b"\n",
}


@pytest.mark.thin(5)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("line", LINES)
def test_one_line_of_a_csv_file_is_one_line(tmp_path, line, ending):
    lines = [b"%d,%d,z" % (i, i % 7) + ending for i in range(200)]
    lines.insert(100, LINES[line])
    path = tmp_path / "t.csv"
    path.write_bytes(b"u,x,t" + ending + b"".join(lines))
    data = hush.open(path, types={"x": "number"}, budget=hush.Budget(epsilon=1e9))
    asked = (
        data.agg(n=hush.count()),
        data.where("x >= 0").agg(n=hush.count()),
        data.where("t >= ''").agg(n=hush.count()),
    )
    # Noise of a half or more has a chance of e^-500.
    found = [round(each.release(epsilon=1000)["n"][0]) for each in asked]
    assert 200 <= found[0] <= 202  # a carriage return may end a line
    assert all(each <= found[0] for each in found)
    assert min(found) >= 200
