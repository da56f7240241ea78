"""The x in [0, 1]^n that minimizes the largest |Qx - a|, by an interior point method.

min t subject to -t <= Qx - a <= t and 0 <= x <= 1 is a linear program with two rows per
answer. A general solver keeps a basis or factorizes a sparse matrix as large as all of
them; here everything is dense and one Newton step is one n × n system, however many
answers there are. A dozen steps reach the best t to a thousandth, which is more than
bits need (Mehrotra's predictor and corrector).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NoBound

Floats = NDArray[np.float64]
Parts = list[Floats]  # one entry each for t - r, t + r, x and 1 - x, r = Qx - a

_CLOSE = 1e-3  # relative to t, or to one person's bit
_STEPS = 60
_SHORT = 0.99  # how much of the way to the border a step goes


class _Program:
    """The matrix, the answers, and where the method stands."""

    def __init__(self, asked: NDArray[np.bool_], answers: Floats) -> None:
        self.matrix, self.answers = asked.astype(np.float64), answers
        count, people = asked.shape
        self.x = np.full(people, 0.5)
        self.t = 1.1 * float(np.max(np.abs(self.left()))) + 1.0
        near = self.t / (2 * count)
        # The multipliers of the answers sum to one, as they must at the end.
        self.duals = [np.full(count, 0.5 / count)] * 2 + [near / self.x] * 2

    def left(self) -> Floats:
        found: Floats = self.matrix @ self.x - self.answers
        return found

    def slacks(self) -> Parts:
        left = self.left()
        return [self.t - left, self.t + left, self.x, 1 - self.x]

    def residuals(self) -> Floats:
        """Return how far the multipliers are from being feasible, t last."""
        over, under, zero, one = self.duals
        x = self.matrix.T @ (over - under) - zero + one
        return np.append(x, 1 - over.sum() - under.sum())


def minimax(asked: NDArray[np.bool_], answers: Floats) -> Floats:
    """Return x in [0, 1]^n whose largest error is within a thousandth of the least.

    Guarantee: where the method fails to come that close, `NoBound` is raised.

    Example:
        >>> asked = np.array([[1, 0], [0, 1], [1, 1]], dtype=bool)
        >>> np.round(minimax(asked, np.array([1.0, 0.0, 1.0])), 2)
        array([1., 0.])
    """
    program = _Program(asked, np.asarray(answers, dtype=np.float64))
    for _ in range(_STEPS):
        slacks = program.slacks()
        gap = _dot(program.duals, slacks)
        feasible = abs(program.residuals()[-1]) <= _CLOSE
        if feasible and gap <= _CLOSE * max(program.t, 1.0):
            return program.x
        _advance(program, slacks, gap)
    raise NoBound("the linear program was not solved; use method='least squares'.")


def _advance(program: _Program, slacks: Parts, gap: float) -> None:
    """Take one step: a guess of where the end is, then one that stays in the middle."""
    weights = [dual / slack for dual, slack in zip(program.duals, slacks, strict=True)]
    solve = _factorized(program.matrix, weights)
    residuals = program.residuals()

    def towards(target: Parts) -> tuple[Floats, Parts, Parts]:
        wanted = [
            goal / slack - dual
            for goal, slack, dual in zip(target, slacks, program.duals, strict=True)
        ]
        over, under, zero, one = wanted
        pull = np.append(
            program.matrix.T @ (over - under) - zero + one, -over.sum() - under.sum()
        )
        step = solve(-residuals - pull)
        image = program.matrix @ step[:-1]
        moved = [step[-1] - image, step[-1] + image, step[:-1], -step[:-1]]
        duals = [w - v * m for w, v, m in zip(wanted, weights, moved, strict=True)]
        return step, moved, duals

    _, moved, duals = towards([np.zeros_like(each) for each in slacks])
    after = _dot(
        [d + _longest(program.duals, duals) * e
         for d, e in zip(program.duals, duals, strict=True)],
        [s + _longest(slacks, moved) * e for s, e in zip(slacks, moved, strict=True)],
    )  # fmt: skip
    middle = (after / gap) ** 3 * gap / sum(map(len, slacks))
    step, moved, duals = towards(
        [middle - s * d for s, d in zip(moved, duals, strict=True)]
    )
    far, near = _longest(slacks, moved), _longest(program.duals, duals)
    program.x = program.x + _SHORT * far * step[:-1]
    program.t += _SHORT * far * float(step[-1])
    program.duals = [
        d + _SHORT * near * e for d, e in zip(program.duals, duals, strict=True)
    ]


def _factorized(matrix: Floats, weights: Parts) -> Any:
    """Return a solver of the Newton system; its products may be rounded to 24 bits."""
    from scipy.linalg import cho_factor, cho_solve

    over, under, zero, one = weights
    people = matrix.shape[1]
    scaled = (matrix * np.sqrt(over + under)[:, None]).astype(np.float32)
    system = np.empty((people + 1, people + 1))
    system[:-1, :-1] = scaled.T @ scaled
    system[:-1, -1] = system[-1, :-1] = -(matrix.T @ (over - under))
    system[-1, -1] = np.sum(over + under)
    diagonal = np.einsum("ii->i", system)
    diagonal[:-1] += zero + one
    diagonal *= 1 + 1e-7  # rounded products may lack that much
    factor = cho_factor(system, overwrite_a=True, check_finite=False)
    return lambda right: cho_solve(factor, right, check_finite=False)


def _dot(first: Parts, second: Parts) -> float:
    return sum(float(a @ b) for a, b in zip(first, second, strict=True))


def _longest(values: Parts, moves: Parts) -> float:
    """Return the longest step, at most 1, that keeps every value positive."""
    longest = 1.0
    for value, move in zip(values, moves, strict=True):
        down = move < 0
        if down.any():
            longest = min(longest, float(np.min(-value[down] / move[down])))
    return longest
