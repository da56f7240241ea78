"""A plan: the steps of a synthesis and their noise, from public numbers alone."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

from hush import checks
from hush.ledger.charge import Plan as Steps
from hush.mechanisms.mechanism import Mechanism
from hush.noise.source import Source
from hush.privacy import Curve
from hush.synth.domain import Domain
from hush.synth.fit import Table
from hush.synth.marginal_queries import Columns, Pairs, Person, Question


@final
@dataclass(frozen=True)
class TreePlan:
    """The mechanisms of a synthesis and the questions they answer: all of it public.

    First the counts of every column; then, one by one, the pairs that a tree is made
    of; then the counts of these pairs. All steps are declared together and charged as
    one release.

    Guarantee: `curve` is the composition of the noise that runs, each step at the
    sensitivity of its question.
    """

    domain: Domain
    person: Person
    mechanisms: tuple[Mechanism, ...]
    questions: tuple[Question, ...]

    @cached_property
    def steps(self) -> Steps:
        """The plan as a ledger has it."""
        listed = list(self.mechanisms), list(self.questions)
        return Steps.of(*listed, "", None)

    def draw(self, counts: Any, source: Source) -> tuple[Any, ...]:
        """Return the answers of all steps, each of which sees the earlier ones."""
        answers: tuple[Any, ...] = ()
        for step in self.steps.steps:
            answers = (*answers, step.draw(counts, source, answers))
        return answers

    @property
    def curve(self) -> Curve:
        """The guarantee of all steps together, for one person."""
        return self.steps.curve

    def within(self, level: float = 0.95) -> tuple[float, float]:
        """Return what the noise on a count of a column, and of a pair, stays within.

        Guarantee: each count by itself, with probability `level`.
        """
        level = checks.real("level", level, above=0, below=1)
        ends = (self._noise(0), self._noise(-1))
        first, last = (m.error.interval(level)[1] / self.person.whole for m in ends)
        return first, last

    def _noise(self, place: int) -> Any:
        return self.mechanisms[place]

    def read(self, answers: tuple[Any, ...]) -> tuple[tuple[Table, Any], ...]:
        """Return the released tables, each with the mechanism that made it noisy."""
        found: list[tuple[Table, Any]] = []
        for place, question in enumerate(self.questions):
            if not isinstance(question, (Columns, Pairs)):
                continue
            noise = self._noise(place)
            earlier = tuple(answers[:place])
            tables = question.read(answers[place], earlier, noise.error.std)
            found += [(table, noise) for table in tables]
        return tuple(found)

    def __str__(self) -> str:
        columns, pairs = (f"{each:,.3g}" for each in self.within(0.95))
        if len(self.mechanisms) == 1:
            return f"1 column ± {columns} per count (95%)"
        number = len(self.domain.names)
        most = "1 pair" if number == 2 else f"up to {number - 1} pairs"
        return f"{number} columns ± {columns} per count, then {most} ± {pairs} (95%)"
