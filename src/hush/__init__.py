"""hush: learn about a population, and prove that nobody in it was exposed."""

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hush.ledger import Budget, Ledger, Release

try:
    __version__ = version("hush")
except PackageNotFoundError:  # running from a source tree that is not installed
    __version__ = "0+unknown"

# Imported when they are first used, so that `import hush` stays light.
_HOME = {"Budget": "ledger", "Ledger": "ledger", "Release": "ledger"}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"hush.{_HOME[name]}"), name)
    raise AttributeError(f"module 'hush' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])


__all__ = ["Budget", "Ledger", "Release", "__version__"]
