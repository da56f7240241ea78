"""Options as people expect them: flags shown as flags, others' names answered."""

from typing import Any

from typer.core import TyperCommand, TyperGroup

_CALLED = {
    "--noise-multiplier": "--sigma",
    "--std": "--gaussian",
    "--sample-rate": "--rate",
    "--sampling-rate": "--rate",
    "--num-steps": "--steps",
    "--eps": "--epsilon",
    "--user": "--unit",
    "--user-id": "--unit",
}


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

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options; one that others call differently is answered with ours."""
        known = {name for each in self.params for name in each.opts}
        for name in (each.partition("=")[0] for each in args):
            if name not in known and _CALLED.get(name) in known:
                ctx.fail(f"No such option: {name}. Write {_CALLED[name]}.")
        return super().parse_args(ctx, args)


class Group(TyperGroup):
    """A command with commands of its own."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return what the command takes; a flag takes no value."""
        return _plain(super().get_params(ctx))
