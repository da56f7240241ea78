"""The tables of docs/inference.md: the script still draws what the page shows."""

import importlib
import re

import pytest
from scipy import stats

from goodness import FALSE_ALARM


def script(root):
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.syspath_prepend(root / "docs")
        return importlib.import_module("inference_tables")


def shown(root):
    """Return {(title, setting): (naive, ours)} from the page."""
    found, title = {}, ""
    for line in (root / "docs" / "inference.md").read_text().splitlines():
        if line.startswith("### "):
            title = line[4:]
        elif re.match(r"\| [0-9]", line):
            *setting, naive, ours = (
                cell.strip() for cell in line.strip("|").split("|")
            )
            found[title, tuple(setting)] = float(naive), float(ours)
    return found


def test_the_page_shows_every_setting_of_the_script(root):
    module, page = script(root), shown(root)
    wanted = {
        (title, tuple(map(module.cell, setting)))
        for title, _, _, settings in module.TABLES
        for setting in settings
    }
    assert set(page) == wanted


# Where a setting is covered more often than stated, and why: see the page.
WIDE = ("not released", "median", "difference", "sum and count")
ONE = 0.0049  # the Monte-Carlo error of a number near 0.95 or 0.05 from 2 000 runs


def test_the_page_keeps_its_promises(root):
    for (title, setting), (naive, ours) in shown(root).items():
        assert 0 <= naive <= 1
        if title.startswith("Coverage"):
            # 200 settings within four Monte-Carlo errors, but for 1 in 80 pages.
            assert ours >= 0.95 - 4 * ONE, (title, setting)
            if not any(each in title for each in WIDE):
                assert ours <= 0.95 + 4 * ONE, (title, setting)
        elif "one proportion" in title:
            assert abs(ours - 0.05) <= 4 * 0.0016, setting
        else:
            assert ours <= 0.05 + 4 * ONE, (title, setting)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("table", range(15))
def test_the_script_measures_again(root, table):
    # Every setting of the table with a tenth of the runs, against the page; both have
    # Monte-Carlo error, and each comparison fails wrongly with less than 1e-6.
    module, page = script(root), shown(root)
    title, _, measure, settings = module.TABLES[table]
    for setting in settings:
        expected = page[title, tuple(map(module.cell, setting))]
        runs = module.RUNS // 10
        for found, wanted in zip(measure(*setting, runs), expected, strict=True):
            hits = round(found * runs)
            margin = 6 * 0.5 / module.RUNS**0.5  # of the page
            low, high = max(wanted - margin, 0), min(wanted + margin, 1)
            assert stats.binom.cdf(hits, runs, low) > FALSE_ALARM, setting
            assert stats.binom.sf(hits - 1, runs, high) > FALSE_ALARM, setting


@pytest.mark.slow
@pytest.mark.parametrize("table", range(15))
def test_a_row_can_be_drawn_again_number_by_number(root, table):
    module, page = script(root), shown(root)
    title, _, measure, settings = module.TABLES[table]
    setting = settings[0]
    found = measure(*setting, module.RUNS)
    expected = page[title, tuple(map(module.cell, setting))]
    # Two runs of 2 000 may fall on the other side of an end by rounding.
    assert found == pytest.approx(expected, abs=0.0015)


def test_a_blind_interval_would_be_noticed(root):
    # The naive column, put in place of ours, breaks the promise of the page.
    page = shown(root)
    worst = min(naive for (title, _), (naive, _) in page.items() if "Coverage" in title)
    assert worst < 0.2
