"""Quantile mechanisms: of one list, and of many weighted histograms at once."""
