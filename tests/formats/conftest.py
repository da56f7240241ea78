"""A PostgreSQL to load dumps into."""

import pytest

from servers import memory_disk, postgres


@pytest.fixture(scope="session")
def server():
    with postgres(memory_disk()) as url:
        assert url is not None, "no PostgreSQL to start: install requirements/test.txt"
        yield url
