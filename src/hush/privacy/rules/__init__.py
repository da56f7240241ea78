"""Rules that make curves of curves: composition, sampling, groups, shuffling."""
