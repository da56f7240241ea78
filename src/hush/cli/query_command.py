"""`hush query`: a private table with error bars, charged to a ledger on disk."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hush import checks
from hush.cli import config, ledgers
from hush.cli.session import (
    FOUND,
    Column,
    Debug,
    Delta,
    Json,
    Level,
    Quiet,
    Sql,
    Where,
    json_value,
    payment,
    plan_of,
    protection,
    session,
    uninformative,
)
from hush.display import Digits
from hush.errors import HushError, InvalidArgument, Unsupported
from hush.ledger import Ledger, Release, Remaining

if TYPE_CHECKING:
    from hush.cli.config import Config


_Found = tuple[Any, Remaining, float]  # the answer, what is left, entries before it


def _stored(about: config.Config, text: str, key: str | None) -> _Found:
    """Return the answer that was released under a key; it costs nothing again."""
    if key is None:
        raise InvalidArgument("--stored shows the answer of a --key: name it.")
    with ledgers.open_existing(about.ledger, dataset=about.name) as ledger:
        return stored_answer(about, ledger, text, key), ledger.remaining(), math.inf


def _check_level(plan: Any, level: float) -> None:
    """Refuse a level at which a quantile would have no interval, before it is paid."""
    asked = {} if plan is None else plan.compiled.query.aggregates
    for name, each in asked.items():
        if level > getattr(each, "level", level):
            raise InvalidArgument(
                f"{name} is a quantile, whose interval is drawn at {each.level:.0%}: "
                f"at --level {level:g} it has none. Leave --level out, or ask in "
                "Python, by hush.quantile(..., level=...)."
            )


def query(
    text: Sql,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="ε to spend; --stored spends nothing."),
    ] = None,
    delta: Delta = 0.0,
    key: Annotated[
        str | None,
        typer.Option(help="A name for this request: the same again costs nothing."),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--stored", help="Show the answer of --key; the data is not read."
        ),
    ] = False,
    analyst: Annotated[
        str | None,
        typer.Option(help="Who asks: pays from that account as well."),
    ] = None,
    level: Level = 0.95,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print CSV with all digits.")
    ] = False,
    where: Where = FOUND,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Release the answer to SQL, with intervals, and charge it to the ledger.

    The budget is charged first, then the data is read, then noise is added; a refusal
    costs nothing. With a --key the stored answer is shown again for free, and with
    --stored even after the data changed.

    Example: hush query "SELECT region, COUNT(*) AS n FROM trips GROUP BY region" -e 0.5
    """
    if epsilon is None and not again:
        raise typer.BadParameter(
            "say what to spend, as in -e 0.5; only --stored needs none.",
            param_hint="--epsilon",
        )
    with session("query", as_json, quiet, debug) as out:
        checks.real("level", level, above=0, below=1)  # before anything is paid
        if as_csv and as_json:
            raise InvalidArgument("give --csv or --json, not both.")
        about = config.read(where)
        if epsilon is not None:  # refused before anything is opened
            _check_level(plan_of(about, text, epsilon, delta), level)
        with out.working("asking the data …"):
            if again or epsilon is None:
                answer, remaining, before = _stored(about, text, key)
            else:
                with ledgers.paying_ledger(about, analyst) as ledger:
                    before = len(ledger.history())
                    statement = about.open(ledger).prepare(text, **about.public_tables)
                    answer = statement.release(epsilon, delta, key=key)
                    remaining = ledger.remaining()
        found = answer.to_dict(level)
        columns = {n: json_value(v) for n, v in found.items()}
        receipt = answer.receipt
        if as_csv:
            typer.echo(csv_text(columns, answer.labels), nl=False)
        else:
            out.table(shown_columns(columns, answer.labels, set(answer.counts)))
        out.note(
            "",
            *protection(about, answer, epsilon),
            f"Intervals hold at {level:.0%} each. They cover the noise, not what "
            "bounds and rows cut off.",
            *uninformative(
                answer.says_nothing(found),
                untyped=config.is_untyped(about.source),
            ),
            payment(receipt, before),
            f"Left: {remaining}",
        )
        out.print_json(
            columns=list(columns),
            rows=[
                dict(zip(columns, row, strict=True))
                for row in zip(*columns.values(), strict=True)
            ],
            level=level,
            unit=receipt.unit,
            neighbors=receipt.neighbors,
            receipt=receipt.to_dict(),
            left=ledgers.balance(remaining),
        )


# -- A released table: for people, with digits that mean something, and as CSV ---------

Columns = Mapping[str, list[Any]]
Labels = Mapping[str, Sequence[str]]
_NOTHING = "unknown"


def interval_columns(columns: Columns) -> set[str]:
    """Return the names of columns that are the ends of an interval."""
    named = (f"{name}_{end}" for name in columns for end in ("low", "high"))
    return {each for each in named if each in columns}


def shown_columns(columns: Columns, labels: Labels, counts: set[str]) -> list[Column]:
    """Return the columns for people; both ends of an interval share one."""
    found = []
    for name in columns:
        if name in interval_columns(columns):
            continue
        values = columns[name]
        digits = Digits.of_column(columns, name, count=name in counts)
        own = labels.get(name, ())
        cells = [_cell(each, digits, own) for each in values]
        found.append(Column(name, cells, right=not _texts(values)))
        if f"{name}_low" in columns:
            pairs = zip(columns[f"{name}_low"], columns[f"{name}_high"], strict=True)
            found.append(Column("interval", [_interval(*e, digits) for e in pairs]))
    return found


def _texts(values: list[Any]) -> bool:
    return any(isinstance(each, str) for each in values)


def _cell(value: Any, digits: Digits, labels: Sequence[str] = ()) -> str:
    if value is None:
        return _NOTHING
    if isinstance(value, list):
        texts = [_cell(each, digits) for each in value]
        if len(labels) == len(texts):
            texts = [f"{a}: {b}" for a, b in zip(labels, texts, strict=True)]
        return "; ".join(texts)
    return digits.text(value) if isinstance(value, float) else str(value)


def _interval(low: Any, high: Any, digits: Digits) -> str:
    if isinstance(low, list):
        pairs = zip(low, high, strict=True)
        return "; ".join(_interval(a, b, digits) for a, b in pairs)
    if isinstance(low, float) and isinstance(high, float):
        return digits.interval(low, high)
    return f"{_cell(low, digits)} to {_cell(high, digits)}"


def csv_text(columns: Columns, labels: Labels) -> str:
    """Return all columns with all digits: value, low and high beside each other.

    Example:
        >>> print(csv_text({"n": [0.1 + 0.2], "n_low": [None]}, {}), end="")
        n,n_low
        0.30000000000000004,
    """
    flat: dict[str, list[Any]] = {}
    for name, values in columns.items():
        own = labels.get(_aggregate_of(name, columns), ())
        if own and all(isinstance(v, list) and len(v) == len(own) for v in values):
            flat |= {f"{name} {e}": [v[i] for v in values] for i, e in enumerate(own)}
        else:
            flat[name] = values
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(flat)
    for row in zip(*flat.values(), strict=True):
        writer.writerow(map(_field, row))
    return text.getvalue()


def _aggregate_of(name: str, columns: Columns) -> str:
    """Return the aggregate that a column belongs to."""
    stem = name.rpartition("_")[0]
    return stem if name in interval_columns(columns) and stem in columns else name


def _field(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (bool, list)) else value


# -- An answer that was released before, from the ledger alone: no data is read --------


def stored_answer(about: "Config", ledger: Ledger, text: str, key: str) -> Any:
    """Return what the statement was answered under a key, whatever became of the data.

    Guarantee: a function of the ledger; nothing is charged.
    """
    try:
        found = ledger.stored(key)
    except InvalidArgument:
        raise InvalidArgument(
            f"no answer is stored under --key {key!r}. `hush budget` lists the keys.",
            code="no-stored-answer",
        ) from None
    return _answer_from(about, text, key, found)


def _answer_from(about: "Config", text: str, key: str, found: Release) -> Any:
    try:
        return (
            about.dataset_without_data()
            .prepare(text, **about.public_tables)
            .answer(found)
        )
    except Unsupported:
        raise Unsupported(
            'bounds = "private" cannot be read back: write the bounds that were found '
            f"into {about.path.name}; the receipt of the answer has them."
        ) from None
    except HushError:
        raise InvalidArgument(
            f"the answer under --key {key!r} is one to another statement, or "
            f"{about.path.name} had another unit, rows, bounds or keys then. Ask as it "
            "was asked."
        ) from None
