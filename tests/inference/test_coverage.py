"""The tables of docs/inference.md: the script still draws what the page shows."""

import importlib.util
import re

import pytest
from scipy import stats

from goodness import FALSE_ALARM


def script(root):
    path = root / "docs" / "inference_tables.py"
    spec = importlib.util.spec_from_file_location("inference_tables", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
        (title, tuple(f"{v:g}" if isinstance(v, float) else str(v) for v in setting))
        for title, _, _, settings in module.TABLES
        for setting in settings
    }
    assert set(page) == wanted


def test_the_page_keeps_its_promises(root):
    # Exact methods: within four Monte-Carlo errors of nominal at all settings.
    for (title, setting), (naive, ours) in shown(root).items():
        if title.startswith("Coverage: proportion"):
            assert abs(ours - 0.95) <= 4 * 0.0049, setting
        elif title.startswith("Coverage"):
            assert ours >= 0.95 - 4 * 0.0049, (title, setting)
        elif "one proportion" in title:
            assert abs(ours - 0.05) <= 4 * 0.0016, setting
        else:
            assert ours <= 0.05 + 4 * 0.0049, (title, setting)
        assert 0 <= naive <= 1


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("table", range(11))
def test_the_script_measures_again(root, table):
    # The first and last setting of each table with 300 runs, against the number on the
    # page; both have Monte-Carlo error, and 11·2 comparisons fail with 1e-7 together.
    module, page = script(root), shown(root)
    title, _, measure, settings = module.TABLES[table]
    for setting in (settings[0], settings[-1]):
        key = tuple(f"{v:g}" if isinstance(v, float) else str(v) for v in setting)
        expected = page[title, key][1]
        runs = 300
        hits = round(measure(*setting, runs)[1] * runs)
        margin = 0.03  # six times the error of the page
        low, high = max(expected - margin, 0), min(expected + margin, 1)
        assert stats.binom.cdf(hits, runs, low) > FALSE_ALARM
        assert stats.binom.sf(hits - 1, runs, high) > FALSE_ALARM


@pytest.mark.slow
def test_a_blind_interval_would_be_noticed(root):
    # The naive column, put in place of ours, breaks the promise of the page.
    page = shown(root)
    worst = min(naive for (title, _), (naive, _) in page.items() if "Coverage" in title)
    assert worst < 0.2
