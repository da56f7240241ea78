"""Functions of a user's own: what hush runs on data without having written it.

A function of hush fails on no data. One that a user wrote may fail on some data and not
on others, and that it did is an exact bit. So failures of plans that run one lead to a
lockout by default, and are counted in the ledger, for all of its handles.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, Final

# Each failure is a bit without noise. Five let a typing mistake pass.
LOCKOUT: Final = 5
_DEEP = 8  # levels of public parameters; hush nests mechanisms three deep


def is_ours(thing: Any) -> bool:
    """Whether this is a frozen value of hush, equal only to what is the same."""
    return thing is None or type(thing).__module__.startswith("hush.")


def _is_function(thing: Any) -> bool:
    return callable(thing) and not isinstance(thing, type) and not is_ours(thing)


def _written_by_hush(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith("hush.")


def _parameters(thing: Any) -> Any:
    """Return the public parameters inside `thing`: fields, items, closures."""
    if isinstance(thing, functools.partial):
        return (thing.func, *thing.args, *thing.keywords.values())
    if isinstance(thing, Mapping):
        return tuple(thing.values())
    if isinstance(thing, (list, tuple)):
        return thing
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return tuple(getattr(thing, f.name, None) for f in dataclasses.fields(thing))
    cells = getattr(thing, "__closure__", None) or ()
    return tuple(cell.cell_contents for cell in cells)


def runs_own_functions(thing: Any, depth: int = _DEEP) -> bool:
    """Whether a mechanism or query is, or holds, a function that is not of hush.

    Example:
        >>> from hush.mechanisms import Query, count
        >>> runs_own_functions(count())
        False
        >>> runs_own_functions(Query("mine", len, (1,), "add-remove"))
        True
    """
    if isinstance(thing, functools.partial):
        return any(runs_own_functions(each, depth - 1) for each in _parameters(thing))
    if _is_function(thing) and not _written_by_hush(thing):
        return True
    if depth == 0 or isinstance(thing, (str, bytes)):
        return False
    return any(runs_own_functions(each, depth - 1) for each in _parameters(thing))
