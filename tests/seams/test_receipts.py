"""A receipt says whether the data are the same, and nothing else about them."""

import hashlib
import json
import os

import pytest

import hush
from hush.errors import KeyConflict

SECOND = 1_700_000_000


def written(path, rows):
    path.write_text("u,x\n" + "".join(f"{i},{i}\n" for i in range(rows)))
    os.utime(path, (SECOND, SECOND))
    return path


def opened(path, ledger, **more):
    return hush.open(path, unit="u", rows=1, ledger=ledger, name="a", **more)


def begun(url):
    return hush.Ledger.open(url, budget=hush.Budget(epsilon=1e6), dataset="a")


def asked(data, **more):
    return data.agg(n=hush.count()).release(epsilon=1, **more)


def guesses(path, size):
    """Everything that an attacker computes who knows the path and the second."""
    facts = repr([(str(path.resolve()), size, SECOND * 10**9)])
    whole = hashlib.sha256(facts.encode()).hexdigest()
    return {whole[:16], whole[:32], whole}


def test_the_size_of_a_file_cannot_be_found_from_its_version(tmp_path):
    path = written(tmp_path / "a.csv", 100)
    receipt = asked(opened(path, begun("memory://"))).receipt
    size = path.stat().st_size
    tried = set().union(*(guesses(path, each) for each in range(size + 50)))
    assert receipt.version not in tried
    assert str(size) not in json.dumps(receipt.to_dict())


def test_versions_of_two_ledgers_have_nothing_in_common(tmp_path):
    # Whoever keeps a ledger of his own has another secret, and cannot try sizes.
    path = written(tmp_path / "a.csv", 100)
    versions = {asked(opened(path, begun("memory://"))).receipt.version for _ in "ab"}
    assert len(versions) == 2


def test_the_secret_is_in_no_text_that_leaves_the_ledger(tmp_path):
    path, file = written(tmp_path / "a.csv", 100), tmp_path / "ledger.db"
    with begun(f"sqlite:///{file}") as ledger:
        answer = asked(opened(path, ledger))
        shown = repr([each.content for each in ledger.history()]) + repr(ledger)
        rows = ledger._store.read(lambda t: t.rows("SELECT word FROM hush_secret"))
    ((word,),) = rows
    assert len(word) == 64
    assert word not in shown + json.dumps(answer.receipt.to_dict())


def test_a_key_goes_on_over_processes_and_not_over_versions(tmp_path):
    path, url = written(tmp_path / "a.csv", 100), f"sqlite:///{tmp_path}/ledger.db"
    with begun(url) as ledger:
        first = asked(opened(path, ledger), key="k")
    with begun(url) as ledger:
        assert ledger.verify()
        again = asked(opened(path, ledger), key="k")
        assert again.receipt.version == first.receipt.version
        assert again.values["n"] == first.values["n"]
        written(path, 101)
        with pytest.raises(KeyConflict):
            asked(opened(path, ledger), key="k")


def test_a_ledger_that_was_begun_without_a_secret_gets_one(tmp_path):
    path, url = written(tmp_path / "a.csv", 9), f"sqlite:///{tmp_path}/ledger.db"
    with begun(url) as ledger:
        ledger._store.run(lambda t: t.rows("DROP TABLE IF EXISTS hush_secret"))
    with begun(url) as ledger:
        version = asked(opened(path, ledger)).receipt.version
    with begun(url) as ledger:
        assert asked(opened(path, ledger)).receipt.version == version


@pytest.mark.xdist_group("postgres")
def test_a_ledger_in_postgres_keeps_one_secret(tmp_path, postgres_engine):
    path = written(tmp_path / "a.csv", 9)
    versions = set()
    for _ in range(2):
        with begun(postgres_engine.address) as ledger:
            versions.add(asked(opened(path, ledger)).receipt.version)
    assert len(versions) == 1


@pytest.mark.parametrize("kind", ["folder", "database", "graph", "join"])
def test_every_way_to_name_a_version_is_keyed(tmp_path, kind):
    folder = tmp_path / "rows"
    folder.mkdir()
    path = written(folder / "a.csv", 100)
    ledger = begun("memory://")
    files = [path]
    if kind == "folder":
        files.append(written(folder / "b.csv", 50))
        receipt = asked(opened(folder, ledger)).receipt
    elif kind == "database":
        import duckdb

        path = tmp_path / "a.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute("CREATE TABLE t AS SELECT range AS u FROM range(9)")
        os.utime(path, (SECOND, SECOND))
        files = [path]
        receipt = asked(opened(f"{path}/t", ledger)).receipt
    elif kind == "graph":
        graph = hush.tables.open_graph(path, ends=("u", "x"), ledger=ledger, name="a")
        receipt = graph.edges(epsilon=1).receipt
    else:
        other = tmp_path / "b.csv"
        other.write_text("u,y\n1,2\n")
        both = opened(path, ledger).join(
            hush.open(other, unit="u", rows=1, ledger=ledger, name="b"), on="u"
        )
        receipt = asked(both).receipt
        assert "+" in receipt.version
    facts = [(str(f.resolve()), f.stat().st_size, SECOND * 10**9) for f in files]
    bare = hashlib.sha256(repr(facts).encode()).hexdigest()
    assert bare[:16] not in receipt.version
