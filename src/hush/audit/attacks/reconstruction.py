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
from hush.errors import InvalidArgument, NoBound
from hush.mechanisms import Laplace
from hush.noise import SECURE, Source, integers

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


def _transposed_product(matrix: Bits, vector: Floats) -> Floats:
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
    gradient = _transposed_product(asked, left)
    way, size = gradient.copy(), float(gradient @ gradient)
    stop = 1e-12 * size
    for _ in range(60):
        if size <= stop or size == 0:
            break
        image = _product(asked, way)
        step = size / float(image @ image)
        x += step * way
        left = left - step * image
        gradient = _transposed_product(asked, left)
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


# --------------------------------------------------------------------------------------
# The x in [0, 1]^n that minimizes the largest |Qx - a|, by an interior point method.
#
# min t subject to -t <= Qx - a <= t and 0 <= x <= 1 is a linear program with two rows
# per answer. A general solver keeps a basis or factorizes a sparse matrix as large as
# all of them; here everything is dense and one Newton step is one n × n system,
# however many answers there are. A dozen steps reach the best t to a thousandth,
# which is more than bits need (Mehrotra's predictor and corrector).

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
        self.t = 1.1 * float(np.max(np.abs(self.residual()))) + 1.0
        near = self.t / (2 * count)
        # The multipliers of the answers sum to one, as they must at the end.
        self.duals = [np.full(count, 0.5 / count)] * 2 + [near / self.x] * 2

    def residual(self) -> Floats:
        found: Floats = self.matrix @ self.x - self.answers
        return found

    def slacks(self) -> Parts:
        left = self.residual()
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

    def step_towards(target: Parts) -> tuple[Floats, Parts, Parts]:
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

    _, moved, duals = step_towards([np.zeros_like(each) for each in slacks])
    after = _dot(
        [d + _longest(program.duals, duals) * e
         for d, e in zip(program.duals, duals, strict=True)],
        [s + _longest(slacks, moved) * e for s, e in zip(slacks, moved, strict=True)],
    )  # fmt: skip
    middle = (after / gap) ** 3 * gap / sum(map(len, slacks))
    step, moved, duals = step_towards(
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


# -- A figure of reconstruction; matplotlib is loaded when it is drawn -----------------


def recovered_figure(
    people: int = 400,
    questions: tuple[int, ...] = (1, 2, 4),
    *,
    axes: Any = None,
    source: Source = SECURE,
) -> Any:
    """Draw the share of secret bits that random questions recover, against their error.

    One line per number of questions, in multiples of `people`; errors are uniform. The
    dots are Laplace answers to the largest number of questions under one total ε.
    """
    from hush.plots.style import COLORS, INK, new_axes

    axes = new_axes(axes, wide=5.2, high=4.2)
    secret = np.asarray(integers(2, people, source=source)) == 1
    sizes, root = np.geomspace(0.02, 200, 17), np.sqrt(people)
    for shade, count in zip(
        np.linspace(0.35, 1, len(questions)), questions, strict=True
    ):
        shares = [
            _recovered_share(secret, count, _uniform(size * root, source), source)
            for size in sizes
        ]
        label = f"{count * people} questions"
        axes.semilogx(sizes, shares, color=COLORS[1], alpha=shade, label=label)
    most = max(questions)
    for epsilon in (1.0, 10.0, 100.0, 1000.0, 10_000.0):
        noise = Laplace(scale=most * people / epsilon)
        share = _recovered_share(secret, most, _laplace_errors(noise, source), source)
        # A uniform error of ±e has standard deviation e/√3.
        place = noise.error.std * np.sqrt(3) / root
        axes.plot(place, share, "o", color=COLORS[0])
        axes.annotate(f"ε = {epsilon:g}", (place, share), fontsize=8, xytext=(4, 4),
                      textcoords="offset points")  # fmt: skip
    axes.axvline(1, color=INK, linestyle=":", label="error √n")
    axes.set(
        xlabel="largest error of an answer, in units of √n",
        ylabel="share of secret bits recovered",
        ylim=(0.45, 1.06),
    )
    axes.legend(loc="lower left", frameon=False, fontsize=8.5, labelcolor=INK)
    return axes


def _uniform(size: float, source: Source) -> Callable[[int], Any]:
    def draw(count: int) -> Any:
        return (source.integers(count, bits=30) / 2**29 - 1) * size

    return draw


def _laplace_errors(mechanism: Laplace, source: Source) -> Callable[[int], Any]:
    return lambda count: mechanism.run(np.zeros(count), source=source)


def _recovered_share(
    secret: Any, count: int, errors: Callable[[int], Any], source: Source
) -> float:
    def batch(asked: Any) -> Any:
        exact = asked.astype(np.float32) @ secret.astype(np.float32)
        return exact + errors(len(asked))

    people = len(secret)
    found = reconstruct(
        batch, people, queries=count * people, batch=batch, source=source
    )
    return found.recovered(secret)
