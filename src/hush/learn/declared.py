"""What the type of an array or a frame says of its values: it is public.

An array of objects and a list say nothing, so nothing is refused of them: only their
values could tell, and a refusal would tell of the values.
"""

import re
from typing import Any

from hush.errors import InvalidArgument

# By name, so that no package of frames is needed to know its types.
_TEXT = re.compile(r"(large_)?str(ing)?\b|utf8\b|categorical\b|enum\b", re.IGNORECASE)
_NUMBER = re.compile(r"(u?int|float)\d+\b", re.IGNORECASE)


def text(dtype: Any) -> bool:
    """Whether a type is one of texts.

    Example:
        >>> import numpy as np
        >>> text(np.array(["yes", "no"]).dtype), text(np.array([1, "no"], object).dtype)
        (True, False)
    """
    known = getattr(dtype, "kind", "") in tuple("UST")
    # pandas calls a category "category", and one may be of numbers; Polars' are texts.
    return known or _TEXT.match(str(dtype)) is not None


def number(dtype: Any) -> bool:
    """Whether a type is one of numbers; truth values are not."""
    known = getattr(dtype, "kind", "") in tuple("iuf")
    return known or _NUMBER.match(str(dtype)) is not None


def truth(dtype: Any) -> bool:
    """Whether a type is one of truth values."""
    return str(dtype).lower() in ("bool", "boolean")


def types(values: Any) -> list[tuple[Any, Any]]:
    """Return names and types of the columns of a frame; an array has one, unnamed."""
    if hasattr(values, "columns") and hasattr(values, "dtypes"):
        return list(zip(values.columns, values.dtypes, strict=True))
    return [(None, values.dtype)] if hasattr(values, "dtype") else []


def numeric(argument: str, values: Any) -> None:
    """Refuse texts before they are paid for: each would count as no number."""
    named = [name for name, dtype in types(values) if text(dtype)]
    if not named:
        return
    if named == [None]:
        raise InvalidArgument(
            f"{argument} is an array of texts, and what is no number is not counted. "
            f"Encode them by a public rule, as in ({argument} == 'yes').astype(float), "
            "or convert numbers that are spelt out by astype(float)."
        )
    shown = ", ".join(map(repr, named))
    raise InvalidArgument(
        f"{argument} has columns of texts ({shown}), and what is no number is not "
        f"counted. Encode them by a public rule, as in (frame[{named[0]!r}] == 'yes')"
        ".astype(float), or convert numbers that are spelt out by astype(float)."
    )
