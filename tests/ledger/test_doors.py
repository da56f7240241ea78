"""What may be given to a ledger, and what a charge must say of itself."""

from dataclasses import dataclass

import numpy as np
import pytest

import hush
from hush import mechanisms
from hush.errors import InsecureSource, InvalidArgument, LedgerError
from hush.ledger import Budget, Ledger
from hush.mechanisms import Laplace
from hush.mechanisms.mechanism import listen_with
from hush.privacy import Pure
from ledger.toys import Broken, Die, Total

AGES = [40, 71, 18]
NOISE = [
    Laplace(1.0),
    mechanisms.Gaussian(1.0),
    mechanisms.Geometric(1),
    mechanisms.DiscreteGaussian(1),
    mechanisms.Staircase(1),
    mechanisms.Exponential(1.0),
    mechanisms.NoisyMax(1.0),
    mechanisms.PermuteAndFlip(1.0),
    mechanisms.RandomizedResponse.for_epsilon(1.0),
]


@pytest.fixture
def ledger():
    with Ledger.open("memory://", budget=Budget(epsilon=10)) as opened:
        yield opened


@pytest.mark.parametrize("noise", NOISE, ids=repr)
def test_noise_without_a_query_is_refused(ledger, noise):
    """`release(Laplace(1), None, ages)` gave every age, plus or minus one, for 1."""
    with pytest.raises(InvalidArgument, match="how far one person moves"):
        ledger.release(noise, None, AGES)
    with pytest.raises(InvalidArgument, match="how far one person moves"):
        ledger.hold(noise, None)
    with pytest.raises(InvalidArgument, match="how far one person moves"):
        ledger.charge(noise)
    assert ledger.remaining().epsilon == 10


def test_mechanisms_that_read_records_need_no_query(ledger):
    reads = mechanisms.Quantile(0.5, bounds=(0, 100), scale=10.0)
    assert 0 <= ledger.release(reads, None, AGES).values <= 100
    assert ledger.charge(reads).sequence


def test_a_sensitivity_beside_a_curve_is_refused(ledger):
    """It was dropped: ten people were charged as one."""
    with pytest.raises(InvalidArgument, match=r"group\(curve, size=k\)"):
        ledger.charge(Pure(epsilon=0.5), 10)
    assert ledger.remaining().epsilon == 10
    ledger.charge(hush.privacy.group(Pure(epsilon=0.5), size=10))
    assert ledger.remaining().epsilon == 5


# -- unit and relation ----------------------------------------------------------------


def _edges(ledger):
    graph = {"a": [1, 1, 2], "b": [2, 3, 3]}
    return hush.tables.open_graph(
        graph, ends=("a", "b"), protects="edge", ledger=ledger, name="friends"
    )


def test_edges_are_not_added_to_people():
    budget = Budget(epsilon=5)
    with Ledger.open("memory://", budget=budget, dataset="visits") as ledger:
        ledger.grant(budget, dataset="friends")
        ledger.link("visits", "patients", budget)
        ledger.link("friends", "patients")
        rows = {"who": [1, 1, 2], "x": [1.0, 2, 3]}
        visits = hush.open(rows, unit="who", ledger=ledger, name="visits")
        visits.agg(n=hush.count()).release(epsilon=1)
        before = ledger.on(dataset="friends").remaining()
        with pytest.raises(InvalidArgument, match="'edge', and unit 'patients'"):
            _edges(ledger.on(dataset="friends")).edges(epsilon=1)
        assert ledger.on(dataset="friends").remaining() == before


def test_a_column_called_edge_names_people():
    from hush.units import Unit

    assert str(Unit("edge")) == '"edge"'
    assert str(Unit("driver")) == "driver"


@dataclass(frozen=True)
class Unsaid:
    """A sensitivity, and not a word about whom it protects."""

    sensitivity: int = 1

    def __call__(self, data):
        return len(data)


def test_silence_is_refused_once_an_account_has_agreed(ledger):
    ledger.release(Laplace(1.0), Unsaid(), AGES)  # nothing is agreed yet
    ledger.charge(Pure(epsilon=0.5))
    ledger.release(Laplace(1.0), mechanisms.count(), AGES)
    before = ledger.remaining()
    for ask in (
        lambda **more: ledger.release(Laplace(1.0), Unsaid(), AGES, **more),
        lambda **more: ledger.hold(Laplace(1.0), Unsaid(), **more),
        lambda **more: ledger.charge(Pure(epsilon=0.5), **more),
        lambda **more: ledger.charge(Laplace(1.0), 1, **more),
    ):
        with pytest.raises(InvalidArgument, match="does not state its neighbors and"):
            ask()
        with pytest.raises(InvalidArgument, match="does not state its unit"):
            ask(notes={"neighbors": "add-remove"})
        assert ledger.remaining() == before
        ask(notes={"neighbors": "add-remove", "unit": "row"})
        before = ledger.remaining()


def test_a_silent_handle_sees_what_another_agreed(tmp_path):
    url = f"sqlite:///{tmp_path}/budget.db"
    with (
        Ledger.open(url, budget=Budget(epsilon=10)) as silent,
        Ledger.open(url) as other,
    ):
        silent.charge(Pure(epsilon=0.5), key="early")
        other.release(Laplace(1.0), mechanisms.count(), AGES)
        with pytest.raises(InvalidArgument, match="does not state"):
            silent.charge(Pure(epsilon=0.5))
        receipt = silent.charge(Pure(epsilon=0.5), key="early")  # paid before
        assert receipt.key == "early"


@pytest.mark.parametrize(
    "notes",
    [
        {"sensitivity": 1},
        {"bounds": [0, 1]},
        {"neighbors": "replace-one"},
        {"unit": "household"},
    ],
    ids=str,
)
def test_notes_do_not_overwrite_what_was_charged(ledger, notes):
    @dataclass(frozen=True)
    class Stated:
        sensitivity: int = 5
        bounds: tuple[int, int] = (0, 5)
        neighbors: str = "add-remove"
        unit: str = "person"

        def __call__(self, data):
            return 3

    with pytest.raises(InvalidArgument, match="notes state another"):
        ledger.release(Laplace(1.0), Stated(), AGES, notes=notes)
    with pytest.raises(InvalidArgument, match="notes state another"):
        ledger.release([Laplace(1.0)], [Stated()], AGES, notes=notes)
    assert ledger.remaining().epsilon == 10
    release = ledger.release(Laplace(1.0), Stated(), AGES, notes={"why": "a test"})
    assert release.receipt.sensitivity == 5
    assert release.receipt.bounds == [0, 5]


def test_notes_do_not_change_the_relation_of_a_plan(ledger):
    reads = mechanisms.Quantile(0.5, bounds=(0, 100), scale=10.0)
    with pytest.raises(InvalidArgument, match="notes state another neighbors"):
        ledger.charge(reads, notes={"neighbors": "replace-one"})


# -- keys, replays -------------------------------------------------------------------


def test_hold_after_void_is_refused(ledger):
    """It returned a receipt of a charge that had been given back."""
    ledger.hold(Die(0.5), Total(), key="k")
    ledger.void("k", "a mistake")
    with pytest.raises(LedgerError, match="voided"):
        ledger.hold(Die(0.5), Total(), key="k")
    with pytest.raises(LedgerError, match="voided"):
        ledger.release(Die(0.5), Total(), [1], key="k")
    assert ledger.remaining().epsilon == 10


class Parrot:
    def on_run(self, mechanism, value, run):
        return value

    def on_turn(self, talk, mechanism, value, run):
        return value


def test_a_listener_seals_nothing_into_a_ledger_of_real_data(tmp_path):
    url = f"sqlite:///{tmp_path}/budget.db"
    with Ledger.open(url, budget=Budget(epsilon=10)) as real:
        with listen_with(Parrot()), pytest.raises(InsecureSource, match="replay"):
            real.release(Laplace(1.0), mechanisms.count(), AGES)
        assert real.remaining().epsilon == 10
        real.release(Laplace(1.0), mechanisms.count(), AGES)
    with Ledger.open("memory://", budget=Budget(epsilon=10)) as passing:
        with listen_with(Parrot()):
            heard = passing.release(Laplace(1.0), mechanisms.count(), AGES)
        assert heard.values == AGES  # the listener answered with what it was given
        assert heard.seeded, "noise that a test replaces is not secret"


def test_a_ledger_still_says_nothing_of_a_failure(ledger):
    with pytest.raises(hush.errors.DrawFailed) as failed:
        ledger.release(Die(0.1), Broken(), np.array([12345]))
    assert "12345" not in str(failed.value)


@pytest.mark.parametrize("noise", [mechanisms.Staircase(1)], ids=repr)
def test_noise_for_one_number_is_refused_for_several_before_payment(ledger, noise):
    @dataclass(frozen=True)
    class Ten:
        sensitivity: float = 1.0
        dimension: int = 10
        neighbors: str = "add-remove"
        unit: str = "person"

        def __call__(self, data):
            return np.zeros(10)

    with pytest.raises(InvalidArgument, match="charged for one number"):
        ledger.release(noise, Ten(), AGES)
    assert ledger.remaining().epsilon == 10
