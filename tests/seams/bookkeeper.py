"""A model of what may happen to one question: it knows the answers and the price.

Each case is judged by what is public: the answer, the kind of the error, the ledger's
history, what it says is pending, and what it says is spent.
"""

from contextlib import nullcontext
from fractions import Fraction

from hush.errors import DrawFailed, DrawInterrupted, HushError, LedgerError
from seams.injector import CANARY, chain


class Wrong(AssertionError):
    """What a user would call a fault of hush."""


def spent(ledger):
    """Return the exact sum that the first account has spent."""
    return ledger.remaining().accounts[0].spent_exact[0]


def state(ledger, key):
    """Return what became of the charge of a key: None where there is none."""
    charges = ("reserve", "charge", "hold")
    found = [e for e in ledger.history() if e.key == key and e.kind in charges]
    if len(found) > 1:
        raise Wrong(f"{key} was charged {len(found)} times")
    return found[0].state if found else None


class Question:
    """One release under one key: `ask(key)` gives an answer that `right` accepts."""

    def __init__(self, ledger, key, ask, right, *, operational=True):
        self.ledger, self.key, self.ask, self.right = ledger, key, ask, right
        self.price = None  # known from the first answer
        self.operational = operational  # faults are not about values: all are resumed

    def tried(self, within=None):
        """Ask once, and return "answered", "refused", "interrupted" or "failed".

        Faults that are planted `within` meet the question, and not its judge.
        """
        try:
            with within or nullcontext():
                answer = self.ask(self.key)
        except KeyboardInterrupt:
            return self._judge("stopped")
        except HushError as problem:
            if CANARY in chain(problem):
                raise Wrong("an error of a driver is shown") from None
            return self._judge(_kind(problem), problem)
        except BaseException as problem:
            raise Wrong(f"a raw {type(problem).__name__} left") from problem
        if not self.right(answer):
            raise Wrong(f"{self.key}: a wrong answer")
        self.price = price(answer)
        return self._judge("answered")

    def _judge(self, outcome, problem=None):
        found = state(self.ledger, self.key)
        allowed = {
            "answered": ("released",),
            "refused": (None,),
            "interrupted": ("reserved",),
            "failed": ("failed",),
            # The ledger was out of reach, or somebody pressed a key: whatever was
            # charged before waits, or is already there to be read.
            "unknown": (None, "reserved", "released"),
            "stopped": (None, "reserved", "released"),
        }[outcome]
        if found not in allowed:
            said = f": {problem}" if problem else ""
            raise Wrong(f"{self.key} is {found} where it was {outcome}{said}")
        if outcome == "failed" and self.operational:
            raise Wrong(f"{self.key} was paid and is lost: {problem}")
        return outcome

    def settled(self):
        """Ask again, without faults: the same charge gives the answer."""
        before = state(self.ledger, self.key)
        outcome = self.tried()
        wanted = "failed" if before == "failed" else "answered"
        if outcome != wanted:
            raise Wrong(f"{self.key} was {before}, then {outcome}")
        return outcome


def _kind(problem):
    if isinstance(problem, DrawInterrupted):
        return "interrupted"
    if isinstance(problem, DrawFailed):
        return "failed"
    return "unknown" if isinstance(problem, LedgerError) else "refused"


def closed(ledger, prices):
    """Check the books: each charge once, each with an end, and the sum is theirs.

    `prices` tells for every key that was asked what its answer costs.
    """
    charges = [e for e in ledger.history() if e.kind == "reserve"]
    names = [each.key for each in charges]
    if len(names) != len(set(names)):
        raise Wrong("a key was charged twice")
    if not set(names) <= set(prices):
        raise Wrong("something was charged that nobody asked")
    owed = sum((Fraction(prices[name]) for name in names), Fraction(0))
    if spent(ledger) != owed:
        raise Wrong(f"{spent(ledger)} is spent for charges of {owed} in all")
    waiting = {each.key for each in ledger.pending()}
    undone = {e.key for e in charges if e.state not in ("released", "failed")}
    if waiting != undone:
        raise Wrong("a charge has no answer, no failure, and does not wait")
    verdict = ledger.verify()
    if not verdict:
        raise Wrong(f"the books do not verify: {verdict}")
    return len(names)


def price(answer):
    """Return what an answer says that it cost its first account."""
    return min(answer.receipt.cost.items())[1][0]
