"""Expressions over one row, total on every engine."""
