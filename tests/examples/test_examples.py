"""Every example runs as a stranger would run it, and comes out as it says."""

import os
import runpy
import subprocess
import sys

import numpy as np
import pytest

NAMES = ["census", "collection", "leaderboard", "posted_price", "salaries", "synthetic"]
ALONE = ["training"]  # has a test of its own: it needs an extra
IBIS = ["-W", "ignore:fetch_arrow_table:DeprecationWarning"]  # Ibis 12 on DuckDB 2


@pytest.fixture
def load(root):
    return lambda name: runpy.run_path(str(root / "examples" / f"{name}.py"))


def test_every_example_is_here(root):
    found = [p.stem for p in (root / "examples").glob("*.py")]
    assert sorted(found) == sorted(NAMES + ALONE)


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_from_an_empty_folder(root, tmp_path, name):
    run_it(root, tmp_path, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_repeats(root, tmp_path, name):
    first, second = (run_it(root, tmp_path, name) for _ in range(2))
    assert first == second


def run_it(root, tmp_path, name):
    """Return what an example prints, apart from the times of what it paid."""
    script = root / "examples" / f"{name}.py"
    assert len(script.read_text().splitlines()) <= 130  # a page and a half
    done = subprocess.run(
        [sys.executable, "-W", "error", *IBIS, str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    lines = [each for each in done.stdout.splitlines() if not each.startswith("paid:")]
    assert 4 <= len(lines) <= 30
    assert not done.stderr
    assert not list(tmp_path.iterdir())
    return lines


def test_the_posted_price_survives_only_the_exponential_mechanism(load):
    page = load("posted_price")
    limits, runs = np.full(1_000, 10.0), range(200)
    source = page["Seeded"](1)
    top = page["takings"](limits, [page["best"](limits)])
    assert top == 10_000
    noisy = [page["noisy_price"](limits, source) for _ in runs]
    chosen = [page["chosen_price"](limits, source) for _ in runs]
    tiny = page["Laplace"](scale=0.01)
    cents = [tiny.run(10.0, source=source) for _ in runs]
    assert page["takings"](limits, noisy) < 0.3 * top
    assert 0.35 * top < page["takings"](limits, cents) < 0.65 * top
    assert page["takings"](limits, chosen) > 0.98 * top
    gap = page["exponential_gap"](len(page["PRICES"]), 2.0, page["TOP"])
    assert top - page["takings"](limits, chosen) < gap


def test_one_bidder_moves_the_best_price_far(load):
    page = load("posted_price")
    # 20 bidders at 1 and one at 20: a tie, which one more bidder breaks either way.
    limits = np.array([1.0] * 20 + [20.0])
    low = page["best"](np.append(limits, 1.0))
    high = page["best"](np.append(limits, 20.0))
    assert (low, high) == (1.0, 20.0)


def test_revenue_moves_with_one_bidder_as_the_mechanism_is_told(load):
    page = load("posted_price")
    rng = np.random.default_rng(3)
    prices = page["PRICES"]
    for _ in range(50):
        limits = rng.uniform(0, page["TOP"], rng.integers(0, 30))
        more = np.append(limits, rng.uniform(0, page["TOP"]))
        moved = page["revenue"](more, prices) - page["revenue"](limits, prices)
        assert (moved >= 0).all()  # monotone
        assert moved.max() <= page["TOP"]


def test_census_margins_agree_and_are_nearer_to_the_truth(load):
    page = load("census")
    rows = page["people"]()
    exact = page["every_table"](rows)
    noise, design = page["DiscreteGaussian"](std=8.0), page["DESIGN"]
    source = page["Seeded"](1)
    before, after = [], []
    for _ in range(40):
        noisy = noise.run(exact, source=source)
        found = page["consistent"](noisy, design, std=noise.error.std)
        fixed = page["nonnegative"](
            found.cells.value, std=found.cells.std, total=float(found.value[-1])
        )
        final = design @ fixed
        assert (fixed >= 0).all()
        sums = [part.sum() for part in page["split"](final).values()]
        assert sums == pytest.approx([sums[0]] * 5)
        assert len({part.sum() for part in page["split"](noisy).values()}) > 1
        before.append(np.square(noisy - exact).mean())
        after.append(np.square(final - exact).mean())
    assert np.mean(after) < 0.75 * np.mean(before)
    assert (found.std < noise.error.std).all()


def test_the_census_states_the_distance_one_person_can_move(load):
    page = load("census")
    rows = page["people"]()
    stated = page["every_table"].sensitivity
    for person in (0, 17, 4_000):
        fewer = np.delete(rows, person, axis=0)
        moved = page["every_table"](rows) - page["every_table"](fewer)
        assert np.linalg.norm(moved) <= stated * (1 + 1e-12)


def test_the_survey_finds_a_gap_where_there_is_one(load):
    page = load("salaries")
    verdicts = {}
    for gap in (0, 2_500):
        data = page["open_survey"](page["survey"](gap=gap), rehearsal=True)
        answer = page["by_gender"](data, page["Seeded"](4))
        women, men = page["estimates"](answer)
        verdicts[gap] = page["difference_test"](men, women).p_value
        low, high = page["difference_interval"](men, women, level=1 - 1e-6)
        assert low < gap < high
    assert verdicts[2_500] < 1e-6
    assert verdicts[0] > 1e-4


def test_the_survey_spends_its_budget_and_not_more(load):
    page = load("salaries")
    data = page["open_survey"](page["survey"](gap=0, size=500), rehearsal=True)
    for _ in range(2):
        page["by_gender"](data, page["Seeded"](4))
    with pytest.raises(page["hush"].errors.BudgetExceeded):
        page["by_gender"](data, page["Seeded"](4))


def test_a_real_survey_refuses_the_seed(load):
    page = load("salaries")
    data = page["open_survey"](page["survey"](gap=0, size=500), rehearsal=False)
    with pytest.raises(page["hush"].errors.InsecureSource):
        page["by_gender"](data, page["Seeded"](4))


def test_the_board_is_climbed_without_noise_and_not_with_it(load):
    page = load("leaderboard")
    labels, attacker = page["coins"](), page["Booster"]
    assert page["plain"](labels, attacker(1_000)) > 0.57
    score, low, high = page["private"](labels, attacker(1_000), page["Seeded"](3))
    assert abs(score - 0.5) < 0.05
    assert low < 0.5 < high


def test_reports_reach_the_collector_and_lies_stay_within_leverage(load):
    page = load("collection")
    truth = page["answers"](20_000, seed=3)
    oracle = page["ORACLE"]
    tally, refused = page["collect"](
        [*page["rubbish"](), *page["devices"](truth, page["Seeded"](6))]
    )
    assert refused == 3
    assert tally.people == 20_000
    found = oracle.estimate(tally)
    exact = np.bincount(truth, minlength=8) / truth.size
    # Six standard deviations on eight shares: a false alarm once in 10^8 seeds.
    assert (abs(found.value - exact) < 6 * found.std).all()
    forged, _ = page["collect"](page["liars"](300, push=7))
    both = oracle.estimate(tally + forged).value
    moved = both[7] - found.value[7]
    assert 0 < moved <= 300 * oracle.leverage / 20_300


def test_no_message_tells_the_true_answer(load):
    page = load("collection")
    truth = np.zeros(4_000, dtype=int)
    bits = np.array([m[-1] for m in page["devices"](truth, page["Seeded"](6))])
    seen = ((bits[:, None] >> np.arange(8)) & 1).mean(axis=0)
    # Unary encoding at ε = 2: the truth is shown half of the time, others 1/(e² + 1).
    assert seen == pytest.approx([0.5] + [1 / (np.e**2 + 1)] * 7, abs=0.05)
