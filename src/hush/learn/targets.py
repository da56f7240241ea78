"""Targets inside public bounds: classes as ±1, responses in [-1, 1]."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush import checks
from hush.errors import InvalidArgument, Withheld
from hush.learn import features
from hush.learn.features import Box, as_objects, kind, numbers
from hush.serialization import tagged

Floats = NDArray[np.float64]


class Targets(ABC):
    """A public rule that turns any target into a bounded number."""

    @abstractmethod
    def map(self, values: Any) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the targets, and which rows have none and count as zero rows."""


@final
@tagged("learn.classes/1")
@dataclass(frozen=True)
class Classes(Targets):
    """The `names` of a classification; the one at `positive` against all others.

    Example:
        >>> Classes(("no", "yes")).map(["yes", "no", "maybe"])
        (array([ 1., -1., -1.]), array([False, False,  True]))
    """

    names: tuple[Any, ...]
    positive: int = 1

    def __post_init__(self) -> None:
        given = self.names
        repeated = any(
            _is_same_kind(x, y) for i, x in enumerate(given) for y in given[:i]
        )
        if len(given) < 2 or repeated:
            # The values are not shown: they may be private labels by mistake.
            raise InvalidArgument(
                "classes must name at least two different classes, known without the "
                f"data; got {len(given)}{', some of them twice' if repeated else ''}."
            )
        checks.whole("positive", self.positive, at_least=0, at_most=len(given) - 1)

    @classmethod
    def of(cls, classes: Any) -> "Classes":
        """Return the classes that a model was given: there is no default.

        A label that is no class is passed over in silence, as a warning would tell that
        somebody has it. So classes that nobody chose would lose rows without a word.
        """
        # A text or a set has no order of labels that two runs would agree on.
        listed = isinstance(classes, (tuple, list, range))
        if not listed and getattr(classes, "ndim", 0) != 1:
            raise InvalidArgument(
                "classes must list the labels, which are public: classes=(0, 1) or "
                "classes=('no', 'yes'). Never take them from the data; a row with "
                f"another label is not counted. Got {kind(classes)}."
            )
        return cls(tuple(classes))

    def admit(self, values: Any) -> None:
        """Refuse an array of a type that no class has: all its rows would be lost.

        The type of an array is public, as its shape is; an array of objects has none.
        """
        named = [isinstance(name, str) for name in self.names]
        for _, dtype in features.types(values):
            if features.text(dtype) and not any(named):
                raise _no_class("texts", "none", "int")
            if features.number(dtype) and all(named):
                raise _no_class("numbers", "only texts", "str")

    def map(self, values: Any) -> tuple[Floats, NDArray[np.bool_]]:
        """Return -1 and 1; a label that is no class leaves its row without target."""
        found = self._is_known(values)
        known = np.asarray(found.any(axis=0))
        return np.where(found[self.positive], 1.0, -1.0), ~known

    def places(self, values: Any) -> NDArray[np.intp]:
        """Return which of `names` each label is; -1 for one that is no class."""
        found = self._is_known(values)
        return np.where(found.any(axis=0), found.argmax(axis=0), -1)

    def _is_known(self, values: Any) -> NDArray[np.bool_]:
        # In one array NumPy would turn all of a list's labels into the type of one.
        if isinstance(values, np.ma.MaskedArray):
            values = values.tolist()  # None where a label is masked
        listed = isinstance(values, (list, tuple))
        labels = (as_objects(values) if listed else np.asarray(values)).reshape(-1)
        return np.array([self._is_class(name, labels) for name in self.names])

    def _is_class(self, name: Any, labels: Any) -> NDArray[np.bool_]:
        if labels.dtype.kind in "biuf" and not isinstance(name, str):
            return np.asarray(labels == name)
        return np.array(
            [_is_same_kind(each, name) for each in labels.tolist()], dtype=np.bool_
        )


def members(
    rows: Box, classes: Classes, size: int, value: Any
) -> tuple[Floats, NDArray[np.intp]]:
    """Return rows in [-1, 1] and the place of their class, -1 for none: private.

    Guarantee: each is a function of one record; rows that are no numbers have no class.
    """
    features, labels = value
    mapped, places = rows.map(features), classes.places(labels)
    columns = len(rows.lower)
    if mapped.shape != (size, columns + 1) or places.shape != (size,):
        raise InvalidArgument(
            f"data must be {size} rows of {columns} columns and as many labels; got "
            f"shapes {np.shape(features)} and {np.shape(labels)}."
        )
    return mapped[:, :-1], np.where(mapped[:, -1] == 1.0, places, -1)


def _no_class(what: str, held: str, wanted: str) -> InvalidArgument:
    return InvalidArgument(
        f"y is an array of {what} and classes holds {held}: no row would be counted. "
        f"Convert y, as in y.astype({wanted}), or name the classes as they are in y."
    )


def _is_same_kind(label: Any, name: Any) -> bool:
    with Withheld():  # as a signaling NaN fails
        return bool(label == name)
    return False


@final
@tagged("learn.response/1")
@dataclass(frozen=True)
class Response(Targets):
    """Numbers clipped to public bounds and moved to [-1, 1]; NaN is the middle.

    Example:
        >>> Response((0.0, 10.0)).map([5.0, 99.0])[0]
        array([0., 1.])
    """

    bounds: tuple[float, float]

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        lower, upper = checks.interval("y_bounds", self.bounds)
        checks.real("y_bounds[1] - y_bounds[0]", upper - lower, above=0)

    @property
    def middle(self) -> float:
        """The number that becomes 0."""
        return self.bounds[0] / 2 + self.bounds[1] / 2

    @property
    def half(self) -> float:
        """Half the width: the number of units that become 1."""
        return self.bounds[1] / 2 - self.bounds[0] / 2

    def map(self, values: Any) -> tuple[Floats, NDArray[np.bool_]]:
        """Return numbers in [-1, 1]; every row has one."""
        y = numbers(values).reshape(-1)
        y = np.where(np.isnan(y), self.middle, np.clip(y, *self.bounds))
        scaled = np.clip((y - self.middle) / self.half, -1, 1)
        return scaled, np.zeros(len(y), dtype=np.bool_)


@final
@tagged("learn.counts/1")
@dataclass(frozen=True)
class Counts(Targets):
    """Counts clipped to [0, top]; NaN is 0.

    Example:
        >>> Counts(top=20.0).map([3, 99, float("nan")])[0]
        array([ 3., 20.,  0.])
    """

    top: float

    def __post_init__(self) -> None:
        checks.plain_fields(self)
        checks.real("top", self.top, at_least=1, at_most=1e9)

    def map(self, values: Any) -> tuple[Floats, NDArray[np.bool_]]:
        """Return counts in [0, top]; every row has one."""
        y = numbers(values).reshape(-1)
        found = np.where(np.isnan(y), 0.0, np.clip(y, 0.0, self.top))
        return found, np.zeros(len(y), dtype=np.bool_)
