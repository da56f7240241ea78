"""Means in the local model: numbers that their owners randomize."""
