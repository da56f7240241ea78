"""Regression coefficients from released sufficient statistics."""

from typing import Any

import numpy as np

from hush import checks
from hush.errors import InvalidArgument
from hush.inference import inputs
from hush.inference.results import Interval


def regression_interval(
    gram: Any,
    moment: Any,
    square: float,
    *,
    n: int,
    gram_std: float,
    moment_std: float,
    level: float = 0.95,
) -> Interval:
    """Return least-squares coefficients from noisy XᵀX, Xᵀy and yᵀy.

    `gram_std` and `moment_std` are the standard deviations of the noise on each entry
    (of the upper triangle, mirrored) of XᵀX and of Xᵀy.

    Guarantee: to first order the error is (XᵀX)⁻¹(Xᵀe + noise of Xᵀy - noise of
    XᵀX·β); its normal law with these variances. Where the noise of XᵀX is not small
    against its least eigenvalue this is refused: coefficients would be biased.

    Example:
        >>> found = regression_interval([[1000.0, 0], [0, 300]], [2000.0, 150], 4500.0,
        ...                             n=1000, gram_std=1.0, moment_std=1.0)
        >>> [round(float(b), 2) for b in found.value]
        [2.0, 0.5]

    Reference: docs/inference.md has measured coverage.
    """
    a = inputs.numbers("gram", gram)
    b = inputs.numbers("moment", moment)
    people = checks.whole("n", n, at_least=2)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or b.shape != a.shape[:1]:
        raise InvalidArgument(
            f"gram must be square and fit moment; got shapes {a.shape}, {b.shape}."
        )
    checks.real("level", level, above=0, below=1)
    noise = checks.real("gram_std", gram_std, at_least=0)
    other = checks.real("moment_std", moment_std, at_least=0)
    a = (a + a.T) / 2
    least = float(np.linalg.eigvalsh(a)[0])
    if least <= 4 * noise * np.sqrt(b.size):
        raise InvalidArgument(
            f"gram has least eigenvalue {least:.3g}, not clearly above its noise "
            f"({noise:.3g} per entry). Use fewer columns, more people or more budget."
        )
    inverse = np.linalg.inv(a)
    beta = inverse @ b
    residual = float(checks.real("square", square) - beta @ b) / max(people - b.size, 1)
    # Noise of gram moves the residual sum of squares by about noise·|β|².
    residual = max(residual, 0.0)
    # (noise of a mirrored matrix)·β has covariance noise²(|β|²I + ββᵀ - diag(β²)).
    mirrored = noise**2 * (
        (beta @ beta) * np.eye(b.size) + np.outer(beta, beta) - np.diag(beta**2)
    )
    covariance = (
        inverse * residual + inverse @ (mirrored + other**2 * np.eye(b.size)) @ inverse
    )
    std = np.sqrt(np.diag(covariance))
    sampling = np.sqrt(np.diag(inverse) * residual)
    ratio = np.minimum(sampling / np.maximum(std, 1e-150), 1.0)
    return Interval(beta, std, people * ratio**2, level)
