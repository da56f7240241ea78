"""Reconstruction: enough answers that are too accurate give the data away.

Everybody has a secret bit, and `answer(asked)` returns, with some error, how many of
those asked about have it. If every one of the 2^n answers is within E, the data are
found up to 4E entries; if O(n) random ones are within o(√n), up to o(n) entries.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.audit.minimax import minimax
from hush.errors import InvalidArgument, NoBound
from hush.noise import SECURE, Source

Bits = NDArray[np.bool_]
Floats = NDArray[np.float64]
Method = Literal["least squares", "linear program", "exhaustive"]

_SMALL = 20  # people that all subsets can be asked about
_VERTEX = 100  # people whose program HiGHS solves in a moment
_PROGRAM = 4000  # people whose program fits into a few gigabytes
_CHUNK = 1 << 24


@final
@dataclass(frozen=True)
class Reconstruction:
    """The bits that explain the answers best.

    `residual` is the largest error left between the answers and what `bits` explain.
    """

    bits: Bits = field(repr=False)
    method: str
    queries: int
    residual: float

    def __str__(self) -> str:
        return (
            f"{self.bits.size} bits from {self.queries} questions by {self.method}; "
            f"they explain every answer to ± {self.residual:.4g}"
        )

    def recovered(self, secret: Any) -> float:
        """Return the share of people whose bit was found; half are found by luck.

        Example:
            >>> Reconstruction(np.array([True, False]), "", 4, 0.0).recovered([1, 1])
            0.5
        """
        truth = np.asarray(secret).astype(bool)
        if truth.shape != self.bits.shape:
            raise InvalidArgument(f"secret must have {self.bits.size} entries.")
        return float(np.mean(truth == self.bits))


def reconstruct(
    answer: Callable[[Any], Any],
    people: int,
    *,
    queries: int | None = None,
    method: Method = "least squares",
    within: float | None = None,
    batch: Callable[[Any], Any] | None = None,
    source: Source = SECURE,
) -> Reconstruction:
    """Ask about random subsets and solve for the secret bits behind the answers.

    `answer(asked)` gets a vector of truth values, who is asked about. There are 4 times
    as many `queries` as `people` unless said. "least squares" serves ten thousand
    people; "linear program" minimizes the largest error, the best decoder for bounded
    errors, for up to 4000; "exhaustive" asks about all subsets of at most 20 people and
    returns bits that explain all answers to `within` E. `batch(matrix)` answers one row
    per question.

    Guarantee: exhaustive bits differ from the truth in at most 4E places if all answers
    are within E; if no bits explain them, `NoBound` is raised.

    Example:
        >>> from hush.noise import Seeded
        >>> secret = np.arange(60) % 3 == 0
        >>> rounded = lambda asked: 2 * round(secret[asked].sum() / 2)
        >>> found = reconstruct(rounded, people=60, source=Seeded(1))
        >>> found.recovered(secret), found.queries
        (1.0, 240)

    Reference: [DN03]; N2.1, N2.2; linear programs [DMT07].
    """
    if batch is None and not callable(answer):
        raise InvalidArgument(
            "answer must be a function of who is asked, a vector of truth values; got "
            f"a {type(answer).__name__}."
        )
    checks.whole("people", people, at_least=1)
    if method == "exhaustive":
        return _exhaustive(answer, people, within, batch)
    count = 4 * people if queries is None else checks.whole("queries", queries)
    words = source.words(-(-count * people // 8), np.uint8)
    flat = np.unpackbits(words, count=count * people).view(bool)
    asked = flat.reshape(count, people)
    answers = _answers(answer, asked, batch)
    solve = {"least squares": _least_squares, "linear program": _program}.get(method)
    if solve is None:
        raise InvalidArgument(
            "method must be 'least squares', 'linear program' or 'exhaustive'; got "
            f"{method!r}."
        )
    bits = solve(asked, answers) > 0.5
    left = _product(asked, bits.astype(np.float32)) - answers
    return Reconstruction(bits, method, count, float(np.max(np.abs(left))))


def _answers(answer: Any, asked: Bits, batch: Any) -> Floats:
    if batch is not None:
        found = np.asarray(batch(asked), dtype=np.float64)
    else:
        found = np.array([float(answer(row)) for row in asked])
    if found.shape != (len(asked),):
        raise InvalidArgument("batch must return one answer per row.")
    return found


def _product(matrix: Bits, vector: Any) -> Floats:
    """Return matrix @ vector in chunks, so that truth values stay one byte each."""
    rows = max(1, _CHUNK // matrix.shape[1])
    parts = [
        matrix[i : i + rows].astype(np.float32) @ vector.astype(np.float32)
        for i in range(0, len(matrix), rows)
    ]
    return np.concatenate(parts).astype(np.float64)


def _transposed(matrix: Bits, vector: Floats) -> Floats:
    rows = max(1, _CHUNK // matrix.shape[1])
    total = np.zeros(matrix.shape[1])
    for i in range(0, len(matrix), rows):
        total += vector[i : i + rows].astype(np.float32) @ matrix[i : i + rows].astype(
            np.float32
        )
    return total


def _least_squares(asked: Bits, answers: Floats) -> Floats:
    """Return the least-squares solution by conjugate gradients.

    Around 1/2 everybody's bit is ±1/2, and random subsets are nearly orthogonal but for
    their common size; a few dozen steps reach the rounding of the answers.
    """
    left = answers - asked.sum(axis=1) / 2
    x = np.zeros(asked.shape[1])
    gradient = _transposed(asked, left)
    way, size = gradient.copy(), float(gradient @ gradient)
    stop = 1e-12 * size
    for _ in range(60):
        if size <= stop or size == 0:
            break
        image = _product(asked, way)
        step = size / float(image @ image)
        x += step * way
        left = left - step * image
        gradient = _transposed(asked, left)
        new = float(gradient @ gradient)
        way, size = gradient + (new / size) * way, new
    return x + 0.5


def _program(asked: Bits, answers: Floats) -> Floats:
    """Return x in [0, 1]^n that minimizes the largest |Qx - answers|.

    HiGHS solves small programs to the last digit; large ones are dense and need a
    method that knows it.
    """
    people = asked.shape[1]
    if people > _PROGRAM:
        raise InvalidArgument(
            f"a linear program takes at most {_PROGRAM} people; got {people}. Use "
            "method='least squares'."
        )
    if people > _VERTEX:
        return minimax(asked, answers)
    return _vertex(asked, answers)


def _vertex(asked: Bits, answers: Floats) -> Floats:
    from scipy.optimize import linprog

    count, people = asked.shape
    matrix, ones = asked.astype(np.float64), np.ones((count, 1))
    both = np.block([[matrix, -ones], [-matrix, -ones]])
    cost = np.zeros(people + 1)
    cost[-1] = 1
    limits = [(0.0, 1.0)] * people + [(0.0, None)]
    ends = np.concatenate([answers, -answers])
    found = linprog(cost, A_ub=both, b_ub=ends, bounds=limits, method="highs")
    if found.x is None:
        raise NoBound(f"the linear program was not solved: {found.message}")
    return np.asarray(found.x[:people])


def _exhaustive(
    answer: Any, people: int, within: float | None, batch: Any
) -> Reconstruction:
    checks.whole("people", people, at_least=1, at_most=_SMALL)
    error = checks.real("within", within, at_least=0)
    masks = np.arange(1 << people)
    asked = (masks[:, None] >> np.arange(people)) & 1 == 1
    answers = _answers(answer, asked, batch)
    # The average effect of one person over all subsets says which bit to try first.
    hint = _least_squares(asked, answers) > 0.5
    bits = _search(answers, hint, error)
    if bits is None:
        raise NoBound(
            f"no bits explain all answers within {error:g}; some error is larger."
        )
    left = asked @ bits.astype(np.int64) - answers
    return Reconstruction(bits, "exhaustive", len(masks), float(np.max(np.abs(left))))


def _search(answers: Floats, hint: Bits, error: float) -> Bits | None:
    """Return bits whose sums over all subsets are within `error`, depth first.

    Subsets of the first k people are questions too, so a wrong start is noticed early.
    """
    people = len(hint)
    error += 1e-9 * (1 + people)  # sums of floats are rounded
    stack = [(np.zeros(0, dtype=bool), np.zeros(1))]
    while stack:
        bits, sums = stack.pop()
        at = len(bits)
        if at == people:
            return bits
        for bit in (not hint[at], bool(hint[at])):  # the likelier one is tried first
            more = sums + bit  # subsets that contain the next person
            here = answers[len(sums) : 2 * len(sums)]
            if np.all(np.abs(more - here) <= error):
                stack.append((np.append(bits, bit), np.concatenate([sums, more])))
    return None
