"""Tables as text in which nothing is shortened, however narrow the terminal is."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from rich.cells import cell_len
from rich.text import Text

_GAP = "  "


@final
@dataclass(frozen=True)
class Column:
    """A heading and its cells, one for each row."""

    name: str
    cells: Sequence[str]
    right: bool = False  # where numbers stand

    @property
    def lines(self) -> list[str]:
        """Heading and cells, all of one width."""
        texts = [_line(each) for each in (self.name, *self.cells)]
        widest = max(map(cell_len, texts))
        return [self._filled(each, widest - cell_len(each)) for each in texts]

    def _filled(self, text: str, missing: int) -> str:
        return " " * missing + text if self.right else text + " " * missing


def _line(text: str) -> str:
    """Return a text that stays on one line."""
    return text.replace("\r", "\\r").replace("\n", "\\n")


def width() -> int | None:
    """Return how wide the terminal is; None where output goes to a file or a pipe."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError, AttributeError):
        return None


def table(columns: Sequence[Column], most: int | None) -> Text:
    """Return rows under headings; a block for each row where they do not fit.

    Example:
        >>> listed = [Column("region", ["Hills"]), Column("trips", ["1,204"], True)]
        >>> print(table(listed, 80))
        region  trips
        Hills   1,204
        >>> print(table(listed, 10))
        region  Hills
        trips   1,204
    """
    if not fits(columns, most):
        return _blocks(columns)
    head, *rest = lines(columns)
    return Text("\n").join([Text(head, "bold"), *map(Text, rest)])


def fits(columns: Sequence[Column], most: int | None) -> bool:
    """Whether no row is wider than `most`; None is endless."""
    return most is None or max(map(cell_len, lines(columns))) <= most


def lines(columns: Sequence[Column]) -> list[str]:
    """Return the headings and the rows, one line each."""
    rows = zip(*(each.lines for each in columns), strict=True)
    return [_GAP.join(row).rstrip() for row in rows]


def _blocks(columns: Sequence[Column]) -> Text:
    names = Column("", [each.name for each in columns]).lines[1:]
    rows = zip(*(each.cells for each in columns), strict=True)
    blocks = (
        "\n".join(
            f"{name}{_GAP}{_line(cell)}" for name, cell in zip(names, row, strict=True)
        )
        for row in rows
    )
    return Text("\n\n".join(blocks))
