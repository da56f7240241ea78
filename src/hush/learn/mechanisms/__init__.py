"""Mechanisms of learning: what estimators draw, and what it costs."""
