"""What can go wrong, by name; no message ever carries a data value.

    HushError                 every error that hush raises on purpose
    ├── InvalidArgument       an argument is outside its range (also a ValueError)
    ├── NoBound               no guarantee can be proven (also a ValueError)
    ├── Unsupported           the request cannot be answered privately
    ├── InsecureSource        seeded noise where a real release is made
    ├── BudgetExceeded        the charge does not fit; nothing was spent
    ├── KeyConflict           the key belongs to another request; nothing was spent
    ├── LedgerError           the ledger cannot be reached or trusted
    ├── DrawFailed            the answer failed; the charge stands
    │   └── DrawInterrupted   the engine was out of reach; the same key resumes
    └── LockedOut             too many failures; an administrator has to look

Through a ledger or a table the first six come before the data is read, and cost
nothing; `DrawFailed` comes after, and says nothing. `except HushError` catches all.
Every error has a stable `code`, such as `budget-exceeded`: docs/errors.md explains it,
and docs/decisions/0028 why.
"""

import functools
import os
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FunctionType, TracebackType
from typing import ParamSpec, TypeVar, final

from hush import suggestions


class HushError(Exception):
    """Base of every error hush raises on purpose.

    `code` is the stable code of the refusal, the same in Python and on the command
    line: that of the class, or a finer one where the error is raised. The text of an
    error may improve from version to version; its code stays. See docs/errors.md.

    Example:
        >>> InvalidArgument("epsilon must be positive.").code
        'invalid-argument'
        >>> InvalidArgument("no column 'x'.", code="unknown-column").code
        'unknown-column'
    """

    code: str = "refused"

    def __init__(self, *args: object, code: str | None = None) -> None:
        """Keep the text as it is, and the finer code if there is one."""
        super().__init__(*args)
        if code is not None:
            self.code = code


class InvalidArgument(HushError, ValueError):
    """An argument lies outside its documented range."""

    code = "invalid-argument"


class NoBound(HushError, ValueError):
    """No sound guarantee is known for what was asked, so none is returned."""

    code = "no-bound"


class BudgetExceeded(HushError):
    """A charge does not fit into what is left; nothing was spent."""

    code = "budget-exceeded"


class InsecureSource(HushError):
    """A seeded (repeatable) source was offered where a real release is made."""

    code = "insecure-source"


class LedgerError(HushError):
    """The ledger cannot be trusted or reached; nothing was released."""

    code = "ledger-error"


class Unsupported(HushError):
    """A request is outside what hush can answer privately."""

    code = "unsupported"


class KeyConflict(HushError):
    """An idempotency key was used again for a different request; nothing was spent."""

    code = "key-conflict"


class DrawFailed(HushError):
    """Computing an answer failed; its charge stands and nothing more is said."""

    code = "draw-failed"


class DrawInterrupted(DrawFailed):
    """An engine was out of reach, memory or time; the same key resumes for free."""

    code = "draw-interrupted"


class LockedOut(HushError):
    """Too many draws failed; an administrator has to look before the next one."""

    code = "locked-out"


class Stopped(SystemExit):
    """Ends a run from outside, as a test does; nothing that is run may keep it."""


@final
class Withheld(AbstractContextManager["Withheld", bool]):
    """Hold back whatever fails inside: what it says may depend on the data.

    `except Exception` would not do: the panics of libraries written in Rust, as Polars
    is, are none, and quote values. A wish to exit is a failure like any other, because
    a function may exit on some data and not on others; only an interrupt passes, and
    without words.

    Example:
        >>> with Withheld() as tried:
        ...     raise ValueError("cannot parse 41")
        ...
        >>> tried.failed
        True
    """

    failed = False
    interrupted = False  # by an engine that was out of reach: see `DrawInterrupted`

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool:
        """Say that it failed, and nothing else."""
        passes = (KeyboardInterrupt, Stopped)
        self.failed = kind is not None and not issubclass(kind, passes)
        self.interrupted = kind is not None and issubclass(kind, DrawInterrupted)
        if isinstance(
            value, KeyboardInterrupt
        ):  # raised by a function, it may say more
            value.args = ()
            vars(value).clear()
        return self.failed


@final
class Forgotten(AbstractContextManager["Forgotten", None]):
    """Let an error pass without the variables of the functions that it came through.

    A traceback keeps every frame it passed, and a debugger or `sys.last_traceback`
    shows their variables: an answer that was drawn and not yet stored, or data.

    Example:
        >>> def draw():
        ...     answer = 41
        ...     raise KeyboardInterrupt
        ...
        >>> try:
        ...     with Forgotten():
        ...         draw()
        ... except KeyboardInterrupt as error:
        ...     print(error.__traceback__.tb_next.tb_frame.f_locals)
        ...
        {}
    """

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Clear the frames of the error and of those it came from."""
        seen: set[int] = set()
        while value is not None and id(value) not in seen:
            seen.add(id(value))
            traceback.clear_frames(value.__traceback__)
            before = value.__cause__ or value.__context__
            value.__cause__ = value.__context__ = None
            value = before


# -- Short tracebacks: a refusal shows the caller's line, not the way through hush.

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def short_traceback(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function raise hush's errors as if it were the only one that runs.

    Example:
        >>> def deep(n):
        ...     return deep(n - 1) if n else int(hush_refuses())
        ...
        >>> def hush_refuses():
        ...     raise HushError("no")
        ...
        >>> try:
        ...     short_traceback(deep)(20)
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
            if not suggestions.is_refused_call(problem):
                raise
            raise suggestions.argument_error(function, args, options, problem) from None
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
            setattr(owner, name, short_traceback(each))
        elif isinstance(each, classmethod):
            setattr(owner, name, classmethod(short_traceback(each.__func__)))
    return owner


# What stands on the public page; short tracebacks are a matter of hush alone.
__all__ = [
    "BudgetExceeded",
    "DrawFailed",
    "DrawInterrupted",
    "Forgotten",
    "HushError",
    "InsecureSource",
    "InvalidArgument",
    "KeyConflict",
    "LedgerError",
    "LockedOut",
    "NoBound",
    "Stopped",
    "Unsupported",
    "Withheld",
]
