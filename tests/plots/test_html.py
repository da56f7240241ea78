"""What a notebook shows: HTML that is well formed, escaped, and tells the numbers."""

from html.parser import HTMLParser

import pyarrow
import pytest
from registry import every_mechanism

import hush
from hush import mechanisms, privacy
from hush.display import facts, grid, if_known
from hush.errors import NoBound

VOID = {"br", "meta", "img"}


class Cells(HTMLParser):
    """A reader that refuses tags which are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.cells, self.rows = [], [], 0
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
        self.open.append(tag)
        self.rows += tag == "tr"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.cells.append(data)


def data():
    table = pyarrow.table({"id": range(100), "r": ["<b>a</b>", "c&d"] * 50})
    return hush.open(table, unit="id", rows=1, budget=hush.Budget(epsilon=2))


CURVES = [
    privacy.Pure(epsilon=1.0),
    privacy.Approx(epsilon=1.0, delta=1e-6),
    privacy.ZCDP(rho=0.1),
    privacy.GDP(mu=1.0),
    privacy.repeat(privacy.poisson(privacy.GDP(mu=1.0), rate=0.01), times=100),
]
CASES = every_mechanism()


@pytest.mark.parametrize("curve", CURVES, ids=["pure", "approx", "zcdp", "gdp", "sgd"])
def test_a_curve_tells_its_bounds(curve):
    cells = Cells(curve._repr_html_()).cells
    assert cells[0] == repr(curve)
    assert f"{curve.epsilon_at(1e-5):.6g}" in cells


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_a_mechanism_tells_its_fields_privacy_and_error(case):
    cells = Cells(case.mechanism._repr_html_()).cells
    assert cells[0] == type(case.mechanism).__name__
    assert "curve at sensitivity 1" in cells


def test_a_mechanism_tells_its_error():
    cells = Cells(mechanisms.Laplace(scale=2.0)._repr_html_()).cells
    low, high = mechanisms.Laplace(scale=2.0).error.interval(0.95)
    assert f"{low:.6g} to {high:.6g}" in cells


def test_budgets_tell_what_is_left():
    found = data()
    found.agg(n=hush.count()).release(epsilon=0.5)
    cells = Cells(found.budget._repr_html_()).cells
    assert "epsilon 1.5" in cells
    assert "epsilon 0.5" in cells
    cells = Cells(hush.Budget(rho=0.5)._repr_html_()).cells
    assert cells[0] == "Budget(rho=0.5)"


def test_an_answer_is_a_table_whose_keys_are_escaped():
    query = data().group_by("r", keys=["<b>a</b>", "c&d"]).agg(n=hush.count())
    answer = query.release(epsilon=1)
    text = answer._repr_html_()
    read = Cells(text)
    assert read.rows == 3
    assert "&lt;b&gt;a&lt;/b&gt;" in text
    for name in ("r", "n", "n_low", "n_high"):
        assert name in read.cells
    assert str(answer.receipt) in read.cells[0]


def test_a_sorted_answer_shows_its_own_rows():
    answer = data().sql(
        "SELECT r, COUNT(*) AS n FROM data GROUP BY r ORDER BY n LIMIT 1",
        epsilon=1,
        keys={"r": ["c&d", "nobody"]},
    )
    read = Cells(answer._repr_html_())
    assert read.rows == 2
    assert "nobody" in read.cells
    labels = [each.get_text() for each in answer.plot().get_yticklabels()]
    assert labels == ["nobody"]


def test_a_release_is_a_table():
    answer = data().agg(n=hush.count()).release(epsilon=1)
    cells = Cells(answer.release._repr_html_()).cells
    assert "Release" in cells
    assert "secure" in cells


def test_every_text_is_escaped_and_the_unknown_is_a_dash():
    assert "<script>" not in facts("<script>", [("<script>", "<script>")])
    assert "<script>" not in grid("<script>", ["<script>"], [["<script>"]])

    def unknown():
        raise NoBound("none")

    assert if_known(unknown) == "–"
    assert if_known(lambda: 2.0, "{:.1f}".format) == "2.0"
