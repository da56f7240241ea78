"""What all commands share: where output goes, and how an error ends a command.

The result goes to standard output, as a table, as CSV or as one JSON object; remarks,
progress and errors go to standard error. No text of another library's error is ever
printed where data is involved: it could quote a value.
"""

import json
import math
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, final

import typer
from rich.console import Console
from rich.text import Text

from hush.cli import layout
from hush.cli.codes import Code, code_of
from hush.cli.spelling import spelled
from hush.errors import HushError

# Commands that read no data, and errors of theirs whose text is therefore shown. A plan
# reads the names of columns; only what goes wrong with its numbers is told.
_TOLD: Mapping[str, type[Exception]] = {
    "account": Exception,
    "plot tradeoff": Exception,
    "plot profile": Exception,
    "plan": ArithmeticError,
    "plot error": ArithmeticError,
}
_ENDLESS = 1 << 20  # columns of a file: no line of it is broken
SCHEMA = 1  # of the JSON; a field is never renamed or removed under one number

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print the result only: no remarks.")
]
Debug = Annotated[
    bool, typer.Option("--debug", help="On an internal error, show where it was.")
]


@final
@dataclass(frozen=True)
class Session:
    """One run of one command."""

    command: str
    as_json: bool
    quiet: bool

    @property
    def _out(self) -> Console:
        return Console(highlight=False, width=layout.width() or _ENDLESS)

    def show(self, *things: Any) -> None:
        """Print the result for people: texts and tables."""
        if not self.as_json:
            for each in things:
                self._out.print(Text(each) if isinstance(each, str) else each)

    def table(self, columns: Sequence[layout.Column]) -> None:
        """Print a table of which nothing is cut off."""
        self.show(layout.table(columns, layout.width()))

    def note(self, *texts: str) -> None:
        """Print remarks that are not part of the result."""
        if not self.as_json and not self.quiet:
            for each in texts:
                typer.echo(each, err=True)

    def give(self, **fields: Any) -> None:
        """Print the result for programs."""
        if self.as_json:
            self._object(fields)

    def _object(self, fields: Mapping[str, Any]) -> None:
        shown = {"hush": self.command, "schema": SCHEMA, **fields}
        typer.echo(json.dumps(plain(shown), allow_nan=False))

    @contextmanager
    def working(self, words: str) -> Iterator[None]:
        """Show that work goes on, where somebody is looking."""
        console = Console(stderr=True)
        if self.quiet or self.as_json or not console.is_terminal:
            yield
            return
        with console.status(words):
            yield

    def failed(self, problem: BaseException, *, debug: bool) -> Code:
        """Say what is wrong and the way out, and return the exit code."""
        told = isinstance(problem, _TOLD.get(self.command, ()))
        code, text = code_of(problem), words(problem, told=told)
        if debug:
            # Frames only: the text of a foreign error may hold a value of the data.
            frames = traceback.format_tb(problem.__traceback__)
            typer.echo("".join(frames) + type(problem).__name__, err=True)
        if self.as_json:
            kind = type(problem).__name__
            self._object({"error": {"kind": kind, "message": text, "exit": code}})
        typer.echo(f"hush: {text}", err=True)
        return code


def words(problem: BaseException, *, told: bool = False) -> str:
    """Return an error in one line without anything that may come from the data.

    A foreign text is `told` where no data was read.
    """
    if isinstance(problem, HushError):
        return spelled(" ".join(str(problem).split()))
    if isinstance(problem, OSError) and problem.filename:
        return f"{problem.filename!r}: {problem.strerror}."
    if isinstance(problem, KeyboardInterrupt):
        return (
            "interrupted. `hush budget` shows a charge without an answer; ask again "
            "with its key to get it."
        )
    if told:
        text = " ".join(str(problem).split()) or "no more is known"
        return f"internal error ({type(problem).__name__}): {text}. Try other numbers."
    return (
        f"internal error ({type(problem).__name__}); its text is withheld, because it "
        "may quote the data. Run again with --debug to see where it was."
    )


def plain(value: Any) -> Any:
    """Return a value as JSON types; NaN and infinities become null."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if hasattr(value, "tolist"):  # NumPy
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, date):
        return value.isoformat()
    return value


@contextmanager
def session(command: str, as_json: bool, quiet: bool, debug: bool) -> Iterator[Session]:
    """Run a command; whatever it raises becomes a line and an exit code."""
    running = Session(command, as_json, quiet)
    try:
        yield running
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except (Exception, KeyboardInterrupt) as problem:
        code = running.failed(problem, debug=debug)
        raise typer.Exit(int(code)) from None
