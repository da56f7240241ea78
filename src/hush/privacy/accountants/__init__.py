"""Accountants: tight composition of privacy loss distributions."""
