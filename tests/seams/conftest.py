"""The engines of the tests of tables."""

from tables.conftest import engine, postgres_engine, spark_engine

__all__ = ["engine", "postgres_engine", "spark_engine"]
