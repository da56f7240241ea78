"""Slow, independent truths: 50-digit quadrature and exact enumeration."""

from fractions import Fraction
from itertools import product
from typing import Any

import mpmath as mp

DIGITS = 50


def gaussian_delta(epsilon: Any, mu: Any) -> Any:
    """The two normal probabilities, with more digits than they cancel."""
    with mp.workdps(400):
        e, m = mp.mpf(epsilon), mp.mpf(mu)
        return mp.ncdf(-e / m + m / 2) - mp.exp(e) * mp.ncdf(-e / m - m / 2)


class Mixture:
    """(1-q) N(0, s²) + q N(1, s²) and N(0, s²), by their densities alone."""

    def __init__(self, std: float, rate: float, direction: str) -> None:
        self.std, self.rate = mp.mpf(std), mp.mpf(rate)
        self.sign = 1 if direction == "remove" else -1

    def base(self, x: Any) -> Any:
        return mp.npdf(x, 0, self.std)

    def mixture(self, x: Any) -> Any:
        return (1 - self.rate) * self.base(x) + self.rate * mp.npdf(x, 1, self.std)

    def first(self, x: Any) -> Any:
        return self.mixture(x) if self.sign > 0 else self.base(x)

    def loss(self, x: Any) -> Any:
        return self.sign * mp.log(self.mixture(x) / self.base(x))

    def points(self) -> list[Any]:
        return [self.std * k for k in range(-14, 15, 2)] + [1 + 16 * self.std]

    def transform(self, z: complex) -> Any:
        """E e^(zL), by quadrature over x."""
        with mp.workdps(30):
            w = mp.mpc(z)
            return mp.quad(
                lambda x: self.first(x) * mp.exp(w * self.loss(x)),
                self.points(),
                method="gauss-legendre",  # nothing here has a kink
            )

    def delta(self, epsilon: Any) -> Any:
        """∫ (P - e^ε Q)_+, cut where the integrand changes sign."""
        with mp.workdps(DIGITS):
            e = mp.mpf(epsilon)
            v = mp.expm1(self.sign * e) / self.rate
            if v <= -1:
                return 1 - mp.exp(e) if self.sign > 0 else mp.mpf(0)
            cut = self.std**2 * mp.log1p(v) + mp.mpf(1) / 2
            second = self.base if self.sign > 0 else self.mixture
            end = max(self.sign * cut, 0) + 12 * self.std + 1
            count = int((end - self.sign * cut) / (3 * self.std)) + 1
            steps = mp.linspace(cut, self.sign * end, count + 1)
            level = mp.exp(e)
            value = mp.quad(lambda x: self.first(x) - level * second(x), steps)
            return self.sign * value

    def delta_of_two(self, epsilon: float) -> Any:
        """Two steps: condition on the first, use the exact curve of the second."""
        with mp.workdps(20):
            e = mp.mpf(epsilon)

            def inner(x: Any) -> Any:
                return self.first(x) * self._curve(e - self.loss(x))

            return mp.quad(inner, self.points())

    def _curve(self, epsilon: Any) -> Any:
        """One step in closed form, which `delta` checks by quadrature."""
        q, mu = self.rate, 1 / self.std
        v = mp.expm1(self.sign * epsilon) / q
        if v <= -1:
            return 1 - mp.exp(epsilon) if self.sign > 0 else mp.mpf(0)
        at = self.sign * mp.log1p(v)
        factor = q if self.sign > 0 else mp.exp(epsilon) * q * (1 + v)
        value = mp.ncdf(-at / mu + mu / 2) - mp.exp(at) * mp.ncdf(-at / mu - mu / 2)
        return factor * value


def enumerate_delta(
    pairs: list[tuple[list[Fraction], list[Fraction]]], epsilon: float
) -> Any:
    """Σ (P - e^ε Q)_+ over every outcome of a product of tables."""
    with mp.workdps(DIGITS):
        level = mp.exp(mp.mpf(epsilon))
        total = mp.mpf(0)
        for outcome in product(*(range(len(p)) for p, _ in pairs)):
            a = b = Fraction(1)
            for (p, q), index in zip(pairs, outcome, strict=True):
                a, b = a * p[index], b * q[index]
            gap = mp.mpf(a.numerator) / a.denominator
            gap -= level * b.numerator / b.denominator
            total += max(gap, 0)
        return total
