"""A folder with a table about drivers and a hush.toml that is filled in."""

import pytest

from shop import TOML, Shop, table


@pytest.fixture
def shop(tmp_path, monkeypatch) -> Shop:
    from pyarrow import parquet

    monkeypatch.chdir(tmp_path)
    parquet.write_table(table(), tmp_path / "trips.parquet")
    (tmp_path / "hush.toml").write_text(TOML)
    return Shop(tmp_path)
