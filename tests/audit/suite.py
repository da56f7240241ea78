"""hush audits itself: everything that reads data, at its claim and with less noise.

`python docs/audit_tables.py` writes the tables of docs/audit.md from here. To add a
mechanism, aggregate, learner or randomizer: one `Subject` in the file of its package.
"""

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hush.audit import Audit, audit
from hush.noise import Seeded, Source
from hush.privacy import Curve

FAMILY = 1e-3  # chance that anything correct in the suite is accused
LEVEL = 1 - 1e-5  # of each audit; bets stop there

# (how much of the noise is left, randomness) -> (data, count) -> independent results
Draws = Callable[[float, Source], Callable[[Any, int], Any]]


@dataclass(frozen=True)
class Subject:
    """Something that reads data: two neighbors, its claim, and how to draw from it.

    `covers` are public names, such as "hush.learn.HuberSVM". `factor` says how much of
    its noise the sabotaged twin keeps, at the claim of the right one.
    """

    name: str
    covers: tuple[str, ...]
    inputs: tuple[Any, Any]
    claim: Callable[[], Curve]
    draws: Draws
    factor: float = 0.9
    samples: int = 20_000

    def __repr__(self) -> str:
        return self.name

    def audit(self, seed: int, factor: float = 1.0) -> Audit:
        """Audit it at its claim, with less noise than it says."""
        source = Seeded(seed)
        draw = self.draws(factor, source)
        return audit(
            lambda data: draw(data, 1)[0],
            *self.inputs,
            claim=self.claim(),
            samples=self.samples,
            batch=draw,
            level=LEVEL,
            source=source,
        )

    def twin(self, seed: int) -> Audit:
        """Audit the sabotaged twin."""
        return self.audit(seed, self.factor)


def looped(run: Callable[[float, Source, Any], Any]) -> Draws:
    """One run after the other."""

    def draws(factor: float, source: Source) -> Callable[[Any, int], Any]:
        return lambda data, count: [run(factor, source, data) for _ in range(count)]

    return draws


def pure(epsilon: float) -> Callable[[], Curve]:
    """A pure claim, made when it is needed."""
    from hush.privacy import Pure

    return lambda: Pure(epsilon)


PACKAGES = ("mechanisms", "tables", "learn", "local", "inference", "holdout", "synth")
_RELEASED = "works on released numbers, never on data"
_FORM = "what a release, answer or plan looks like"
_BASE = "an abstract class; its members are audited"

_DISTANCE = "how far inputs are apart; it reads none to release it"
EXEMPT: dict[str, str] = {
    "mechanisms.Cells": "a form of input",
    "mechanisms.Error": _FORM,
    "mechanisms.Hamming": _DISTANCE,
    "mechanisms.L1": _DISTANCE,
    "mechanisms.L2": _DISTANCE,
    "mechanisms.LInf": _DISTANCE,
    "mechanisms.Mechanism": _BASE,
    "mechanisms.Metric": _BASE,
    "mechanisms.Records": _DISTANCE,
    "mechanisms.tagged": "says how a class is stored",
    "mechanisms.Query": "a question; it is audited with a mechanism",
    "mechanisms.StepDensity": "a public prior; it is audited with a quantile",
    "mechanisms.choose_key_selection": "returns one of the audited selections",
    "mechanisms.proportion": "a mean of truth values",
    "tables.Aggregate": _BASE,
    "tables.Answer": _FORM,
    "tables.Dataset": "opened for every audited aggregate",
    "tables.Graph": "audited through open_graph",
    "tables.Grouped": "every audited aggregate is grouped",
    "tables.Planned": _FORM,
    "tables.Presented": _FORM,
    "tables.Query": "released for every audited aggregate",
    "tables.bins": "makes edges; reads no data",
    "tables.open_table": "opened for every audited aggregate",
    "local.Average": _FORM,
    "local.Collector": _BASE,
    "local.Frequencies": _FORM,
    "local.Hitters": _FORM,
    "local.Mean": _BASE,
    "local.Oracle": _BASE,
    "local.Randomizer": _BASE,
    "local.Reports": _FORM,
    "local.Tally": _FORM,
    "local.Turn": _FORM,
    "local.best": "returns one of the audited oracles",
    "learn.sgd": "audited by many canaries in tests/learn/sgd/test_audit.py",
    "learn.progress_bar": "draws a bar; reads no data",
    "holdout.Answer": _FORM,
    "holdout.Overfit": _FORM,
    "holdout.Plan": _FORM,
    "holdout.Scorer": "asks an audited holdout",
    "holdout.agree": "compares two labels",
    "holdout.analysts": "adversaries for simulations",
    "holdout.generalization": "bounds; reads no data",
    "synth.Bins": "cells of a column; reads no data",
    "synth.Categories": "cells of a column; reads no data",
    "synth.Domain": "cells of a table; reads no data",
    "synth.Marginal": _FORM,
    "synth.Synthetic": _FORM,
    "synth.TreeModel": _RELEASED,
    "synth.TreePlan": _FORM,
    "holdout.one_fit": "a split for scikit-learn; reads no data",
}


def every() -> list[Subject]:
    """Return everything that is audited."""
    import subjects_holdout
    import subjects_learn
    import subjects_local
    import subjects_mechanisms
    import subjects_synth
    import subjects_tables

    modules = (
        subjects_mechanisms,
        subjects_tables,
        subjects_learn,
        subjects_local,
        subjects_holdout,
        subjects_synth,
    )
    return [subject for module in modules for subject in module.subjects()]


def public() -> set[str]:
    """Return the public names of all packages that may read data."""
    found = set()
    for package in PACKAGES:
        module = importlib.import_module(f"hush.{package}")
        found |= {f"{package}.{name}" for name in module.__all__}
    return found


def exempt(name: str) -> str | None:
    """Return why a public name needs no audit of its own; None if it does."""
    if name.startswith("inference."):
        return _RELEASED
    return EXEMPT.get(name)


def number(p_value: float) -> str:
    """Return a p-value for a table."""
    return "0" if p_value < 1e-300 or math.isnan(p_value) else f"{p_value:.1g}"
