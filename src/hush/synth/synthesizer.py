"""The tree synthesizer: measure columns, choose pairs, measure them, fit a tree."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from hush import checks, suggestions
from hush.errors import InvalidArgument
from hush.ledger.accounts import check_payer
from hush.noise import SECURE, Source
from hush.noise.source import checked_source
from hush.privacy import ZCDP, Approx, Curve, Pure
from hush.synth.domain import Domain
from hush.synth.marginal_queries import Person
from hush.synth.model import TreeModel
from hush.synth.noise_calibration import calibrated_steps
from hush.synth.rows import Private, private_counts
from hush.synth.synthesis_plan import TreePlan
from hush.units import Neighbors

_FIRST = "Fit first: model = synthesizer.fit(rows), then model.{0}(...)."


@final
@dataclass(frozen=True)
class TreeSynthesizer(suggestions.Helpful):
    """Synthetic tables whose one-way and chosen two-way counts are near the data's.

    `domain` says what is publicly known of each column: categories in order, or `Bins`.
    Give `epsilon` for pure noise, `epsilon` and `delta` for Gaussian noise, or `rho`.

    Guarantee: `fit` is `plan().curve`-private for one row (add-remove, or replace-one),
    or for one person of a data set; nothing but the answers of its steps depends on the
    data, and no value in it raises. What is made of the model later is free.

    Example:
        >>> people = {"smoker": ["no", "yes"] * 500, "ill": [0, 1] * 500}
        >>> domain = {"smoker": ["no", "yes"], "ill": [0, 1]}
        >>> model = TreeSynthesizer(domain, epsilon=2.0).fit(people)
        >>> model.pairs, sorted(model.sample(10))
        ((('smoker', 'ill'),), ['ill', 'smoker'])
        >>> model.curve.epsilon_at(0) <= 2
        True

    Reference: [MMS21]; docs/proofs/synth.md.
    """

    domain: Any
    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    neighbors: str | Neighbors = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        object.__setattr__(self, "domain", Domain.of(self.domain))
        object.__setattr__(self, "neighbors", Neighbors.of(self.neighbors))
        _ = self.target

    @property
    def _hints(self) -> Mapping[str, str]:
        later = ("sample", "marginal", "table", "pairs", "total", "receipt", "curve")
        return {name: _FIRST.format(name) for name in later} | {
            "fit_transform": _FIRST.format("sample"),
            "generate": _FIRST.format("sample"),
            "train": "Write .fit(rows).",
        }

    @property
    def target(self) -> Curve:
        """What `fit` may cost at most."""
        if (self.epsilon is None) == (self.rho is None):
            raise InvalidArgument("give epsilon (and delta), or rho: one of the two.")
        delta = checks.real("delta", self.delta, at_least=0, below=1)
        if self.rho is not None:
            if delta:
                raise InvalidArgument("rho needs no delta: leave delta out.")
            return ZCDP(rho=checks.real("rho", self.rho, above=0))
        epsilon = checks.real("epsilon", self.epsilon, above=0)
        return Approx(epsilon, delta) if delta else Pure(epsilon)

    def plan(self, *, rows: int = 1, whole: int = 1, unit: str = "row") -> TreePlan:
        """Return the steps and their noise, from public numbers alone.

        One person counts for at most `rows` rows, which weigh in steps of 1/`whole`.

        Example:
            >>> print(TreeSynthesizer({"a": [0, 1], "b": [0, 1]}, epsilon=1.0).plan())
            2 columns ± 40 per count, then 1 pair ± 4 (95%)
        """
        if not isinstance(unit, str) or not unit:
            raise InvalidArgument(
                "unit must be the name of what one row is about, 'row' or, where no "
                f"two rows are of one person, such as 'person'; got {unit!r}."
            )
        relation = Neighbors.of(self.neighbors)
        person = Person(rows, whole, relation, unit)
        steps = calibrated_steps(self.domain.sizes, person, self.target)
        mechanisms, questions = zip(*steps, strict=True)
        return TreePlan(self.domain, person, mechanisms, questions)

    @suggestions.with_argument_hints(suggestions.FIT)
    def fit(
        self,
        rows: Any,
        *,
        ledger: Any = None,
        key: str | None = None,
        source: Source = SECURE,
        version: str = "",
        unit: str = "row",
    ) -> TreeModel:
        """Measure rows and return the model, charging `ledger` first if there is one.

        Rows are a mapping of columns, a data frame, or a table with the columns of the
        domain in order. What is protected is one row: `unit` says so in the charge, and
        an account that counts people refuses it. Pass unit="person" (or the name under
        which the account was charged) where no two rows are of one person.

        A data set of `hush.open` brings its ledger and its unit along: people with many
        rows count for at most `rows` of them.

        Without a ledger nobody counts: `curve` of the model says what it has cost. The
        same `key` again gives the same model for free; `version` names the data.
        """
        checked_source(source)
        if callable(getattr(rows, "crossed", None)):
            if ledger is not None:
                raise InvalidArgument(
                    "a data set pays from its own ledger: leave ledger out."
                )
            return self._of_table(rows, key, source)
        check_payer(ledger, key)
        plan = self.plan(unit=unit)
        return self._release_model(
            plan, private_counts(self.domain, rows), source, ledger, key, version
        )

    def _of_table(self, data: Any, key: str | None, source: Source) -> TreeModel:
        relation = Neighbors.of(self.neighbors)
        if data.neighbors != relation:
            raise InvalidArgument(
                f"the data set is of {str(data.neighbors)!r} neighbors, and the "
                f"synthesizer of {str(relation)!r}; give it neighbors="
                f"{str(data.neighbors)!r}."
            )
        found = data.crossed(self.domain.plain)
        plan = self.plan(rows=found.rows, whole=found.whole, unit=found.unit)
        counts = Private(self.domain.sizes, found.fetch)
        check_payer(data.ledger, key)
        return self._release_model(
            plan, counts, source, data.ledger, key, data.version, found.notes
        )

    def _release_model(
        self,
        plan: TreePlan,
        counts: Private,
        source: Source,
        ledger: Any,
        key: str | None,
        version: str,
        notes: Mapping[str, Any] | None = None,
    ) -> TreeModel:
        mechanisms, questions = list(plan.mechanisms), list(plan.questions)
        noted = {**(notes or {}), "domain": self.domain.plain}
        if ledger is None:
            return _model(plan, plan.draw(counts, source), None, seeded=source.seeded)
        release = ledger.release(
            mechanisms,
            questions,
            counts,
            key,
            source,
            delta=self.delta or None,
            version=version,
            notes=noted,
        )
        return _model(plan, release.values, release, seeded=release.seeded)


def _model(plan: TreePlan, answers: Any, release: Any, *, seeded: bool) -> TreeModel:
    read = plan.read(tuple(answers))
    return TreeModel(
        plan.domain,
        tuple(table for table, _ in read),
        tuple(noise for _, noise in read),
        1 / plan.person.whole,
        plan.curve,
        release,
        bool(seeded),
    )
