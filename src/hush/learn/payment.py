"""Paying for what is learnt: the ledger is charged first, if there is one."""

from collections.abc import Mapping
from typing import Any

from hush.errors import InvalidArgument
from hush.learn.rows import kind
from hush.mechanisms.mechanism import Mechanism
from hush.noise import Source


def check_payer(ledger: Any, key: Any) -> None:
    """Refuse what cannot pay, and a key that no ledger would keep, before all else."""
    if ledger is not None and not callable(getattr(ledger, "release", None)):
        raise InvalidArgument(
            "ledger must be one that is open, as ledger=hush.Ledger.open("
            "'sqlite:///budget.db', budget=hush.Budget(epsilon=1)); got "
            f"{kind(ledger)}."
        )
    if key is not None and not isinstance(key, str):
        raise InvalidArgument(
            "key must be a text that names this charge in the ledger, such as 'may'; "
            f"got {kind(key)}. It is no seed: noise is secret, and to rehearse write "
            "source=hush.noise.Seeded(7)."
        )
    if key is not None and ledger is None:
        raise InvalidArgument(
            "key names a charge, and there is no ledger: nothing would be kept, and "
            "the same call would draw again. Pass ledger= too, or leave key out."
        )


def released(
    mechanism: Mechanism,
    value: Any,
    source: Source,
    *,
    ledger: Any,
    key: str | None,
    version: str,
    unit: str,
    delta: float | None = None,
    notes: Mapping[str, Any] | None = None,
) -> tuple[Any, Any]:
    """Return (release, its values); without a ledger nobody counts: (None, values).

    The charge says what one row is about, as the charges of tables do: an account that
    speaks of people takes no charge for rows, of which one person may have many.
    """
    if not isinstance(unit, str) or not unit:
        raise InvalidArgument(
            f"unit must be the name of what one row is about, 'row' or, where no two "
            f"rows are of one person, such as 'person'; got {unit!r}."
        )
    if ledger is None:
        return None, mechanism.run(value, source=source)
    release = ledger.release(
        mechanism,
        None,
        value,
        key,
        source,
        delta=delta,
        version=version,
        notes={**(notes or {}), "unit": unit},
    )
    return release, release.values
