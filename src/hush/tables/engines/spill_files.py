"""Where an embedded engine writes rows that do not fit into memory.

DuckDB would use a folder `.tmp` where the program runs, readable by others and left
behind by a crash. Here it is one folder per process that nobody else can read, removed
when the process ends; what a crash has left is removed by the next one that starts.
"""

import atexit
import os
import shutil
import stat
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

_PREFIX = "hush-spill-"
_LOCK = "alive"

_guard = threading.Lock()
_own: dict[int, tuple[Path, Any]] = {}  # by process: a forked child makes its own


def folder() -> str:
    """Return the folder of this process; "" where none can be made: no spilling.

    Guarantee: only this user can list or read it (mode 0700), and it is removed when
    the process ends, or else by the next process of this user that opens a table.
    """
    try:
        import fcntl
    except ImportError:  # no such locks here, so no way to tell who is alive
        return ""
    with _guard:
        made = _own.get(os.getpid())
        while made is None or not (made[0] / _LOCK).exists():
            remove_left_behind()
            place = Path(tempfile.mkdtemp(prefix=_PREFIX))
            held = (place / _LOCK).open("w")
            # Until the process ends, however it does. Somebody who cleaned up may have
            # been faster than the lock: then once more.
            fcntl.flock(held, fcntl.LOCK_EX)
            made = _own[os.getpid()] = place, held
            atexit.register(_remove, os.getpid())
        return str(made[0])


def _remove(owner: int) -> None:
    if os.getpid() == owner and owner in _own:
        place, held = _own.pop(owner)
        shutil.rmtree(place, ignore_errors=True)
        held.close()


def remove_left_behind() -> None:
    """Remove the folders of this user's processes that are dead.

    Who is alive holds a lock, in whichever container: numbers of processes are used
    again, and mean something else there.
    """
    import fcntl

    for each in Path(tempfile.gettempdir()).glob(_PREFIX + "*"):
        with suppress(OSError):
            known = each.lstat()
            if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.geteuid():
                continue
            with (each / _LOCK).open("r+") as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(each, ignore_errors=True)
