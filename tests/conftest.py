"""Profiles and paths shared by all tests."""

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
