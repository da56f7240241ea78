"""L5: what was shown survives the loss of everything that was not synchronised."""

import contextlib
import sqlite3
import tempfile
from pathlib import Path

import pytest

from hush.ledger import Budget, Ledger
from hush.ledger.ledger import open_store
from hush.ledger.stores.sqlite import settings
from ledger.powerloss import Disk, crashes, trace
from servers import memory_disk

_ONCE = Path(__file__).with_name("once.py")


def _survey(tmp_path, *sabotage):
    """Return crash points and the reports that did not survive one."""
    if settings(sqlite3.sqlite_version_info)["journal_mode"] != "delete":
        pytest.skip("the model of a disk knows rollback journals only")
    folder, elsewhere = tmp_path / "ledger", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    url = f"sqlite:///{folder}/budget.db"
    with Ledger.open(url, budget=Budget(epsilon=9)):
        pass
    disk = Disk(folder, ["budget.db", "budget.db.anchor"])
    log = elsewhere / "log"
    lines = trace(_ONCE, elsewhere, url, log, "never", 3, *sabotage)
    if lines is None:
        pytest.skip("strace is not there, or may not trace")
    points, lost, before = 0, set(), None
    for reported in crashes(lines, disk):
        state = (disk.kept.copy(), disk.names.copy(), tuple(reported))
        if state == before:
            continue
        before, points = state, points + 1
        with tempfile.TemporaryDirectory(dir=memory_disk()) as survived:
            disk.after_power_loss(Path(survived))
            store = open_store(f"sqlite:///{survived}/budget.db")
            with contextlib.closing(store):
                entries = store.read(lambda t: t.entries())
        charged = {e.key for e in entries if e.kind == "reserve"}
        sealed = {
            f"release {e.key} {e.content['values']}"
            for e in entries
            if e.kind == "seal"
        }
        lost |= set(reported) - sealed
        lost |= {line for line in reported if line.split()[1] not in charged}
    assert len(log.read_text().splitlines()) == 3
    return points, lost


def test_l5_nothing_shown_is_lost_at_any_moment(tmp_path):
    points, lost = _survey(tmp_path)
    assert points > 20
    assert lost == set()


@pytest.mark.slow
@pytest.mark.parametrize("synchronous", [0, 2])
def test_l5_power_weaker_settings_do_lose(tmp_path, synchronous):
    """FULL forgets that the journal was removed; OFF forgets everything."""
    _, lost = _survey(tmp_path, synchronous)
    assert lost
