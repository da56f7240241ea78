"""The ledgers that are written: how each is opened, filled and asked again."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from formats import curves, models, noise, office, visits
from formats.asked import charge, on, release
from hush import mechanisms as m
from hush.errors import HushError
from hush.ledger import Budget, Ledger
from hush.noise import Seeded

PLENTY = Budget(epsilon=10**6, delta=0.9)
SAID = {"unit": "row", "neighbors": "add-remove"}


@dataclass(frozen=True)
class Kept:
    """One ledger: its accounts, what is asked of it, and how it is opened."""

    requests: Callable[[], dict[str, Any]]
    datasets: tuple[str, ...] = ("added",)
    budget: Budget = PLENTY
    write: Callable[[Ledger], None] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def open(self, url: str, **more: Any) -> Ledger:
        """Open the ledger at an address, as its readers do."""
        return Ledger.open(url, dataset=self.datasets[0], **self.options, **more)

    def fill(self, ledger: Ledger) -> dict[str, str]:
        """Ask everything once; return what was refused, and by which error."""
        if self.write is not None:
            self.write(ledger)
            return {}
        for name in self.datasets:
            ledger.grant(self.budget, dataset=name)
        refused = {}
        for key, request in self.requests().items():
            try:
                request(ledger, key)
            except HushError as problem:
                refused[key] = type(problem).__name__
        return refused


def guarantees():
    """Return the charges of every kind of curve, to an account of every notion."""
    found = {}
    for name, curve in curves.every_curve().items():
        for account in ("epsilon", "rho", "mu"):
            each = charge(curve, notes=SAID)
            found[f"{name}, in {account}"] = on(each, dataset=account)
    return found


def _budgets(ledger):
    ledger.grant(PLENTY, dataset="epsilon")
    ledger.grant(Budget(rho=10**6), dataset="rho")
    ledger.grant(Budget(mu=10**3), dataset="mu")
    for key, request in guarantees().items():
        try:
            request(ledger, key)
        except HushError:  # no bound in this notion: nothing is charged
            continue


def seeded():
    """Return requests with noise that can be repeated."""
    more = {"source": Seeded(7)}
    found = {
        "count": release(m.Laplace(2.0), m.count(), noise.AGES, **more),
        "mean": release(m.Gaussian(2.0), m.mean((0, 1)), noise.SHARES, **more),
        "batch": release(
            [m.Laplace(2.0), m.Geometric(3)], [m.count()] * 2, noise.AGES, **more
        ),
    }
    for name in ("Laplace of a vector", "Laplace of many", "Exponential", "TopK"):
        each = {**noise.additive(), **noise.choices()}[name]
        found[name] = release(*each, **more)
    table = visits.released("visits", visits.of("all"), source=Seeded(7))
    return found | {"table": on(table, dataset="visits")}


LEDGERS = {
    "noise": Kept(noise.requests, ("added", "exchanged")),
    "batches": Kept(noise.batches),
    "charges": Kept(guarantees, ("epsilon", "rho", "mu"), write=_budgets),
    "tables": Kept(visits.requests, visits.NAMES),
    "models": Kept(models.requests, ("exchanged", "added")),
    "office": Kept(
        office.requests,
        ("visits",),
        write=office.write,
        options={"admin": office.admin(), "secret": office.SECRET, "lockout": 3},
    ),
    "rehearsal": Kept(seeded, ("added", "visits"), options={"rehearsal": True}),
}
# Written to PostgreSQL, and kept as the text of its dump.
SERVED = ("office", "batches")
