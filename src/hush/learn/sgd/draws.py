"""Exact lattice noise for many parameters at once."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hush.noise import SECURE, Source, discrete_gaussian

Steps = NDArray[np.int32]


def steps(
    deviation: Fraction, size: int | tuple[int, ...], source: Source = SECURE
) -> Steps:
    """Return independent discrete Gaussian noise as 32-bit lattice steps.

    Guarantee: the exact law; a deviation is at most 2^25, so that more than 32 bits
    would be 64 standard deviations, which have a chance below 1e-800.
    """
    drawn = discrete_gaussian(deviation, size, source=source)
    return np.asarray(drawn).astype(np.int32)
