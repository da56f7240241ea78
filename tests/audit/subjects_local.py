"""Every local randomizer: one report about one of two values."""

from typing import Any

import numpy as np
from suite import Subject, looped, pure

from hush import local
from hush.noise import Source

_EPSILON = 1.0


def _reports(make: Any) -> Any:
    """Each report as the estimate that it alone would give: all it says."""

    def draws(factor: float, source: Source) -> Any:
        randomizer = make(_EPSILON / factor)

        def many(value: Any, count: int) -> Any:
            values = np.broadcast_to(np.asarray(value), (count, *np.shape(value)))
            rows = randomizer.encode(values.copy(), source=source).rows
            return np.array([_said(randomizer, rows[i : i + 1]) for i in range(count)])

        return many

    return draws


def _said(randomizer: Any, row: Any) -> Any:
    if isinstance(randomizer, local.HeavyHitters):  # one level: a report of its oracle
        randomizer, row = randomizer.oracles[0], row[:, 1:]
    reports = local.Reports(randomizer, row)
    return np.atleast_1d(np.asarray(randomizer.estimate(reports).value, dtype=float))


def _conversation(factor: float, source: Source, value: Any) -> Any:
    """Two questions to one person, the second after the first answer."""
    talk = local.Conversation(_EPSILON / factor, rehearsal=True)
    first = local.RandomizedResponse(0.5 / factor)
    said = []
    for _ in range(2):
        report = talk.ask("one", first, value, source=source)
        said.append(int(report.rows[0, 0]))
    return said


def subjects() -> list[Subject]:
    """Return one subject for every randomizer."""
    oracles = {
        "RandomizedResponse": lambda e: local.RandomizedResponse(e, size=4),
        "UnaryEncoding": lambda e: local.UnaryEncoding(e, size=4),
        "LocalHashing": lambda e: local.LocalHashing(e, size=4),
        "HadamardResponse": lambda e: local.HadamardResponse(e, size=4),
        "SubsetSelection": lambda e: local.SubsetSelection(e, size=4),
        "HeavyHitters": lambda e: local.HeavyHitters(e, bits=2, step=2),
    }
    means = {
        "LaplaceMean": local.LaplaceMean,
        "DuchiMean": local.DuchiMean,
        "PiecewiseMean": local.PiecewiseMean,
        "HybridMean": local.HybridMean,
        "VectorMean": lambda e: local.VectorMean(e, dimension=2),
    }
    ends = {"VectorMean": ([1.0, 0.0], [-1.0, 0.0])}
    found = [
        Subject(
            f"local {name}",
            (f"local.{name}",),
            pair,
            pure(_EPSILON),
            _reports(make),
            samples=40_000,
        )
        for table, usual in ((oracles, (0, 1)), (means, (-1.0, 1.0)))
        for name, make in table.items()
        for pair in [ends.get(name, usual)]
    ]
    talk = Subject(
        "local Conversation",
        ("local.Conversation",),
        (0, 1),
        pure(_EPSILON),
        looped(_conversation),
        samples=40_000,
    )
    return [*found, talk]
