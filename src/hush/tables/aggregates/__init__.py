"""Aggregates: what a user asks for, made of parts that are noised."""
