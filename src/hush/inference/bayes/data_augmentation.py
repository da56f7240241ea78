"""Data augmentation: posteriors of models whose data were released as noisy moments.

The records that nobody sees are sampled along with the parameters. Given parameters, a
few records at a time are drawn afresh from the model and exchanged with the chance that
the noise gives the new moments against the old ones: clamping, rounding and the law of
the noise enter as they are. Given records, parameters are drawn by slices, once with
the records fixed and once with what made the records of the parameters fixed.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks, display
from hush.errors import InvalidArgument
from hush.inference.additive_noise import uniforms
from hush.inference.bayes.grid_posterior import asked, checked_prior, described
from hush.inference.bayes.noisy_observation import Floats, Observation, Observed
from hush.mechanisms import Query
from hush.noise import SECURE, Source

_TRIED = 20  # starts for each chain, of which those that fit best are kept
_WIDE = 3.0  # of a slice, in differences of two chains
_SHRINKS = 60  # a slice is then narrower than 1e-12 of its first width
_POSITIVE = ("std", "rate")  # last words of names of parameters that are above zero
_LEAST = 2.0**-53
_MIXED = 1.05  # above this R-hat, chains have not met


class LatentModel(ABC):
    """A model of records, and the clamped moments that are released of them.

    Records are made of parameters and innovations (standard random numbers), so that
    they can be moved along with the parameters.
    """

    n: int

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""

    @property
    @abstractmethod
    def moves(self) -> tuple[int, ...]:
        """How far one record, exchanged for another, moves each moment."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Numbers in one record."""

    @abstractmethod
    def fresh(self, uniform: Floats) -> Floats:
        """Return innovations from uniform numbers of the same shape."""

    @abstractmethod
    def records(self, theta: Floats, innovations: Floats) -> Floats:
        """Return records: a row of chains, then of records, then of numbers."""

    @abstractmethod
    def innovations(self, theta: Floats, records: Floats, uniform: Floats) -> Floats:
        """Return innovations that make these records, drawn where several do."""

    @abstractmethod
    def moments(self, records: Floats) -> Floats:
        """Return the clamped moments of each record."""

    @abstractmethod
    def summary(self, records: Floats) -> Floats:
        """Return what the likelihood of the parameters needs of the records."""

    @abstractmethod
    def log_likelihood(self, theta: Floats, summary: Floats) -> Floats:
        """Return log P(records | parameters) for each chain, up to a constant."""

    @abstractmethod
    def query(self) -> Query:
        """Return the query that releases these moments, for n public people."""

    @abstractmethod
    def conditions(self) -> tuple[str, ...]:
        """Say what the posterior takes as given, beside priors and noise."""

    def check(self, seen: Observed) -> None:
        """Refuse releases of another number of moments."""
        if len(seen.numbers) != len(self.moves):
            raise InvalidArgument(
                f"release must hold the {len(self.moves)} moments of "
                f"{type(self).__name__}.query(), in its order; it holds "
                f"{len(seen.numbers)}."
            )


# -- What came out ---------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False, repr=False)
class PosteriorDraws:
    """Draws from the posterior of several parameters: a row each, chain after chain.

    `r_hat` compares the spread between chains with that inside them: above 1.05 they
    have not met, and `posterior(..., warmup=)` should be larger.
    """

    names: tuple[str, ...]
    chains: Floats = field(repr=False)  # chain, draw, parameter
    conditions: tuple[str, ...]

    @cached_property
    def draws(self) -> Floats:
        """All draws: a row of parameters each."""
        return self.chains.reshape(-1, len(self.names))

    def __getitem__(self, name: str) -> Floats:
        """Return the draws of one parameter."""
        if name not in self.names:
            raise InvalidArgument(
                f"name must be one of {', '.join(self.names)}; got {name!r}."
            )
        return np.asarray(self.draws[:, self.names.index(name)])

    @property
    def mean(self) -> dict[str, float]:
        """Expected value of each parameter."""
        return {name: float(self[name].mean()) for name in self.names}

    @property
    def std(self) -> dict[str, float]:
        """Standard deviation of each parameter."""
        return {name: float(self[name].std(ddof=1)) for name in self.names}

    def quantile(self, name: str, p: float) -> float:
        """Return a quantile of one parameter."""
        return float(np.quantile(self[name], checks.real("p", p, above=0, below=1)))

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Return the ends between which a parameter lies with probability `level`."""
        miss = (1 - checks.real("level", level, above=0, below=1)) / 2
        return self.quantile(name, miss), self.quantile(name, 1 - miss)

    @cached_property
    def r_hat(self) -> dict[str, float]:
        """Potential scale reduction of each parameter, chains cut in halves."""
        half = self.chains.shape[1] // 2
        parts = np.concatenate([self.chains[:, :half], self.chains[:, half : 2 * half]])
        inside = parts.var(axis=1, ddof=1).mean(axis=0)
        between = half * parts.mean(axis=1).var(axis=0, ddof=1)
        total = (half - 1) / half * inside + between / half
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.sqrt(total / inside)
        return dict(
            zip(self.names, map(float, np.nan_to_num(found, nan=1.0)), strict=True)
        )

    def plot(self, name: str, *, level: float = 0.95, axes: Any = None) -> Any:
        """Draw the posterior of one parameter; return the axes."""
        from hush import plots

        return plots.posterior(self, name, level=level, axes=axes)

    def _rows(self) -> list[tuple[str, str]]:
        rows = []
        for name in self.names:
            low, high = self.interval(name)
            mean = float(self[name].mean())
            rows.append((name, f"mean {mean:.4g}, from {low:.4g} to {high:.4g} (95%)"))
        return rows

    def __repr__(self) -> str:
        lines = [f"{name}: {text}" for name, text in self._rows()]
        worst = max(self.r_hat.values())
        if worst > _MIXED:
            lines.append(f"NOT MIXED: R-hat {worst:.2f}; use a larger warmup and draws")
        return "\n".join([*lines, *(f"  given {each}" for each in self.conditions)])

    def _repr_html_(self) -> str:
        given = [("given", each) for each in self.conditions]
        return display.facts("Posterior", [*self._rows(), *given])


# -- Priors of several parameters, on the unit cube ------------------------------------


@final
@dataclass(frozen=True)
class Priors:
    """Independent priors: a law, or a number for what is known, of each parameter."""

    names: tuple[str, ...]
    laws: Mapping[str, Any]
    known: Mapping[str, float]

    @classmethod
    def of(cls, names: tuple[str, ...], prior: Any) -> "Priors":
        """Return the priors of these parameters, or say which are missing."""
        if not isinstance(prior, Mapping) or set(prior) != set(names):
            raise InvalidArgument(
                "prior must be a dict with a law of scipy.stats, or a number for what "
                f"is known, of each of: {', '.join(names)}."
            )
        known = {
            name: checks.real(f"prior[{name!r}]", each)
            for name, each in prior.items()
            if isinstance(each, (int, float)) and not isinstance(each, bool)
        }
        laws = {
            name: checked_prior(f"prior[{name!r}]", prior[name])
            for name in names
            if name not in known
        }
        for name in names:
            if name.split()[-1] in _POSITIVE:
                least = (
                    known.get(name, 1.0) if name in known else laws[name].support()[0]
                )
                checks.real(f"prior[{name!r}], its least value", least, at_least=0)
        if not laws:
            raise InvalidArgument("prior must leave at least one parameter open.")
        return cls(names, laws, known)

    @property
    def facts(self) -> tuple[str, ...]:
        """What was believed before."""
        found = [f"prior of {n}: {described(law)}" for n, law in self.laws.items()]
        return (*found, *(f"{name} is {x:g}" for name, x in self.known.items()))

    def theta(self, cube: Floats) -> Floats:
        """Return parameters from shares of the prior's probability below them."""
        columns: list[Floats] = []
        free = iter(range(cube.shape[1]))
        for name in self.names:
            if name in self.known:
                columns.append(np.full(cube.shape[0], self.known[name]))
            else:
                columns.append(asked(self.laws[name].ppf, cube[:, next(free)]))
        return np.stack(columns, axis=1)


# -- The chains ------------------------------------------------------------------------

Target = Callable[[Floats, NDArray[np.int64]], Floats]  # (cube, which chains) -> logs


@final
@dataclass
class Chains:
    """Many chains side by side: parameters, records, and the sums of their moments.

    `steps` are the released numbers in steps, a row for each chain: tests give each
    chain a release of its own.
    """

    model: LatentModel
    priors: Priors
    numbers: tuple[Observation, ...]
    steps: Floats
    source: Source
    cube: Floats
    records: Floats

    def uniform(self, *shape: int) -> Floats:
        """Return uniform numbers of a shape."""
        return uniforms(math.prod(shape), self.source).reshape(shape)

    def log_noise(self, totals: Floats, rows: Any) -> Floats:
        """Return log P(release | sums of moments), for some chains."""
        logs = np.zeros(totals.shape[0])
        for j, one in enumerate(self.numbers):
            near = np.floor(totals[:, j] / float(one.step) + 0.5)
            logs += one.log_steps(self.steps[rows, j] - near)
        return logs

    def _together(self) -> int:
        """Return how many records to exchange at once: what noise hardly notices."""
        apart = (
            one.std / move
            for one, move in zip(self.numbers, self.model.moves, strict=True)
        )
        return int(min(max(2 * min(apart) ** 2, 1), self.model.n))

    def exchange(self) -> None:
        """Draw every record afresh from the model, and keep what the release allows."""
        theta = self.priors.theta(self.cube)
        moments = self.model.moments(self.records)
        totals = moments.sum(axis=1)
        every = np.arange(theta.shape[0])
        logs = self.log_noise(totals, every)
        per = self._together()
        for start in range(0, self.model.n, per):
            some = slice(start, min(start + per, self.model.n))
            shape = (theta.shape[0], some.stop - start, self.model.width)
            new = self.model.records(theta, self.model.fresh(self.uniform(*shape)))
            gained = self.model.moments(new)
            moved = totals + (gained - moments[:, some]).sum(axis=1)
            fresh = self.log_noise(moved, every)
            # Proposals come from the model: only the noise decides.
            with np.errstate(invalid="ignore"):
                kept = np.log(self.uniform(theta.shape[0])) < fresh - logs
            self.records[kept, some] = new[kept]
            moments[kept, some] = gained[kept]
            totals[kept], logs[kept] = moved[kept], fresh[kept]

    def centered(self) -> None:
        """Draw parameters given the records."""
        summary = self.model.summary(self.records)

        def target(cube: Floats, rows: NDArray[np.int64]) -> Floats:
            theta = self.priors.theta(cube)
            return self.model.log_likelihood(theta, summary[rows])

        self._slices(target)

    def moved(self) -> None:
        """Draw parameters given the innovations: records move with them."""
        theta = self.priors.theta(self.cube)
        uniform = self.uniform(*self.records.shape[:2], self.model.width)
        made = self.model.innovations(theta, self.records, uniform)

        def target(cube: Floats, rows: NDArray[np.int64]) -> Floats:
            records = self.model.records(self.priors.theta(cube), made[rows])
            totals = self.model.moments(records).sum(axis=1)
            return self.log_noise(totals, rows)

        self._slices(target)
        self.records = self.model.records(self.priors.theta(self.cube), made)

    def _slices(self, target: Target) -> None:
        """Draw each half of the chains along differences of two of the other half."""
        count, free = self.cube.shape
        half = count // 2
        halves = np.arange(half), np.arange(half, count)
        for _ in range(free):
            for own, others in (halves, halves[::-1]):
                pick = (self.uniform(2, own.size) * others.size).astype(np.int64)
                way = self.cube[others[pick[0]]] - self.cube[others[pick[1]]]
                self._slice(target, own, way)

    def _slice(self, target: Target, own: NDArray[np.int64], way: Floats) -> None:
        """Draw chains on a line through where they are, by shrinking an interval."""
        start = self.cube[own]
        level = target(start, own) + np.log(self.uniform(own.size))
        low = -_WIDE * self.uniform(own.size)
        high = low + _WIDE
        left = np.arange(own.size)
        for _ in range(_SHRINKS):
            if not left.size:
                return
            at = low[left] + (high[left] - low[left]) * self.uniform(left.size)
            tried = start[left] + at[:, None] * way[left]
            inside = np.all((tried >= _LEAST) & (tried <= 1 - _LEAST), axis=1)
            logs = np.full(left.size, -np.inf)
            if inside.any():
                logs[inside] = target(tried[inside], own[left[inside]])
            kept = logs >= level[left]
            self.cube[own[left[kept]]] = tried[kept]
            low[left] = np.where(at < 0, at, low[left])
            high[left] = np.where(at < 0, high[left], at)
            left = left[~kept]

    def turn(self) -> None:
        """Draw records and parameters once."""
        self.exchange()
        self.centered()
        self.moved()


def _started(
    model: LatentModel,
    priors: Priors,
    numbers: tuple[Observation, ...],
    count: int,
    source: Source,
) -> Chains:
    """Return chains that start from the prior, where the release is least unlikely."""
    free = len(priors.laws)
    seen = np.array([float(each.steps) for each in numbers])
    best: list[tuple[float, Floats, Floats]] = []
    for _ in range(_TRIED):
        cube = uniforms(count * free, source).reshape(count, free)
        shape = (count, model.n, model.width)
        uniform = uniforms(math.prod(shape), source).reshape(shape)
        records = model.records(priors.theta(cube), model.fresh(uniform))
        chains = Chains(
            model, priors, numbers, np.tile(seen, (count, 1)), source, cube, records
        )
        totals = model.moments(records).sum(axis=1)
        logs = chains.log_noise(totals, np.arange(count))
        best += list(zip(map(float, logs), cube, records, strict=True))
        best = sorted(best, key=lambda each: -each[0])[:count]
    chains.cube = np.array([cube for _, cube, _ in best])
    chains.records = np.array([records for _, _, records in best])
    return chains


def sample(
    model: LatentModel,
    seen: Observed,
    prior: Any,
    *,
    chains: int,
    warmup: int,
    draws: int,
    source: Source = SECURE,
) -> PosteriorDraws:
    """Return draws from the posterior of a model whose moments were released."""
    model.check(seen)
    priors = Priors.of(model.names, prior)
    # Differences of the chains of one half must span the parameters.
    count = checks.whole("chains", chains, at_least=2 * len(priors.laws) + 4)
    checks.whole("warmup", warmup, at_least=0)
    each = -(-checks.whole("draws", draws, at_least=4 * count) // count)
    running = _started(model, priors, seen.numbers, count, source)
    for _ in range(warmup):
        running.turn()
    kept = []
    for _ in range(each):
        running.turn()
        kept.append(priors.theta(running.cube))
    given = (*priors.facts, *seen.facts, *model.conditions())
    return PosteriorDraws(model.names, np.stack(kept, axis=1), given)
