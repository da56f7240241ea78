"""Whoever changes the store while a handle is open, or by SQL, gains no budget."""

import contextlib
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from hush.errors import BudgetExceeded, LedgerError
from hush.ledger import Budget, Ledger
from ledger.test_tampering import unguarded
from ledger.toys import Die, Total

COST = 0.125
MOST = 8  # releases of that cost in a budget of 1


def ask(ledger, times=1, key=None):
    for _ in range(times):
        ledger.release(Die(COST), Total(), [1], key)


def until_refused(ledger):
    """Release as long as the ledger lets; return how often, and what stopped it."""
    done = 0
    try:
        while done <= 3 * MOST:
            ask(ledger)
            done += 1
    except (BudgetExceeded, LedgerError) as problem:
        return done, problem
    return done, None


def copied(url, tmp_path):
    """Keep what is stored, and return what puts it back in place."""
    if url.startswith("sqlite"):
        path = tmp_path / "budget.db"
        kept = path.read_bytes()

        def back():
            with path.open("r+b") as file:
                file.write(kept)
                file.truncate()

        return back
    tables = ("hush_entry", "hush_account")
    with unguarded(url) as connection:
        rows = [connection.execute(f"SELECT * FROM {t}").fetchall() for t in tables]

    def back():
        with unguarded(url) as connection:
            for table, lines in zip(tables, rows, strict=True):
                connection.execute(f"DELETE FROM {table}")
                for line in lines:
                    marks = ", ".join(["%s"] * len(line))
                    connection.execute(f"INSERT INTO {table} VALUES ({marks})", line)

    return back


@contextlib.contextmanager
def plain(url):
    """Write to the tables as a role that may, under the triggers."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    else:
        import psycopg

        connection = psycopg.connect(url)
    with contextlib.closing(connection):
        yield connection
        connection.commit()


@pytest.fixture
def anchored(durable_url, tmp_path):
    """An address, and the options that give its ledger an anchor."""
    return durable_url, {"anchor": tmp_path / "anchor"}


# -- a handle that is open while the ledger is put back ------------------------------


def test_a_live_handle_notices_that_its_own_past_is_gone(durable_url, tmp_path):
    with Ledger.open(durable_url, budget=Budget(epsilon=1)) as ledger:
        ask(ledger)
        back = copied(durable_url, tmp_path)
        ask(ledger, 6)
        back()
        before = stored(durable_url)
        done, problem = until_refused(ledger)
        assert done == 0
        assert "replaced or rolled back" in str(problem)
        assert stored(durable_url) == before, "nothing is written to what is no ledger"


def stored(url):
    with plain(url) as connection:
        return [
            connection.execute(f"SELECT * FROM {each} ORDER BY 1").fetchall()
            for each in ("hush_entry", "hush_account")
        ]


def test_a_live_handle_notices_that_the_past_of_another_is_gone(anchored, tmp_path):
    """The other one released; this one saw nothing of it but the anchor."""
    url, given = anchored
    with (
        Ledger.open(url, budget=Budget(epsilon=1), **given) as ledger,
        Ledger.open(url, **given) as other,
    ):
        ask(ledger)
        back = copied(url, tmp_path)
        ask(other, 6)
        back()
        before = stored(url)
        done, problem = until_refused(ledger)
        assert done == 0, "14 releases, and an epsilon of 1.75 of 1"
        assert "replaced or rolled back" in str(problem)
        assert stored(url) == before


@pytest.mark.parametrize("harm", ["removed", "exchanged", "cut"])
def test_a_live_handle_misses_its_anchor(harm, anchored):
    url, given = anchored
    path = given["anchor"]
    with Ledger.open(url, budget=Budget(epsilon=1), **given) as ledger:
        ask(ledger, 2)
        text = path.read_bytes()
        if harm == "removed":
            path.unlink()
        elif harm == "exchanged":
            path.with_suffix(".new").write_bytes(text)
            os.replace(path.with_suffix(".new"), path)
        else:
            os.truncate(path, len(text) - 70)
        done, problem = until_refused(ledger)
        assert done == 0
        assert "the anchor" in str(problem)
        assert problem.code == "ledger-altered"


@pytest.fixture(params=["rollback journal", "write-ahead log"])
def journal(request, monkeypatch):
    if request.param == "write-ahead log":  # what newer versions of SQLite are given
        monkeypatch.setattr("hush.ledger.stores.sqlite._SAFE_WAL", (3, 0, 0))


@pytest.mark.usefixtures("journal")
@pytest.mark.parametrize("harm", ["removed", "exchanged", "moved away"])
def test_a_live_handle_leaves_a_file_that_lost_its_name(harm, sqlite_url, tmp_path):
    """It went on writing to a file that nobody else could open."""
    path = tmp_path / "budget.db"
    with Ledger.open(sqlite_url, budget=Budget(epsilon=1)) as ledger:
        ask(ledger)
        shutil.copy(path, tmp_path / "old.db")
        ask(ledger)
        if harm == "removed":
            path.unlink()
        elif harm == "exchanged":
            os.replace(tmp_path / "old.db", path)
        else:
            path.rename(tmp_path / "elsewhere.db")
        done, problem = until_refused(ledger)
        assert done == 0
        assert problem.code == "ledger-altered"


@pytest.mark.usefixtures("journal")
@pytest.mark.parametrize("ends", [("",), ("", "-wal"), ("", "-wal", "-shm")])
def test_whatever_files_are_copied_back_no_budget_returns(ends, sqlite_url, tmp_path):
    path = tmp_path / "budget.db"
    with Ledger.open(sqlite_url, budget=Budget(epsilon=1)) as ledger:
        ask(ledger)
        kept = {
            end: file.read_bytes()
            for end in ends
            if (file := path.with_name(path.name + end)).exists()
        }
        ask(ledger, 6)
        for end, content in kept.items():
            with path.with_name(path.name + end).open("r+b") as file:
                file.write(content)
                file.truncate()
        done, _ = until_refused(ledger)
        assert 7 + done <= MOST


def test_many_handles_and_their_anchor_get_along(anchored):
    """What is anchored by others between two looks is no reason to refuse."""
    url, given = anchored
    with contextlib.ExitStack() as stack:
        first = Ledger.open(url, budget=Budget(epsilon=1), **given)
        handles = [stack.enter_context(first)]
        handles += [stack.enter_context(Ledger.open(url, **given)) for _ in range(3)]
        for number in range(MOST):
            ask(handles[number % 4])
        assert all(until_refused(each)[0] == 0 for each in handles)
        assert handles[0].verify()


# -- options that were forgotten -------------------------------------------------------

SECRET = b"known to the auditor"


def test_an_opening_without_the_secret_is_refused_and_locks_nobody_out(anchored):
    url, given = anchored
    sealed = {**given, "secret": SECRET}
    with Ledger.open(url, budget=Budget(epsilon=1), **sealed) as ledger:
        ask(ledger)
    before = stored(url), given["anchor"].read_bytes()
    for more in ({}, {"check": False}, {"renew_anchor": True}):
        with pytest.raises(LedgerError, match="sealed, and it was opened without"):
            Ledger.open(url, **given, **more)
    assert (stored(url), given["anchor"].read_bytes()) == before
    with Ledger.open(url, **sealed) as ledger:
        ask(ledger)
        assert ledger.verify()


def test_a_sealed_anchor_that_is_gone_is_not_begun_again_without_a_secret(anchored):
    url, given = anchored
    with Ledger.open(url, budget=Budget(epsilon=1), **given, secret=SECRET) as ledger:
        ask(ledger)
    given["anchor"].unlink()
    with pytest.raises(LedgerError, match="sealed, and it was opened without"):
        Ledger.open(url, **given, renew_anchor=True)
    assert not given["anchor"].exists()
    with Ledger.open(url, **given, secret=b"another", renew_anchor=True) as ledger:
        assert ledger.verify().anchored == len(ledger.history()) - 1


def test_a_ledger_of_before_is_known_to_be_sealed_by_its_anchor(anchored, monkeypatch):
    """Its first entry does not say so."""
    url, given = anchored
    canonical = "hush.ledger.ledger.canonical"

    def of_before(body):
        from hush.ledger.hash_chain import canonical

        return canonical({name: body[name] for name in body if name != "sealed"})

    with monkeypatch.context() as patch:
        patch.setattr(canonical, of_before)
        with Ledger.open(url, budget=Budget(epsilon=1), **given, secret=SECRET) as one:
            assert "sealed" not in one.history()[0].content
    with pytest.raises(LedgerError, match="sealed, and it was opened without"):
        Ledger.open(url, **given)


def test_without_the_long_walk_the_head_is_still_compared(anchored, tmp_path):
    url, given = anchored
    with Ledger.open(url, budget=Budget(epsilon=1), **given) as ledger:
        ask(ledger)
        back = copied(url, tmp_path)
        ask(ledger, 6)
    back()
    with Ledger.open(url, **given, check=False) as ledger:
        assert until_refused(ledger)[0] == 0
        with pytest.raises(LedgerError, match="rolled back"):
            ledger.grant(Budget(epsilon=1), analyst="ana")
        assert not ledger.verify(), "and whoever wants to know why can still read it"


CHANGES = {
    "limit": "limit1 = limit1 * 10",
    "grains": "power1 = power1 + 1",
    "notion": "notion = 'rho'",
    "delta": "limit2 = limit2 + 1",
}


@pytest.mark.parametrize("signs", [False, True], ids=["nobody", "an administrator"])
@pytest.mark.parametrize("change", CHANGES)
def test_without_the_long_walk_limits_are_those_of_their_grants(
    change, signs, durable_url
):
    """A limit ten times as large let fifty releases through."""
    from hush.ledger import Admin

    admin = {"admin": Admin.generate("office")} if signs else {}
    with Ledger.open(durable_url, budget=Budget(epsilon=1), **admin) as ledger:
        ask(ledger)
    with unguarded(durable_url) as connection:
        connection.execute(f"UPDATE hush_account SET {CHANGES[change]}")
    with Ledger.open(durable_url, check=False) as ledger:
        done, problem = until_refused(ledger)
        assert done == 0
        assert "is not the one that was granted" in str(problem)
    with pytest.raises(LedgerError, match="not whole"):
        Ledger.open(durable_url)


def test_a_grant_that_nobody_signed_enlarges_nothing(durable_url):
    """Whoever may write to the tables writes the grant as well, with a right hash."""
    from hush.ledger import Admin
    from hush.ledger.hash_chain import Entry, Kind

    office = Admin.generate("office")
    with Ledger.open(durable_url, budget=Budget(epsilon=1), admin=office) as ledger:
        head = ledger._store.read(lambda t: t.head())
        text = ledger._store.read(lambda t: t.last_grant("dataset:default")).body
    larger = text.replace("[1000000000000,0]", "[10000000000000,0]")
    assert larger != text
    forged = Entry.after(head, Kind.GRANT, "dataset:default", "2", larger)
    row = (
        forged.seq,
        "grant",
        *(
            getattr(forged, f)
            for f in Entry.__annotations__
            if f not in ("seq", "kind")
        ),
    )
    with unguarded(durable_url) as connection:
        mark = "?" if durable_url.startswith("sqlite") else "%s"
        marks = ", ".join([mark] * 8)
        connection.execute(f"INSERT INTO hush_entry VALUES ({marks})", row)
        connection.execute("UPDATE hush_account SET limit1 = 10 * limit1")
    with Ledger.open(durable_url, check=False) as ledger:
        assert until_refused(ledger)[0] == 0


def test_without_the_long_walk_a_whole_ledger_is_charged(durable_url):
    with Ledger.open(durable_url, budget=Budget(epsilon=1)) as ledger:
        ask(ledger)
    with Ledger.open(durable_url, check=False) as ledger:
        assert until_refused(ledger)[0] == MOST - 1
        assert ledger.verify()


# -- sums and limits that were changed by SQL ------------------------------------------

CUTS = (
    "spent1 = 0",
    "spent1 = spent1 - 1",
    "spent2 = 0, spent1 = 0",
    "limit1 = limit1 * 10",
    "limit2 = limit2 + 1",
    "spent1 = 0, last = last + 1",
    "spent1 = 0, last = (SELECT max(seq) FROM hush_entry)",
    "limit1 = limit1 * 10, last = (SELECT max(seq) FROM hush_entry)",
    "last = -1",
)


def refusals(url):
    if url.startswith("sqlite"):
        return sqlite3.IntegrityError
    import psycopg

    return psycopg.Error


@pytest.mark.parametrize("change", CUTS)
def test_the_tables_refuse_sums_that_no_entry_says(change, durable_url):
    """The handle went on: 80 releases where 7 were left."""
    with Ledger.open(durable_url, budget=Budget(epsilon=1)) as ledger:
        ask(ledger)
        ledger.hold(Die(COST), Total(), key="given back")
        ledger.void("given back", "not needed")  # after which a sum had fallen already
        with plain(durable_url) as connection, pytest.raises(refusals(durable_url)):
            connection.execute(f"UPDATE hush_account SET {change}")
        assert until_refused(ledger)[0] == MOST - 1
        assert ledger.verify()


def test_no_account_appears_without_its_grant(durable_url):
    with Ledger.open(durable_url, budget=Budget(epsilon=1)):
        pass
    row = "SELECT 'dataset:new', notion, power1, power2, delta, limit1, limit2, 0, 0, 1"
    with plain(durable_url) as connection, pytest.raises(refusals(durable_url)):
        connection.execute(f"INSERT INTO hush_account {row} FROM hush_account")


@pytest.mark.parametrize("way", ["ordinary", "held", "after a void"])
@pytest.mark.parametrize("change", CUTS)
def test_a_charge_compares_its_accounts_with_the_chain(change, way, durable_url):
    """Also where somebody may drop the triggers, and puts them back."""
    with Ledger.open(durable_url, budget=Budget(epsilon=1)) as ledger:
        ask(ledger, 2)
        if way == "after a void":
            ledger.hold(Die(COST), Total(), key="given back")
            ledger.void("given back", "not needed")
        with unguarded(durable_url) as connection:
            connection.execute(f"UPDATE hush_account SET {change}")
        if change == "last = -1":  # the sums are right: the whole chain says so
            assert until_refused(ledger)[0] == MOST - 2
            return
        charge = ledger.hold if way == "held" else ledger.charge
        with pytest.raises(LedgerError, match="somebody changed them") as caught:
            charge(Die(COST), Total() if way == "held" else 1)
        assert caught.value.code == "ledger-altered"


def test_an_account_put_back_from_a_copy_is_noticed(durable_url):
    """Row and entry agree, but the row is older than the chain."""
    with Ledger.open(durable_url, budget=Budget(epsilon=1)) as ledger:
        ledger.grant(Budget(epsilon=1), analyst="ana")
        ask(ledger)
        with plain(durable_url) as connection:
            sql = "SELECT spent1, last FROM hush_account WHERE name = 'dataset:default'"
            spent, last = connection.execute(sql).fetchone()
        ask(ledger, 5)
        with unguarded(durable_url) as connection:
            connection.execute(
                f"UPDATE hush_account SET spent1 = {spent}, last = {last} "
                "WHERE name = 'dataset:default'"
            )
        assert until_refused(ledger)[0] == 0


NAMES = ('a"b', "a]},", 'a]},"b', "a\\", 'x":[1,2,3,4],"y', "çà 日本 😀", "{}", "a:b,c")


@pytest.mark.parametrize("name", NAMES)
def test_sums_are_written_for_names_of_every_kind(name, durable_url):
    with Ledger.open(durable_url, budget=Budget(epsilon=1), dataset=name) as ledger:
        ledger.link(name, name, Budget(epsilon=2))
        ledger.grant(Budget(epsilon=1), analyst=name)
        mine = ledger.on(analyst=name)
        assert until_refused(mine)[0] == MOST
        ledger.raise_budget(Budget(epsilon=2), dataset=name)
        assert until_refused(ledger)[0] == MOST
        assert ledger.verify()
        said = ledger.history()[-2].content["after"]
        assert said[f"dataset:{name}"][:2] == [2 * 10**12, 0]


def test_an_entry_that_says_other_sums_is_not_whole(durable_url):
    from hush.ledger.hash_chain import Entry, Kind

    with Ledger.open(durable_url, budget=Budget(epsilon=1)) as ledger:
        ask(ledger)
        entries = ledger._store.read(lambda t: t.entries())
    charge, before = entries[2], (entries[1].seq, entries[1].hash)
    text = charge.body.replace(":[125000000000,0,", ":[1,0,")
    assert text != charge.body
    twin = Entry.after(before, Kind.RESERVE, charge.scope, charge.key, text)
    with unguarded(durable_url) as connection:
        mark = "?" if durable_url.startswith("sqlite") else "%s"
        connection.execute("DELETE FROM hush_entry WHERE seq = 3")
        connection.execute(
            f"UPDATE hush_entry SET body = {mark}, at = {mark}, hash = {mark} "
            "WHERE seq = 2",
            (twin.body, twin.at, twin.hash),
        )
        connection.execute("UPDATE hush_account SET spent1 = 1")
    with pytest.raises(LedgerError, match="not those after it"):
        Ledger.open(durable_url, renew_anchor=True, anchor=None)


def unwritable(url, monkeypatch):
    """Make the ledger one that can be read only, as on a disk mounted so."""
    if not url.startswith("sqlite"):
        import psycopg

        name = url.partition("?")[0].rpartition("/")[2]
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                f"ALTER DATABASE {name} SET default_transaction_read_only = on"
            )
        return
    connect, opened = sqlite3.connect, os.open

    def only_read(path, **given):
        return connect(f"file:{path}?mode=ro", uri=True, **given)

    def no_writing(path, flags, *more, **given):
        if flags & (os.O_WRONLY | os.O_RDWR) and "hush" in str(path):
            raise OSError(30, "Read-only file system", str(path))
        return opened(path, flags, *more, **given)

    monkeypatch.setattr(sqlite3, "connect", only_read)
    monkeypatch.setattr(os, "open", no_writing)


# -- ledgers of before -----------------------------------------------------------------

WRITTEN = Path(__file__).parents[1] / "formats" / "written"
OLD = sorted(each.name for each in WRITTEN.iterdir() if each.is_dir())


@pytest.fixture(params=OLD)
def of_before(request, durable_url, tmp_path):
    """A ledger that an earlier version wrote, and the options that open it."""
    folder, anchor = WRITTEN / request.param, tmp_path / "anchor"
    if durable_url.startswith("sqlite"):
        shutil.copy(folder / "batches.sqlite", tmp_path / "budget.db")
        shutil.copy(folder / "batches.sqlite.anchor", anchor)
    else:
        import psycopg

        with psycopg.connect(durable_url, autocommit=True) as connection:
            connection.execute((folder / "batches.postgres.sql").read_text())
        shutil.copy(folder / "batches.postgres.anchor", anchor)
    return durable_url, {"anchor": anchor, "dataset": "added"}


def columns(url):
    with plain(url) as connection:
        return len(connection.execute("SELECT * FROM hush_account").fetchone())


def test_a_ledger_of_before_gains_the_triggers_and_goes_on(of_before):
    url, given = of_before
    assert columns(url) == 9
    with Ledger.open(url, **given) as ledger:
        assert columns(url) == 10
        entries = ledger.history()
        assert ledger.verify()
        ledger.charge(Die(COST), 1, notes={"unit": "row", "neighbors": "add-remove"})
        assert ledger.history()[:-1] == entries, "nothing was written but the charge"
        with plain(url) as connection, pytest.raises(refusals(url)):
            connection.execute("UPDATE hush_account SET spent1 = 0")
        assert ledger.verify()
    with Ledger.open(url, **given) as ledger, unguarded(url) as connection:
        connection.execute("UPDATE hush_account SET spent1 = 0")
        connection.commit()
        with pytest.raises(LedgerError, match="somebody changed them"):
            ledger.charge(Die(COST), 1)


def test_a_sum_of_before_is_compared_with_the_whole_chain(of_before):
    """No entry of it says a sum: the first charge of an account reads them all."""
    url, given = of_before
    with Ledger.open(url, **given, check=False) as ledger:
        with unguarded(url) as connection:
            connection.execute("UPDATE hush_account SET spent1 = spent1 - 1")
        with pytest.raises(LedgerError, match="somebody changed them"):
            ledger.charge(Die(COST), 1)


def test_a_ledger_of_before_is_read_where_nothing_can_be_written(
    sqlite_url, tmp_path, monkeypatch
):
    folder = WRITTEN / OLD[0]
    shutil.copy(folder / "batches.sqlite", tmp_path / "budget.db")
    shutil.copy(folder / "batches.sqlite.anchor", tmp_path / "budget.db.anchor")
    unwritable(sqlite_url, monkeypatch)
    with Ledger.open(sqlite_url, dataset="added") as ledger:
        key = next(each.key for each in ledger.history() if each.kind == "seal")
        assert ledger.stored(key).values is not None
        assert ledger.verify()
        with pytest.raises(LedgerError):
            ledger.charge(Die(COST), 1)
