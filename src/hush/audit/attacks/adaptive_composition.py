"""The adaptive composition experiment: an adversary against a privacy filter.

A secret bit chooses one of two worlds. Round after round the adversary, who sees all
past answers, names two neighboring inputs and a mechanism; the filter refuses what does
not fit into the budget, and otherwise the mechanism answers about the input of the
secret world. Whatever the adversary does, telling the worlds apart is as hard as the
budget says.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

from hush import checks
from hush.mechanisms import Mechanism
from hush.noise import SECURE, Source
from hush.privacy.curve import Curve
from hush.privacy.rules.filters import fits

Answers = Sequence[Any]


@final
@dataclass(frozen=True)
class Move:
    """One round: inputs for either world, a mechanism, and the curve it is charged at.

    Guarantee: `inputs` must be as close as `charge` assumes; that is the adversary's
    side of the bargain, and the experiment does not check it.
    """

    inputs: tuple[Any, Any]
    mechanism: Mechanism
    charge: Curve


class Adversary(Protocol):
    """Anybody who chooses the next move from the answers so far; None to stop."""

    def move(self, answers: Answers) -> Move | None:
        """Return the next round."""


Admits = Callable[[Curve, Sequence[Curve], Curve], bool]


@final
@dataclass(frozen=True)
class Experiment:
    """The game between an adversary and a filter, as a function of the secret bit.

    `run` plays it once and returns all answers, so that `audit(game.run, 0, 1,
    claim=game.budget)` measures the adversary against the filter's bound. `admits` is
    the rule of the filter; give a wrong one to see it fail.

    Example:
        >>> from hush.mechanisms import Laplace
        >>> from hush.privacy import Pure
        >>> class Asks:
        ...     def move(self, answers):
        ...         return Move((0, 1), Laplace(2.0), Pure(0.5))
        ...
        >>> game = Experiment(Asks(), budget=Pure(1.0))
        >>> len(game.run(1))
        2

    Reference: N10.def1, N10.A5; [RRUV16] Algorithm 1.
    """

    adversary: Adversary
    budget: Curve
    rounds: int = 100
    admits: Admits = fits
    source: Source = SECURE

    def __post_init__(self) -> None:
        checks.whole("rounds", self.rounds, at_least=1)

    def run(self, bit: int) -> list[Any]:
        """Play once in the world of `bit` and return the answers."""
        checks.whole("bit", bit, at_least=0, at_most=1)
        answers: list[Any] = []
        spent: list[Curve] = []
        while len(answers) < self.rounds:
            move = self.adversary.move(answers)
            # A refusal depends on answers and parameters alone, so it may be seen.
            if move is None or not self.admits(self.budget, spent, move.charge):
                break
            spent.append(move.charge)
            given = move.inputs[bit]
            answers.append(move.mechanism.run(given, source=self.source))
        return answers
