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
    └── LockedOut             too many failures; an administrator has to look

Through a ledger or a table the first six come before the data is read, and cost
nothing; `DrawFailed` comes after, and says nothing. `except HushError` catches all.
"""

from contextlib import AbstractContextManager
from types import TracebackType
from typing import final


class HushError(Exception):
    """Base of every error hush raises on purpose."""


class InvalidArgument(HushError, ValueError):
    """An argument lies outside its documented range."""


class NoBound(HushError, ValueError):
    """No sound guarantee is known for what was asked, so none is returned."""


class BudgetExceeded(HushError):
    """A charge does not fit into what is left; nothing was spent."""


class InsecureSource(HushError):
    """A seeded (repeatable) source was offered where a real release is made."""


class LedgerError(HushError):
    """The ledger cannot be trusted or reached; nothing was released."""


class Unsupported(HushError):
    """A request is outside what hush can answer privately."""


class KeyConflict(HushError):
    """An idempotency key was used again for a different request; nothing was spent."""


class DrawFailed(HushError):
    """Computing an answer failed; its charge stands and nothing more is said."""


class LockedOut(HushError):
    """Too many draws failed; an administrator has to look before the next one."""


@final
class Withheld(AbstractContextManager["Withheld", bool]):
    """Hold back whatever fails inside: what it says may depend on the data.

    `except Exception` would not do: the panics of libraries written in Rust, as Polars
    is, are none, and quote values. Only a wish to end the program passes.

    Example:
        >>> with Withheld() as tried:
        ...     raise ValueError("cannot parse 41")
        ...
        >>> tried.failed
        True
    """

    failed = False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool:
        """Say that it failed, and nothing else."""
        ends = (KeyboardInterrupt, SystemExit)
        self.failed = kind is not None and not issubclass(kind, ends)
        return self.failed
