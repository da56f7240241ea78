"""Synthetic rows: columns of drawn values, in the forms that programs read."""

import csv
import importlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from numpy.typing import NDArray

from hush.errors import Unsupported


@final
@dataclass(frozen=True, eq=False, repr=False)
class Synthetic:
    """Rows that belong to nobody: columns of one length by name.

    As of a data frame, `len` counts rows, and going through it names the columns.

    Example:
        >>> import numpy as np
        >>> rows = Synthetic({"a": np.array([1, 2]), "b": np.array(["x", "y"])})
        >>> rows, rows["a"].tolist(), rows.to_dict()
        (Synthetic(2 rows: a, b), [1, 2], {'a': [1, 2], 'b': ['x', 'y']})
    """

    columns: Mapping[str, NDArray[Any]]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def keys(self) -> Iterable[str]:
        """Return the names, so that `dict(rows)` has the columns."""
        return self.columns.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        return f"Synthetic({len(self)} rows: {', '.join(self.columns)})"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns."""
        return {name: each.tolist() for name, each in self.columns.items()}

    def to_pandas(self) -> Any:
        """Return a pandas data frame."""
        return _package("pandas", "pandas").DataFrame(dict(self.columns))

    def to_polars(self) -> Any:
        """Return a Polars data frame."""
        return _package("polars", "polars").DataFrame(self.to_dict())

    def to_arrow(self) -> Any:
        """Return an Arrow table."""
        return _package("pyarrow", "arrow").table(self.to_dict())

    def to_csv(self, path: str | Path) -> None:
        """Write the rows with a header; what is missing is empty."""
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            for row in zip(*self.to_dict().values(), strict=True):
                writer.writerow(map(_field, row))

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows as a Parquet file."""
        table = self.to_arrow()
        importlib.import_module("pyarrow.parquet").write_table(table, str(path))


def _field(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _package(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise Unsupported(
            f"this needs {name}: pip install 'hush[{extra}]', or read to_dict()."
        ) from None
