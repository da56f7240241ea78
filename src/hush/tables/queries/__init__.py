"""Queries on a table: planned, released through a ledger, answered."""
