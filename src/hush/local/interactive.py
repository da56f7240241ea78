"""Interactive local protocols: the next question may depend on earlier answers."""

import threading
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, final

from hush import checks
from hush.errors import BudgetExceeded, InsecureSource, InvalidArgument
from hush.fork_safety import Owner
from hush.local.randomizer import Randomizer, Reports
from hush.noise import SECURE, Source

if TYPE_CHECKING:
    from hush.privacy.curve import Curve


@final
@dataclass(frozen=True)
class Turn:
    """One question and its answer: who, which randomizer, what was reported."""

    person: Hashable
    randomizer: Randomizer
    report: Reports


@final
class Conversation:
    """A transcript in which nobody answers with more than `epsilon` in all.

    The collector may choose every person and every randomizer after reading all earlier
    reports. Each person's device adds up its own answers and refuses the one too many.

    Guarantee: for any one person's value replaced by another, the whole transcript is
    ε-private: chances of transcripts factor into the answers given the past, and only
    that person's answers change. The sum is a valid filter for pure privacy, so the
    choices may depend on what was said.

    Example:
        >>> from hush.local import RandomizedResponse
        >>> talk = Conversation(epsilon=1.0)
        >>> yes = talk.ask("first", RandomizedResponse(epsilon=0.6), 1)
        >>> talk.left("first") < 0.41
        True
        >>> talk.ask("first", RandomizedResponse(epsilon=0.6), 1)
        Traceback (most recent call last):
        ...
        hush.errors.BudgetExceeded: epsilon 0.6 is asked of one person; 0.4 of 1 ...

    Reference: N4.2def; [DJW18] sequential interaction; [JMNR19] full interaction.
    """

    def __init__(self, epsilon: float, *, rehearsal: bool = False) -> None:
        self.epsilon = checks.real("epsilon", epsilon, above=0)
        self._turns: list[Turn] = []
        self._rehearsal = rehearsal
        self._spent: dict[Hashable, Fraction] = {}
        self._lock = threading.Lock()
        self._owner = Owner("a conversation")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise InvalidArgument(
            "a conversation is never copied or pickled: its copy would not know what "
            "people are asked in the original. Begin a new one with other people."
        )

    @property
    def transcript(self) -> tuple[Turn, ...]:
        """All turns so far: public, like every report."""
        return tuple(self._turns)

    def curve(self) -> "Curve":
        """Return the guarantee of the transcript for each person's value."""
        from hush.privacy.notions.pure import Pure

        return Pure(epsilon=self.epsilon)

    def left(self, person: Hashable) -> float:
        """Return how much one person can still be asked, rounded down."""
        rest = Fraction(self.epsilon) - self._spent.get(person, Fraction(0))
        return float(rest * (1 - Fraction(1, 2**50)))

    def ask(
        self,
        person: Hashable,
        randomizer: Randomizer,
        value: Any,
        *,
        source: Source = SECURE,
    ) -> Reports:
        """Return one report of one person, or refuse before anything is drawn."""
        self._owner.check()
        if source.seeded and not self._rehearsal:
            raise InsecureSource(
                "a seeded source repeats its noise. Begin the conversation with "
                "rehearsal=True if nobody's data is at stake."
            )
        if not isinstance(randomizer, Randomizer):
            raise InvalidArgument(
                f"randomizer must be one of hush.local; got "
                f"{type(randomizer).__name__}."
            )
        if person != person:  # NaN, which no dictionary finds again
            raise InvalidArgument(
                "person must be equal to itself; got NaN, which is somebody else each "
                "time. Name people by texts or whole numbers."
            )
        cost = Fraction(randomizer.loss)
        with self._lock:
            spent = self._spent.get(person, Fraction(0)) + cost
            if spent > Fraction(self.epsilon):
                raise BudgetExceeded(
                    f"epsilon {float(cost):.3g} is asked of one person; "
                    f"{self.left(person):.3g} of {self.epsilon:g} is left. Ask with a "
                    "smaller epsilon, or ask somebody else."
                )
            self._spent[person] = spent  # before the draw: failures waste, never leak
        report = randomizer.encode([value], source=source)
        self._turns.append(Turn(person, randomizer, report))
        return report
