"""Dominating pairs of laws, and how they are read as curves."""
