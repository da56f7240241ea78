"""Engines and sources: where rows are, and how exact numbers leave them."""
