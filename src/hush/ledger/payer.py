"""Payers: what may be given as a ledger and a key, checked before anything else."""

from typing import Any

from hush.errors import InvalidArgument


def check_payer(ledger: Any, key: Any) -> None:
    """Refuse what cannot pay, and a key that no ledger would keep, before all else."""
    if ledger is not None and not callable(getattr(ledger, "release", None)):
        raise InvalidArgument(
            "ledger must be one that is open, as ledger=hush.Ledger.open("
            "'sqlite:///budget.db', budget=hush.Budget(epsilon=1)); got "
            f"a {type(ledger).__name__}."
        )
    if key is not None and not isinstance(key, str):
        raise InvalidArgument(
            "key must be a text that names this charge in the ledger, such as 'may'; "
            f"got a {type(key).__name__}. It is no seed: noise is secret, and to "
            "rehearse write source=hush.noise.Seeded(7)."
        )
    if key is not None and ledger is None:
        raise InvalidArgument(
            "key names a charge, and there is no ledger: nothing would be kept, and "
            "the same call would draw again. Pass ledger= too, or leave key out."
        )
