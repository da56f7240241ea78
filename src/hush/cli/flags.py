"""Help that shows a flag as a flag: `--json`, not `--json <bool>`."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


def _plain(parameters: list[Any]) -> list[Any]:
    for each in parameters:
        if getattr(each, "is_flag", False):
            each.metavar = ""
    return parameters


class Command(TyperCommand):
    """A command of hush."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return what the command takes; a flag takes no value."""
        return _plain(super().get_params(ctx))


class Group(TyperGroup):
    """A command with commands of its own."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return what the command takes; a flag takes no value."""
        return _plain(super().get_params(ctx))
