"""Short tracebacks: a refusal shows the caller's line, not the way through hush.

What is wrong stands in the last line of a traceback, and the way out with it. Thirty
lines of our own before it hide that. Errors of other kinds keep all their lines, and
with HUSH_DEBUG set in the environment every error does.
"""

import functools
import os
from collections.abc import Callable
from types import FunctionType
from typing import ParamSpec, TypeVar

from hush import suggestions
from hush.errors import HushError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def brief(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function raise hush's errors as if it were the only one that runs.

    Example:
        >>> def deep(n):
        ...     return deep(n - 1) if n else int(hush_refuses())
        ...
        >>> def hush_refuses():
        ...     raise HushError("no")
        ...
        >>> try:
        ...     brief(deep)(20)
        ... except HushError as error:
        ...     print(error.__traceback__.tb_next.tb_next)
        ...
        None
    """

    @functools.wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        try:
            return function(*args, **options)
        except HushError as error:
            if os.environ.get("HUSH_DEBUG"):
                raise
            refused = error.with_traceback(None)
        except TypeError as problem:
            if not suggestions.outside(problem):
                raise
            raise suggestions.unbound(function, args, options, problem) from None
        try:
            raise refused
        finally:
            del refused  # or its traceback and this frame would hold each other

    return call


def methods(owner: type[T]) -> type[T]:
    """Make all public methods of a class brief."""
    for name, each in list(vars(owner).items()):
        if name.startswith("_"):
            continue
        if isinstance(each, FunctionType):
            setattr(owner, name, brief(each))
        elif isinstance(each, classmethod):
            setattr(owner, name, classmethod(brief(each.__func__)))
    return owner
