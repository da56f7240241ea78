"""Mechanisms: public, immutable values that know their privacy and their error."""
