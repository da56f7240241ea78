"""Contribution bounding: how much one person may count, and how it is computed."""
