"""hush: learn about a population, and prove that nobody in it was exposed."""

import importlib
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hush.ledger import Budget, Ledger, Release
    from hush.tables import (
        correlation,
        count,
        count_distinct,
        covariance,
        histogram,
        max,
        mean,
        median,
        min,
        mode,
        open_graph,
        quantile,
        quantiles,
        std,
        sum,
        top_k,
        variance,
    )
    from hush.tables import open_table as open

try:
    __version__ = version("hush")
except PackageNotFoundError:  # running from a source tree that is not installed
    __version__ = "0+unknown"

# Imported when they are first used, so that `import hush` stays light.
_HOME = {
    "Budget": "hush.ledger:Budget",
    "Ledger": "hush.ledger:Ledger",
    "Release": "hush.ledger:Release",
    "correlation": "hush.tables:correlation",
    "count": "hush.tables:count",
    "count_distinct": "hush.tables:count_distinct",
    "covariance": "hush.tables:covariance",
    "histogram": "hush.tables:histogram",
    "max": "hush.tables:max",
    "mean": "hush.tables:mean",
    "median": "hush.tables:median",
    "min": "hush.tables:min",
    "mode": "hush.tables:mode",
    "open": "hush.tables:open_table",
    "open_graph": "hush.tables:open_graph",
    "quantile": "hush.tables:quantile",
    "quantiles": "hush.tables:quantiles",
    "std": "hush.tables:std",
    "sum": "hush.tables:sum",
    "top_k": "hush.tables:top_k",
    "variance": "hush.tables:variance",
}

__all__ = [
    "Budget",
    "Ledger",
    "Release",
    "__version__",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "histogram",
    "max",
    "mean",
    "median",
    "min",
    "mode",
    "open",
    "open_graph",
    "quantile",
    "quantiles",
    "std",
    "sum",
    "top_k",
    "variance",
]


# Packages, loaded when they are first used: `hush.privacy` needs no import of its own.
_PACKAGES = frozenset(
    (
        *("audit", "bounds", "errors", "estimate", "holdout", "inference", "law"),
        *("learn", "ledger", "local", "mechanisms", "noise", "plots", "privacy"),
        *("synth", "tables", "units"),
    )
)


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        try:
            return importlib.import_module(f"hush.{name}")
        except ModuleNotFoundError as problem:  # `help(hush)` goes on without an extra
            raise AttributeError(str(problem)) from problem
    if name not in _HOME:
        # Not `from hush import suggestions`, which would ask here for the name it is.
        suggestions = importlib.import_module("hush.suggestions")
        raise suggestions.missing_in_module("hush", name, sys._getframe(1))
    module, _, symbol = _HOME[name].partition(":")
    return getattr(importlib.import_module(module), symbol)


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES})
