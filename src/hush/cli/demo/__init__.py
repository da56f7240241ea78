"""`hush demo`: private answers about a made-up town, with error bars and a budget."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from hush.cli.session import Debug, Json, Quiet, Session, session
from hush.errors import InvalidArgument

_MARK = "made-by-hush-demo"
_FILES = (
    "trips.parquet",
    "budget.db",
    "budget.db.anchor",
    "budget.db-journal",
    "budget.db-wal",
    "budget.db-shm",
    "report.html",
    _MARK,
)


def _empty_folder(folder: Path) -> Path:
    """Return the folder without an earlier demo in it; refuse one that is not ours."""
    if folder.exists():
        if not folder.is_dir() or (
            any(folder.iterdir()) and not _is_demo_folder(folder)
        ):
            raise InvalidArgument(
                f"{str(folder)!r} holds other things than an earlier demo. Name "
                "another folder with --folder."
            )
        for name in _FILES:
            (folder / name).unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARK).write_text("This folder is replaced by every `hush demo`.\n")
    return folder


def _is_demo_folder(folder: Path) -> bool:
    return (folder / _MARK).is_file() and all(
        each.name in _FILES for each in folder.iterdir()
    )


@contextlib.contextmanager
def _steps(out: Session, count: int) -> Iterator[Any]:
    """Show how far the demo is, if the output is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True)
    hidden = out.quiet or out.as_json or not console.is_terminal
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        console=console,
        disable=hidden,
        transient=True,
    )
    with bar:
        task = bar.add_task("building a town", total=count)
        yield lambda words: bar.update(task, advance=1, description=words)


def _answer_lines(asked: Any, index: int) -> Iterator[Any]:
    from hush.cli.demo.page import cost

    yield Text(f"{index}. {asked.title}  ({cost(asked)})", style="bold")
    for panel in asked.panels:
        table = Table(box=None, pad_edge=False)
        heads = ("", f"private {panel.name}", "95 % interval", "truth")
        for i, name in enumerate(heads):
            table.add_column(name, justify="right" if i else "left", overflow="fold")
        for row in panel.rows:
            value, low, high, truth = (
                f"{each:,.{panel.digits}f}"
                for each in (row.value, row.low, row.high, row.truth)
            )
            table.add_row(row.label, value, f"{low} to {high}", truth)
        yield table
    yield f"{asked.remark}\nBudget: {asked.left}\n"


def demo(
    folder: Annotated[
        Path, typer.Option(help="Where the table, the ledger and the report go.")
    ] = Path("demo"),
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Ask about 200,000 trips of 20,000 people who do not exist, privately.

    Four questions of rising interest, each with intervals and with the truth beside it,
    a budget that goes down, and a fifth question that is refused. Writes
    demo/report.html.

    Example: hush demo --folder /tmp/demo
    """
    with session("demo", as_json, quiet, debug) as out:
        import hush
        from hush.cli.demo import questions
        from hush.cli.demo.page import page
        from hush.cli.demo.town import Town

        place = _empty_folder(folder)
        with _steps(out, 4 + len(questions.QUESTIONS)) as step:
            town = Town.built()
            town.write(place / "trips.parquet")
            step("opening it")
            ledger = hush.Ledger.open(
                f"sqlite:///{place / 'budget.db'}",
                budget=hush.Budget(**questions.BUDGET),
                dataset="trips",
            )
            with ledger:
                data = hush.open(
                    place / "trips.parquet",
                    unit="person",
                    rows=questions.ROWS,
                    ledger=ledger,
                )
                answers = []
                step("asking")
                for each in questions.ask_all(data, town):
                    answers.append(each)
                    step(each.title)
                refusal = questions.refusal_text(data)
                points = questions.errors_by_epsilon(data)
                whole = str(ledger.verify())
            text = page(answers, refusal, points, whole)
            (place / "report.html").write_text(text, encoding="utf-8")
            step("done")
        for i, each in enumerate(answers, 1):
            out.show(*_answer_lines(each, i))
        out.show(f"5. One question too many: {refusal}\n")
        out.show(
            "Protected is every person with all their trips. The truth is shown only "
            "because this town is made up; the noise is real, so run it again and the "
            "answers move.",
            f"Report: {place / 'report.html'}",
        )
        out.print_json(
            answers=[each.to_dict() for each in answers],
            refused=refusal,
            ledger=whole,
            report=str(place / "report.html"),
        )
