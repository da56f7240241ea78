"""L10: random charges, retries, crashes, restarts, voids and raises against a model."""

import itertools
import tempfile
from fractions import Fraction

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from hush.errors import BudgetExceeded, DrawFailed, KeyConflict, LedgerError
from hush.ledger import Budget, Ledger
from hush.ledger.two_phase import STEPS, plant
from ledger.toys import Broken, Die, Total
from servers import memory_disk

_counter = itertools.count()


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Let a key be resumed as often as a machine crashes; the bound has its tests."""
    monkeypatch.setattr("hush.ledger.two_phase.RESUMPTIONS", 60)


@pytest.fixture(params=["sqlite", "postgres"])
def durable_server(request):
    """None for files; the address of a server."""
    return request.getfixturevalue("server") if request.param == "postgres" else None


KEYS = st.sampled_from([f"k{n}" for n in range(12)])
TENTHS = st.integers(1, 5)


def _schema(server, name):
    """Make a name space on a server, faster than a database; return its address."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{server}&options=-csearch_path%3D{name}"


class Crash(BaseException):
    """Stands for the death of the process: nothing catches it."""


class Machine(RuleBasedStateMachine):
    """The ledger on one side; a dict of keys and a sum on the other."""

    steps = 0  # of all machines of a class
    server = None  # where each machine makes its own database, if not a file

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=memory_disk())
        self.url = f"sqlite:///{self.folder.name}/budget.db"
        if self.server is not None:
            self.url = _schema(self.server, f"model{next(_counter)}")
        self.limit, self.spent = 20, 0
        self.known = {}  # key -> [tenths, state, answer]
        # Lockouts have tests of their own: here failures are one event among others.
        budget = Budget(epsilon=2)
        self.ledger = Ledger.open(self.url, budget=budget, lockout=10**6)

    def teardown(self):
        plant(None)
        self.ledger.close()
        self.folder.cleanup()

    def _expect(self, key, tenths):
        """Return the error a request must meet, after the model has followed it."""
        if key in self.known:
            return None if self.known[key][0] == tenths else KeyConflict
        if self.spent + tenths > self.limit:
            return BudgetExceeded
        return None

    def _open(self, key, tenths, state):
        if key not in self.known:
            self.known[key] = [tenths, state, None]
            self.spent += tenths

    @rule(key=KEYS, tenths=TENTHS)
    def release(self, key, tenths):
        mechanism = Die(tenths / 10)
        expected = self._expect(key, tenths)
        if expected is None and key in self.known:
            expected = {"failed": KeyConflict, "voided": LedgerError}.get(
                self.known[key][1]
            )
        if expected is not None:
            with pytest.raises(expected):
                self.ledger.release(mechanism, Total(), [1], key)
            return
        text = self.ledger.release(mechanism, Total(), [1], key).to_json()
        self._open(key, tenths, "new")
        entry = self.known[key]
        assert entry[2] in (None, text), "a key has one answer"
        entry[1:] = "released", text

    @rule(key=KEYS, tenths=TENTHS, step=st.sampled_from(STEPS))
    def crash(self, key, tenths, step):
        def die(reached):
            if reached == step:
                raise Crash

        expected = self._expect(key, tenths)
        old = self.known.get(key)
        plant(die)
        try:
            self.ledger.release(Die(tenths / 10), Total(), [1], key)
        except (Crash, BudgetExceeded, KeyConflict, LedgerError) as problem:
            died = isinstance(problem, Crash)
        else:
            died = False
        finally:
            plant(None)
        if died:
            self.restart()
        done = STEPS.index(step)
        if expected is None and old is None and done >= STEPS.index("reserved"):
            self._open(key, tenths, "reserved")
        begun = expected is None and done >= STEPS.index("reserved")
        if old and old[1] == "held" and begun:
            old[1] = "reserved"  # its draw may have begun
        entry = self.known.get(key)
        sealed = expected is None and done >= STEPS.index("sealed")
        if entry and entry[1] == "reserved" and sealed:
            entry[1] = "released"  # the answer is read back at the next retry

    @rule(key=KEYS, tenths=TENTHS)
    def fail(self, key, tenths):
        if key in self.known or self.spent + tenths > self.limit:
            return
        with pytest.raises(DrawFailed):
            self.ledger.release(Die(tenths / 10), Broken(), [7], key)
        self._open(key, tenths, "failed")

    @rule(key=KEYS, tenths=TENTHS)
    def hold(self, key, tenths):
        expected = self._expect(key, tenths)
        if expected is None and key in self.known:
            expected = {"failed": KeyConflict, "voided": LedgerError}.get(
                self.known[key][1]
            )
        if expected is not None:
            with pytest.raises(expected):
                self.ledger.hold(Die(tenths / 10), Total(), key=key)
            return
        self.ledger.hold(Die(tenths / 10), Total(), key=key)
        self._open(key, tenths, "held")

    @rule(key=KEYS)
    def void(self, key):
        entry = self.known.get(key)
        if entry is None or entry[1] not in ("held", "voided"):
            with pytest.raises(LedgerError):
                self.ledger.void(key, "asked for")
            return
        self.ledger.void(key, "asked for")
        if entry[1] == "held":
            self.spent -= entry[0]
            entry[1] = "voided"

    @rule(tenths=TENTHS)
    def raise_budget(self, tenths):
        self.limit += tenths
        budget = Budget(epsilon=Fraction(self.limit, 10))
        self.ledger.raise_budget(budget, dataset="default")

    @rule()
    def restart(self):
        self.ledger.close()
        self.ledger = Ledger.open(self.url)  # verifies

    @invariant()
    def sums_agree(self):
        type(self).steps += 1
        left = self.ledger.remaining().accounts[0]
        assert left.spent_exact[0] * 10 == self.spent
        assert left.limits[0] * 10 == self.limit

    @invariant()
    def states_agree(self):
        waiting = {each.key for each in self.ledger.pending()}
        assert waiting == {
            key for key, each in self.known.items() if each[1] in ("reserved", "held")
        }


def _run(server, **given):
    """Return how many steps were made, on a file or on a server."""

    class Placed(Machine):
        pass

    Placed.server = server
    chosen = settings(deadline=None, suppress_health_check=list(HealthCheck), **given)
    run_state_machine_as_test(Placed, settings=chosen)
    return Placed.steps


def test_l10_some_steps(durable_server):
    steps = _run(durable_server, max_examples=5, stateful_step_count=50)
    assert steps > 100


@pytest.mark.slow
def test_l10_ten_thousand_steps(durable_server):
    steps = _run(durable_server, max_examples=130, stateful_step_count=100)
    print(f"{steps} steps")
    assert steps >= 10_000 + 130  # one look at each machine before its first step
