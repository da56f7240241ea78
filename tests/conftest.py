"""Profiles and paths shared by all tests."""

import collections
import gc
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# NumPy is not loaded yet. Workers already share the cores: a thread per core in each of
# them would spend as much time again on waiting for the others.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

settings.register_profile(
    "fast",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "slow",
    max_examples=1000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


@pytest.fixture(scope="session")
def root() -> Path:
    return Path(__file__).resolve().parent.parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most cases of a test marked `thin(n)` to the slow lane.

    Every n-th case stays in the fast one, counted among those that were collected: a
    case that is asked for by its name always runs. `slow_on("spark")` leaves that case.
    """
    seen: collections.Counter[str] = collections.Counter()
    for item in items:
        for mark in item.iter_markers("slow_on"):
            if mark.args[0] in item.callspec.params.values():
                item.add_marker(pytest.mark.slow)
        thin = item.get_closest_marker("thin")
        if thin and not item.get_closest_marker("slow"):
            name = item.nodeid.partition("[")[0]
            if seen[name] % thin.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[name] += 1


def pytest_collection_finish() -> None:
    """Spare the collector what lives as long as the session: thousands of tests.

    What they leave behind is small, so it may wait: the collector took a twentieth of
    the lane's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_unconfigure() -> None:
    """Let the collector see everything again, or extensions report it as lost."""
    gc.unfreeze()
