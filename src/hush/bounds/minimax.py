"""The best possible error of a private mean, when only moments are known."""

import math
from typing import Literal

from hush import checks
from hush.errors import InvalidArgument


def minimax_mean(
    n: int,
    epsilon: float,
    moments: float = math.inf,
    model: Literal["central", "local", "none"] = "central",
) -> float:
    """Return the minimax rate of E(error²) for a mean with E|X|^k <= 1, k = `moments`.

    Central: 1/n + (nε)^(-2(k-1)/k). Local, ε <= 1: (nε²)^(-(k-1)/k). Without privacy:
    1/n. Rates leave out a constant; they compare models and plan orders of magnitude.

    Example:
        >>> minimax_mean(10_000, epsilon=0.1, moments=2)
        0.0011
        >>> round(minimax_mean(10_000, epsilon=0.1, moments=2, model="local"), 6)
        0.1

    Reference: N4.T1 [DJW18]; N4.T2 [BD14].
    """
    n = checks.whole("n", n, at_least=1)
    e = checks.real("epsilon", epsilon, above=0)
    k = checks.real("moments", moments, at_least=2, infinite=True)
    power = 1 - 1 / k
    if model == "none":
        return 1 / n
    if model == "local":
        return float(min(1.0, (n * min(e, 1.0) ** 2) ** -power))
    if model == "central":
        return float(1 / n + (n * e) ** (-2 * power))
    raise InvalidArgument(f"model must be 'central', 'local' or 'none'; got {model!r}.")


def minimax_clip(n: int, epsilon: float, moments: float) -> float:
    """Return the clamp (nε)^(1/k) that balances bias and noise in the central model.

    Clamping to ±T loses at most T^(1-k) of the mean and needs noise T/(nε).

    Example:
        >>> minimax_clip(10_000, epsilon=0.01, moments=2)
        10.0

    Reference: N4.T2; [BD14] Section 4.
    """
    n = checks.whole("n", n, at_least=1)
    e = checks.real("epsilon", epsilon, above=0)
    k = checks.real("moments", moments, at_least=2, infinite=True)
    return float(max(1.0, (n * e) ** (1 / k)))
