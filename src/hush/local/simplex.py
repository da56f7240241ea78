"""The nearest probability distribution to a vector, in Euclidean distance."""

import numpy as np
from numpy.typing import NDArray


def project(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the closest point of the simplex: subtract a constant, cut at zero.

    Example:
        >>> project(np.array([0.7, 0.5, -0.2])).round(6).tolist()
        [0.6, 0.4, 0.0]
    """
    falling = np.sort(vector)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, vector.size + 1)
    kept = np.flatnonzero(falling > excess)[-1]
    cut: NDArray[np.float64] = np.maximum(vector - excess[kept], 0.0)
    cut /= cut.sum()
    return cut
