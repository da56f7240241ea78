"""Frequency oracles: how many people hold each category."""
