"""χ² tests of fit and independence on noisy tables, calibrated by simulation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument
from hush.inference import inputs
from hush.inference.additive_noise import Additive, uniforms
from hush.inference.results import Test
from hush.mechanisms.mechanism import Mechanism
from hush.noise import SECURE, Source

Floats = NDArray[np.float64]


def _rank(observed: float, simulated: Floats) -> float:
    """Return the p-value of a statistic among exchangeable ones, 1 of them its own."""
    return float(1 + np.count_nonzero(simulated >= observed)) / (1 + simulated.size)


def multinomial(
    people: int, chances: Floats, draws: int, source: Source
) -> NDArray[np.int64]:
    """Return `draws` multinomial tables: binomials given what is left, by inversion.

    Example:
        >>> from hush.noise import Seeded
        >>> tables = multinomial(10, np.array([0.5, 0.5, 0.0]), 4, Seeded(1))
        >>> tables.sum(axis=1).tolist(), int(tables[:, 2].max())
        ([10, 10, 10, 10], 0)
    """
    from scipy.stats import binom

    left = np.full(draws, people, dtype=np.int64)
    # What remains from each cell on: summed from the end, so that it is never negative.
    rest = np.cumsum(chances[::-1])[::-1]
    found = np.zeros((draws, chances.size), dtype=np.int64)
    for j, chance in enumerate(chances):
        if chance <= 0:
            continue
        if chance >= rest[j]:
            found[:, j] = left
            break
        drawn = binom.ppf(uniforms(draws, source), left, chance / rest[j])
        found[:, j] = np.asarray(drawn, dtype=np.int64)
        left = left - found[:, j]
    return found


def _noisy(
    people: int, chances: Floats, mechanism: Mechanism, draws: int, source: Source
) -> Floats:
    """Return `draws` simulated tables with noise, as floats."""
    tables = multinomial(people, chances.ravel(), draws, source)
    released = mechanism.run(tables, source=source)
    return np.asarray(released, np.float64).reshape(draws, *chances.shape)


def _cells(name: str, counts: Any, dimensions: int) -> Floats:
    cells = inputs.numbers(name, counts)
    if cells.ndim != dimensions or min(cells.shape) < 2 or not np.isfinite(cells).all():
        raise InvalidArgument(
            f"{name} must be a finite table of {dimensions} dimension(s), two cells or "
            f"more in each; got shape {cells.shape}."
        )
    return cells


def fit_test(
    counts: Any,
    probabilities: Any,
    *,
    n: int,
    mechanism: Mechanism,
    draws: int = 999,
    source: Source = SECURE,
) -> Test:
    """Return the p-value of "the cells have these probabilities" from noisy counts.

    The statistic is r'Σ⁻¹r, r the distance from n·p and Σ the covariance of multinomial
    and noise together; its law is simulated with the mechanism that ran.

    The number of people is public, so neighbors are an exchange apart: one cell loses a
    person, another gains one. Noise must be made for a sensitivity of 2 (ℓ2: √2).

    Guarantee: at a level with level·(draws + 1) whole, the type-I error is at most
    `level`, at any n and any noise.

    Example:
        >>> from hush.mechanisms import Geometric
        >>> noise = Geometric.for_epsilon(1, sensitivity=2)
        >>> third = [1 / 3, 1 / 3, 1 / 3]
        >>> fit_test([130, 90, 80], third, n=300, mechanism=noise).rejects(0.05)
        True

    Reference: [GLRV16]; docs/proofs/inference.md.
    """
    cells = _cells("counts", counts, 1)
    chances = inputs.numbers("probabilities", probabilities)
    if chances.shape != cells.shape or (chances < 0).any() or chances.sum() <= 0:
        raise InvalidArgument(
            f"probabilities must be {cells.size} non-negative numbers; got shape "
            f"{chances.shape}."
        )
    people = checks.whole("n", n, at_least=1)
    checks.whole("draws", draws, at_least=19)
    chances = chances / chances.sum()
    spread = Additive.of(mechanism, counts).std ** 2
    covariance = people * (np.diag(chances) - np.outer(chances, chances))
    covariance += max(spread, 1e-9 * people) * np.eye(cells.size)
    root = np.linalg.inv(np.linalg.cholesky(covariance))

    def statistic(tables: Floats) -> Floats:
        return np.asarray((((tables - people * chances) @ root.T) ** 2).sum(axis=-1))

    found = float(statistic(cells))
    null = statistic(_noisy(people, chances, mechanism, draws, source))
    return Test(found, _rank(found, null), "other shares")


def independence_test(
    table: Any,
    *,
    n: int,
    mechanism: Mechanism,
    draws: int = 999,
    source: Source = SECURE,
) -> Test:
    """Return the p-value of "rows and columns are independent" from a noisy table.

    Margins are estimated from the noisy table, and again from every simulated one, so
    that the law of the statistic includes their error.

    The number of people is public, so neighbors are an exchange apart: one cell loses a
    person, another gains one. Noise must be made for a sensitivity of 2 (ℓ2: √2).

    Guarantee: type-I error as measured in docs/inference.md; the margins are plugged
    in.

    Example:
        >>> from hush.mechanisms import Geometric
        >>> noise = Geometric.for_epsilon(1, sensitivity=2)
        >>> table = [[90, 60], [50, 100]]
        >>> independence_test(table, n=300, mechanism=noise).rejects(0.01)
        True

    Reference: [GLRV16].
    """
    cells = _cells("table", table, 2)
    people = checks.whole("n", n, at_least=1)
    checks.whole("draws", draws, at_least=19)
    spread = Additive.of(mechanism, table).std ** 2

    def expected(tables: Floats) -> Floats:
        rows = _shares(tables.sum(axis=-1), people)
        columns = _shares(tables.sum(axis=-2), people)
        return np.asarray(rows[..., :, None] * columns[..., None, :])

    def statistic(tables: Floats) -> Floats:
        mean = people * expected(tables)
        return np.asarray(((tables - mean) ** 2 / (mean + spread)).sum(axis=(-1, -2)))

    found = float(statistic(cells))
    null = statistic(_noisy(people, expected(cells), mechanism, draws, source))
    return Test(found, _rank(found, null), "dependence")


def _shares(margin: Floats, people: int) -> Floats:
    """Return the probabilities nearest to a noisy margin, never quite 0."""
    least = 0.5 / people
    clipped = np.maximum(margin / people, least)
    return np.asarray(clipped / clipped.sum(axis=-1, keepdims=True))
