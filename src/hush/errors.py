"""What can go wrong, by name; no message ever carries a data value."""


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
