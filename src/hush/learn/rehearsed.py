"""A function tried on made-up rows: what fails there fails on all, and is told.

On real rows a failure must not be told, since it may be about somebody. So a function
that is misspelt would fail in every block without a word, and the answer would be noise
about the middle of the bounds.
"""

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from hush.errors import InvalidArgument
from hush.learn import declared
from hush.learn.rows import numbers

# What a program does wrong whatever numbers it is given. Other failures may come from
# the made-up numbers: a singular matrix, a label that nobody has.
_WRONG = (NameError, AttributeError, ImportError, TypeError)


def made_up(values: Any, *shape: int) -> Any:
    """Return numbers of the declared type of `values`, or None if it says nothing.

    Example:
        >>> made_up(np.array([71, 34]), 5)
        array([0, 1, 0, 1, 0])
    """
    types = [dtype for _, dtype in declared.types(values)]
    if not types or not all(
        isinstance(x, np.dtype) and x.kind in "biuf" for x in types
    ):
        return None
    places = np.arange(np.prod(shape)).reshape(shape)
    dtype = np.result_type(*types)
    return (np.sin(places) if dtype.kind == "f" else places % 2).astype(dtype)


def tried(function: Callable[..., Any], rows: Any, targets: Any, outputs: int) -> None:
    """Refuse a function that fails on made-up rows, or gives another number of values.

    Guarantee: nothing depends on data, as none are given.
    """
    try:
        inspect.signature(function).bind(rows, targets)
    except TypeError:
        raise InvalidArgument(
            "estimator must be a function of two arguments, (rows, targets), or an "
            "estimator of scikit-learn; write lambda rows, targets: ..."
        ) from None
    except ValueError:  # a function of C may not say what it takes
        pass
    if rows is None or targets is None:
        return
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answer = function(rows, targets)
    except _WRONG as error:
        raise InvalidArgument(
            f"estimator failed on made-up rows ({type(error).__name__}), and would on "
            "all: every block would count as the middle of the bounds. It is given two "
            "NumPy arrays, rows and targets."
        ) from error
    except Exception:  # perhaps for the sake of the made-up numbers: no reason to stop
        return
    if answer is None:
        raise InvalidArgument(
            "estimator returned None for made-up rows: does it lack a return? Every "
            "block would count as the middle of the bounds."
        )
    found = numbers(answer).size
    if found != outputs:
        raise InvalidArgument(
            f"estimator returned {found} numbers for made-up rows, and outputs is "
            f"{outputs}: every block would count as the middle of the bounds. Write "
            f"outputs={found}, or bounds=(lower, upper) as two lists of {found}."
        )
