"""Subsample and aggregate: any estimator on disjoint blocks, one private average."""

import inspect
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, final

import numpy as np
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from sklearn.base import clone

from hush import checks
from hush.errors import InvalidArgument, Withheld
from hush.learn import features
from hush.learn.estimators.learner import Floats, Model
from hush.learn.features import ends_of, kind, numbers, refuse_pairs, shape
from hush.mechanisms import WinsorizedMean
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source, permutation
from hush.privacy.curve import Curve
from hush.privacy.rules.composition import compose
from hush.serialization import tagged
from hush.units import Neighbors

Statistic = Callable[[Any, Any], Any]
Progress = Callable[[int, int], None]


def _silent(done: int, total: int) -> None:
    pass


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
@tagged("learn.block_mean/1")
@dataclass(frozen=True, repr=False)
class BlockMean(Mechanism):
    """Winsorized means, one per coordinate, of a statistic of disjoint blocks.

    Which rows form a block is drawn at random, whatever they hold and however they are
    sorted; sizes differ by one at most. `statistic` maps the rows and targets of one
    block, in random order, to `len(means)` numbers; a block where it raises, or returns
    something else, counts as the middle of the bounds.

    Guarantee: the draw of blocks sees the number of rows alone. One row replaced
    changes one block, so every mean is taken of records of which one is replaced: the
    composition of `means`. The statistic must look at its arguments alone: no global
    state, no memory of earlier blocks.

    Reference: [S11]; N8.T2, N8.A1; docs/proofs/learn_blocks.md.
    """

    statistic: Statistic
    size: int
    blocks: int
    means: tuple[WinsorizedMean, ...]
    progress: Progress = field(default=_silent, compare=False)
    jobs: int | None = field(default=None, compare=False)
    neighbors = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one row is one person

    def __post_init__(self) -> None:
        checks.whole("size", self.size, at_least=1)
        checks.whole("blocks", self.blocks, at_least=1, at_most=self.size)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` rows are replaced."""
        return compose(*(mean.curve(sensitivity) for mean in self.means))

    @property
    def error(self) -> tuple[Any, ...]:
        """Laws of the noise of the means, each in units of its range by `blocks`."""
        return tuple(mean.error for mean in self.means)

    def of_blocks(self, value: Any, *, source: Source = SECURE) -> Floats:
        """Return the statistic of every block of a fresh draw of blocks: private."""
        rows, targets = (_rows(each) for each in value)
        if len(rows) != self.size or len(targets) != self.size:
            raise InvalidArgument(f"data must be {self.size} rows and targets.")
        middle = [sum(mean.bounds) / 2 for mean in self.means]
        found = np.empty((self.blocks, len(self.means)))
        # Rows come sorted, by day or by group: position is no chance.
        order = permutation(self.size, source=source)
        parts = (order[block :: self.blocks] for block in range(self.blocks))
        # Copies, so that a statistic that writes cannot reach other blocks.
        work = (delayed(self._one)(rows[part], targets[part], middle) for part in parts)
        # Threads share what is to be done with a warning: nothing, for all of them.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pool = Parallel(self.jobs, prefer="threads", return_as="generator")
            for block, answer in enumerate(pool(work)):
                found[block] = answer
                self.progress(block + 1, self.blocks)
        return found

    def _one(self, rows: Any, targets: Any, middle: list[float]) -> Floats:
        found = np.empty(0)
        with Withheld(), np.errstate(all="ignore"):
            given = _typed(rows), _typed(targets)
            found = numbers(self.statistic(*given)).reshape(-1)
        if found.shape != (len(middle),):
            return np.array(middle)
        return np.where(np.isnan(found), middle, found)

    def run(self, value: Any, *, source: Source = SECURE) -> Floats:
        """Return one private average per coordinate."""
        found = self.of_blocks(value, source=source)
        pairs = zip(self.means, found.T, strict=True)
        return np.array([mean.run(part, source=source) for mean, part in pairs])


def _rows(values: Any) -> Any:
    """Return an array whose first axis is the rows, each value of a list as it is."""
    plain = isinstance(values, (list, tuple))
    return np.asarray(values, dtype=object) if plain else np.asarray(values)


def _typed(rows: Any) -> Any:
    """Return the rows of one block as numbers, if they are nothing else.

    Were all rows made one array, a word in one of them would make words of all.
    """
    if rows.dtype != object:
        return rows
    found = np.asarray(rows.tolist())
    return found if found.dtype.kind in "biuf" else rows


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
    numbers. `bounds` are public: (lower, upper), or one pair of lists, whose length is
    then `outputs`. Blocks are drawn at random from `source`, as the noise is: the order
    of rows means nothing, and is not kept. A block where the function fails counts as
    the middle of the bounds; so it is tried on made-up numbers first, and what would
    fail on all is refused.
    `blocks` is by default as many as make blocks·ε/outputs a thousand, but leaves
    twenty rows for each coefficient.
    `progress(done, blocks)` is called after each block (`progress_bar()` draws it), and
    `n_jobs` blocks run at once, in threads unless joblib is told otherwise; neither
    changes the answer.

    Guarantee: `fit` is ε-private for one row replaced, whatever the estimator does with
    the rows of its block. Running time is not hidden.

    Example:
        >>> import numpy as np
        >>> ages = np.tile([20.0, 30.0, 40.0], 4000)[:, None]
        >>> model = SubsampleAggregate(lambda x, y: np.median(x), bounds=(0, 100))
        >>> 25 < float(model.fit(ages, ages[:, 0]).value_[0]) < 35
        True

    Reference: [S11]; N8.T2, N8.A1, N8.A2; docs/proofs/learn_blocks.md.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        epsilon: float = 1.0,
        bounds: Any = None,
        blocks: int | None = None,
        outputs: int | None = None,
        progress: Progress | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.bounds = bounds
        self.blocks = blocks
        self.outputs = outputs
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
                len(mechanism.means),
            )
        return super()._learn(features, value, source, **paying)

    def _plan(self, size: int, columns: int) -> BlockMean:
        checks.real("epsilon", self.epsilon, above=0)
        outputs = self._outputs(columns)
        blocks = self.blocks
        if blocks is None:
            wanted = math.ceil(1000 * outputs / self.epsilon)
            blocks = max(1, min(wanted, size // (20 * outputs)))
        statistic = Coefficients(self.estimator) if self._learns else self.estimator
        share = self.epsilon / outputs * (1 - 2.0**-40)
        means = tuple(
            WinsorizedMean.for_epsilon(share, bounds=each)
            for each in _pairs(self.bounds, outputs)
        )
        shown = self.progress or _silent
        return BlockMean(statistic, size, blocks, means, shown, self.n_jobs)

    def _keep(self, released: Any) -> None:
        self.value_ = np.asarray(released)
        self.noise_ = self.mechanism_.means
        if self._learns:
            self.coef_, self.intercept_ = self.value_[:-1], float(self.value_[-1])

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Return the linear predictor of averaged coefficients."""
        if not self._learns:
            raise InvalidArgument("estimator is a function: read value_ instead.")
        rows = np.asarray(self._checked_features(X), dtype=np.float64)
        return np.asarray(rows @ self.coef_ + self.intercept_)


def _ends(bounds: Any) -> tuple[Any, Any]:
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise InvalidArgument(
            "bounds must be (lower, upper), public numbers between which the answers "
            f"are clamped, or two lists of them; got {kind(bounds)}."
        )
    return bounds[0], bounds[1]


def _pairs(bounds: Any, outputs: int) -> list[tuple[float, float]]:
    """Return one public interval per coordinate."""
    ends = [ends_of("bounds", end).reshape(-1) for end in _ends(bounds)]
    if any(end.size not in (1, outputs) for end in ends):
        raise InvalidArgument(
            f"bounds must hold one number or one per output ({outputs})."
        )
    low, high = (np.broadcast_to(end, (outputs,)) for end in ends)
    refuse_pairs(bounds, low, high)
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]


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
