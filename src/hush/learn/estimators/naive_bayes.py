"""Private naive Bayes: counts, means and variances of each class, released at once."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np

from hush import checks
from hush.errors import InvalidArgument
from hush.learn.estimators.learner import Floats, Posterior
from hush.learn.exact_sums import MOST
from hush.learn.features import Box
from hush.learn.mechanisms.grouped_sums import GroupSums
from hush.learn.targets import Classes, members
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve
from hush.serialization import tagged
from hush.units import Neighbors

_LEAST = 1e-9  # variance, in half-widths: the same that scikit-learn adds


@final
@tagged("learn.class_moments/1")
@dataclass(frozen=True, repr=False)
class ClassMoments(Mechanism):
    """How many rows each class has, and Σ x and Σ x² of them, columns in [-1, 1].

    Rows that are no numbers, or of no class, are in no class.

    Guarantee: one row replaced changes two classes at most; `sums` does the rest.

    Reference: docs/proofs/learn_classics.md.
    """

    rows: Box
    targets: Classes
    size: int
    sums: GroupSums
    neighbors = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one row is one person

    def __post_init__(self) -> None:
        checks.whole("size", self.size, at_least=1, at_most=MOST)
        if not self.rows.intercept:
            raise InvalidArgument("rows must have the constant column.")
        wanted = (len(self.targets.names), len(self.rows.lower), 2)
        if (self.sums.groups, self.sums.columns, self.sums.degree) != wanted:
            raise InvalidArgument(
                "sums must have as many groups as classes, as many columns as rows "
                f"have, and degree 2: {wanted}; got {self.sums!r}."
            )

    @classmethod
    def plan(
        cls, epsilon: float, *, delta: float, rows: Box, targets: Classes, size: int
    ) -> Self:
        """Return the mechanism with the least noise that is (ε, δ)-private."""
        sums = GroupSums.plan(
            epsilon,
            delta=delta,
            groups=len(targets.names),
            columns=len(rows.lower),
            degree=2,
        )
        return cls(rows, targets, size, sums)

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` rows are replaced."""
        return self.sums.curve(sensitivity)

    @property
    def error(self) -> Any:
        """Law of the noise."""
        return self.sums.error

    def grouped(self, value: Any) -> tuple[Floats, Any]:
        """Return rows in [-1, 1] and the place of their class, -1 for none: private."""
        return members(self.rows, self.targets, self.size, value)

    def run(self, value: Any, *, source: Source = SECURE) -> Floats:
        """Return noisy [Σ 1, Σ x, Σ x²], a line per class."""
        return np.asarray(self.sums.run(self.grouped(value), source=source))


@final
@dataclass(frozen=True)
class Normals:
    """One normal law per class and column, columns in [-1, 1]: a guess that exists.

    Example:
        >>> sums = [[50.0, 25.0, 20.0], [50.0, -25.0, 20.0]]
        >>> found = Normals.of(np.array(sums), size=100, std=0.1)
        >>> found.means.round(2).tolist(), found.shares.tolist()
        ([[0.5], [-0.5]], [0.5, 0.5])
    """

    means: Floats
    variances: Floats
    shares: Floats

    @classmethod
    def of(cls, sums: Floats, size: int, std: float) -> Self:
        """Return means, variances and shares from noisy sums, whatever they are.

        Each class gets `std` rows that look like all rows. Its variance is drawn to
        that within all classes, which noise moves less, by sixteen times as many; and
        what noise does to its mean is added, as it widens where new rows may lie.
        """
        groups, columns = len(sums), (sums.shape[1] - 1) // 2
        count = np.maximum(sums[:, :1], 0.0)
        first, second = sums[:, 1 : columns + 1], sums[:, columns + 1 :]
        rows, own = size + std * math.sqrt(groups), count + std
        middle = np.clip(first.sum(axis=0) / rows, -1, 1)
        means = np.clip((first + std * middle) / own, -1, 1)
        # Rows that noise may hide lie anywhere in [-1, 1], where squares average 1/3.
        hidden = std * math.sqrt(groups) / 3
        spread = second.sum(axis=0) + hidden - (count * means**2).sum(axis=0)
        within = np.clip(spread / rows, min(hidden / size, 1 / 3), 1)
        alone = (second + std * (within + middle**2)) / own - means**2
        shared = 16 * std / (16 * std + count)
        drawn = shared * within + (1 - shared) * np.clip(alone, 0, 1)
        return cls(
            means,
            drawn + (std / own) ** 2 + _LEAST,
            np.ravel(own / own.sum()),
        )


class GaussianNB(Posterior):
    """Gaussian naive Bayes with public bounds and classes, and the scikit-learn API.

    `bounds=(lower, upper)` of the columns and `classes` are public. Counts, means and
    variances of all classes are one release, whose noise does not grow with the number
    of classes. Rows outside the bounds are clipped; those with a NaN, an infinity or an
    other label are in no class. Where noise hides a class, its law is drawn to that
    of all rows; `priors` are public shares of the classes instead of noisy ones.

    Guarantee: `fit` is `curve_`-private for one row replaced: ε-DP, or (ε, δ) with
    Gaussian noise for delta > 0. It never fails, whatever the data.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(-1, 1, 2000)[:, None]
        >>> model = GaussianNB(epsilon=1.0, bounds=(-1, 1), classes=(0, 1))
        >>> model = model.fit(x, x[:, 0] > 0)
        >>> bool(model.score(x, x[:, 0] > 0) > 0.9), model.curve_.epsilon_at(0) <= 1
        (True, True)

    Reference: [HT10]; docs/proofs/learn_classics.md.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float = 0.0,
        bounds: Any = None,
        classes: Any = None,
        priors: tuple[float, ...] | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.priors = priors

    def _plan(self, size: int, columns: int) -> ClassMoments:
        targets = Classes.of(self.classes)
        if self.priors is not None:
            shares = [checks.real("priors", p, above=0) for p in self.priors]
            if len(shares) != len(targets.names) or abs(sum(shares) - 1) > 1e-6:
                raise InvalidArgument(
                    "priors must be one positive share per class, 1 in total; got "
                    f"{self.priors!r}."
                )
        return ClassMoments.plan(
            self.epsilon,
            delta=self.delta,
            rows=Box.of(self.bounds, columns, intercept=True),
            targets=targets,
            size=size,
        )

    def _keep(self, released: Any) -> None:
        mechanism = self.mechanism_
        self.sums_ = np.asarray(released)
        found = Normals.of(self.sums_, mechanism.size, mechanism.sums.std)
        low, high = np.array(mechanism.rows.lower), np.array(mechanism.rows.upper)
        half, middle = high / 2 - low / 2, low / 2 + high / 2
        # A column without width is the same for all classes: it decides nothing.
        self._means = np.where(half > 0, found.means, 0.0)
        self._variances = np.where(half > 0, found.variances, 1.0)
        self.theta_ = middle + half * self._means
        with np.errstate(over="ignore"):
            self.var_ = half**2 * self._variances
        self.class_count_ = np.maximum(self.sums_[:, 0], 0.0)
        given = self.priors
        self.class_prior_ = found.shares if given is None else np.array(given)
        self.classes_ = np.array(self.classes)
        self.noise_ = mechanism.sums.inner

    def _joint(self, features: Any) -> Floats:
        """Return log P(class) + log p(row | class), up to a constant per row."""
        checked = self._checked_features(features)
        x = self.mechanism_.rows.map(checked)[:, :-1]
        found = np.empty((len(x), len(self.classes_)))
        for place, prior in enumerate(self.class_prior_):
            variance = self._variances[place]
            far = (x - self._means[place]) ** 2 / variance + np.log(variance)
            found[:, place] = math.log(prior) - far.sum(axis=1) / 2
        return found
