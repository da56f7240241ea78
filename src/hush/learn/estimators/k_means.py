"""Private k-means: Lloyd's steps on noisy counts and sums, from public starts."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin as Named
from sklearn.base import ClusterMixin, TransformerMixin

from hush import checks
from hush.errors import InvalidArgument
from hush.learn.estimators.learner import Floats, Unlabelled
from hush.learn.exact_sums import BITS, MOST
from hush.learn.features import Box, numbers
from hush.learn.mechanisms.grouped_sums import GroupSums
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve
from hush.privacy.rules.composition import repeat
from hush.serialization import tagged
from hush.units import Neighbors

Points = tuple[tuple[float, ...], ...]
_MOST_STEPS = 7  # Lloyd's first steps do nearly all; later ones cost as much
_NOISY = 0.06
_ASIDE = 0.2  # how far from the largest cluster a lost one starts anew
_MEMORY = 0.5  # weight of the steps before: noise falls by √3, centres lag by one step


@final
@tagged("learn.lloyd/1")
@dataclass(frozen=True, repr=False)
class Lloyd(Mechanism):
    """`steps` of Lloyd's algorithm from public `starts`, rows moved to [-1, 1].

    In each step rows join the nearest centre, and noisy counts and sums of all
    clusters, and half of those before, move the centres; a cluster that noise hides
    starts anew beside the largest. Rows that are no numbers join none.

    Guarantee: one row replaced changes two clusters of a step at most; the curve is the
    composition of all steps.

    Reference: [BDMN05] Section 5; [SCLBJ16]; docs/proofs/learn_classics.md.
    """

    rows: Box
    size: int
    starts: Points
    steps: int
    sums: GroupSums
    neighbors = Neighbors.REPLACE_ONE
    unit: ClassVar[str] = "row"  # one row is one person

    def __post_init__(self) -> None:
        checks.whole("size", self.size, at_least=1, at_most=MOST)
        checks.whole("steps", self.steps, at_least=1)
        if not self.rows.intercept:
            raise InvalidArgument("rows must have the constant column.")
        columns = len(self.rows.lower)
        wanted = (len(self.starts), columns, 1)
        if (self.sums.groups, self.sums.columns, self.sums.degree) != wanted:
            raise InvalidArgument(
                "sums must have as many groups as starts, as many columns as rows "
                f"have, and degree 1: {wanted}; got {self.sums!r}."
            )
        if any(len(each) != columns for each in self.starts):
            raise InvalidArgument(f"starts must be points of {columns} columns.")
        for start in self.starts:
            for each in start:
                checks.real("starts", each, at_least=-1, at_most=1)

    @classmethod
    def plan(
        cls,
        epsilon: float,
        *,
        delta: float,
        rows: Box,
        size: int,
        starts: Points,
        steps: int | None = None,
    ) -> Self:
        """Return the mechanism with the least noise that is (ε, δ)-private.

        Without `steps`, as many as leave the noise on the centre of an average cluster
        within `_NOISY` of half the width, but at least one and at most seven.
        """
        size = checks.whole("size", size, at_least=1, at_most=MOST)

        def make(times: int) -> GroupSums:
            return GroupSums.plan(
                epsilon,
                delta=delta,
                groups=len(starts),
                columns=len(rows.lower),
                degree=1,
                times=times,
            )

        if steps is None:
            most = _NOISY * size / len(starts)
            afford = (t for t in range(_MOST_STEPS, 1, -1) if make(t).std <= most)
            steps = next(afford, 1)
        steps = checks.whole("steps", steps, at_least=1)
        return cls(rows, size, starts, steps, make(steps))

    def curve(self, sensitivity: Any = 1) -> Curve:
        """Return the guarantee when `sensitivity` rows are replaced."""
        return repeat(self.sums.curve(sensitivity), self.steps)

    @property
    def error(self) -> Any:
        """Law of the noise in one step."""
        return self.sums.error

    def grid(self, value: Any) -> tuple[Floats, NDArray[np.bool_]]:
        """Return rows on a lattice in [-1, 1], and which are numbers: private."""
        mapped = self.rows.map(value)
        columns = len(self.rows.lower)
        if mapped.shape != (self.size, columns + 1):
            raise InvalidArgument(
                f"data must be {self.size} rows of {columns} columns; got shape "
                f"{np.shape(value)}."
            )
        return _on_grid(mapped[:, :-1]), mapped[:, -1] == 1.0

    def run(self, value: Any, *, source: Source = SECURE) -> Floats:
        """Return the centres after the last step, in [-1, 1]."""
        x, real = self.grid(value)
        centers = _on_grid(np.array(self.starts))
        known = np.zeros((self.sums.groups, self.sums.width))
        for step in range(self.steps):
            if step:
                centers, known = restarted_centres(centers, known, self.sums.std, step)
            places = np.where(real, nearest(x, centers), -1)
            noisy = self.sums.run((x, places), source=source)
            known = noisy + _MEMORY * known
            centers = moved_centres(centers, known, self.sums.std)
        return centers


def nearest(x: Floats, centers: Floats) -> NDArray[np.intp]:
    """Return the place of the nearest centre of each row, the first of several.

    Both are on a lattice of 2^-14, so products and their sums are exact: a row's place
    does not depend on other rows, not even by rounding.
    """
    return np.asarray(
        (np.sum(centers * centers, axis=1) - 2 * (x @ centers.T)).argmin(1)
    )


def moved_centres(centers: Floats, noisy: Floats, std: float) -> Floats:
    """Return the centres of noisy clusters; as many rows as noise hides stay behind."""
    count = np.maximum(noisy[:, :1], 0.0) + std
    found = (noisy[:, 1:] + std * centers) / count
    return _on_grid(np.clip(found, -1, 1))


def restarted_centres(
    centers: Floats, known: Floats, std: float, step: int
) -> tuple[Floats, Floats]:
    """Return centres and sums, those that noise hides beside the largest cluster.

    Directions are public. A cluster is split only if noise hides neither half.
    """
    centers, known = centers.copy(), known.copy()
    count, columns = centers.shape
    aside = even_points(count, columns, after=step * count)
    aside *= _ASIDE / np.abs(aside).max(axis=1, keepdims=True)
    for lost in known[:, 0].argsort():
        large = known[:, 0].argmax()
        if known[lost, 0] < 4 * std and known[large, 0] >= 8 * std:
            known[[lost, large]] = known[large] / 2
            centers[lost] = centers[large] + aside[lost]
            centers[large] -= aside[lost]
    return _on_grid(np.clip(centers, -1, 1)), known


def even_points(count: int, columns: int, after: int = 0) -> Floats:
    """Return points of a fixed sequence that fills [-1, 1]^columns evenly.

    Point i is i·(1/g, 1/g², ...) modulo 1, g > 1 being the root of g^(d+1) = g + 1.
    """
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (columns + 1))
    steps = root ** -np.arange(1.0, columns + 1)
    index = np.arange(after + 1.0, after + count + 1)[:, None]
    return np.asarray(2 * ((0.5 + index * steps) % 1) - 1)


def _on_grid(x: Floats) -> Floats:
    return np.asarray(np.ldexp(np.rint(np.ldexp(x, BITS)), -BITS))


def spread_points(count: int, columns: int) -> Points:
    """Return public points far from each other and half as far from the faces.

    Of an even sequence the point furthest from those chosen so far is taken; the
    nearest face counts double.

    Example:
        >>> spread_points(1, 2) == spread_points(1, 2), len(spread_points(5, 3))
        (True, 5)
    """
    drawn = even_points(100 + 20 * count, columns)
    room = 2 * (1 - np.abs(drawn)).min(axis=1)
    chosen = []
    for _ in range(count):
        best = int(room.argmax())
        chosen.append(best)
        away = np.sqrt(np.sum((drawn - drawn[best]) ** 2, axis=1))
        room = np.minimum(room, away)
    return tuple(tuple(float(each) for each in drawn[i]) for i in chosen)


class KMeans(Named, ClusterMixin, TransformerMixin, Unlabelled):  # type: ignore[misc]
    """k-means with public bounds, and the scikit-learn API.

    `bounds=(lower, upper)` of the columns are public: rows outside are clipped, rows
    with a NaN or an infinity join no cluster. Distances are taken after every column
    has been moved to [-1, 1], so that none outweighs another.
    `init` are public starting centres, by default spread over the bounds; `max_iter` is
    the number of Lloyd's steps, all of which are run and paid for: by default, from
    n, ε, the columns and the clusters, one to seven.

    Neither labels nor the inertia of the training rows are kept: both are private.
    `predict`, `transform` and `score` are not private: what they say about the rows
    they are given is as sensitive as those rows, those of `fit_predict` included.

    Guarantee: `fit` is `curve_`-private for one row replaced: ε-DP, or (ε, δ) with
    Gaussian noise for delta > 0, all steps together. It never fails, whatever the data.

    Example:
        >>> import numpy as np
        >>> x = np.repeat([[0.2, 0.2], [0.8, 0.7]], 3000, axis=0)
        >>> model = KMeans(2, epsilon=1.0, bounds=(0, 1)).fit(x)
        >>> model.cluster_centers_.shape, model.curve_.epsilon_at(0) <= 1
        ((2, 2), True)

    Reference: [BDMN05] Section 5; [SCLBJ16]; docs/proofs/learn_classics.md.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Any = None,
        init: Any = None,
        max_iter: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.init = init
        self.max_iter = max_iter

    def _plan(self, size: int, columns: int) -> Lloyd:
        checks.whole("n_clusters", self.n_clusters, at_least=1, at_most=10_000)
        rows = Box.of(self.bounds, columns, intercept=True)
        if self.init is None:
            starts = spread_points(self.n_clusters, columns)
        else:
            given = numbers(self.init)
            if given.shape != (self.n_clusters, columns) or np.isnan(given).any():
                raise InvalidArgument(
                    "init must be one public point per cluster, of shape "
                    f"{(self.n_clusters, columns)}; got shape {given.shape}, or a NaN."
                )
            starts = tuple(map(tuple, rows.map(given)[:, :-1].tolist()))
        return Lloyd.plan(
            self.epsilon,
            delta=self.delta,
            rows=rows,
            size=size,
            starts=starts,
            steps=self.max_iter,
        )

    def _keep(self, released: Any) -> None:
        self.centers_ = np.asarray(released)
        box = self.mechanism_.rows
        low, high = np.array(box.lower), np.array(box.upper)
        middle, half = low / 2 + high / 2, high / 2 - low / 2
        self.cluster_centers_ = middle + half * self.centers_
        self.n_iter_ = self.mechanism_.steps
        self.noise_ = self.mechanism_.sums.inner
        self._n_features_out = self.n_clusters

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """Return the distance to each centre, columns in [-1, 1] and rows clipped."""
        x = self._in_box(X)
        away = [np.sum((x - each) ** 2, axis=1) for each in self.centers_]
        return np.asarray(np.sqrt(np.column_stack(away)))

    def predict(self, X: Any) -> NDArray[np.intp]:  # noqa: N803
        """Return the number of the nearest centre of each row."""
        return nearest(_on_grid(self._in_box(X)), self.centers_)

    def fit_predict(self, X: Any, y: Any = None, **options: Any) -> NDArray[np.intp]:  # noqa: N803
        """Fit, then predict the same rows: labels are as sensitive as those rows."""
        return self.fit(X, y, **options).predict(X)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """Return minus the sum of squared distances to the nearest centres."""
        return -float(np.sum(self.transform(X).min(axis=1) ** 2))

    def _in_box(self, features: Any) -> Floats:
        checked = self._checked_features(features)
        return np.asarray(self.mechanism_.rows.map(checked)[:, :-1])
