"""Names of columns: those that start with an underscore are ours, the rest differ.

Relations that bound a person call their own columns `_w`, `_unit` and the like. If data
or a query could bring a column of such a name, it could say how much a person weighs.
Engines that compare names without case could take one of two such columns for the
other. So every data set refuses both, however its table came to be.
"""

from collections.abc import Iterable

from hush.errors import InvalidArgument


def check(columns: Iterable[str]) -> None:
    """Refuse names of ours, and two names that differ by nothing but case."""
    seen: dict[str, str] = {}
    for name in columns:
        if name.startswith("_"):
            raise InvalidArgument(
                f"{name!r} cannot name a column: names that start with an underscore "
                "are hush's own."
            )
        folded = name.casefold()
        if folded in seen:
            raise InvalidArgument(
                f"columns {seen[folded]!r} and {name!r} have the same name, because "
                "engines compare names without case. Rename one of them."
            )
        seen[folded] = name


def check_outputs(groups: tuple[str, ...], aggregates: Iterable[str]) -> None:
    """Refuse two columns of one name in an answer, the ends of intervals included."""
    taken = dict.fromkeys(groups, "a grouping column")
    named = list(aggregates)
    for name in named:
        for made, what in (
            (name, "an aggregate"),
            (f"{name}_low", f"the interval of {name!r}"),
            (f"{name}_high", f"the interval of {name!r}"),
        ):
            if made in taken:
                raise InvalidArgument(
                    f"two columns of the answer would be called {made!r}: "
                    f"{taken[made]} and {what}. Choose another name."
                )
            taken[made] = what
