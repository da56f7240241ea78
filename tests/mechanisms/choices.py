"""Mechanisms that choose: among candidates, records and cells."""

import cell_laws
import exact
import float_laws
import numpy as np
import worst
from case import Case

from hush import mechanisms as m

UNIT = (0.0, 1.0)
LINE = np.linspace(1.0, 2.0, 200).tolist()
MOVED = [1.0, *LINE[:-1]]  # the largest record became the smallest
SCORES, MIXED, UP = [0, 1, 1], [1, 1, 0], [1, 1, 2]


def scored(name, mechanism, law, *, neighbor=MIXED, tight=False) -> Case:
    """Return a choice by scores that move by one at most, both ways or only up."""

    def both():
        return [list(SCORES), list(neighbor)]

    return Case(name, mechanism, law, both, tight=tight, strict=False)


def every_choice() -> list[Case]:
    """Return one case or more for every mechanism that chooses."""
    return [
        scored(
            "exponential", m.Exponential(2.0), worst.exponential(2.0, 1.0), tight=True
        ),
        scored(
            "exponential, prior",
            m.Exponential(2.0, prior=(1, 4, 0.5)),
            worst.exponential(2.0, 1.0),
            tight=True,
        ),
        scored(
            "exponential, monotone",
            m.Exponential(1.0, monotone=True),
            worst.selection(exact.softmax, 1.0, monotone=True),
            neighbor=UP,
        ),
        scored(
            "noisy max, laplace",
            m.NoisyMax(2.0, kind="laplace"),
            worst.selection(exact.noisy_max, 2.0),
        ),
        scored(
            "noisy max, gumbel",
            m.NoisyMax(2.0, kind="gumbel"),
            worst.exponential(2.0, 1.0),
            tight=True,
        ),
        scored(
            "noisy max, exponential",
            m.NoisyMax(2.0),
            worst.selection(exact.permute_and_flip, 2.0),
        ),
        scored(
            "permute and flip, monotone",
            m.PermuteAndFlip(1.0, monotone=True),
            worst.selection(exact.permute_and_flip, 1.0, monotone=True),
            neighbor=UP,
        ),
        scored("top two", m.TopK(2, scale=2.0), worst.selection(exact.top_two, 2.0)),
        Case(
            "median, add or remove",
            m.Quantile(0.5, UNIT, 1.0),
            worst.records(0.5, UNIT, 1.0, replace=False),
            lambda: [[0.1], [0.1, 0.9]],
            strict=False,
        ),
        Case(
            "quantile, replace",
            m.Quantile(0.25, UNIT, 2.0, "replace-one"),
            worst.records(0.25, UNIT, 2.0, replace=True),
            lambda: [[0.1], [0.9]],
            strict=False,
        ),
        Case(
            "median, prior",
            m.Quantile(0.5, UNIT, 1.0, prior=m.StepDensity((0, 0.2, 1), (1, 3))),
            worst.records(0.5, UNIT, 1.0, replace=False),
            lambda: [[0.1], [0.1, 0.9]],
            strict=False,
        ),
        Case(
            "quartiles",
            m.Quantile((0.25, 0.5, 0.75), UNIT, 4.0),
            worst.records(0.5, UNIT, 4.0, replace=False),
            lambda: [[0.1], [0.1, 0.9]],
            strict=False,
        ),
        Case(
            "winsorized mean",
            m.WinsorizedMean(UNIT, 2.0),
            worst.records(0.25, UNIT, 8.0, replace=True),
            lambda: [[0.1, 0.2, 0.3], [0.9, 0.2, 0.3]],
            strict=False,
        ),
        Case(
            "median, no bounds",
            m.UnboundedQuantile(0.5, 2.0),
            float_laws.quantile_pairs(0.5, 2.0, replace=False),
            lambda: [LINE, LINE[:-1]],
            strict=False,
        ),
        Case(
            "quantile, no bounds",
            m.UnboundedQuantile(0.25, 4.0, "replace-one"),
            float_laws.quantile_pairs(0.25, 4.0, replace=True),
            lambda: [LINE, MOVED],
            strict=False,
        ),
        Case(
            "clipped mean",
            m.ClippedMean(2.0, 4.0),
            float_laws.clipped_pairs(2.0, 4.0),
            lambda: [LINE, MOVED],
            strict=False,
        ),
        Case(
            "clipped means",
            m.ClippedMean(2.0, 8.0, dimension=2, bounds=(0.0, 4.0)),
            float_laws.clipped_pairs(2.0, 8.0),
            lambda: [[[x, 3.0 - x] for x in each] for each in (LINE, MOVED)],
            strict=False,
        ),
        Case(
            "cells, median",
            m.CellQuantile(0.5, 3, 1.0),
            cell_laws.quantile_pairs(0.5, 1.0),
            lambda: [[[1, 0, 1], [0, 2, 0]], [[1, 0, 1], [0, 2, 1]]],
            strict=False,
        ),
        Case(
            "cells, quantile",
            m.CellQuantile(0.9, 3, 1.0),
            cell_laws.quantile_pairs(0.9, 1.0, moved=2),
            lambda: [[[1, 0, 1], [0, 2, 0]], [[1, 0, 2], [0, 2, 1]]],
            sensitivity=2,
            strict=False,
        ),
        Case(
            "cells, interval",
            m.CellInterval(0.5, 3, 2.0, level=0.5, person=1),
            cell_laws.quantile_pairs(0.5, 4.0),
            lambda: [[[1, 0, 1], [0, 20, 0]], [[1, 0, 1], [0, 20, 1]]],
            strict=False,
        ),
        Case(
            "cells, top",
            m.CellTop(1, 2.0),
            cell_laws.top_pairs(2.0),
            lambda: [[[1, 0], [0, 2]], [[1, 0], [0, 3]]],
            strict=False,
        ),
    ]
