"""A linear image of noise with a density, questioned until its cell is known.

A lattice vector moved uniformly inside its cell has a density. The move is drawn bit by
bit, and only until two questions about the image have one answer for the whole cell:
does it lie in the public set, and to which point of a public lattice does it round?
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.noise import Lattice, Source, integers

Floats = NDArray[np.float64]
_UNIT = 2.0**-53
_MORE = 16  # bits drawn at once
_DIGITS = 200  # bits of an inverse that floats cannot find


@final
@dataclass(frozen=True, eq=False)
class Image:
    """The map v -> (centre + matrix·v)·2^-bits, its entries whole numbers."""

    matrix: NDArray[np.object_]
    centre: NDArray[np.object_]
    bits: int

    @classmethod
    def of(cls, inverse: Any, solution: Any, bits: int) -> "Image":
        """Return the image by matrices of numbers, rounded to multiples of 2^-bits."""
        unit = Fraction(2) ** bits

        def whole(values: Any) -> NDArray[np.object_]:
            table = np.asarray(values, dtype=object)
            flat = [round(Fraction(each) * unit) for each in table.ravel()]
            return np.array(flat, dtype=object).reshape(table.shape)

        return cls(whole(inverse), whole(solution), bits)

    def floats(self) -> tuple[Floats, Floats]:
        """Return matrix and centre, exact as floats if they came from floats."""
        return (
            np.ldexp(self.matrix.astype(np.float64), -self.bits),
            np.ldexp(self.centre.astype(np.float64), -self.bits),
        )

    def cell(
        self,
        steps: NDArray[np.int64],
        noise: Lattice,
        grid: Lattice,
        radius: Fraction,
        source: Source,
    ) -> list[int] | None:
        """Return the point of `grid` next to the image, or None if ‖image‖₁ > radius.

        Guarantee: exactly that of a vector uniform in the cell of `steps`.
        """
        first = 1 + max(noise.exponent, 0) + max(-self.bits - grid.exponent, 0)
        depth = 0
        # The cell [k - 1/2, k + 1/2) is [2k - 1, 2k + 1) in half steps.
        place = np.array([2 * int(k) - 1 for k in steps], dtype=object)
        place = place + _bits(1, len(steps), source)
        more = first - 1
        while True:
            depth += more
            if more:
                place = place * (1 << more) + _bits(more, len(steps), source)
            unit = noise.exponent - 1 - depth  # a place is a multiple of 2^unit
            low, high = self._ends(place, unit)
            scale = unit - self.bits
            limit = radius / Fraction(2) ** scale
            sizes = [sorted((abs(a), abs(b))) for a, b in zip(low, high, strict=True)]
            zero = [a <= 0 <= b for a, b in zip(low, high, strict=True)]
            near = sum(0 if z else s[0] for s, z in zip(sizes, zero, strict=True))
            if near > limit:
                return None
            shift = grid.exponent - scale
            if sum(s[1] for s in sizes) <= limit and shift > 0:
                one, two = (_rounded_steps(ends, shift) for ends in (low, high))
                if one == two:
                    return one
            more = _MORE

    def _ends(self, place: Any, unit: int) -> tuple[list[int], list[int]]:
        """Return the least and the largest image of a cell, in units of 2^(unit-bits).

        A place is uniform in [place, place + 1).
        """
        middle = self.matrix.dot(place) + self.centre * (1 << max(-unit, 0))
        low = np.minimum(self.matrix, 0).sum(axis=1) + middle
        high = np.maximum(self.matrix, 0).sum(axis=1) + middle
        return [int(each) for each in low], [int(each) for each in high]


def _bits(count: int, size: int, source: Source) -> NDArray[np.object_]:
    drawn = integers(1 << count, size=size, source=source)
    return np.array([int(each) for each in drawn], dtype=object)


def _rounded_steps(ends: list[int], shift: int) -> list[int]:
    return [(each + (1 << (shift - 1))) >> shift for each in ends]


@final
@dataclass(frozen=True)
class Closeness:
    """How well an image stands for v -> A⁻¹(b + v): both are bounds.

    `inverse` bounds ‖I - A·matrix‖₂, and `gradient` how far, in ℓ2, the v that belongs
    to a θ with ‖θ‖₂ <= radius is from Aθ - b.
    """

    inverse: float
    gradient: float


def solve(gram: Floats, right: Floats) -> Image:
    """Return the image of A⁻¹(b + v) in floats; no promise, the certificate decides."""
    inverse = np.linalg.inv(gram)
    inverse = (inverse + inverse.T) / 2
    top = float(np.abs(inverse).max())
    bits = 52 - math.frexp(top)[1]
    return Image.of(inverse.tolist(), (inverse @ right).tolist(), bits)


def closeness(image: Image, gram: Floats, right: Floats, radius: float) -> Closeness:
    """Return a certificate of the image, rounding included.

    With E = I - A·T the image of v is θ when v = T⁻¹(θ - c), and T⁻¹ = (I - E)⁻¹A, so
    v - (Aθ - b) = (I - E)⁻¹(E(Aθ - b) - (Ac - b)).
    """
    matrix, centre = image.floats()
    d = len(right)
    unit = 2 * (d + 4) * _UNIT
    wide = np.linalg.norm(np.abs(gram) @ np.abs(matrix))
    rest = float(np.linalg.norm(np.eye(d) - gram @ matrix) + unit * (wide + d))
    size = np.linalg.norm(np.abs(gram) @ np.abs(centre)) + np.linalg.norm(right)
    missed = float(np.linalg.norm(gram @ centre - right) + unit * size)
    if not rest < 0.5:
        return Closeness(math.inf, math.inf)
    steep = float(np.linalg.norm(gram)) * radius + float(np.linalg.norm(right))
    return Closeness(rest, (rest * steep + missed) / (1 - rest) * (1 + 2.0**-30))


def exact_solve(gram: Floats, right: Floats) -> Image:
    """Return the image from an inverse in fractions, rounded to 2^-200.

    It is as close as anybody asks: ‖A‖·d·2^-200 is far below every tolerance.
    """
    d = len(right)
    table = [
        [Fraction(x) for x in row] + [Fraction(int(i == j)) for j in range(d)]
        for i, row in enumerate(gram.tolist())
    ]
    for i in range(d):  # a positive definite matrix needs no pivoting
        head = table[i][i]
        table[i] = [x / head for x in table[i]]
        for j in range(d):
            if j != i and table[j][i]:
                factor = table[j][i]
                pairs = zip(table[j], table[i], strict=True)
                table[j] = [x - factor * y for x, y in pairs]
    inverse = [row[d:] for row in table]
    exact = [Fraction(x) for x in right.tolist()]
    solution = [sum(x * y for x, y in zip(row, exact, strict=True)) for row in inverse]
    return Image.of(inverse, solution, _DIGITS)
