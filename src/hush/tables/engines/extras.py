"""Packages beyond the default install: asked for when first used, by their extra."""

import importlib
from typing import Any

from hush.errors import Unsupported


def package(name: str, extra: str, what: str) -> Any:
    """Return an imported package, or name the extra that brings it.

    Example:
        >>> package("no_such_package", "arrow", "an Arrow table")
        Traceback (most recent call last):
        ...
        hush.errors.Unsupported: an Arrow table needs no_such_package. Install it with:
        pip install 'hush[arrow]'
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        missing = problem.name or name
    raise Unsupported(
        f"{what} needs {missing}. Install it with: pip install 'hush[{extra}]'",
        code="extra-missing",
    )
