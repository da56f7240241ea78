"""Bayesian inference: posteriors given noisy releases, on grids or by sampling."""
