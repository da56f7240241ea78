"""`hush init`: a commented hush.toml from the schema alone."""

import json
from pathlib import Path
from typing import Annotated

import typer

from hush.cli import config
from hush.cli.session import Debug, Json, Quiet, session, weak_epsilon
from hush.errors import InvalidArgument
from hush.ledger import Budget

_HEAD = """\
# How {source} may be asked: who is protected, what is publicly known, what may be
# spent. Written by `hush init` from the schema alone; no value was read.
# Fill in what is marked with <-- and then ask:
#   hush plan  "SELECT COUNT(*) AS n FROM {name}" -e 0.1
#   hush query "SELECT COUNT(*) AS n FROM {name}" -e 0.1

[data]
source = {path}
name = {quoted}
# {mark}The column that tells people apart; "row" if every row is another person.
unit = {unit}
# <-- People with more rows than this weigh less: counts and sums then fall short, and
# their intervals do not say so. With more rows the noise grows. Take what a person may
# have by the rules of the service, not by looking into the data.
rows = 10
# "add-remove", or "replace-one" if the number of people is public.
neighbors = "add-remove"

# All that may ever be learned. It can be raised later, never lowered.
[budget]
epsilon = {epsilon!r}
# Spent only by queries that ask for it with -d.
delta = {delta!r}

[ledger]
url = "sqlite:///{stem}.budget.db"

# What is publicly known of the columns. Never look it up in this data: take it from a
# form, a law, a manual. SUM, AVG and quantiles need bounds; GROUP BY needs keys, or
# keys = "private" and a -d. `hush synth` needs bounds or keys of a column, and also
# reads bins = 10, whole = true (whole numbers) and missing = true (NULL may occur).
"""
_SPELLED = """\
# The file has no types, so they are declared here. A number is written 1234.5, a date
# 2026-01-31, a boolean true or false; all else is NULL, without a word. What share of a
# column was not understood, "SELECT AVG(x IS NULL) AS x FROM {name}" says.
"""
_NUMBER = "# bounds = [0, 100]  # <-- for SUM, AVG and quantiles\n"
_UNTYPED = (
    'type = "text"  # <-- or "number", and below it bounds = [0, 100]; "date"; '
    '"boolean"\n'
)
_KEYS = '# keys = ["a", "b"]  # <-- for GROUP BY\n'


def _toml_string(text: str) -> str:
    """Return a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _type_word(type_: str) -> str:
    """Return the word for an Ibis type."""
    plain = type_.lstrip("!").partition("(")[0]
    if plain.startswith(("int", "uint", "float", "decimal")):
        return "number"
    return {"date": "date", "timestamp": "date", "boolean": "boolean"}.get(
        plain, "text"
    )


def _column(name: str, type_: str, *, untyped: bool) -> str:
    kind = _type_word(type_)
    lines = [f"\n[columns.{_toml_string(name)}]\n"]
    lines.append(_UNTYPED if untyped else f'type = "{kind}"\n')
    if kind == "number":
        lines.append(_NUMBER)
    if "int" in type_:
        lines.append(_KEYS.replace('"a", "b"', "1, 2"))
    elif kind != "number":
        lines.append(_KEYS)
    return "".join(lines)


def _name_of_source(source: str) -> str:
    stem = Path(source.rstrip("/")).name.partition(".")[0].strip("*")
    if "://" in source:
        stem = source.rpartition(".")[2]
    return stem if stem.isidentifier() else "data"


def config_text(source: str, unit: str, budget: Budget, place: Path) -> str:
    """Return the text of a hush.toml for a source."""
    every = config.columns(source).items()
    columns = {n: t for n, t in every if not n.startswith("_")}  # these are left out
    only = next(iter(columns)) if len(columns) == 1 else ""
    if any(mark in only for mark in ";|\t"):
        raise InvalidArgument(
            f"{source!r} has one column, {only!r}: fields are separated by commas "
            "here. Write it anew with commas, as by pandas.read_csv(path, sep=...)"
            ".to_csv(path, index=False)."
        )
    if unit and unit != "row" and unit not in columns:
        from hush.tables.expressions.types import near_columns

        near = near_columns(unit, columns)
        raise InvalidArgument(
            f"unit {unit!r} is not a column; {near}", code="unknown-column"
        )
    where = source
    if "://" not in source:
        path, folder = Path(source).resolve(), place.resolve().parent
        inside = path.is_relative_to(folder)
        where = path.relative_to(folder).as_posix() if inside else str(path)
    name = _name_of_source(source)
    head = _HEAD.format(
        source=Path(source).name if "://" not in source else name,
        path=_toml_string(where),
        name=name,
        quoted=_toml_string(name),
        unit=_toml_string(unit),
        mark="" if unit else "<-- ",
        epsilon=budget.epsilon,
        delta=budget.delta,
        stem=name,
    )
    untyped = config.is_untyped(source)
    named = ((n, t) for n, t in columns.items() if n != unit)
    head += _SPELLED.format(name=name) if untyped else ""
    return head + "".join(_column(n, t, untyped=untyped) for n, t in named)


def init(
    data: Annotated[
        str, typer.Argument(help="A Parquet or CSV file, a folder, or an address.")
    ],
    unit: Annotated[
        str, typer.Option(help='The column that tells people apart, or "row".')
    ] = "",
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="Budget: ε.")] = 1.0,
    delta: Annotated[float, typer.Option("--delta", "-d", help="Budget: δ.")] = 1e-6,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write.")
    ] = Path(config.NAME),
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a commented hush.toml for DATA, from its schema alone.

    Of a Parquet file only the footer is read, of a CSV file only the header. Bounds,
    keys and the unit are yours to fill in: they must not come from the data.

    Example: hush init trips.parquet --unit driver -e 2
    """
    with session("init", as_json, quiet, debug) as out:
        if output.exists() and not force:
            raise InvalidArgument(
                f"{str(output)!r} exists. Edit it, name another with -o, or replace "
                "it with --force."
            )
        text = config_text(data, unit, Budget(epsilon=epsilon, delta=delta), output)
        output.write_text(text, encoding="utf-8")
        if config.is_untyped(data):
            out.note(
                "Its first line was taken for the names of columns. If it is data, "
                f"delete {output} and add a header."
            )
        columns = [{"name": n, "type": t} for n, t in config.columns(data).items()]
        out.show(
            f"Wrote {output} for {len(columns)} columns. Fill in what is marked with "
            "<--, then try `hush plan`."
        )
        out.note(*weak_epsilon(epsilon))
        out.print_json(file=str(output), columns=columns)
