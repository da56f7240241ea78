"""What older code stored is read by today's, to the last digit."""

import functools
import itertools
import json
import shutil
import tempfile
from pathlib import Path

import pytest

from formats import curves, ledgers, models, reading
from formats.asked import public_mechanisms
from hush import privacy
from servers import database

WRITTEN = Path(__file__).parent / "written"
COMMITS = ("8ffd95c", "e8f2bba")
ENTRIES = {
    "genesis", "grant", "link", "charge", "reserve", "hold", "start", "seal", "fail",
    "void", "unlock",
}  # fmt: skip
# Names in the texts of curves that are for ever.
TYPES = {
    "Pure", "Approx", "ZCDP", "GDP", "RDP", "OrderTable", "Sampled", "Subset",
    "Shuffled", "Between", "FinitePair", "Worst", "Loss", "Pair", "Normal",
    "ContinuousLaplace", "Shifted", "DiscreteLaplace", "DiscreteGaussian", "Geometric",
    "Finite", "Fraction", "float",
}  # fmt: skip
# Mechanisms that are younger than both commits: their texts are tested where they are.
YOUNGER = {"ClippedMean", "UnboundedQuantile"}
_served = itertools.count()


@functools.cache
def found(commit, name):
    """Return what is read today of one thing that a commit wrote."""
    with tempfile.TemporaryDirectory() as scratch:
        return reading.plain(reading.read(WRITTEN / commit, name, Path(scratch)))


def cases(names, kinds):
    """Return one case for each thing that can break by itself."""
    return [
        pytest.param(commit, name, kind, marks=pytest.mark.xdist_group(commit + name))
        for commit in COMMITS
        for name in names
        for kind in kinds
        if kind in reading.wanted(WRITTEN / commit, name)
    ]


@pytest.mark.parametrize(
    ("commit", "name", "kind"), cases(ledgers.LEDGERS, reading.KINDS)
)
def test_a_ledger_is_read_as_it_was(commit, name, kind):
    assert not reading.wrong(WRITTEN / commit, name, found(commit, name), kind)


@pytest.mark.parametrize("name", reading.TEXTS)
@pytest.mark.parametrize("commit", COMMITS)
def test_a_text_is_read_as_it_was(commit, name):
    assert not reading.wrong(WRITTEN / commit, name, found(commit, name))


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("name", ledgers.SERVED)
@pytest.mark.parametrize("commit", COMMITS)
def test_a_ledger_on_a_server_is_read_as_it_was(commit, name, server, tmp_path):
    import psycopg

    url = database(server, f"stored{next(_served)}")
    folder, anchor = WRITTEN / commit, tmp_path / "anchor"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((folder / f"{name}.postgres.sql").read_text())
    shutil.copy(folder / f"{name}.postgres.anchor", anchor)
    now = reading.plain(reading.read_ledger(name, url, anchor=anchor))
    assert not reading.wrong(folder, f"{name}, postgres", now)


def told(commit, name):
    """Return what a ledger said of its entries when it was written."""
    return reading.expected(WRITTEN / commit)[name]["history"].values()


def texts(commit, name):
    """Return the texts of curves or mechanisms that a commit wrote."""
    return json.loads((WRITTEN / commit / f"{name}.json").read_text())


@pytest.mark.parametrize("commit", COMMITS)
def test_every_mechanism_is_stored(commit):
    written = map(json.loads, texts(commit, "mechanisms").values())
    older = public_mechanisms() - YOUNGER
    assert {each["mechanism"] for each in written} == older
    paid = [what for *_, what, _ in told(commit, "noise")]
    for name in older:
        assert any(f"{name}(" in what for what in paid), name


@pytest.mark.parametrize("commit", COMMITS)
def test_every_curve_is_stored(commit):
    written = texts(commit, "curves")
    assert written.keys() == curves.every_curve().keys()
    types = {
        word.split('"')[0]
        for text in written.values()
        for word in text.split('"type":"')[1:]
    }
    assert types == TYPES
    kinds = {
        each
        for each in (getattr(privacy, name) for name in privacy.__all__)
        if isinstance(each, type) and issubclass(each, privacy.Curve)
    }
    made = {type(each) for each in curves.every_curve().values()}
    assert kinds - {privacy.Curve} == made


@pytest.mark.parametrize("commit", COMMITS)
def test_every_kind_of_entry_and_every_learner_is_stored(commit):
    kinds = {kind for name in ledgers.LEDGERS for kind, *_ in told(commit, name)}
    assert kinds == ENTRIES
    keys = {each[2].split(",")[0] for each in told(commit, "models")}
    assert keys >= models.ESTIMATORS | {"sgd", "TreeSynthesizer", "Holdout"}
