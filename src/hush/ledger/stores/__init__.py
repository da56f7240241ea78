"""Where a ledger is kept: in memory, in an SQLite file, in PostgreSQL."""

from hush.errors import InvalidArgument
from hush.ledger.two_phase import FORMAT, Store


def open_store(url: str) -> Store:
    """Return the store behind an address.

    Example:
        >>> open_store("memory://")
        SQLite(':memory:')
    """
    scheme, mark, rest = str(url).partition("://")
    if mark and scheme == "memory" and not rest:
        from hush.ledger.stores.sqlite import SQLite

        return SQLite(None)
    if mark and scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        from hush.ledger.stores.sqlite import SQLite

        return SQLite(rest[1:])
    if mark and scheme in ("postgresql", "postgres"):
        from hush.ledger.stores.postgres import Postgres

        return Postgres(url)
    # The address may hold a password: name the part before it only.
    raise InvalidArgument(
        f"a ledger's address must start with sqlite:///, postgresql:// or be "
        f"memory://; got one that starts with {scheme[:16]!r}. A file budget.db is "
        "'sqlite:///budget.db', with four slashes when its path is absolute."
    )


__all__ = ["FORMAT", "Store", "open_store"]
