"""`hush budget`: what was spent, on what, and what is left."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, final

import typer

from hush.cli import config, ledgers
from hush.cli import session as terminal
from hush.cli.session import FOUND, Debug, Json, Quiet, Session, Where, session
from hush.errors import InvalidArgument
from hush.ledger import Admin, Budget, Ledger

KNOWN = (
    "{!r} had its account before. Data of its own, as of another month, needs another "
    "name in {}."
)
PASSWORD = "HUSH_ADMIN_PASSWORD"
OTHERS = (
    "Only charges of this data set are listed; the other entries are answers, changes "
    "of accounts, and charges of other data."
)


def _print_charges(out: Session, rows: list[dict[str, Any]]) -> None:
    """Print the charges; on a narrow terminal what it was for stands below."""
    columns = ledgers.columns(rows)
    if terminal.fits(columns, terminal.width()):
        out.table(columns)
        return
    *short, what, key = columns
    head, *lines = terminal.lines(short)
    out.show(head)
    for line, words, name in zip(lines, what.cells, key.cells, strict=True):
        out.show(line, f"       {words}", f"       key {name}")


def _admin(path: Path | None) -> Admin | None:
    """Read the administrator's private key; it is used for this command only."""
    if path is None:
        return None
    try:
        pem = path.read_bytes()
    except OSError as problem:
        raise InvalidArgument(
            f"--admin {str(path)!r} cannot be read ({problem.strerror}). Name a file "
            "with an Ed25519 private key in PEM."
        ) from None
    password = os.environ.get(PASSWORD)
    return Admin.from_pem(path.stem, pem, password.encode() if password else None)


@final
@dataclass(frozen=True)
class _Change:
    """A change of an account, made before the accounts are shown."""

    opening: bool
    raising: bool
    analyst: str | None
    people: str | None
    share: Budget | None

    @classmethod
    def of(
        cls,
        opening: bool,
        raising: bool,
        analyst: str | None,
        people: str | None,
        epsilon: float | None,
        delta: float | None,
        own: Budget,
    ) -> "_Change":
        """Read the options, or say which do not go together."""
        if opening and raising:
            raise InvalidArgument("give --open or --raise, not both.")
        if analyst is not None and people is not None:
            raise InvalidArgument("give --grant or --link, not both.")
        if analyst is None and people is None and (epsilon is not None or delta):
            raise InvalidArgument(
                "-e and -d are the share of an analyst, named with --grant, or of the "
                "people of --link. The budget of the data set stands in hush.toml."
            )
        if analyst is not None and epsilon is None:
            raise InvalidArgument(
                f"--grant {analyst} needs a share: add -e EPSILON, and -d DELTA for "
                "queries that spend one."
            )
        if people is not None and epsilon is None and (delta or raising):
            raise InvalidArgument(f"--link {people} needs -e EPSILON beside that.")
        if delta is None:
            delta = own.delta if people is not None else 0.0
        share = None if epsilon is None else Budget(epsilon=epsilon, delta=delta)
        return cls(opening, raising, analyst, people, share)

    def apply(self, about: config.Config, admin: Admin | None) -> Ledger:
        """Return the ledger after the change."""
        if self.opening:
            ledgers.is_present(about.ledger)
            ledger = Ledger.open(
                about.ledger, budget=about.budget, dataset=about.name, admin=admin
            )
        else:
            ledger = ledgers.open_existing(
                about.ledger, dataset=about.name, admin=admin
            )
        try:
            self._change(ledger, about)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def _change(self, ledger: Ledger, about: config.Config) -> None:
        if self.people is not None:
            if self.raising and self.share is not None:
                ledger.raise_budget(self.share, unit=self.people)
            ledgers.open_link(ledger, about.name, self.people, self.share)
        elif self.share is None:
            if self.raising:
                ledger.raise_budget(about.budget, dataset=about.name)
        elif self.raising:
            ledger.raise_budget(self.share, analyst=self.analyst)
        else:
            ledgers.open_grant(ledger, str(self.analyst), self.share)


def budget(
    where: Where = FOUND,
    opening: Annotated[
        bool, typer.Option("--open", help="Open the account of this data set first.")
    ] = False,
    raising: Annotated[
        bool, typer.Option("--raise", help="First enlarge it to what hush.toml says.")
    ] = False,
    grant: Annotated[
        str | None,
        typer.Option(
            metavar="ANALYST", help="First give an analyst an account of -e and -d."
        ),
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(
            metavar="PEOPLE",
            help="First count this data set, also what it has spent, to an account of "
            "its people, shared with others; -e and -d open that.",
        ),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="ε of --grant or --link.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            "--delta", "-d", help="δ of --grant (0) or --link (as in hush.toml)."
        ),
    ] = None,
    admin: Annotated[
        Path | None,
        typer.Option(
            help=f"Key that signs what changes an account ({PASSWORD} opens it)."
        ),
    ] = None,
    last: Annotated[int, typer.Option(min=1, help="Charges to show.")] = 20,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show what was spent on what, and what is left.

    Analysts who have an account, opened by --grant, ask with `hush query --analyst`:
    what they spend is taken from their account and from the data set's.

    Example: hush budget --last 5

    Example: hush budget --grant ana -e 0.3

    Example: hush budget --link patients -e 2
    """
    with session("budget", as_json, quiet, debug) as out:
        about = config.read(where)
        options = (opening, raising, grant, link, epsilon, delta)
        change = _Change.of(*options, about.budget)
        known = opening and ledgers.has_account(about)
        with change.apply(about, _admin(admin)) as ledger:
            remaining, history = ledgers.balances(ledger), ledger.history()
        rows = ledgers.charges(history, f"dataset:{about.name}")
        if rows:
            _print_charges(out, rows[-last:])
            out.note(OTHERS)
        else:
            out.show("Nothing was spent yet.")
        if known:
            out.note(KNOWN.format(about.name, about.path.name))
        out.show("")
        for each in remaining.accounts:
            out.show(str(each))
            promise = each.total.epsilon_at(1e-6)
            if each.notion != "epsilon":
                out.show(f"All of it together is epsilon {promise:.4g} at delta 1e-06.")
        out.print_json(accounts=ledgers.balance(remaining), charges=rows)
