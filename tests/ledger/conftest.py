"""Ledgers to test: in memory, in a file, in a PostgreSQL of this session."""

import itertools
import tempfile
from pathlib import Path

import pytest

from servers import database, memory_disk, postgres

_counter = itertools.count()


@pytest.fixture(scope="session")
def server():
    with postgres(memory_disk()) as url:
        # A store that is promised is tested: no server is a failure, not a skip.
        assert url is not None, "no PostgreSQL to start: install requirements/test.txt"
        yield url


@pytest.fixture
def tmp_path():
    """A folder that costs no disk."""
    with tempfile.TemporaryDirectory(prefix="hush", dir=memory_disk()) as folder:
        yield Path(folder)


@pytest.fixture
def sqlite_url(tmp_path):
    return f"sqlite:///{tmp_path}/budget.db"


@pytest.fixture
def postgres_url(server):
    return database(server, f"hush{next(_counter)}")


@pytest.fixture(params=["sqlite", "postgres"])
def durable_url(request):
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request):
    if request.param == "memory":
        return "memory://"
    return request.getfixturevalue(f"{request.param}_url")
