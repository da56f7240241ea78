"""A price list computed apart: from the definition of each law, with mpmath.

Nothing here is imported from hush. A law is a table of probabilities; δ(ε) of two
neighbors is the sum of max(0, p - e^ε q) over all outcomes, the worse of both orders,
and sensitivities are found by trying all small data sets.
"""

import functools
import itertools
import math
from fractions import Fraction

import mpmath

DIGITS = 40
_FAR = 60  # scales or standard deviations, beyond which nothing is left


def hockey(p, q, epsilon):
    """Return δ(ε) of two tables of probabilities over the same outcomes."""
    with mpmath.workdps(DIGITS):
        e = mpmath.e ** mpmath.mpf(epsilon)
        one = mpmath.fsum(max(0, x - e * y) for x, y in zip(p, q, strict=True))
        two = mpmath.fsum(max(0, y - e * x) for x, y in zip(p, q, strict=True))
        return max(one, two)


def _exact(number):
    return mpmath.mpf(number.numerator) / number.denominator


def laplace(scale, steps):
    """Return the two tables of whole Laplace noise on numbers `steps` apart."""
    with mpmath.workdps(DIGITS):
        far = int(_FAR * scale) + steps + 1
        ratio = mpmath.e ** (-1 / _exact(scale))
        norm = (1 - ratio) / (1 + ratio)
        law = [norm * ratio ** abs(k) for k in range(-far, far + steps + 1)]
        return law[steps:], law[: len(law) - steps]


def gaussian(std, steps):
    """Return the two tables of whole Gaussian noise on numbers `steps` apart."""
    with mpmath.workdps(DIGITS):
        far = int(12 * std) + steps + 2
        width = 2 * _exact(std) ** 2
        law = [mpmath.e ** (-(k * k) / width) for k in range(-far, far + steps + 1)]
        total = mpmath.fsum(law)
        law = [each / total for each in law]
        return law[steps:], law[: len(law) - steps]


def staircase(epsilon, width, inner, steps):
    """Return the two tables of staircase noise on numbers `steps` apart."""
    with mpmath.workdps(DIGITS):
        e = mpmath.e ** (-_exact(epsilon))
        far = (int(_FAR / epsilon) + 2) * width + steps

        def weight(k):
            stair, place = divmod(abs(k), width)
            return e ** (stair + (place >= inner))

        law = [weight(k) for k in range(-far, far + steps + 1)]
        total = mpmath.fsum(law)
        law = [each / total for each in law]
        return law[steps:], law[: len(law) - steps]


def response(honesty, categories):
    """Return the two tables of randomized response."""
    other = (1 - honesty) / (categories - 1)
    rest = [other] * (categories - 2)
    return (
        [_exact(x) for x in (honesty, other, *rest)],
        [_exact(x) for x in (other, honesty, *rest)],
    )


def exponential(scores, scale):
    """Return the law of the exponential mechanism."""
    with mpmath.workdps(DIGITS):
        weights = [mpmath.e ** (_exact(Fraction(u)) / _exact(scale)) for u in scores]
        total = mpmath.fsum(weights)
        return [each / total for each in weights]


def permute_and_flip(scores, scale):
    """Return the law of permute and flip, by all orders of the candidates."""
    with mpmath.workdps(DIGITS):
        best = max(scores)
        keep = [
            mpmath.e ** (_exact(Fraction(u - best)) / _exact(scale)) for u in scores
        ]
        chance = [mpmath.mpf(0)] * len(scores)
        orders = list(itertools.permutations(range(len(scores))))
        for order in orders:
            left = mpmath.mpf(1)
            for place in order:
                chance[place] += left * keep[place] / len(orders)
                left *= 1 - keep[place]
        return chance


def noisy_max(scores, scale):
    """Return the law of the place of the larger of two scores with whole noise.

    Ties are broken by a fair choice. Only the gap matters: the law of the difference of
    two whole Laplace variables is summed up.
    """
    with mpmath.workdps(DIGITS):
        far = int(_FAR * scale) + abs(scores[0] - scores[1]) + 1
        ratio = mpmath.e ** (-1 / _exact(scale))
        norm = (1 - ratio) / (1 + ratio)
        law = [norm * ratio ** abs(k) for k in range(-far, far + 1)]
        gap = scores[0] - scores[1]
        first = below = mpmath.mpf(0)
        for t, chance in enumerate(law):  # the second has noise t, the first needs more
            place = t - gap
            if 0 <= place < len(law):
                first += law[place] * (below + chance / 2)
            below += chance
        return [first, 1 - first]


def choices(law, scale, epsilon, *, monotone=False, most=2, count=3):
    """Return the largest δ(ε) of a choice among `count`, over all scores up to `most`.

    Neighbors move every score by at most 1, all the same way if `monotone`.
    """
    worst = mpmath.mpf(0)

    @functools.cache
    def table(scores):
        return law(scores, scale)

    def known(scores):
        return table(tuple(u - min(scores) for u in scores))

    moves = (0, 1) if monotone else (-1, 0, 1)
    for scores in itertools.product(range(most + 1), repeat=count):
        if min(scores):
            continue  # adding a number to all scores changes no law here
        mine = known(scores)
        for move in itertools.product(moves, repeat=count):
            moved = [u + v for u, v in zip(scores, move, strict=True)]
            worst = max(worst, hockey(mine, known(moved), epsilon))
    return worst


# -- sensitivities, by brute force -------------------------------------------------


def clamp(x, lower, upper):
    return min(max(Fraction(x), Fraction(lower)), Fraction(upper))


def _mean(data):
    return sum(data) / len(data)


def _variance(data):
    middle = _mean(data)
    return sum((x - middle) ** 2 for x in data) / len(data)


STATISTICS = {
    "sum": sum,
    "mean": _mean,
    "variance": _variance,
    "count": len,
}


def sensitivity(name, values, bounds, neighbors, size):
    """Return the largest move of a statistic, over all data sets of `values`."""
    statistic = STATISTICS[name]
    worst = Fraction(0)
    clean = [clamp(x, *bounds) for x in values]
    for data in itertools.combinations_with_replacement(clean, size):
        here = Fraction(statistic(list(data)))
        for other in clean:
            if neighbors == "replace-one":
                moved = [
                    Fraction(statistic([*data[:i], other, *data[i + 1 :]]))
                    for i in range(len(data))
                ]
            else:
                moved = [Fraction(statistic([*data, other]))]
            worst = max(worst, *(abs(here - each) for each in moved))
    return worst


def log(value):
    """Return a logarithm with many digits."""
    with mpmath.workdps(DIGITS):
        return mpmath.log(_exact(value) if isinstance(value, Fraction) else value)


def lattice_steps(distance, step, dimension=1):
    """Return how many steps numbers `distance` apart may be apart when rounded."""
    return 0 if distance == 0 else math.ceil(Fraction(distance) / step) + dimension - 1
