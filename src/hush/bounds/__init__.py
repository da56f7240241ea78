"""Concentration, utility and minimax bounds."""
