"""`hush synth`: synthetic rows with the columns of the data, paid by the ledger."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hush import checks
from hush.cli import config, ledgers
from hush.cli.session import (
    FOUND,
    Column,
    Debug,
    Delta,
    Epsilon,
    Json,
    Level,
    Quiet,
    Session,
    Where,
    payment,
    protected_by,
    session,
    weak_epsilon,
)
from hush.errors import InvalidArgument

if TYPE_CHECKING:
    from hush.synth import TreeModel, TreePlan, TreeSynthesizer

_NO_BOUND = (
    "Pairs of columns that are not listed were not measured: nothing bounds how far "
    "they are off. Ask for what matters with `hush query`; what is computed from "
    "synthetic rows as if they were people has no valid interval."
)


def described_columns(
    about: config.Config, chosen: list[str], bins: int
) -> tuple[dict[str, Any], list[str]]:
    """Return what hush.toml says of the columns, and those of which it says too little.

    Guarantee: from hush.toml and the schema alone.
    """
    from hush.synth import Bins, Categories

    found: dict[str, Any] = {}
    unknown = []
    for name in chosen or [n for n in about.types if n != about.person]:
        if name not in about.types or name == about.person:
            raise InvalidArgument(
                f"--column {name!r} is not a column to draw; there are "
                f"{', '.join(n for n in about.types if n != about.person)}.",
                code="unknown-column",
            )
        each, type_ = about.columns.get(name, config.Column()), about.types[name]
        nobody = [None] if each.missing else []
        if isinstance(each.keys, list):
            found[name] = Categories((*each.keys, *nobody))
        elif type_ == "boolean":
            found[name] = Categories((False, True, *nobody))
        elif isinstance(each.bounds, tuple):
            found[name] = Bins.of(
                each.bounds,
                each.bins or bins,
                whole=each.whole or "int" in type_,
                missing=each.missing,
            )
        else:
            unknown.append(name)
    if not found or (chosen and unknown):
        named = ", ".join(map(repr, unknown)) or "any column"
        raise InvalidArgument(
            f"{about.path.name} has neither keys nor bounds of {named}. Write its "
            "public values as keys = [...], or bounds = [lower, upper]; they are never "
            "taken from the data."
        )
    return found, unknown


def _writable(output: Path, *, force: bool) -> None:
    """Refuse a file that cannot be written, before anything is paid."""
    if output.suffix not in (".csv", ".parquet"):
        raise InvalidArgument(
            f"--output {str(output)!r} must end in .csv or .parquet, which says how it "
            "is written."
        )
    if output.suffix == ".parquet" and find_spec("pyarrow") is None:
        raise InvalidArgument(
            "a Parquet file needs pyarrow: pip install 'hush[arrow]', or write a .csv.",
            code="extra-missing",
        )
    if output.exists() and not force:
        raise InvalidArgument(
            f"{str(output)!r} exists. Name another with -o, or replace it with --force."
        )
    if not output.absolute().parent.is_dir():
        raise InvalidArgument(f"--output {str(output)!r} is in a folder that is not.")


def _measured(model: "TreeModel", level: float) -> list[dict[str, Any]]:
    """Return the measured tables: the noise on a count, and the rows misplaced."""
    found = []
    for names in (*((name,) for name in model.domain.names), *model.pairs):
        each = model.marginal(*names)
        low, high = each.interval(level)
        found.append(
            {
                "columns": list(names),
                "within": float((high - low).flat[0]) / 2,
                "misplaced": each.distance(level),
            }
        )
    return found


def _show_measured(out: Session, measured: list[dict[str, Any]], level: float) -> None:
    """Show the measured tables, a line each."""
    noise = [f"{each['within']:,.3g}" for each in measured]
    apart = [f"{each['misplaced']:,.4g}" for each in measured]
    out.table(
        [
            Column("measured", [", ".join(each["columns"]) for each in measured]),
            Column(f"count ± at {level:.0%}", noise, right=True),
            Column("rows misplaced, at most", apart, right=True),
        ]
    )


def _show_plan(out: Session, plan: "TreePlan", level: float) -> None:
    columns, pairs = plan.within(level)
    out.show(str(plan))
    out.note("Nothing was read and nothing was spent.")
    out.print_json(
        level=level,
        within={"column": columns, "pair": pairs},
        columns=list(plan.domain.names),
        mechanisms=[repr(each) for each in plan.mechanisms],
    )


def synth(
    epsilon: Epsilon,
    delta: Delta = 0.0,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The .csv or .parquet to write.")
    ] = Path("synthetic.csv"),
    rows: Annotated[
        int | None, typer.Option(help="Rows to write; else as many as were counted.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="A column to draw; again for more. Else all that can be."),
    ] = None,
    bins: Annotated[int, typer.Option(help="Bins between the bounds of numbers.")] = 10,
    key: Annotated[
        str | None,
        typer.Option(help="A name for this request: the same again costs nothing."),
    ] = None,
    only_plan: Annotated[
        bool, typer.Option("--plan", help="Show the noise; read and spend nothing.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    level: Level = 0.95,
    where: Where = FOUND,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write synthetic rows whose counts, by column and by pair, are near the data.

    What is known of the columns stands in hush.toml: keys, or bounds. The budget is
    charged first, then the data is counted, then noise is added; rows are drawn from
    the noisy counts alone. With a --key the same counts serve again for free.

    Example: hush synth -e 1 -d 1e-6 -o synthetic.csv
    """
    with session("synth", as_json, quiet, debug) as out:
        from hush.synth import TreeSynthesizer

        checks.real("level", level, above=0, below=1)  # before anything is paid
        if rows is not None:
            checks.whole("rows", rows, at_least=0)
        about = config.read(where)
        domain, unknown = described_columns(about, column or [], bins)
        synthesizer = TreeSynthesizer(domain, epsilon, delta, neighbors=about.neighbors)
        left_out = (
            [f"Left out, having neither keys nor bounds: {', '.join(unknown)}."]
            if unknown
            else []
        )
        if only_plan:
            out.note(*left_out)
            _show_plan(out, _plan(about, synthesizer), level)
            return
        _writable(output, force=force)
        _plan(about, synthesizer)  # refused before anything is opened
        with out.working("asking the data …"), ledgers.paying_ledger(about) as ledger:
            before = len(ledger.history())
            model = synthesizer.fit(about.open(ledger), key=key)
            remaining = ledger.remaining()
        drawn = model.sample(rows)
        (drawn.to_csv if output.suffix == ".csv" else drawn.to_parquet)(output)
        receipt: Any = model.receipt
        measured = _measured(model, level)
        _show_measured(out, measured, level)
        out.show("", f"Wrote {output}: {len(drawn):,} rows of {len(domain)} columns.")
        out.note(
            *left_out,
            protected_by(about, receipt),
            *weak_epsilon(epsilon),
            _NO_BOUND,
            payment(receipt, before),
            f"Left: {remaining}",
        )
        out.print_json(
            file=str(output),
            rows=len(drawn),
            columns=list(domain),
            left_out=unknown,
            measured=measured,
            level=level,
            unit=receipt.unit,
            neighbors=receipt.neighbors,
            receipt=receipt.to_dict(),
            left=ledgers.balance(remaining),
        )


def _plan(about: config.Config, synthesizer: "TreeSynthesizer") -> "TreePlan":
    """Return the plan of a synthesis, from the schema alone."""
    found = about.dataset_without_data().crossed(synthesizer.domain.plain)
    return synthesizer.plan(rows=found.rows, whole=found.whole, unit=found.unit)
