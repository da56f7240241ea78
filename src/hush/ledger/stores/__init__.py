"""Where a ledger is kept: in memory, in an SQLite file, in PostgreSQL."""

from hush.ledger.two_phase import FORMAT, Store

__all__ = ["FORMAT", "Store"]
