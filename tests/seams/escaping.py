"""What leaves beside an answer, gathered channel by channel and compared on D and D'.

The rule by which random words are masked is public and knows nothing of the code: a
word that differs between two runs on the *same* data is random (identities, keys,
keyed hashes), and so are times; every other byte must be the same on the neighbor. A
hash of a fact about the data is the same in two runs on the same data, so it is not
masked, and tells two neighbors apart.
"""

import contextlib
import copy
import gc
import io
import logging
import os
import pickle
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hush.mechanisms.mechanism import listen_with

Channels = dict[str, str]

_RANDOM = re.compile(r"[0-9a-f]{8,}|[0-9a-z_]*_[0-9a-z]{26}\b|spill-[0-9a-z_]{8}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?([+-]\d\d:?\d\d|Z)?")
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
# Numbered as they come: sessions of PostgreSQL, pictures of scikit-learn.
_COUNTED = re.compile(r"\b(pg_temp_|sk-container-id-|sk-estimator-id-)\d+")


class Tape:
    """What mechanisms said about D; on every other side they say the same."""

    def __init__(self) -> None:
        self.said: list[Any] = []
        self.recorded = False

    @contextlib.contextmanager
    def playing(self) -> Iterator[list[str]]:
        ear = _Ear(self)
        with listen_with(ear):
            yield ear.heard
        self.recorded = True


class _Ear:
    """Lets every mechanism run, and answers in its place what was said before."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.heard: list[str] = []

    def on_run(self, mechanism: Any, value: Any, run: Callable[[Any], Any]) -> Any:
        with listen_with(None):
            own = run(value)
        at = len(self.heard)
        self.heard.append(repr(mechanism))
        if not self.tape.recorded:
            self.tape.said.append(copy.deepcopy(own))
        elif at < len(self.tape.said):
            return copy.deepcopy(self.tape.said[at])
        return own

    def on_turn(
        self, talk: Any, mechanism: Any, value: Any, run: Callable[[Any], Any]
    ) -> Any:
        return self.on_run(mechanism, value, run)


# What py4j says when an object of an earlier Spark session dies, at any time: the
# command names a number of the session, and the answer is empty.
_LET_GO = ("Command to send: m\nd\n", "Answer received: !yv")


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        if record.name.startswith("py4j.") and said.startswith(_LET_GO):
            return
        self.lines.append(f"{record.name} {record.levelname} {said} {record.args!r}")


@contextlib.contextmanager
def _overheard(found: Channels) -> Iterator[None]:
    """Gather what a block prints, logs and warns of."""
    lines, root = _Lines(), logging.getLogger()
    level = root.level
    out, err = io.StringIO(), io.StringIO()
    root.addHandler(lines)
    root.setLevel(logging.DEBUG)
    try:
        with (
            warnings.catch_warnings(record=True) as warned,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            warnings.simplefilter("always")
            yield
    finally:
        root.removeHandler(lines)
        root.setLevel(level)
    texts = [f"{each.category.__name__}: {each.message}" for each in warned]
    found["warnings"] = "\n".join(texts)
    found["logs"] = "\n".join(lines.lines)
    found["printed"] = out.getvalue() + err.getvalue()


def _of_hush(path: str) -> bool:
    return f"{os.sep}hush{os.sep}" in path and "tests" not in Path(path).parts


def _chain(problem: BaseException | None) -> Iterator[BaseException]:
    waiting, seen = [problem], set()
    while waiting:
        each = waiting.pop(0)
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [each.__cause__, each.__context__]
        waiting += getattr(each, "exceptions", ())


def told_by(problem: BaseException, own: tuple[Any, ...] = ()) -> tuple[str, str]:
    """Return what an error says, and what its frames of hush still hold.

    What the caller passed in (`own`) is in the caller's frames as well.
    """
    words, held = [], []
    for each in _chain(problem):
        words.append(f"{type(each).__qualname__} {each} {each.args!r} {vars(each)!r}")
        step = each.__traceback__
        while step is not None:
            code = step.tb_frame.f_code
            if _of_hush(code.co_filename):
                words.append(f"{code.co_filename}:{step.tb_lineno} {code.co_name}")
                for name, value in sorted(step.tb_frame.f_locals.items()):
                    texts = [shown(each) for each in _others(value, own)]
                    held.append(f"{code.co_name}.{name} = {texts}")
            step = step.tb_next
    return "\n".join(words), "\n".join(held)


def _others(value: Any, own: tuple[Any, ...]) -> list[Any]:
    """Return a variable, or what is in it where it holds arguments, but for `own`."""
    parts = [value]
    if isinstance(value, tuple):
        parts = list(value)
    elif isinstance(value, dict):
        parts = [*value, *value.values()]
    return [each for each in parts if not any(each is known for known in own)]


def shown(value: Any) -> str:
    """Return all texts that a value has, as a console or a notebook asks for them."""
    texts = []
    for name in ("__repr__", "__str__", "_repr_html_", "_repr_markdown_"):
        if not hasattr(type(value), name):
            continue
        try:
            made = getattr(type(value), name)
            method = getattr(value, name) if isinstance(made, property) else made
            texts.append(str(method() if isinstance(made, property) else method(value)))
        except Exception as problem:
            texts.append(f"{type(problem).__name__}: {problem}")
    return "\n".join(dict.fromkeys(texts))


def stored(value: Any) -> str:
    """Return what pickle writes of a value, also where it gives up halfway."""
    file = io.BytesIO()
    try:
        pickle.dump(value, file)
        said = ""
    except Exception as problem:
        said = f"{type(problem).__name__}: {problem}"
    return said + file.getvalue().decode("latin-1")


def files(*folders: Path, but: tuple[str, ...] = ()) -> str:
    """Return names, modes, sizes and bytes of what lies in some folders."""
    lines = []
    for number, folder in enumerate(folders):
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if any(name == each or name.startswith(each + "/") for each in but):
                continue
            mode = oct(path.lstat().st_mode)
            content = path.read_bytes().decode("latin-1") if path.is_file() else ""
            lines.append(f"{number}/{name} {mode} {len(content)} {content}")
    return "\n".join(lines)


Step = tuple[str, Callable[[], Any]]


def gathered(
    steps: Callable[[], Iterator[Step]],
    tape: Tape,
    *,
    folders: tuple[Path, ...] = (),
    but: tuple[str, ...] = (),
    own: tuple[Any, ...] = (),
) -> Channels:
    """Return what leaves while `steps` run: each names a channel and makes its text."""
    found: Channels = {}
    before = dict(os.environ)
    with _overheard(found), tape.playing() as heard:
        walk = steps()
        for name, make in walk:
            try:
                found[name] = _text(make())
            except (Exception, KeyboardInterrupt, SystemExit) as problem:
                words, held = told_by(problem, own)
                found[f"{name}: error"], found[f"{name}: frames"] = words, held
    found["mechanisms"] = "\n".join(heard)
    changed = {k: v for k, v in os.environ.items() if before.get(k) != v}
    found["environment"] = repr(sorted(changed.items()))
    os.environ.update({name: before.get(name, "") for name in changed})
    last = (getattr(sys, f"last_{n}", None) for n in ("traceback", "value", "exc"))
    found["last error"] = repr([each is not None for each in last])
    found["files"] = files(*folders, but=but)
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else shown(value)


def plain(text: str, constants: set[str]) -> str:
    """Return a text in which times, addresses and random words are masked."""
    text = _ADDRESS.sub("<address>", _TIME.sub("<time>", text))
    text = _COUNTED.sub(r"\1n", text)
    return _RANDOM.sub(lambda m: m[0] if m[0] in constants else "<random>", text)


def words(channels: Channels) -> set[str]:
    """Return the words of all channels that could be random."""
    return {m[0] for text in channels.values() for m in _RANDOM.finditer(text)}


def differing(first: Channels, again: Channels, other: Channels) -> dict[str, str]:
    """Return the channels that tell D, which was run twice, from its neighbor.

    Guarantee: two runs on the same data are the same after masking, or this fails.
    """
    constants = words(first) & words(again)
    assert first.keys() == again.keys(), first.keys() ^ again.keys()
    for name in first:
        one, two = (plain(side[name], constants) for side in (first, again))
        assert one == two, f"{name} differs on the same data: {_apart(one, two)}"
    found = {}
    for name in sorted(first.keys() | other.keys()):
        one, two = (
            plain(side.get(name, "<nothing>"), constants) for side in (first, other)
        )
        if one != two:
            found[name] = _apart(one, two)
    return found


def _apart(one: str, two: str) -> str:
    """Return the first place where two texts differ."""
    at = next(
        (i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b),
        min(len(one), len(two)),
    )
    part = slice(max(0, at - 60), at + 90)
    return f"{one[part]!r} | {two[part]!r}"


def reachable() -> Iterator[Any]:
    """Yield texts, bytes and numbers that modules of hush reach: their caches."""
    names = [name for name in sys.modules if name.partition(".")[0] == "hush"]
    waiting: list[Any] = [vars(sys.modules[name]) for name in names]
    seen = set(map(id, waiting))
    foreign = (types.ModuleType, types.FrameType, types.CodeType)
    while waiting:
        each = waiting.pop()
        if isinstance(each, (str, bytes, bytearray, int, float)):
            yield each
        for inner in gc.get_referents(each):
            if isinstance(inner, foreign) or id(inner) in seen:
                continue
            home = str(getattr(inner, "__module__", None) or "")
            made = isinstance(inner, (type, types.FunctionType))
            if made and not home.startswith("hush"):
                continue
            seen.add(id(inner))
            waiting.append(inner)
