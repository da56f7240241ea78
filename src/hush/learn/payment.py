"""Paying for what is learnt: the ledger is charged first, if there is one."""

from collections.abc import Mapping
from typing import Any

from hush.errors import InvalidArgument
from hush.mechanisms.mechanism import Mechanism
from hush.noise import Source


def release_values(
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
    """Return (release, its values); without a ledger, (None, values) and no charge.

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
