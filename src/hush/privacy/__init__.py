"""Notions of privacy as curves, and the algebra on them."""
