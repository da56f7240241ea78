"""A device has NumPy and nothing else: it encodes, and its randomness is secure."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hush
from goodness import FALSE_ALARM, p_value
from hush.local import RandomizedResponse
from hush.noise import source as sources

FORBIDDEN = "scipy cryptography ibis duckdb pyarrow pandas polars matplotlib sqlglot"

# A finder that comes first and refuses: the packages are absent for this process.
ABSENT = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {FORBIDDEN.split()!r}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Absent())
for name in {FORBIDDEN.split()!r}:
    try:
        __import__(name)
    except ModuleNotFoundError:
        continue
    raise SystemExit(name + " is not absent")
"""

EVERYTHING = """
import numpy as np
import hush.local as local
randomizers = [make(1.0, size) for size in (2, 9, 1000) for make in (
    local.RandomizedResponse, local.UnaryEncoding, local.UnaryEncoding.symmetric,
    local.LocalHashing, local.HadamardResponse, local.SubsetSelection)]
randomizers += [make(epsilon, (0.0, 2.0)) for epsilon in (0.4, 2.0) for make in (
    local.DuchiMean, local.PiecewiseMean, local.HybridMean, local.LaplaceMean)]
randomizers += [local.VectorMean(epsilon, 3) for epsilon in (0.4, 3.0)]
randomizers += [local.HeavyHitters(2.0, bits=20)]
for each in randomizers:
    vector = isinstance(each, local.VectorMean)
    values = [[0.5, 0.1, -0.5]] * 40 if vector else [1, 0] * 20
    reports = each.encode(values)
    assert not reports.seeded and each.valid(reports.rows).all(), each
    heard = each.collect(reports.messages())
    assert len(heard) == 40 and len(reports.shuffle()) == 40, each
    if isinstance(each, local.HeavyHitters):
        each.find(heard)
    else:
        assert np.isfinite(each.estimate(heard).value).all(), each
talk = local.Conversation(epsilon=1.0)
talk.ask("me", local.RandomizedResponse(0.5), 1)
assert local.best(size=64, epsilon=1.0, people=10).size == 64
"""

SEEDED = """
from hush.errors import Unsupported
from hush.noise import SECURE, Seeded
assert repr(SECURE) == "SECURE" and not SECURE.seeded
try:
    Seeded(1)
except Unsupported as refused:
    assert "cryptography" in str(refused)
else:
    raise SystemExit("a seed must not mean another stream here")
"""


def alone(code):
    """Run code where only the standard library, NumPy and hush exist."""
    path = str(Path(hush.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ABSENT + code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_randomizer_encodes_and_estimates_with_numpy_alone():
    alone(EVERYTHING)


def test_a_seed_is_refused_where_its_stream_does_not_exist():
    alone(SEEDED)


def test_nothing_beside_numpy_is_loaded_to_encode():
    # The same in a full environment: what is not needed costs no start-up time.
    names = FORBIDDEN.replace("cryptography", "").split()
    code = EVERYTHING + f"import sys; print(sorted(set({names}) & set(sys.modules)))"
    path = str(Path(hush.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.statistical
def test_the_systems_source_is_uniform_and_never_repeats():
    system = sources._System()
    drawn = system.words(400_000, np.uint8)
    assert p_value(np.bincount(drawn, minlength=256), [400_000 / 256] * 256) > (
        FALSE_ALARM
    )
    words = system.words(50_000, np.uint64)  # a repetition: probability below 1e-10
    assert np.unique(words).size == words.size
    assert words.flags.writeable
    assert system.words(0, np.uint16).size == 0
    assert {system.bits(3) for _ in range(400)} == set(range(8))


@pytest.mark.statistical
def test_the_law_is_the_same_whatever_the_source():
    # 60 000 secure draws of each; a correct pair fails with probability 1e-9.
    oracle = RandomizedResponse(1.0, 4)
    chance = np.array([float(oracle.ratio), 1, 1, 1]) / (float(oracle.ratio) + 3)
    for source in (sources.SECURE, sources._System()):
        rows = oracle.encode(np.zeros(60_000, dtype=int), source=source).rows
        observed = np.bincount(rows[:, 0], minlength=4)
        assert p_value(observed, chance * 60_000) > FALSE_ALARM
