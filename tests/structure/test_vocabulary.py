"""One way to say a thing: public functions call the same thing by the same name."""

import importlib
import inspect
from collections.abc import Iterator

import pytest

from hush.noise import SECURE
from hush.units import Neighbors

PACKAGES = """privacy mechanisms noise bounds ledger tables learn learn.sgd inference
    local synth audit holdout plots"""
HOMES = ["hush", *(f"hush.{name}" for name in PACKAGES.split())]
# What other libraries say, and what is said here.
OURS = {
    "epsilon": "eps",
    "delta": "target_delta",
    "std": "sigma stddev stdev noise_multiplier",
    "level": "conf confidence confidence_level conf_level",
    "alpha": "significance sig",
    "source": "rng random_state generator prng random_source",
    "neighbors": "neighbours relation adjacency neighboring",
    "bounds": "clamping_bounds clipping_bounds",
    "rate": "sampling_probability sampling_rate subsampling_rate",
    "clip": "max_grad_norm l2_norm_clip clipping_norm",
    "steps": "num_steps n_steps iterations",
    "unit": "privacy_unit privacy_id user_id",
}


def parameters(home: str) -> Iterator[tuple[str, inspect.Parameter]]:
    found = importlib.import_module(home)
    for name in found.__all__:
        given = getattr(found, name)
        methods = dir(given) if inspect.isclass(given) else ()
        calls = {name: given} | {
            f"{name}.{m}": getattr(given, m) for m in methods if not m.startswith("_")
        }
        for label, call in calls.items():
            if not callable(call) or not getattr(call, "__module__", "x"):
                continue
            try:
                known = inspect.signature(call).parameters.values()
            except (TypeError, ValueError):  # a built-in without one
                continue
            yield from ((label, each) for each in known)


def foreign(home: str) -> set[tuple[str, str]]:
    theirs = {word for words in OURS.values() for word in words.split()}
    return {(label, p.name) for label, p in parameters(home) if p.name in theirs}


@pytest.mark.parametrize("home", HOMES)
def test_no_parameter_has_another_librarys_name(home):
    assert foreign(home) == set()


@pytest.mark.parametrize("home", HOMES)
def test_level_is_confidence_alpha_is_error_and_randomness_is_secure(home):
    wrong = []
    for label, p in parameters(home):
        default = p.default
        if default in (p.empty, None, "$UNCHANGED$"):
            continue
        good = {
            "level": lambda d: 0.5 <= d < 1,
            "alpha": lambda d: 0 < d < 0.5,
            "source": lambda d: d is SECURE,
            "neighbors": lambda d: d == "" or d in set(Neighbors),
        }.get(p.name)
        if good and not good(default):
            wrong.append((label, p))
    assert wrong == []


def test_a_foreign_word_is_noticed(monkeypatch):
    import hush.bounds

    def hoeffding(eps, n):
        return eps, n

    monkeypatch.setattr(hush.bounds, "hoeffding", hoeffding)
    assert foreign("hush.bounds") == {("hoeffding", "eps")}
