"""Pictures show what the values say, on the axes they are given."""

import subprocess
import sys

import numpy as np
import pyarrow
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import hush
from hush import plots
from hush.errors import InvalidArgument
from hush.mechanisms import Gaussian, Geometric, Laplace
from hush.noise import Seeded
from hush.plots.style import COLORS, DASHES, line_styles
from hush.privacy import GDP, ZCDP, Approx, Pure, repeat


@pytest.fixture
def data():
    table = pyarrow.table(
        {"id": range(600), "r": ["a", "b", "c"] * 200, "x": [1.0, 2, 4] * 200}
    )
    ledger = hush.Ledger.open(
        "memory://", budget=hush.Budget(epsilon=4), dataset="data"
    )
    return hush.open(table, unit="id", rows=1, ledger=ledger)


def by(data):
    return data.group_by("r", keys=["a", "b", "nobody at all"]).agg(
        n=hush.count(), x=hush.mean("x", bounds=(0, 5))
    )


def audited():
    from hush.audit import audit

    return audit(Laplace(1.0), 0, 1, claim=Pure(1.0), samples=400, source=Seeded(1))


def every(data):
    """Return each kind of picture as a function of axes."""
    curves = (Pure(1.0), GDP(1.0), ZCDP(0.1), Approx(0.5, 0.1))
    answer = by(data).release(epsilon=1)
    return {
        "tradeoff": lambda axes=None: plots.tradeoff(*curves, axes=axes),
        "profile": lambda axes=None: plots.profile(*curves, axes=axes),
        "budget": lambda axes=None: plots.budget(data.ledger, axes=axes),
        "release": lambda axes=None: plots.release(answer, axes=axes),
        "error": lambda axes=None: plots.error(by(data), axes=axes),
        "mechanisms": lambda axes=None: plots.error(
            Laplace, Geometric, sensitivity=1, axes=axes
        ),
        "audit": lambda axes=None: plots.audit(audited(), axes=axes),
    }


NAMES = ["tradeoff", "profile", "budget", "release", "error", "mechanisms", "audit"]


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_drawn_on_the_axes_it_is_given(data, name):
    axes = Figure().add_subplot()
    assert every(data)[name](axes) is axes
    assert axes.get_xlabel()


@pytest.mark.parametrize("name", NAMES)
def test_texts_do_not_overlap_and_stay_inside(data, name):
    axes = every(data)[name]()
    figure = axes.figure
    FigureCanvasAgg(figure).draw()
    inside = figure.bbox
    for axis in (axes.xaxis, axes.yaxis):
        boxes = [t.get_window_extent() for t in axis.get_ticklabels() if t.get_text()]
        low, high = sorted(axis.get_view_interval())
        places = [t for t in axis.get_ticklocs() if low <= t <= high]
        assert len(places) >= 1
        shown = [b for b in boxes if b.width and inside.overlaps(b)]
        for i, one in enumerate(shown):
            assert not any(one.overlaps(two) for two in shown[:i])
    for text in (axes.xaxis.label, axes.yaxis.label, axes.title, *axes.texts):
        if text.get_text():
            box = text.get_window_extent()
            assert box.x0 >= -1
            assert box.y0 >= -1
            assert box.x1 <= inside.x1 + 1
            assert box.y1 <= inside.y1 + 1


SAVED = [(name, "svg") for name in NAMES] + [("release", "png"), ("profile", "pdf")]


@pytest.mark.thin(3)
@pytest.mark.thin(4)
@pytest.mark.parametrize(("name", "kind"), SAVED)
def test_a_saved_picture_has_the_same_bytes_again(data, tmp_path, name, kind):
    draw = every(data)[name]
    one = plots.save(draw(), tmp_path / f"one.{kind}").read_bytes()
    assert plots.save(draw(), tmp_path / f"two.{kind}").read_bytes() == one


def test_tradeoff_and_profile_draw_the_curves_bounds():
    curve = repeat(Pure(0.3), times=5)
    line = plots.tradeoff(curve).lines[-1]
    drawn, exact = line.get_ydata()[::10], curve.tradeoff_at(line.get_xdata()[::10])
    assert (drawn <= exact + 1e-12).all()
    assert (drawn >= exact - 2e-3).all()  # a fifth of a pixel
    line = plots.profile(curve, most=1.0).lines[-1]
    np.testing.assert_allclose(
        line.get_ydata(), curve.delta_at(line.get_xdata()), rtol=0
    )


def test_a_release_is_drawn_with_its_intervals(data):
    answer = by(data).release(epsilon=1)
    axes = answer.plot("x", level=0.9)
    low, high = answer.interval(0.9)["x"]
    drawn = np.array([s[:, 0] for s in axes.collections[0].get_segments()])
    np.testing.assert_allclose(drawn, np.column_stack([low, high]))
    np.testing.assert_allclose(axes.lines[0].get_xdata(), answer.values["x"])
    labels = [each.get_text() for each in axes.get_yticklabels()]
    assert labels == ["a", "b", "nobody at all"]
    assert axes.get_xlabel() == "x, with 90% intervals"


def test_a_plain_release_is_drawn(data):
    ledger = hush.Ledger.open("memory://", budget=hush.Budget(epsilon=2))

    class Visits:
        sensitivity, unit, neighbors, bounds = 1, "person", "add-remove", None

        def __call__(self, data):
            return data

    found = ledger.release(Laplace(scale=2.0), Visits(), np.array([5.0, 7.0]))
    axes = found.plot(level=0.95)
    low, high = found.interval(0.95)
    drawn = np.array([s[:, 0] for s in axes.collections[0].get_segments()])
    np.testing.assert_allclose(drawn, np.column_stack([low, high]))


def test_what_is_left_is_written_beside_the_line():
    ledger = hush.Ledger.open("memory://", budget=hush.Budget(epsilon=2))
    for _ in range(12):  # small steps: the line is near its end all along
        ledger.charge(Pure(epsilon=0.02))
    axes = plots.budget(ledger)
    canvas = FigureCanvasAgg(axes.figure)
    canvas.draw()
    (label,) = (each for each in axes.texts if "left" in each.get_text())
    box = label.get_window_extent(canvas.get_renderer())
    assert box.x0 > axes.bbox.x1  # the line ends where the axes do
    assert box.x1 <= axes.figure.bbox.x1


def test_the_budget_goes_down_to_what_is_left(data):
    for epsilon in (0.5, 0.25, 1.0):
        data.agg(n=hush.count()).release(epsilon=epsilon)
    line = plots.budget(data.ledger).lines[0]
    assert list(line.get_ydata()) == pytest.approx([4, 3.5, 3.25, 2.25, 2.25])
    assert data.budget.epsilon == pytest.approx(line.get_ydata()[-1])


def test_raised_and_voided_amounts_are_followed():
    ledger = hush.Ledger.open("memory://", budget=hush.Budget(epsilon=1), dataset="d")

    class Count:
        sensitivity, unit, neighbors, bounds = 1, "person", "add-remove", None

        def __call__(self, data):
            return data

    ledger.hold(Laplace(scale=2.0), Count(), key="held")
    ledger.void("held", reason="a test")
    ledger.raise_budget(hush.Budget(epsilon=3), dataset="d")
    ledger.charge(Pure(1.0), notes={"unit": "person", "neighbors": "add-remove"})
    line = plots.budget(ledger, "dataset:d").lines[0]
    assert line.get_ydata()[-1] == pytest.approx(2)


def test_error_is_that_of_plans_and_of_mechanisms(data):
    query = by(data)
    lines = {each.get_label(): each for each in plots.error(query, cell=500).lines}
    epsilon = float(lines["n"].get_xdata()[3])
    planned = query.plan(epsilon, cell=500).error
    assert lines["n"].get_ydata()[3] == pytest.approx(planned["n"])
    assert lines["x"].get_ydata()[3] == pytest.approx(planned["x"])
    axes = plots.error(Gaussian, epsilons=[0.5, 1], delta=1e-6, sensitivity=1)
    expected = Gaussian.for_epsilon(1, 1, delta=1e-6).error.interval(0.95)[1]
    assert axes.lines[0].get_ydata()[1] == pytest.approx(expected)


def test_lines_differ_in_colour_and_in_print():
    found = [(each["color"], each["linestyle"]) for each in line_styles(6)]
    assert len({color for color, _ in found}) == 6
    assert len({str(dash) for _, dash in found}) == 6
    assert len(set(COLORS)) == len(DASHES) == 6
    # In grey, neighbors differ in lightness or in their dashes.
    grey = [sum(int(c[i : i + 2], 16) for i in (1, 3, 5)) for c in COLORS]
    assert len(set(grey)) == 6


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda _: plots.tradeoff(), "at least one curve"),
        (lambda _: plots.tradeoff(Pure(1.0), labels=["a", "b"]), "labels must be 1"),
        (lambda _: plots.profile(Pure(1.0), most=-1), "most must be"),
        (lambda _: plots.error(), "a query or a mechanism"),
        (lambda _: plots.bars(["a"], [1, 2]), "one number per label"),
        (lambda _: plots.bars(list(range(99)), list(range(99))), "too many"),
        (lambda d: plots.budget(d.ledger, "dataset:x"), "account must be one of"),
        (lambda d: by(d).release(epsilon=1).plot("nope"), "must be one of n, x"),
        (lambda d: by(d).release(epsilon=1).plot(level=2), "level must be"),
        (lambda _: plots.save(plots.tradeoff(Pure(1.0)), "x.gif"), ".png, .svg, .pdf"),
    ],
    ids=list("abcdefghij"),
)
def test_what_cannot_be_drawn_is_refused(data, draw, words):
    with pytest.raises(InvalidArgument, match=words.replace(".", r"\.")):
        draw(data)


def test_plots_load_matplotlib_only_when_something_is_drawn():
    code = "import hush.plots, sys; print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_a_histogram_is_drawn_cell_by_cell():
    table = {"id": range(100), "age": [30, 40] * 50, "ward": ["a", "b"] * 50}
    data = hush.open(table, unit="id", rows=1, budget=hush.Budget(epsilon=10))
    shape = {"shape": hush.histogram("age", edges=[0, 35, 70])}

    def ticks(asked):
        drawn = asked.agg(**shape).release(epsilon=1).plot()
        return [label.get_text() for label in drawn.get_yticklabels()]

    assert ticks(data) == ["0 to 35", "35 to 70"]
    assert ticks(data.group_by("ward", keys=["a"])) == ["a: 0 to 35", "a: 35 to 70"]


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: plots.tradeoff([GDP(1.0), Pure(1.0)]), r"got a list.*\*curves"),
        (lambda: plots.profile(1.0), "only a curve"),
        (lambda: plots.error("laplace"), "Laplace itself"),
        (lambda: plots.audit(GDP(1.0)), "only an audit"),
        (lambda: plots.budget("memory://"), "data.ledger"),
        (lambda: plots.release(3.0), "plots.bars"),
        (lambda: plots.bars(["a"], ["b"]), "values must be numbers"),
        (lambda: plots.bars(3, [1.0]), "labels must be a list"),
        (lambda: plots.bars(["a"], [1.0], [0.0, 0.0], [2.0, 2.0]), "per label"),
        (lambda: plots.save(3, "a.png"), "Draw first"),
        (lambda: plots.save(plots.tradeoff(GDP(1.0)), 3), "path"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_wrong_kind_is_refused_with_a_way_out(draw, said):
    with pytest.raises(InvalidArgument, match=said):
        draw()


def test_curves_that_print_alike_are_all_drawn():
    alike = [hush.privacy.Tradeoff(lambda a, s=s: (1 - a) ** s) for s in (2, 3)]
    assert len({repr(each) for each in alike}) == 1
    _, labels = plots.tradeoff(*alike).get_legend_handles_labels()
    assert labels == ["Tradeoff(<lambda>)", "Tradeoff(<lambda>) (2)"]


def test_an_audit_looks_like_the_other_pictures():
    for axes in (audited().plot(), plots.audit(audited())):
        assert not axes.get_title()
        assert not axes.spines["top"].get_visible()
        assert not axes.spines["right"].get_visible()
        like = plots.tradeoff(GDP(1.0)).figure
        assert tuple(axes.figure.get_size_inches()) == tuple(like.get_size_inches())
        assert axes.figure.dpi == like.dpi
        assert "not refuted, p = " in axes.get_legend_handles_labels()[1][1]


def test_a_posterior_is_drawn_with_its_interval():
    from scipy import stats

    from hush.inference import CountModel, PoissonMoments, ShareModel
    from hush.inference import posterior as infer
    from hush.noise import Seeded

    noise = Geometric(scale=1)
    share = infer(4, ShareModel(n=9), stats.beta(2, 2), mechanism=noise)
    axes = share.plot(level=0.9)
    assert axes.get_xlabel() == "share, with its 90% interval"
    x, y = axes.lines[0].get_data()
    assert np.trapezoid(y, x) == pytest.approx(1, abs=0.01)
    count = infer(4, CountModel(), stats.poisson(5), mechanism=noise)
    heights = [bar.get_height() for bar in count.plot().patches]
    assert sum(heights) == pytest.approx(1, abs=0.01)
    draws = infer(
        4,
        PoissonMoments(n=2, most=3),
        {"rate": stats.gamma(2)},
        mechanism=noise,
        chains=6,
        warmup=2,
        draws=24,
        source=Seeded(1),
    )
    assert draws.plot("rate").get_xlabel() == "rate, with its 95% interval"
    with pytest.raises(InvalidArgument, match="name"):
        plots.posterior(draws)
    with pytest.raises(InvalidArgument, match="name"):
        plots.posterior(share, "share")
    with pytest.raises(InvalidArgument, match="only a posterior"):
        plots.posterior(3)
