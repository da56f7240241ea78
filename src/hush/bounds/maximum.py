"""The largest of many random variables, and what it says about one of them."""

import math
from collections.abc import Callable

from hush import checks
from hush.errors import InvalidArgument


def maximum(
    count: int, log_mgf: Callable[[float], float], *, below: float = math.inf
) -> float:
    """Return the least (log count + log MGF(t))/t over t in (0, below): E max obeys it.

    `log_mgf` may be the logarithm of any bound on E e^(tX), finite below `below`.

    Guarantee: E max of `count` variables with that MGF, dependent or not, is no larger.

    Example:
        >>> round(maximum(1000, lambda t: t * t / 2), 3)  # normal variables
        3.717

    Reference: N5.L3.
    """
    k = checks.whole("count", count, at_least=1)

    def value(log_t: float) -> float:
        t = math.exp(log_t)
        return (math.log(k) + log_mgf(t)) / t if t < below else math.inf

    # The bound is unimodal in log t: a grid, then golden sections around its best.
    top = math.log(below) if math.isfinite(below) else 40.0
    grid = [top - 60 + 0.05 * i for i in range(1200)]
    best = min(grid, key=value)
    low, high = best - 0.05, best + 0.05
    for _ in range(60):
        a, b = low + 0.382 * (high - low), low + 0.618 * (high - low)
        low, high = (low, b) if value(a) < value(b) else (a, high)
    found = min(value(low), value(high), value(best))
    if not math.isfinite(found):
        raise InvalidArgument("log_mgf must be finite for some t below `below`.")
    return found


def laplace_maximum(dimension: int, scale: float = 1.0) -> float:
    """Return scale·(1 + ln d), which E max |Z_i| of d Laplace variables obeys.

    Example:
        >>> laplace_maximum(1, scale=2.0)
        2.0

    Reference: L.acc.
    """
    d = checks.whole("dimension", dimension, at_least=1)
    return checks.real("scale", scale, above=0) * (1 + math.log(d))


def laplace_maximum_tail(dimension: int, t: float, scale: float = 1.0) -> float:
    """Return min(1, d·e^(-t/scale)), which P(max |Z_i| > t) obeys.

    Example:
        >>> round(laplace_maximum_tail(10, t=math.log(10) + 1), 4)
        0.3679

    Reference: L.acc.
    """
    d = checks.whole("dimension", dimension, at_least=1)
    exponent = math.log(d) - checks.real("t", t, at_least=0) / scale
    return math.exp(min(0.0, exponent))


def tail_from_maximum(copies: int) -> float:
    """Return ln 2/m, which P(Y >= 2 E max(0, Y¹, ..., Y^m)) obeys.

    Example:
        >>> round(tail_from_maximum(100), 5)
        0.00693

    Reference: C.L1.2.
    """
    return math.log(2) / checks.whole("copies", copies, at_least=1)


def stable_maximum(mean: float, copies: int, eta: float | None = None) -> float:
    """Return e^η·mean + 2 ln(m)/η, which E max_j Σ_i X_i^j obeys, best over η if open.

    The X_i^j lie in [0, 1], rows i are independent, no column has a larger mean sum.

    Example:
        >>> stable_maximum(50, copies=10) <= stable_maximum(50, copies=10, eta=1.0)
        True

    Reference: C.L2.1.
    """
    top = checks.real("mean", mean, at_least=0)
    m = checks.whole("copies", copies, at_least=1)

    def value(each: float) -> float:
        return math.exp(each) * top + 2 * math.log(m) / each

    if eta is not None:
        return value(checks.real("eta", eta, above=0))
    return min(value(math.exp(x / 100)) for x in range(-1500, 500))


def maximum_of_sums(n: int, copies: int) -> float:
    """Return 4√(n ln(m+1)), which E max(0, Y¹, ..., Y^m) obeys for centered sums.

    Example:
        >>> round(maximum_of_sums(100, copies=10), 2)
        61.94

    Reference: C.P2.5.
    """
    n = checks.whole("n", n, at_least=1)
    m = checks.whole("copies", copies, at_least=1)
    return 4 * math.sqrt(n * math.log(m + 1))
