"""Private random forest: cuts drawn without data, and noisy counts in the leaves."""

import math
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np

from hush.learn.estimators.learner import Floats, Posterior
from hush.learn.features import Box
from hush.learn.mechanisms.leaf_counts import LeafCounts, Whole
from hush.learn.targets import Classes


@final
@dataclass(frozen=True)
class Odds:
    """How much more likely each leaf is in each class than among all rows.

    Example:
        >>> found = Odds.of(np.array([[[90, 10], [10, 90]]]), std=1.0)
        >>> found.shares.tolist(), np.sign(found.ratios[0]).tolist()
        ([0.5, 0.5], [[1.0, -1.0], [-1.0, 1.0]])
    """

    shares: Floats  # of the classes
    ratios: Floats  # logarithms, by tree, leaf and class

    @classmethod
    def of(cls, counts: Whole, std: float) -> Self:
        """Return odds from noisy counts, whatever they are.

        From the root down: of the rows of a class in a node, a share goes to the left.
        Each class gets as many rows that part like all rows as noise may hide, so that
        a class, or a node, that noise hides says nothing.
        """
        trees, leaves, classes = counts.shape
        levels = [np.maximum(counts, 0).astype(np.float64)]
        exact = counts.astype(np.float64)
        while exact.shape[1] > 1:
            exact = exact.reshape(trees, -1, 2, classes).sum(axis=2)
            levels.append(np.maximum(exact, 0))
        everyone = np.maximum(exact.mean(axis=0)[0], 0)
        positive = everyone + std * math.sqrt(leaves / trees) + 1
        ratios = np.zeros((trees, 1, classes))
        for level in reversed(levels[:-1]):
            # A count of a node is the sum of those of its leaves, and so is its noise.
            lent = std * math.sqrt(leaves / level.shape[1]) + 1
            seen = level.reshape(trees, -1, 2, classes)
            both = seen.sum(axis=3, keepdims=True) + lent * classes / 2
            usual = both / both.sum(axis=2, keepdims=True)
            own = (seen + lent * usual) / (seen.sum(axis=2, keepdims=True) + lent)
            step = np.log(own) - np.log(usual)
            ratios = np.repeat(ratios, 2, axis=1) + step.reshape(trees, -1, classes)
        return cls(positive / positive.sum(), ratios)


class RandomForestClassifier(Posterior):
    """A random forest with public bounds and classes, and the scikit-learn API.

    `bounds=(lower, upper)` of the columns and `classes` are public. Cuts are drawn from
    the bounds alone; data are counted by leaf and class, once, in all trees. A row gets
    the odds of its leaves, multiplied, tempered by the root of the number of trees, and
    shrunk where noise hides a leaf. Rows outside the bounds are clipped; those with a
    NaN, an infinity or another label are not counted. `n_estimators` and `max_depth`
    follow by default from the number of rows, ε and δ.

    Guarantee: `fit` is `curve_`-private for one row replaced: ε-DP, or (ε, δ) with
    Gaussian noise for delta > 0. It never fails, whatever the data.

    Example:
        >>> import numpy as np
        >>> x = np.sin(np.outer(np.arange(5000), [1, 2]))
        >>> y = x[:, 0] * x[:, 1] > 0
        >>> model = RandomForestClassifier(epsilon=1.0, bounds=(-1, 1), classes=(0, 1))
        >>> model = model.fit(x, y)
        >>> bool(model.score(x, y) > 0.7), model.curve_.epsilon_at(0) <= 1
        (True, True)

    Reference: [JPW09]; [OCLF10]; docs/proofs/learn_forest.md.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Any = None,
        classes: Any = None,
        n_estimators: int | None = None,
        max_depth: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.n_estimators = n_estimators
        self.max_depth = max_depth

    def _plan(self, size: int, columns: int) -> LeafCounts:
        return LeafCounts.plan(
            self.epsilon,
            delta=self.delta,
            rows=Box.of(self.bounds, columns, intercept=True),
            targets=Classes.of(self.classes),
            size=size,
            trees=self.n_estimators,
            depth=self.max_depth,
        )

    def _keep(self, released: Any) -> None:
        self.trees_, self.counts_ = self.mechanism_.read(released)
        found = Odds.of(self.counts_, self.mechanism_.std)
        self.class_prior_ = found.shares
        self._ratios = found.ratios / math.sqrt(self.mechanism_.trees)
        self.classes_ = np.array(self.classes)
        self.noise_ = self.mechanism_.inner

    def _joint(self, features: Any) -> Floats:
        """Return the tempered log odds of each class, up to a constant per row."""
        checked = self._checked_features(features)
        x = np.ascontiguousarray(self.mechanism_.rows.map(checked)[:, :-1])
        found = np.tile(np.log(self.class_prior_), (len(x), 1))
        for tree, ratios in enumerate(self._ratios):
            found += ratios[self.trees_.leaves(x, tree)]
        return found
