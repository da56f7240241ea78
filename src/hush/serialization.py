"""Serialization: stable tags for classes, values to the last bit, limits on reading.

What is stored is public for ever, and the code that wrote it is not. So a stored text
names no module: every class that is stored has a *tag*, as `geometric/1`, which stays
when the class moves to another file or is renamed. Another number is another form of
the same thing. Texts of before tags are read by `hush.legacy_formats`. See
docs/decisions/0022.

Reading makes nothing but tagged classes out of numbers, texts and arrays. The text does
not say what is imported: a tag is looked up in a closed table. How long, how deep and
how many digits a text may have is limited here.
"""

import base64
import dataclasses
import datetime
import importlib
import json
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, Final, TypeVar

import numpy as np

from hush.errors import InvalidArgument

_KEY = "hush"  # of an object that JSON has no type for
_READABLE = 1000  # longer arrays are written as base64
_LONGEST = 1 << 28  # characters: a quarter of a gigabyte
_DEEPEST = 100  # objects in one another; hush itself nests about ten
_DIGITS = 4300  # of one whole number, where Python's own reader stops by default
_BYTES = 1 << 30  # of one array

Kind = TypeVar("Kind", bound=type)

# The classes of a part are tagged when its package is imported.
_PARTS: Final = {
    "": "hush.mechanisms",
    "law": "hush.law",
    "units": "hush.units",
    "learn": "hush.learn",
    "sgd": "hush.learn.sgd.logistic",  # which loads the others of its package
    "tables": "hush.tables",
}
_TAG = re.compile(r"(?:([a-z_]+)\.)?[a-z][a-z0-9_]*/[1-9][0-9]{0,3}")
_FRACTION = re.compile(rf"-?\d{{1,{_DIGITS}}}(?:/\d{{1,{_DIGITS}}})?")
_DECIMAL = re.compile(
    rf"-?(?:\d{{1,{_DIGITS}}}(?:\.\d{{0,{_DIGITS}}})?(?:E[+-]?\d{{1,18}})?"
    r"|s?NaN\d{0,100}|Infinity)"
)
_DTYPE = re.compile(
    r"[<>|=]?(?:b1|[iu][1248]|f(?:2|4|8|12|16)|[mM]8(?:\[\w+\])?|[US]\d{1,9}|O)"
)
_MANY_DIGITS = re.compile(rf"\d{{{_DIGITS + 1}}}")
_MOMENTS: Final[dict[str, Any]] = {
    each.__name__: each for each in (datetime.date, datetime.datetime, datetime.time)
}

_kinds: dict[str, type] = {}
_tags: dict[type, str] = {}
_stand_ins: dict[type, Callable[[Any], Any]] = {}
_stand_ins_of_untagged: dict[type, Callable[[Any], Any]] = {}


def tagged(tag: str) -> Callable[[Kind], Kind]:
    """Return a decorator that gives a frozen dataclass or an enum its stable tag.

    A mechanism of your own needs none to run. With one its releases say what ran, and
    are read back wherever its module has been imported. Change the number when the
    fields change their meaning.

    Example:
        >>> @tagged("example.point/1")
        ... @dataclasses.dataclass(frozen=True)
        ... class Point:
        ...     x: Fraction
        ...
        >>> encode(Point(Fraction(1, 3)), classes=True)
        {'hush': 'example.point/1', 'x': {'hush': 'fraction', 'value': '1/3'}}
        >>> decode(_)
        Point(x=Fraction(1, 3))
    """
    if not isinstance(tag, str) or not _TAG.fullmatch(tag):
        raise InvalidArgument(
            f"tag must be a name and the number of its form, as in 'my_noise/1'; got "
            f"{tag!r}."
        )

    def register(kind: Kind) -> Kind:
        known = _kinds.get(tag)
        if known is not None and _home_of(known) != _home_of(kind):
            raise InvalidArgument(
                f"tag {tag!r} belongs to {known.__name__} already; choose another."
            )
        _kinds[tag], _tags[kind] = kind, tag
        return kind

    return register


def stored_text(name: str) -> Callable[[Kind], Kind]:
    """Give a dataclass the text that receipts hold, whatever the class is called.

    Receipts keep the text of what was asked, and a stored answer is compared with it.

    Example:
        >>> @stored_text("Asked")
        ... @dataclasses.dataclass(frozen=True, repr=False)
        ... class Question:
        ...     rows: int
        ...
        >>> Question(3)
        Asked(rows=3)
    """

    def text(self: Any) -> str:
        shown = (f.name for f in dataclasses.fields(self) if f.repr)
        return f"{name}({', '.join(f'{n}={getattr(self, n)!r}' for n in shown)})"

    def register(kind: Kind) -> Kind:
        kind.__repr__ = text  # type: ignore[assignment]
        return kind

    return register


def _home_of(kind: type) -> tuple[str, str]:
    """Return module and name of a class: a reloaded module defines it again."""
    return kind.__module__, kind.__qualname__


def written_as(
    kind: type, stand_in: Callable[[Any], Any], *, untagged: bool = False
) -> None:
    """Have objects of a class, and of its subclasses, written as what stands for them.

    A curve given by a function is stored as tables that lie around it; `untagged`: only
    where its own class has no tag.
    """
    (_stand_ins_of_untagged if untagged else _stand_ins)[kind] = stand_in


def _written(kind: type) -> Callable[[Any], Any] | None:
    for base in kind.__mro__:
        if base in _stand_ins:
            return _stand_ins[base]
        if base in _stand_ins_of_untagged and tag_of(kind) is None:
            return _stand_ins_of_untagged[base]
    return None


def tag_of(kind: type) -> str | None:
    """Return the tag of a class; None where it has none and cannot be stored."""
    return _tags.get(kind)


def kind_of(tag: Any) -> Any:
    """Return the class of a tag, or refuse an unknown tag."""
    found = _kinds.get(tag) if isinstance(tag, str) else None
    if found is not None:
        return found
    known = _TAG.fullmatch(tag) if isinstance(tag, str) else None
    part = _PARTS.get(known.group(1) or "") if known else None
    if part is not None:
        importlib.import_module(part)
        found = _kinds.get(str(tag))
    if found is None:
        raise InvalidArgument(
            f"{_short_text(tag)} is no tag of this version of hush. If it is of a "
            "class of yours, import its module first; if a newer hush wrote it, use "
            "that."
        )
    return found


def _short_text(text: Any) -> str:
    shown = repr(text)
    return shown if len(shown) <= 60 else shown[:57] + "..."


# -- writing ---------------------------------------------------------------------------


def encode(value: Any, *, classes: bool = False) -> Any:
    """Return `value` as JSON types; what JSON lacks is an object with a key `hush`.

    With `classes` also tagged dataclasses and enums, as their tag and public fields.

    Guarantee: `decode(encode(v))` has the type, the shape and every bit of `v`.

    Example:
        >>> decode(encode({"n": 41, "mean": [0.1, float("inf")]}))
        {'n': 41, 'mean': [0.1, inf]}
    """
    if value is None or type(value) in (bool, str, int):
        return value
    if classes and (found := _encode_class(value)) is not None:
        return found
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, np.generic):
        inner = encode(value.item())
        return {_KEY: "scalar", "dtype": value.dtype.str, "value": inner}
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return {_KEY: "float", "value": str(float(value))}
    if isinstance(value, (Fraction, Decimal)):
        return {_KEY: type(value).__name__.lower(), "value": str(value)}
    if isinstance(value, (datetime.date, datetime.time)):
        kind = type(value).__name__
        return {_KEY: "moment", "kind": kind, "value": value.isoformat()}
    if isinstance(value, tuple):
        return {_KEY: "tuple", "items": [encode(x, classes=classes) for x in value]}
    if isinstance(value, list):
        return [encode(each, classes=classes) for each in value]
    if isinstance(value, Mapping):
        return _encode_mapping(value, classes=classes)
    raise InvalidArgument(
        f"a released value must be made of numbers, text, lists, dicts and arrays; "
        f"got a {type(value).__name__}."
    )


def _encode_class(value: Any) -> Any:
    """Return a tagged object as JSON types; None for a plain value."""
    kind = type(value)
    if not (isinstance(value, Enum) or dataclasses.is_dataclass(kind)):
        return None
    if (written := _written(kind)) is not None:
        value = written(value)
        kind = type(value)
    tag = tag_of(kind)
    if tag is None:
        raise InvalidArgument(
            f"{kind.__name__} has no tag, so it could not be read back: write "
            '@hush.mechanisms.tagged("my_name/1") above its class to store it.'
        )
    if isinstance(value, Enum):
        return {_KEY: tag, "value": encode(value.value)}
    named = [each.name for each in stored_fields(value) if each.init]
    return {_KEY: tag, **{n: encode(getattr(value, n), classes=True) for n in named}}


# Metadata of a field that came after its class was first stored. Where it has its
# default, stored texts and descriptions of requests leave it out: they stay the same.
LATER: Final = {"stored": "unless default"}


def stored_fields(thing: Any) -> "list[dataclasses.Field[Any]]":
    """Return the fields of a dataclass that its stored text names."""
    return [
        each
        for each in dataclasses.fields(thing)
        if each.metadata != LATER or getattr(thing, each.name) != each.default
    ]


def _encode_mapping(value: Mapping[Any, Any], *, classes: bool) -> Any:
    if all(isinstance(key, str) for key in value) and _KEY not in value:
        return {key: encode(each, classes=classes) for key, each in value.items()}
    pairs = [
        [encode(key, classes=classes), encode(each, classes=classes)]
        for key, each in value.items()
    ]
    return {_KEY: "dict", "items": pairs}


def _encode_array(value: Any) -> Any:
    array = np.ascontiguousarray(value)
    head = {_KEY: "array", "shape": list(value.shape), "dtype": array.dtype.str}
    if array.dtype == object or array.dtype.kind in "US":
        return {**head, "items": encode(array.ravel().tolist())}
    if array.dtype.kind not in "biuf":
        raise InvalidArgument(
            f"a released array must hold numbers or text; got dtype {array.dtype}."
        )
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    head["dtype"] = array.dtype.str
    if array.size <= _READABLE:
        return {**head, "items": encode(array.ravel().tolist())}
    return {**head, "base64": base64.b64encode(array.tobytes()).decode()}


def freeze(thing: Any) -> Any:
    """Return a tagged object as JSON types; None where it cannot be stored.

    Example:
        >>> from hush.law import DiscreteLaplace
        >>> freeze(DiscreteLaplace(scale=2))
        {'hush': 'law.discrete_laplace/1', 'scale': {'hush': 'fraction', 'value': '2'}}
        >>> decode(_)
        DiscreteLaplace(scale=Fraction(2, 1))
    """
    try:
        return encode(thing, classes=True)
    except InvalidArgument:
        return None


def to_tagged_json(thing: Any, key: str) -> dict[str, Any]:
    """Return a tagged object as JSON types, with its tag under a name of its own."""
    found = encode(thing, classes=True)
    return {key: found.pop(_KEY), **found}


# -- reading ---------------------------------------------------------------------------


def parse(text: Any, what: str) -> Any:
    """Return the JSON types of a text; refuse other texts, and too long ones."""
    if not isinstance(text, str):
        raise InvalidArgument(f"text must be {what}; got a {type(text).__name__}.")
    if len(text) > _LONGEST or _MANY_DIGITS.search(text):
        raise InvalidArgument(f"text is too long, or has too many digits, for {what}.")
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise InvalidArgument(f"text must be {what}.") from None


def _no_number(name: str) -> Any:
    raise ValueError(name)  # NaN and infinity are no JSON, and are written otherwise


def decode(value: Any) -> Any:
    """Return what `encode` was given.

    Guarantee: makes plain values and tagged classes only, of limited size; everything
    else is refused as `InvalidArgument`.
    """
    try:
        return _decode(value, _DEEPEST)
    except InvalidArgument:
        raise
    except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError):
        raise InvalidArgument(
            "a stored value is not what hush writes: a part is missing or strange."
        ) from None


def _decode(value: Any, depth: int) -> Any:
    if depth == 0:
        raise InvalidArgument(f"a stored value is more than {_DEEPEST} levels deep.")
    if isinstance(value, list):
        return [_decode(each, depth - 1) for each in value]
    if not isinstance(value, dict):
        return value
    tag = value.get(_KEY)
    if tag is None:
        return {key: _decode(each, depth - 1) for key, each in value.items()}
    if tag in _PLAIN:
        return _PLAIN[tag](value, depth - 1)
    fields = {n: _decode(x, depth - 1) for n, x in value.items() if n != _KEY}
    return build(kind_of(tag), fields)


def from_tagged_json(value: Any, key: str) -> Any:
    """Return what `to_tagged_json` was given."""
    if not isinstance(value, dict) or key not in value or _KEY in value:
        raise InvalidArgument(f"a stored object must name its kind as {key!r}.")
    given = {_KEY if name == key else name: each for name, each in value.items()}
    return decode(given)


def build(kind: Any, fields: Mapping[str, Any]) -> Any:
    """Return an object of a tagged class, from the values of its fields."""
    if issubclass(kind, Enum):
        return kind(fields["value"])
    try:
        return kind(**fields)
    except TypeError:
        raise InvalidArgument(
            f"{kind.__name__} is not made of the fields {sorted(fields)}."
        ) from None


def fraction(text: Any) -> Fraction:
    """Return a stored fraction; powers of ten, whose size has no limit, are refused."""
    if not isinstance(text, str) or not _FRACTION.fullmatch(text):
        raise InvalidArgument("a stored fraction must be written as in '1/3'.")
    return Fraction(text)


def _decode_decimal(value: Any, _depth: int) -> Decimal:
    if not _DECIMAL.fullmatch(value["value"]):
        raise InvalidArgument("a stored decimal must be written as in '1.25'.")
    return Decimal(value["value"])


def _decode_array(value: Any, depth: int) -> Any:
    dtype = _dtype(value["dtype"])
    shape = [_size(each) for each in value["shape"]]
    if math.prod(shape) * dtype.itemsize > _BYTES:
        raise InvalidArgument("a stored array is too large.")
    if "base64" in value:
        flat = np.frombuffer(base64.b64decode(value["base64"]), dtype=dtype).copy()
    else:
        items = _decode(value["items"], depth)
        if len(items) != math.prod(shape):
            raise InvalidArgument("a stored array has another shape than it says.")
        flat = np.empty(len(items), dtype=dtype)
        flat[:] = items
    array = flat.reshape(shape)
    array.setflags(write=False)  # a release does not change
    return array


def _size(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise InvalidArgument("a stored shape must consist of whole numbers.")
    return value


def _dtype(text: Any) -> Any:
    if not isinstance(text, str) or not _DTYPE.fullmatch(text):
        raise InvalidArgument(f"{_short_text(text)} is no type of a stored array.")
    return np.dtype(text)


def _decode_tuple(value: Any, depth: int) -> Any:
    return tuple(_decode(each, depth) for each in value["items"])


def _decode_dict(value: Any, depth: int) -> Any:
    return {_decode(key, depth): _decode(x, depth) for key, x in value["items"]}


def _decode_scalar(value: Any, depth: int) -> Any:
    return _dtype(value["dtype"]).type(_decode(value["value"], depth))


_PLAIN: Final[dict[Any, Callable[[Any, int], Any]]] = {
    "float": lambda value, _: float(value["value"]),
    "fraction": lambda value, _: fraction(value["value"]),
    "decimal": _decode_decimal,
    "moment": lambda value, _: _MOMENTS[value["kind"]].fromisoformat(value["value"]),
    "tuple": _decode_tuple,
    "dict": _decode_dict,
    "scalar": _decode_scalar,
    "array": _decode_array,
}
