"""The engines of the tests of tables."""

import pytest

from tables.conftest import Spark, engine, postgres_engine, spark_engine

__all__ = ["engine", "postgres_engine", "spark_engine"]


@pytest.fixture(autouse=True)
def small_parser():
    """Have Spark forget its statements: a full memory made minutes of seconds."""
    yield
    for each in Spark.living:
        each.forget()
