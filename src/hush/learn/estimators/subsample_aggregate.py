"""Subsample and aggregate: any estimator on disjoint blocks, one private average."""

import inspect
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hush import checks
from hush.errors import InvalidArgument
from hush.learn import features
from hush.learn.estimators.learner import Floats, Model
from hush.learn.features import ends_of, kind, numbers, refuse_pairs, shape
from hush.learn.mechanisms.block_average import SURE, BlockAverage, Progress, silent
from hush.mechanisms import ClippedMean
from hush.noise import Source
from hush.privacy import GDP, Approx
from hush.privacy.rules.calibrate import calibrate

_LEAST = 20  # rows of a block for each coefficient, where nobody says how many blocks
_MANY = 8
_UNBOUNDED = 8 * SURE  # blocks·ε/outputs at which half of ε finds a range for sure


def progress_bar() -> Progress:
    """Return a bar in the terminal, to be given as `progress`; it ends with the last.

    What it shows is how many blocks are done: a number that depends on no value.
    """
    from rich.progress import Progress as Bar

    bar = Bar(transient=True)
    task = bar.add_task("blocks", total=None)

    def show(done: int, total: int) -> None:
        if done == 1:
            bar.start()
        bar.update(task, completed=done, total=total)
        if done == total:
            bar.stop()

    return show


@final
@dataclass(frozen=True)
class Coefficients:
    """Fit a fresh clone of a scikit-learn estimator; return its numbers.

    Example:
        >>> from sklearn.linear_model import LinearRegression
        >>> Coefficients(LinearRegression())(np.array([[0.0], [1.0]]), [1.0, 3.0])
        array([2., 1.])
    """

    estimator: Any

    def __call__(self, rows: Any, targets: Any) -> Floats:
        """Return coefficients, then intercepts."""
        fitted = clone(self.estimator).fit(rows, targets)
        parts = (np.ravel(fitted.coef_), np.ravel(fitted.intercept_))
        return np.concatenate(parts)


class SubsampleAggregate(Model):
    """Any function or scikit-learn estimator, made private by blocks.

    `estimator` is a linear scikit-learn estimator (its coefficients and intercept are
    averaged) or a function of (rows, targets), two arrays, that returns `outputs`
    numbers. Blocks are drawn at random from `source`, as the noise is: the order of
    rows means nothing, and is not kept. The estimates of the blocks are clipped to a
    range that is found privately and averaged. `bounds` are public and help where rows
    are few: (lower, upper), or one pair of lists, whose length is then `outputs`. A
    block where the function fails counts as their middle, or as zero; so it is tried on
    made-up numbers first, and what would fail on all is refused.
    `blocks` is by default k = 8·n^(2/5)·outputs/ε (without bounds 320·outputs/ε at
    least), but leaves twenty rows for each coefficient. With more rows k and rows per
    block grow: the noise, which falls with √k against sampling, and what k blocks miss
    of one of all rows, a bias of order k/n that has to stay below 1/√n, both vanish
    (k → ∞, k = o(√n)); and `correct` cancels that bias where blocks have twenty rows,
    by the halves of each. `delta` only serves several outputs: their noise is then
    Gaussian, where that is less.
    `progress(done, blocks)` is called after each block (`progress_bar()` draws it), and
    `n_jobs` blocks run at once, in threads unless joblib is told otherwise; neither
    changes the answer.

    Guarantee: `fit` is ε-private, or (ε, δ)-private, for one row replaced, whatever the
    estimator does with the rows of its block. Running time is not hidden.

    Example:
        >>> import numpy as np
        >>> ages = np.tile([20.0, 30.0, 40.0], 8000)[:, None]
        >>> model = SubsampleAggregate(lambda x, y: np.mean(x), bounds=(0, 100))
        >>> model = model.fit(ages, ages[:, 0])
        >>> low, high = model.interval(level=0.999)
        >>> bool(28 < low[0] < 30 < high[0] < 32)
        True

    Reference: [S11]; N8.T2, N8.A1, N8.rate, N8.range; docs/proofs/learn_blocks.md.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Any = None,
        blocks: int | None = None,
        outputs: int | None = None,
        correct: bool = True,
        progress: Progress | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.blocks = blocks
        self.outputs = outputs
        self.correct = correct
        self.progress = progress
        self.n_jobs = n_jobs

    @property
    def _learns(self) -> bool:
        return hasattr(self.estimator, "fit")

    def _admit(self, targets: Any) -> None:
        """Take all targets: a classifier of scikit-learn reads texts."""

    def _outputs(self, columns: int) -> int:
        """Return how many numbers there are: of coefficients, said, or bounded."""
        if self._learns:
            return columns + 1
        if self.outputs is not None:
            return checks.whole("outputs", self.outputs, at_least=1)
        if self.bounds is None:
            return 1
        return max((np.size(end) for end in _ends(self.bounds)), default=1)

    def _learn(self, features: Any, value: Any, source: Source, **paying: Any) -> Self:
        """Try a function on made-up rows, then learn: a failure costs nothing yet."""
        if not self._learns:
            size, columns = shape(features)
            mechanism = self.plan(size, columns)
            tried(
                self.estimator,
                made_up(features, -(-size // mechanism.blocks), columns),
                made_up(value[1], -(-size // mechanism.blocks)),
                mechanism.mean.dimension,
            )
        return super()._learn(features, value, source, **paying)

    def _plan(self, size: int, columns: int) -> BlockAverage:
        outputs = self._outputs(columns)
        bounds = None if self.bounds is None else _pairs(self.bounds, outputs)
        blocks = self.blocks
        if blocks is None:
            cost = _cost(self.epsilon, self.delta, outputs)
            # What rounds 0.4·log(n) must not decide: 8·n^(2/5), to one in 10^9.
            wanted = math.ceil(_MANY * size**0.4 * cost * (1 - 1e-9))
            if bounds is None:
                wanted = max(wanted, math.ceil(_UNBOUNDED * cost))
            blocks = max(1, min(wanted, size // (_LEAST * outputs)))
        else:
            blocks = checks.whole("blocks", blocks, at_least=1, at_most=size)
        mean = ClippedMean.planned(
            self.epsilon,
            records=blocks,
            delta=self.delta,
            dimension=outputs,
            bounds=bounds,
        )
        statistic = Coefficients(self.estimator) if self._learns else self.estimator
        more = (self.correct, self.progress or silent, self.n_jobs)
        plan = BlockAverage(statistic, size, blocks, mean, *more)
        if bounds is None and not plan.sure:
            least = math.ceil(SURE * float(mean.rank_scale))
            raise InvalidArgument(
                f"bounds must be given for {blocks} blocks at this epsilon: to find a "
                f"range among all numbers takes {least}. Pass bounds=(lower, upper), "
                "public numbers between which the answers are clamped, or more rows, a "
                "larger epsilon, or more blocks."
            )
        return plan

    def _keep(self, released: Any) -> None:
        self.released_ = np.asarray(released)
        self.value_ = self.released_[0]
        self.noise_ = self.mechanism_.mean
        if self._learns:
            self.coef_, self.intercept_ = self.value_[:-1], float(self.value_[-1])

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return (lower, upper) around each number of `value_`, from released values.

        Each holds the parameter with about probability `level`: what the estimator
        would say of ever more rows. Sampling and noise are both covered, where the
        estimates of blocks are near normal. Where the blocks or ε are too few for a
        sure range, `NoBound` is raised.
        """
        check_is_fitted(self)
        found: tuple[Floats, Floats] = self.mechanism_.interval(
            self.released_, level=level
        )
        return found

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Return the linear predictor of averaged coefficients."""
        if not self._learns:
            raise InvalidArgument("estimator is a function: read value_ instead.")
        rows = np.asarray(self._checked_features(X), dtype=np.float64)
        return np.asarray(rows @ self.coef_ + self.intercept_)


def _cost(epsilon: float, delta: float, outputs: int) -> float:
    """Return 1/ε of one number whose noise is as large as that of each of several."""
    pure = outputs / epsilon
    if not delta or outputs == 1:
        return pure
    # Gaussian noise of √d/μ for each, and Laplace noise of √2/ε for one.
    target = Approx(epsilon, delta)
    std = calibrate(lambda std: GDP(mu=1 / std), target, relative=1e-6)
    return min(pure, std * math.sqrt(outputs / 2))


def _ends(bounds: Any) -> tuple[Any, Any]:
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise InvalidArgument(
            "bounds must be (lower, upper), public numbers between which the answers "
            f"are clamped, or two lists of them; got {kind(bounds)}."
        )
    return bounds[0], bounds[1]


def _pairs(bounds: Any, outputs: int) -> tuple[tuple[float, float], ...]:
    """Return one public interval per coordinate."""
    ends = [ends_of("bounds", end).reshape(-1) for end in _ends(bounds)]
    if any(end.size not in (1, outputs) for end in ends):
        raise InvalidArgument(
            f"bounds must hold one number or one per output ({outputs})."
        )
    low, high = (np.broadcast_to(end, (outputs,)) for end in ends)
    refuse_pairs(bounds, low, high)
    return tuple((float(a), float(b)) for a, b in zip(low, high, strict=True))


# -- A function tried on made-up rows: what fails there fails on all, and is told ------
#
# On real rows a failure must not be told, since it may be about somebody. So a
# function that is misspelt would fail in every block without a word, and the answer
# would be noise about the middle of the bounds.

# What a program does wrong whatever numbers it is given. Other failures may come from
# the made-up numbers: a singular matrix, a label that nobody has.
_WRONG = (NameError, AttributeError, ImportError, TypeError)


def made_up(values: Any, *shape: int) -> Any:
    """Return numbers of the declared type of `values`, or None if it says nothing.

    Example:
        >>> made_up(np.array([71, 34]), 5)
        array([0, 1, 0, 1, 0])
    """
    types = [dtype for _, dtype in features.types(values)]
    if not types or not all(
        isinstance(x, np.dtype) and x.kind in "biuf" for x in types
    ):
        return None
    places = np.arange(np.prod(shape)).reshape(shape)
    dtype = np.result_type(*types)
    return (np.sin(places) if dtype.kind == "f" else places % 2).astype(dtype)


def tried(function: Callable[..., Any], rows: Any, targets: Any, outputs: int) -> None:
    """Refuse a function that fails on made-up rows, or gives another number of values.

    Guarantee: nothing depends on data, as none are given.
    """
    try:
        inspect.signature(function).bind(rows, targets)
    except TypeError:
        raise InvalidArgument(
            "estimator must be a function of two arguments, (rows, targets), or an "
            "estimator of scikit-learn; write lambda rows, targets: ..."
        ) from None
    except ValueError:  # a function of C may not say what it takes
        pass
    if rows is None or targets is None:
        return
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answer = function(rows, targets)
    except _WRONG as error:
        raise InvalidArgument(
            f"estimator failed on made-up rows ({type(error).__name__}), and would on "
            "all: every block would count as the middle of the bounds. It is given two "
            "NumPy arrays, rows and targets."
        ) from error
    except Exception:  # perhaps for the sake of the made-up numbers: no reason to stop
        return
    if answer is None:
        raise InvalidArgument(
            "estimator returned None for made-up rows: does it lack a return? Every "
            "block would count as the middle of the bounds."
        )
    found = numbers(answer).size
    if found != outputs:
        raise InvalidArgument(
            f"estimator returned {found} numbers for made-up rows, and outputs is "
            f"{outputs}: every block would count as the middle of the bounds. Write "
            f"outputs={found}, or bounds=(lower, upper) as two lists of {found}."
        )
