"""Exact draws from exp(-potential/scale) on a lattice in few dimensions.

Cubes that cover the set are halved where they weigh most. Each has a whole weight that
no point of it exceeds on average; a cube is chosen by weight, a point in it uniformly,
and the point is kept with the ratio of what it weighs to its share of the cube.
"""

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from hush.learn.mechanisms.potential import Potential
from hush.noise import SECURE, Source, integers
from hush.noise.bernoulli import coin_flips
from hush.noise.inversion import Bracket, exp_bracket

Floats = NDArray[np.float64]
Points = NDArray[np.int64]
_CUBES = 1 << 13
_KEPT = 1 / 32  # a cover is fine enough when about so many proposals are kept
_TRIES = 1024  # after so many in vain it was not
_WEIGHT = 2.0**36  # of the heaviest cube


@final
@dataclass(frozen=True)
class Diamond:
    """Whole vectors with ℓ1 norm at most `radius`.

    Example:
        >>> Diamond(2, 3).holds(np.array([[1, -2], [2, 2]]))
        array([ True, False])
    """

    dimension: int
    radius: int

    @property
    def half(self) -> int:
        """The power of two above the radius."""
        return 1 << self.radius.bit_length()

    def holds(self, points: Points) -> NDArray[np.bool_]:
        """Return which points lie inside."""
        return np.asarray(np.abs(points).sum(axis=1) <= self.radius)

    def has_points(self, corners: Points, sides: Points) -> NDArray[np.bool_]:
        """Return which cubes have a point inside."""
        far = corners + sides[:, None] - 1
        near = np.maximum(np.maximum(corners, -far), 0)
        return np.asarray(near.sum(axis=1) <= self.radius)


@final
@dataclass(frozen=True, eq=False)
class Cover:
    """Cubes of lattice points, each with a lower bound on the potential in it."""

    potential: Potential
    diamond: Diamond
    step: float
    scale: float
    slack: float  # rounding of the potential
    corners: Points
    sides: Points
    lower: Floats
    middle: Floats  # the potential at the centre: no promise, it guides the refining

    @classmethod
    def one_cube(
        cls,
        potential: Potential,
        diamond: Diamond,
        step: float,
        scale: float,
        slack: float,
    ) -> "Cover":
        """Return one cube that holds the diamond."""
        corner = np.full((1, diamond.dimension), -diamond.half, dtype=np.int64)
        side = np.array([2 * diamond.half], dtype=np.int64)
        none, no = (corner[:0], side[:0]), np.zeros(0)
        empty = cls(potential, diamond, step, scale, slack, *none, no, no)
        return empty._with_cubes(corner, side)

    def _with_cubes(self, corners: Points, sides: Points) -> "Cover":
        inside = self.diamond.has_points(corners, sides)
        corners, sides = corners[inside], sides[inside]
        half = (sides - 1) / 2  # whole and half steps: exact
        lower, middle = self.potential.below(
            (corners + half[:, None]) * self.step, half * self.step
        )
        return replace(
            self,
            corners=np.concatenate([self.corners, corners]),
            sides=np.concatenate([self.sides, sides]),
            lower=np.concatenate([self.lower, lower - 4 * self.slack]),
            middle=np.concatenate([self.middle, middle]),
        )

    @property
    def _logs(self) -> Floats:
        """Logarithm of the weight of each cube, the least potential as zero."""
        volume = self.diamond.dimension * np.log(self.sides)
        return np.asarray(volume - (self.lower - self.lower.min()) / self.scale)

    def refine(self, kept: float, most: int) -> "Cover":
        """Return a cover of at most about `most` cubes that keeps about `kept`.

        The fewest cubes that together lose half of what is lost are halved.
        """
        cover = self
        while len(cover.sides) < most:
            logs = cover._logs
            weights = np.exp(logs - logs.max())
            true = weights * np.exp((cover.lower - cover.middle) / cover.scale)
            if true.sum() >= kept * weights.sum():
                break
            lost = np.where(cover.sides > 1, weights - true, 0.0)
            order = np.argsort(-lost)
            total = np.cumsum(lost[order])
            if total[-1] <= 0:
                break
            count = 1 + int(np.searchsorted(total, total[-1] / 2))
            large = np.zeros(len(lost), dtype=np.bool_)
            large[order[:count]] = True
            cover = cover._halve(large & (cover.sides > 1))
        return cover

    def _halve(self, large: NDArray[np.bool_]) -> "Cover":
        d = self.diamond.dimension
        sides = self.sides[large] // 2
        moves = np.array(list(itertools.product((0, 1), repeat=d)), dtype=np.int64)
        corners = self.corners[large][:, None] + moves * sides[:, None, None]
        kept = replace(
            self,
            corners=self.corners[~large],
            sides=self.sides[~large],
            lower=self.lower[~large],
            middle=self.middle[~large],
        )
        return kept._with_cubes(corners.reshape(-1, d), np.repeat(sides, len(moves)))

    def first_accepted(self, count: int, source: Source) -> Points | None:
        """Return the first point kept of `count` proposals, or none.

        Guarantee: a kept point has exactly the law exp(-potential/scale) on the
        diamond, for a potential within `slack` of the true one.
        """
        logs, least = self._logs, float(self.lower.min())
        top = float(logs.max())
        # The factor covers rounding; one more covers weights that vanish.
        whole = np.ceil(np.exp(logs - top) * (_WEIGHT * (1 + 2.0**-20))) + 1
        weights = whole.astype(np.int64)
        ends = np.cumsum(weights)
        unit = Fraction(_WEIGHT * math.exp(-top))
        done, batch, d = 0, 32, self.diamond.dimension
        while done < count:
            chosen = np.searchsorted(
                ends, integers(int(ends[-1]), size=batch, source=source), side="right"
            )
            within = integers(2 * self.diamond.half, size=(batch, d), source=source)
            sides = self.sides[chosen]
            points = self.corners[chosen] + (within & (sides - 1)[:, None])
            good = np.flatnonzero(self.diamond.holds(points))
            done, batch = done + batch, min(2 * batch, 512)
            if not good.size:
                continue
            cost = self.potential.at(points[good] * self.step) - least
            share = [
                unit * int(side) ** d / int(w)
                for side, w in zip(sides[good], weights[chosen[good]], strict=True)
            ]
            kept = good[_coins(share, cost, self.scale, source)]
            if kept.size:
                found: Points = points[kept[0]]
                return found
        return None


def _coins(
    share: list[Fraction], cost: Floats, scale: float, source: Source
) -> NDArray[np.bool_]:
    """Return coins of chance share·exp(-cost/scale), at most one by construction."""

    def exact(place: int, digits: int) -> Bracket:
        power = max(Fraction(float(cost[place])) / Fraction(scale), Fraction(0))
        low, high = exp_bracket(power, digits)
        return share[place] * low, share[place] * high

    factor = np.array([float(each) for each in share])
    return coin_flips(factor * np.exp(-cost / scale), exact, source)


def draw(cover: Cover, source: Source = SECURE) -> Points:
    """Return a point with P ∝ exp(-potential/scale) on the lattice of the diamond.

    Guarantee: the law is exact for every data set, up to the rounding of potentials
    that the caller charges; only the time depends on the data. Refining between tries
    changes how fast a point is found, not which.
    """
    kept, most = _KEPT, _CUBES
    while True:
        cover = cover.refine(kept, most)
        found = cover.first_accepted(_TRIES, source)
        if found is not None:
            return found
        kept, most = (1 + kept) / 2, 2 * most
