"""hush: learn about a population, and prove that nobody in it was exposed."""

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import Any

try:
    __version__ = version("hush")
except PackageNotFoundError:  # running from a source tree that is not installed
    __version__ = "0+unknown"

# Loaded on first use, so that `import hush` stays light.
_LAZY = {
    "Budget": "hush.ledger:Budget",
    "Ledger": "hush.ledger:Ledger",
    "Release": "hush.ledger:Release",
    "open": "hush.tables:open_table",
    "count": "hush.tables:count",
    "mean": "hush.tables:mean",
    "sum": "hush.tables:sum",
}

__all__ = ["__version__", *_LAZY]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'hush' has no attribute {name!r}")
    module, _, symbol = _LAZY[name].partition(":")
    return getattr(importlib.import_module(module), symbol)


def __dir__() -> list[str]:
    return sorted(__all__)
