"""Suggestions: a near miss on a name is answered with what to write.

What other libraries call things stands in `foreign_names`, which is loaded when a name
is not found: a program without mistakes never reads it.
"""

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, final

P = ParamSpec("P")
R = TypeVar("R")

_FROZEN = "_frozen_importlib"  # what importlib._bootstrap is called at first
COLUMN = (
    'Columns are named in aggregates, as in .agg(fare=hush.mean("fare", bounds=(0, '
    '80))), and in conditions, as in .where("fare > 0").'
)


@final
class Words(Mapping[str, str]):
    """What to write for names of others: a table, loaded when it is looked at.

    Example:
        >>> Words("TRAINED")["get_epsilon"]
        'Write .curve.epsilon_at(1e-5), or .epsilon at its delta.'
    """

    def __init__(self, name: str) -> None:
        """Take the name of a table of `foreign_names`."""
        self._name = name

    @functools.cached_property
    def _table(self) -> Mapping[str, str]:
        found = getattr(importlib.import_module("hush.foreign_names"), self._name)
        return dict(found)

    def __getitem__(self, name: str) -> str:
        """Return what to write for a name."""
        return self._table[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._table)

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self._table)


PACKAGE, GROUPED, DATASET = Words("PACKAGE"), Words("GROUPED"), Words("DATASET")
QUERY, ANSWER = Words("QUERY"), Words("ANSWER")
MODEL, FIT, TRAIN, TRAINED = map(Words, ("MODEL", "FIT", "TRAIN", "TRAINED"))
GDP, CURVE, MECHANISM = Words("GDP"), Words("CURVE"), Words("MECHANISM")


def unknown(
    owner: str,
    name: str,
    known: Iterable[str],
    words: Mapping[str, str] | None = None,
    *,
    tables: bool = False,
) -> TypeError:
    """Return the error for an argument that is not there, with what to write instead.

    Calls about `tables` also answer what is said when a table is opened.

    Example:
        >>> print(unknown("Pure", "eps", ["epsilon"]))
        Pure has no argument 'eps'. Write epsilon.
        >>> print(unknown("Budget", "epsilom", ["epsilon", "delta"]))
        Budget has no argument 'epsilom'. Write epsilon.
    """
    from hush import foreign_names as theirs

    known = [each for each in known if each != "self"]
    same = [each for each in known if name in theirs.ARGUMENTS.get(each, "").split()]
    near = same or _close_names(name, known)
    if words and name in words:
        way = words[name].format(owner)
    elif not same and name in theirs.PAID:
        way = theirs.PAID_LATER
    elif not same and tables and name in theirs.OPENED:
        way = theirs.SAID_AT_OPENING
    elif near:
        way = f"Write {theirs.FORMS.get(near[0], near[0])}."
    else:
        way = f"It has {', '.join(known) or 'none'}."
    return TypeError(f"{owner} has no argument {name!r}. {way}")


def _close_names(name: str, known: list[str]) -> list[str]:
    import difflib

    return difflib.get_close_matches(name, known, n=1)


def argument_error(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    options: Iterable[str],
    problem: TypeError,
    words: Mapping[str, str] | None = None,
) -> TypeError:
    """Return the error for a call that Python refused before its first line.

    Arguments may hold data: only their names and their number are said.
    """
    from hush import foreign_names as theirs

    known = inspect.signature(function).parameters
    name = function.__qualname__.removesuffix(".__init__")
    name = theirs.SHOWN.get(name, name)
    tables = function.__module__.startswith("hush.tables")
    for each in options:
        if each not in known:
            return unknown(name, each, known, words, tables=tables)
    places = [p for p in known.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    if len(args) > len(places):
        if "data" in known:
            return TypeError(f"{problem}. {theirs.ROWS_AND_LABELS}")
        by_name = [p.name for p in known.values() if p.kind is p.KEYWORD_ONLY]
        if by_name:
            return TypeError(f"{problem}. Others have names: {', '.join(by_name)}.")
    return problem


def check_arguments(
    owner: str, given: Iterable[str], known: Iterable[str], words: Mapping[str, str]
) -> None:
    """Refuse an argument that is not there but is known by another name.

    Example:
        >>> check_arguments("train", ["lr"], ["steps"], TRAIN)
        Traceback (most recent call last):
        ...
        TypeError: train has no argument 'lr'. Write optimizer=optax.sgd(0.1).
    """
    for name in given:
        if name not in known and name in words:
            raise TypeError(f"{owner} has no argument {name!r}. {words[name]}")


def is_refused_call(problem: TypeError) -> bool:
    """Whether the call that was tried here did not reach its function."""
    trace = problem.__traceback__
    return trace is not None and trace.tb_next is None


def with_argument_hints(
    words: Mapping[str, str],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function answer a near miss on one of its arguments with what to write."""

    def around(function: Callable[P, R]) -> Callable[P, R]:
        known = inspect.signature(function).parameters

        @functools.wraps(function)
        def call(*args: P.args, **options: P.kwargs) -> R:
            check_arguments(function.__name__, options, known, words)
            try:
                return function(*args, **options)
            except TypeError as problem:
                if not is_refused_call(problem):
                    raise
                raise argument_error(function, args, options, problem, words) from None

        return call

    return around


def missing_name(owner: str, name: str, words: Mapping[str, str]) -> AttributeError:
    """Return the error for a name that is not there, with what to write instead.

    Example:
        >>> print(missing_name("module 'hush'", "avg", PACKAGE))
        module 'hush' has no attribute 'avg'. Write hush.mean.
    """
    way = f". {words[name]}" if name in words else ""
    return AttributeError(f"{owner} has no attribute {name!r}{way}")


def of_module(module: str) -> Callable[[str], Any]:
    """Return a module's `__getattr__`: it answers names that other libraries use.

    `from hush.mechanisms import X` loses the text of an AttributeError, so a name that
    is known elsewhere is answered there by an ImportError.

    Example:
        >>> of_module("hush.privacy")("DominatingPair")
        Traceback (most recent call last):
        ...
        AttributeError: module 'hush.privacy' has no attribute 'DominatingPair'. Write
        hush.privacy.Pair.
    """

    def answer(name: str) -> Any:
        raise missing_in_module(module, name, sys._getframe(1))

    return answer


def missing_in_module(
    module: str, name: str, asking: FrameType
) -> AttributeError | ImportError:
    """Return the error for a name that a module does not have, asked for in a frame."""
    plain = f"module {module!r} has no attribute {name!r}"
    if not name.startswith("_") and not _is_search(asking):
        from hush import foreign_names as theirs

        way = theirs.replacement_hint(module, name)
        if way and _is_import(asking):
            text = f"cannot import name {name!r} from {module!r}. {way}"
            return ImportError(text, name=module)
        if way:
            return AttributeError(f"{plain}. {way}")
    return AttributeError(plain, name=name, obj=sys.modules.get(module))


def _is_search(asking: FrameType) -> bool:
    """Whether the import system asks, before it looks for a file of that name."""
    return asking.f_globals.get("__name__") in ("importlib._bootstrap", _FROZEN)


def _is_import(asking: FrameType) -> bool:
    """Whether a frame stands at the `import` of `from module import name`."""
    import dis

    operation = asking.f_code.co_code[asking.f_lasti]
    return dis.opname[operation] == "IMPORT_FROM"


class Helpful:
    """Something that answers a near miss on one of its names with what to write.

    Example:
        >>> class Table(Helpful):
        ...     _hints = {"df": "Write .to_pandas()."}
        ...
        >>> Table().df
        Traceback (most recent call last):
        ...
        AttributeError: 'Table' object has no attribute 'df'. Write .to_pandas().
    """

    @property
    def _hints(self) -> Mapping[str, str]:
        return {}

    if not TYPE_CHECKING:  # a type checker shall go on to refuse unknown names

        def __getattr__(self, name: str) -> Any:
            # Python asks for names with an underscore before an object is whole.
            near = {} if name.startswith("_") else self._hints
            raise missing_name(f"{type(self).__name__!r} object", name, near)
