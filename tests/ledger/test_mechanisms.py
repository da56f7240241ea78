"""The ledger charges the real curve of a real mechanism and releases its real noise."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import hush
from hush.errors import (
    BudgetExceeded,
    DrawFailed,
    InvalidArgument,
    KeyConflict,
    NoBound,
)
from hush.ledger import Budget, Ledger, Release
from hush.mechanisms import (
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Histogram,
    Laplace,
    Mechanism,
    Quantile,
    RandomizedResponse,
    count,
    mean,
    sum,
)
from hush.noise import Seeded
from hush.privacy import compose

DATA = np.arange(100)
PLANS = [
    (Laplace(2.0), count()),
    (Laplace(2.0), sum(bounds=(0, 5))),
    (Gaussian(3.0), sum(bounds=(0.0, 5.0))),
    (Geometric(2), count()),
    (DiscreteGaussian(2), count()),
    (Laplace(0.1), mean(bounds=(0, 10), size=100, neighbors="replace-one")),
]
NAMES = [f"{query.name} by {mechanism}" for mechanism, query in PLANS]
READERS = [
    Histogram(edges=(0.0, 25.0, 50.0, 100.0), scale=1.0),
    Quantile(at=0.5, bounds=(0, 100), scale=1.0),
]


@pytest.fixture
def ledger():
    budget = Budget(epsilon=50, delta=1e-3)
    with Ledger.open("memory://", budget=budget, unit="people") as opened:
        yield opened


@pytest.mark.parametrize(("mechanism", "query"), PLANS, ids=NAMES)
def test_the_charge_is_the_curve_of_what_ran(ledger, mechanism, query):
    release = ledger.release(mechanism, query, DATA, delta=1e-6)
    curve = (query >> mechanism).curve()
    epsilon, delta = release.cost["dataset:default"]
    assert float(delta) == pytest.approx(1e-6)
    assert epsilon >= Fraction(curve.epsilon_at(1e-6)) * (1 - Fraction(1, 2**46))
    assert float(epsilon) == pytest.approx(curve.epsilon_at(1e-6), rel=1e-9)
    for at in (0.0, 0.1, 1.0):
        assert release.curve.delta_at(at) == curve.delta_at(at)
    assert release.receipt.neighbors == query.neighbors
    assert release.receipt.unit == "row"
    assert release.mechanisms == (mechanism,)
    assert Release.from_json(release.to_json()) == release


@pytest.mark.parametrize(("mechanism", "query"), PLANS, ids=NAMES)
def test_the_interval_holds_the_noiseless_value(ledger, mechanism, query):
    release = ledger.release(mechanism, query, DATA)
    low, high = release.interval(1 - 1e-9)  # fails wrongly with probability 1e-9
    assert low <= float(query(DATA)) <= high
    assert release.error == (query >> mechanism).error
    again = Release.from_json(release.to_json())
    assert again.interval(0.9) == release.interval(0.9)


@pytest.mark.parametrize("mechanism", READERS, ids=repr)
def test_mechanisms_that_read_the_data_themselves(ledger, mechanism):
    release = ledger.release(mechanism, None, DATA)
    assert release.mechanisms == (mechanism,)
    assert type(release.error) is type(mechanism.error)
    assert release.to_json() == Release.from_json(release.to_json()).to_json()


def test_vectors_have_joint_bounds(ledger):
    release = ledger.release(READERS[0], None, DATA)
    low, high = release.interval(1 - 1e-9)
    assert np.all(low <= READERS[0].counts(DATA))
    assert np.all(READERS[0].counts(DATA) <= high)
    with pytest.raises(ValueError, match="read-only"):
        release.values[0] = 0


def test_a_ratio_has_no_law_of_its_noise_alone(ledger):
    release = ledger.release(Laplace(1.0), mean(bounds=(0, 10)), DATA)
    with pytest.raises(NoBound, match="not a law of its noise alone"):
        release.interval(0.95)


@dataclass(frozen=True)
class Scores:
    """Votes for five candidates: one person has one vote."""

    sensitivity: int = 1

    def __call__(self, data):
        return np.asarray(data)


def test_a_selection_has_no_interval(ledger):
    release = ledger.release(Exponential(1.0), Scores(), np.arange(5))
    assert release.values in range(5)
    with pytest.raises(NoBound):
        release.interval(0.95)


def test_a_query_and_a_mechanism_that_do_not_fit(ledger):
    with pytest.raises(InvalidArgument):
        ledger.release(RandomizedResponse(0.75), mean(bounds=(0, 1)), DATA)
    assert ledger.remaining().epsilon == 50


@dataclass(frozen=True)
class Deaf(Mechanism):
    """A mechanism that draws from a source of its own: it cannot be told of one."""

    std: float
    noise = "std"

    def curve(self, sensitivity=1):
        return Gaussian(self.std).curve(sensitivity)

    @property
    def error(self):
        return Gaussian(self.std).error

    def run(self, value):
        return Gaussian(self.std).run(value)


@pytest.mark.parametrize(
    ("mechanism", "query", "words"),
    [
        (Deaf(1.0), count(), r"def run\(self, value, \*, source=SECURE\)"),
        (Laplace, count(), "got the class Laplace"),
        (count() >> Laplace(2.0), count(), "give a ledger None"),
        (READERS[1], count(), "run it on the data"),
        (Exponential(1.0), count(), "run it on its scores"),
    ],
)
def test_a_mistake_that_needs_no_data_to_be_seen_costs_nothing(
    ledger, mechanism, query, words
):
    with pytest.raises(InvalidArgument, match=words):
        ledger.release(mechanism, query, DATA, delta=1e-6)
    assert ledger.remaining().epsilon == 50


def test_the_same_noise_from_the_same_seed_in_a_rehearsal(tmp_path):
    url = f"sqlite:///{tmp_path}/rehearsal.db"
    with Ledger.open(url, budget=Budget(epsilon=9), rehearsal=True) as ledger:
        release = ledger.release(Laplace(2.0), count(), DATA, source=Seeded(5))
        assert release.values == Laplace(2.0, step=1).run(100, source=Seeded(5))


def test_r7_bounds_hidden_in_a_query_tell_requests_apart(ledger):
    """Both sums move by 5; they are different questions all the same."""
    ledger.release(Laplace(2.0), sum(bounds=(0, 5)), DATA, "k")
    with pytest.raises(KeyConflict):
        ledger.release(Laplace(2.0), sum(bounds=(-5, 5)), DATA, "k")


def test_requests_are_recognised_in_another_process(sqlite_url):
    """Nothing in a request's description depends on addresses or hash seeds."""
    import subprocess
    import sys

    from ledger.faults import environment

    code = (
        "import sys; from hush.ledger import *; from hush.mechanisms import *\n"
        "with Ledger.open(sys.argv[1], budget=Budget(epsilon=9)) as ledger:\n"
        "    query = sum(bounds=(0, 5))\n"
        "    print(ledger.release(Laplace(2.0), query, [1, 2], 'k').to_json())\n"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code, sqlite_url],
            env={**environment(), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


def test_a_batch_of_real_mechanisms_is_composed_tightly():
    budget = Budget(epsilon=1, delta=1e-5)
    steps = [Gaussian(40.0)] * 9
    with Ledger.open("memory://", budget=budget) as ledger:
        release = ledger.release(steps, [count()] * 9, DATA, delta=1e-6)
        tight = compose(*[(count() >> each).curve() for each in steps])
        spent = 1 - ledger.remaining().epsilon
        assert spent == pytest.approx(tight.epsilon_at(1e-6), rel=1e-6)
        assert len(release.values) == 9
        assert len(release.interval(0.95)) == 9
        with pytest.raises(BudgetExceeded):
            ledger.release([Gaussian(1.0)], [count()], DATA, delta=1e-6)


class Four:
    """A function of data: four whole numbers, each moved by one person by one."""

    sensitivity = 2  # ℓ2

    def __call__(self, data):
        return np.array([len(data)] * 4)


class StatedFour(Four):
    dimension = 4


def _four_unit_shifts(std, epsilon):
    """δ of four whole numbers that move by one each, from the law: Σ (P - e^ε Q)+."""
    k = np.arange(-40, 41)
    mass = np.exp(-(k**2) / (2 * std**2))
    total = mass / mass.sum()
    for _ in range(3):
        total = np.convolve(total, mass / mass.sum())
    summed = np.arange(total.size) - total.size // 2
    loss = (4 - 2 * summed) / (2 * std**2)
    return float(total @ np.maximum(-np.expm1(epsilon - loss), 0))


def test_several_numbers_on_a_coarse_lattice_are_charged_as_several(ledger):
    coarse = Gaussian(1.0, step=Fraction(1))
    worst = _four_unit_shifts(1.0, 2.0)
    # One number that moves by two is kinder than four that move by one.
    assert coarse.curve(2).delta_at(2.0) < worst
    with pytest.raises(DrawFailed):
        ledger.release(coarse, Four(), DATA, delta=1e-6)
    release = ledger.release(coarse, StatedFour(), DATA, delta=1e-6)
    assert release.curve.delta_at(2.0) >= worst
    ledger.release(Gaussian(10.0), Four(), DATA, delta=1e-6)  # fine: GDP of any size


def test_names_at_the_top_of_the_package():
    assert hush.Budget is Budget
    assert hush.Ledger is Ledger
    assert "Ledger" in dir(hush)
    with pytest.raises(AttributeError, match="no attribute 'Leger'"):
        _ = hush.Leger
