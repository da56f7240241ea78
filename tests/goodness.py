"""Goodness of fit with a stated false-alarm rate.

A correct sampler fails one check with probability `FALSE_ALARM` over the choice of the
seed; every check is paired with a sabotaged twin that must fail it.
"""

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-9


def p_value(observed, expected) -> float:
    """Chi-square p-value of counts; cells are merged until each expects 25."""
    observed, expected = np.asarray(observed, float), np.asarray(expected, float)
    merged_o, merged_e, o, e = [], [], 0.0, 0.0
    for each_o, each_e in zip(observed, expected, strict=True):
        o, e = o + each_o, e + each_e
        if e >= 25:
            merged_o.append(o)
            merged_e.append(e)
            o = e = 0.0
    if merged_e:
        merged_o[-1] += o
        merged_e[-1] += e
    else:
        merged_o, merged_e = [o], [e]
    if len(merged_e) == 1:
        return 1.0 if merged_o[0] == observed.sum() else 0.0
    o, e = np.array(merged_o), np.array(merged_e)
    return float(stats.chi2.sf(((o - e) ** 2 / e).sum(), len(e) - 1))


def fits(law, draws, cells: int = 64) -> float:
    """P-value of integer draws against a law, in cells of about equal probability."""
    edges = sorted({law.quantile(p) for p in np.arange(1, cells) / cells})
    cumulative = np.concatenate([[0.0], law.cdf(np.array(edges)), [1.0]])
    observed = np.bincount(
        np.searchsorted(edges, draws, side="left"), minlength=len(edges) + 1
    )
    return p_value(observed, np.diff(cumulative) * len(draws))


def fits_residues(law, draws, modulus: int, reach: int) -> float:
    """P-value of draws modulo a number: sees faults in the low digits."""
    support = np.arange(-reach, reach + 1)
    expected = np.zeros(modulus)
    np.add.at(expected, support % modulus, law.pmf(support))
    observed = np.bincount(np.asarray(draws) % modulus, minlength=modulus)
    return p_value(observed, expected * len(draws))
