"""A posterior on a grid: the law of one number given a noisy release, cell by cell.

The mass of a cell is the prior's mass in it times the likelihood at the prior's median
of the cell, so a prior may have peaks at its ends and tails of any weight. Cells are
laid by the posterior's own quantiles, those of even distances on a normal scale.
"""

import math
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from hush import checks, display
from hush.errors import InvalidArgument, NoBound
from hush.inference import inputs
from hush.inference.additive_noise import uniforms
from hush.inference.bayes.noisy_observation import Observed
from hush.noise import SECURE, Source

Floats = NDArray[np.float64]
_FAR = 1e-280  # a prior's mass beyond is left out
_DEEP = 7.4  # standard deviations from the middle to the last edges: 1e-13 beyond
_ROUNDS = 3
_MOST = 1 << 22  # whole numbers that a grid may list
_UNKNOWN = 1e-6  # of a posterior's mass may be where the likelihood is not resolved
_FEW = 1e-100  # of a prior of whole numbers: noise may make the far tail likely
_HELD = 1e-9  # of a prior's mass, near the release; noise is farther with chance 1e-24


# -- Priors: frozen laws of scipy.stats ------------------------------------------------


def checked_prior(name: str, prior: Any, *, whole: bool = False) -> Any:
    """Return a law of scipy.stats with its numbers, or say how one is written."""
    wanted = ("cdf", "sf", "ppf", "isf", "support", "pmf" if whole else "pdf")
    if not all(callable(getattr(prior, each, None)) for each in wanted):
        example = "poisson(100)" if whole else "norm(0, 10)"
        kind = "whole numbers" if whole else "real numbers"
        raise InvalidArgument(
            f"{name} must be a law of {kind} from scipy.stats with its parameters, "
            f"as in scipy.stats.{example}; got {inputs.kind(prior)}."
        )
    return prior


def asked(function: Any, x: Any) -> Floats:
    """Return a function of a prior at x; far out in its tails SciPy may complain."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.asarray(function(np.asarray(x, np.float64)), dtype=np.float64)


def _masses(prior: Any, edges: Floats) -> Floats:
    """Return the prior's mass of each cell, from the tail that is nearer."""
    low = np.diff(asked(prior.cdf, edges))
    high = -np.diff(asked(prior.sf, edges))
    upper = asked(prior.cdf, edges[:-1]) > 0.5
    return np.maximum(np.where(upper, high, low), 0.0)


def _inside(prior: Any, edges: Floats, cell: Any, share: Any) -> Floats:
    """Return the number with this share of the prior's mass of a cell below it."""
    low, high = edges[cell], edges[np.asarray(cell) + 1]
    below, above = asked(prior.cdf, low), asked(prior.sf, high)
    mass = np.where(
        below > 0.5, asked(prior.sf, low) - above, asked(prior.cdf, high) - below
    )
    up = asked(prior.isf, above + (1 - share) * mass)
    down = asked(prior.ppf, below + share * mass)
    found = np.where(below > 0.5, up, down)
    line = low + share * (high - low)
    return np.clip(np.where(np.isfinite(found), found, line), low, high)


# -- The law of one number -------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class GridLaw:
    """The law of one number, as masses of cells or of whole numbers.

    `edges` are the ends of cells, one more than masses; of a law on whole numbers they
    are the numbers minus a half, and one more.

    Example:
        >>> law = GridLaw("people", np.arange(4) - 0.5, np.array([0.2, 0.5, 0.3]),
        ...               whole=True)
        >>> law.mean, law.quantile(0.5), law.interval(0.5)
        (1.1, 1.0, (1.0, 2.0))
    """

    name: str
    edges: Floats = field(repr=False)
    masses: Floats = field(repr=False)
    whole: bool
    prior: Any = field(default=None, kw_only=True)

    @cached_property
    def values(self) -> Floats:
        """The whole numbers, or a number inside each cell."""
        if self.prior is None or self.whole:
            return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)
        return _inside(self.prior, self.edges, np.arange(self.masses.size), 0.5)

    @cached_property
    def mean(self) -> float:
        """Expected value."""
        return float(self.masses @ self.values)

    @cached_property
    def std(self) -> float:
        """Standard deviation."""
        away = (self.values - self.mean) ** 2
        if not self.whole:  # a cell of width w has a variance of its own
            away = away + np.diff(self.edges) ** 2 / 12
        return math.sqrt(float(self.masses @ away))

    @cached_property
    def _below(self) -> Floats:
        return np.minimum(np.cumsum(self.masses), 1.0)

    @property
    def density(self) -> Floats:
        """Density in each cell; of a law on whole numbers, their probabilities."""
        return np.asarray(self.masses / np.diff(self.edges))

    def cdf(self, x: ArrayLike) -> Any:
        """Return P(number <= x)."""
        at = np.asarray(x, dtype=np.float64)
        below = np.concatenate([[0.0], self._below])
        if self.whole:
            place = np.searchsorted(self.edges, np.floor(at) + 0.5)
            return below[np.clip(place, 0, below.size - 1)][()]
        return np.interp(at, self.edges, below)[()]

    def _at(self, p: Floats) -> Floats:
        """Return quantiles."""
        cell = np.searchsorted(self._below, p, side="left")
        cell = np.minimum(cell, self.masses.size - 1)
        if self.whole:
            return np.asarray(self.values[cell])
        before = np.concatenate([[0.0], self._below])[cell]
        share = np.clip((p - before) / np.maximum(self.masses[cell], 1e-300), 0, 1)
        if self.prior is not None:
            return _inside(self.prior, self.edges, cell, share)
        low, high = self.edges[cell], self.edges[cell + 1]
        return np.asarray(low + share * (high - low))

    def quantile(self, p: float) -> float:
        """Return the smallest number with P(below or equal) at least p."""
        level = checks.real("p", p, above=0, below=1)
        return float(self._at(np.array([level]))[0])

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends between which the number lies with probability `level`.

        (1 - level)/2 of the probability lies on either side: a credible interval. It
        says what to believe given the prior; `proportion_interval` and its like say how
        often they hold the truth, whatever it is.
        """
        miss = (1 - checks.real("level", level, above=0, below=1)) / 2
        return self.quantile(miss), self.quantile(1 - miss)

    def sample(self, size: int, *, source: Source = SECURE) -> Floats:
        """Return independent draws.

        Guarantee: post-processing: the draws are a function of what is public and of
        fresh randomness, so they cost no privacy, and a seeded source protects nobody
        less.
        """
        count = checks.whole("size", size, at_least=1)
        return self._at(uniforms(count, source))

    def plot(self, *, level: float = 0.95, axes: Any = None) -> Any:
        """Draw the law with its interval; return the axes."""
        from hush import plots

        return plots.posterior(self, level=level, axes=axes)

    def _rows(self) -> list[tuple[str, str]]:
        low, high = self.interval(0.95)
        return [
            ("mean", f"{self.mean:.4g}"),
            ("std", f"{self.std:.4g}"),
            ("95%", f"{low:.4g} to {high:.4g}"),
        ]

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        share = "95%" if not self.whole else "at least 95%"
        return (
            f"{self.name}: mean {self.mean:.4g}, from {low:.4g} to {high:.4g} ({share})"
        )

    def _repr_html_(self) -> str:
        return display.facts(self.name, self._rows())


# -- Models of one number --------------------------------------------------------------


class GridModel(ABC):
    """What the release says of one number: a likelihood, and what it stands on."""

    name: str  # of the parameter
    whole: bool = False
    points: int = 600

    @abstractmethod
    def rough(self, seen: Observed) -> tuple[float, float]:
        """Return where the likelihood lies, and a width of about its spread."""

    @abstractmethod
    def log_likelihood(self, seen: Observed, theta: Floats) -> Floats:
        """Return log P(release | parameter), a row for each one.

        Columns are values of a nuisance parameter, weighted by `nuisance`.
        """

    @property
    def nuisance(self) -> Floats:
        """Prior weights of the values of a nuisance parameter."""
        return np.ones(1)

    @abstractmethod
    def conditions(self) -> tuple[str, ...]:
        """Say what the posterior takes as given, beside prior and noise."""

    @abstractmethod
    def predicted(self, found: "GridPosterior", size: int) -> GridLaw:
        """Return the law of data that were not seen, of `size` records."""

    def least(self, seen: Observed) -> float:
        """Return the log likelihood up to which it is only known to be no larger."""
        return -math.inf

    def check(self, seen: Observed) -> None:
        """Refuse releases that are about something else."""
        if len(seen.numbers) != 1:
            raise InvalidArgument(
                f"release must be one number for a {type(self).__name__}; it holds "
                f"{len(seen.numbers)}. Pass them one by one."
            )


@final
@dataclass(frozen=True, eq=False, repr=False)
class GridPosterior(GridLaw):
    """The posterior of one number, on a grid of cells.

    `conditions` are what it takes as given: the noise that ran, the lattice, the
    bounds, who counts how often. `weights` say which values of a nuisance parameter
    (a scale that is only bounded) are likely, a row for each cell.
    """

    model: GridModel
    conditions: tuple[str, ...]
    weights: Floats = field(repr=False)

    def predictive(self, size: int = 1) -> GridLaw:
        """Return the law of `size` further records, given the release."""
        return self.model.predicted(self, checks.whole("size", size, at_least=1))

    def _rows(self) -> list[tuple[str, str]]:
        given = [("given", each) for each in self.conditions]
        return [*super()._rows(), *given]

    def __repr__(self) -> str:
        return "\n  given ".join([super().__repr__(), *self.conditions])


def solve(model: GridModel, seen: Observed, prior: Any) -> GridPosterior:
    """Return the posterior of a model of one number."""
    model.check(seen)
    law = checked_prior("prior", prior, whole=model.whole)
    given = (f"prior {described(law)}", *seen.facts, *model.conditions())
    if model.whole:
        edges = _whole_edges(model, seen, law)
        weights = _weights(model, seen, law, edges)
    else:
        edges = _first_edges(model, seen, law)
        for _ in range(_ROUNDS):
            weights = _weights(model, seen, law, edges, last=False)
            edges = _laid(law, edges, weights.sum(axis=1), model.points)
        weights = _weights(model, seen, law, edges)
    masses = weights.sum(axis=1)
    rows = weights / np.maximum(masses, 1e-300)[:, None]
    return GridPosterior(
        model.name, edges, masses, model.whole, model, given, rows, prior=law
    )


def described(prior: Any) -> str:
    """Return the name of a law of scipy.stats and its parameters."""
    name = getattr(getattr(prior, "dist", None), "name", type(prior).__name__)
    named = getattr(prior, "kwds", {}).items()
    shown = [*map(str, getattr(prior, "args", ())), *(f"{k}={v}" for k, v in named)]
    return f"{name}({', '.join(shown)})"


def _weights(
    model: GridModel, seen: Observed, prior: Any, edges: Floats, *, last: bool = True
) -> Floats:
    """Return the posterior's masses: of each cell a row, of each nuisance a column."""
    if model.whole:
        middle = (edges[1:] + edges[:-1]) / 2
        mass = asked(prior.pmf, middle)
    else:
        middle = _inside(prior, edges, np.arange(edges.size - 1), 0.5)
        mass = _masses(prior, edges)
    likely = model.log_likelihood(seen, middle)
    least = model.least(seen)
    with np.errstate(divide="ignore"):
        logs = np.log(mass)[:, None] + np.log(model.nuisance)
        logs = logs + np.maximum(likely, least)
    most = logs.max()
    found: Floats = np.exp(logs - most) if math.isfinite(most) else np.zeros(logs.shape)
    known = np.where(likely > least, found, 0.0)
    enough = 1 - _UNKNOWN if last else 0.0
    if not known.sum() > enough * found.sum():
        raise NoBound(
            "prior and release contradict each other: what the prior allows gives the "
            "release a probability too small to be computed. Use a wider prior, or "
            "look for what the model leaves out."
        )
    return np.asarray(known / known.sum())


def _first_edges(model: GridModel, seen: Observed, prior: Any) -> Floats:
    """Return edges that find the posterior wherever prior or likelihood put it."""
    level = np.concatenate([np.geomspace(_FAR, 1e-3, 60), np.linspace(0, 0.5, 60)[1:]])
    middle, width = model.rough(seen)
    near = middle + width * np.linspace(-12, 12, 161)
    found = np.concatenate([asked(prior.ppf, level), asked(prior.isf, level), near])
    low, high = (float(each) for each in prior.support())
    inside = np.clip(found[np.isfinite(found)], low, high)
    edges = np.unique(inside)
    if edges.size < 2:
        raise InvalidArgument(
            "prior must leave the number open; fix what is known in the model."
        )
    return edges


def _laid(prior: Any, edges: Floats, masses: Floats, points: int) -> Floats:
    """Return edges at quantiles of what was found, from one tail to the other."""
    below = np.concatenate([[0.0], np.cumsum(masses)])
    above = np.concatenate([np.cumsum(masses[::-1])[::-1], [0.0]])
    # Quantiles that a normal posterior has at even distances.
    inner = special.ndtr(np.linspace(-_DEEP, 0.0, points // 2))
    cell = np.clip(np.searchsorted(below, inner) - 1, 0, masses.size - 1)
    share = (inner - below[cell]) / np.maximum(masses[cell], 1e-300)
    lower = _inside(prior, edges, cell, np.clip(share, 0, 1))
    # The same from the other end, where 1 - p would lose the tail.
    back = masses.size - np.searchsorted(above[::-1], inner)
    cell = np.clip(back, 0, masses.size - 1)
    share = 1 - (inner - above[cell + 1]) / np.maximum(masses[cell], 1e-300)
    upper = _inside(prior, edges, cell, np.clip(share, 0, 1))
    found = np.unique(np.concatenate([lower, upper]))
    # Two numbers that floats hardly tell apart have no cell between them.
    wide = np.diff(found) > 1e-13 * np.maximum(np.abs(found[1:]), np.abs(found[:-1]))
    laid = found[np.concatenate([[True], wide])]
    return laid if laid.size > 2 else edges


def _whole_ends(prior: Any) -> tuple[int, int]:
    """Return whole numbers beyond which a prior has next to nothing, in either tail."""
    middle = round(float(asked(prior.ppf, 0.5)))
    ends = []
    for side, tail in ((-1, prior.cdf), (1, prior.sf)):
        far = 1
        while float(asked(tail, middle + side * far)) > _FEW and far < 1 << 60:
            far *= 2
        ends.append(middle + side * far)
    return ends[0], ends[1]


def _whole_edges(model: GridModel, seen: Observed, prior: Any) -> Floats:
    """Return the whole numbers that matter, minus a half."""
    middle, width = model.rough(seen)
    near = middle - width, middle + width
    low, high = _whole_ends(prior)
    first, last = min(near[0], low), max(near[1], high)
    if last - first > _MOST:  # a wide prior: what is far from the release is unlikely
        first, last = near
    first, last = max(math.floor(first), low), min(math.ceil(last), high)
    held = float(asked(prior.cdf, last) - asked(prior.cdf, first - 1))
    if last < first or last - first > _MOST or held < _HELD:
        raise NoBound(
            "prior and release leave no list of whole numbers that can be gone "
            "through: they contradict each other, or the noise is wider than "
            f"{_MOST} numbers."
        )
    return np.arange(first, last + 2, dtype=np.float64) - 0.5
