"""What `hush audit` runs: a mechanism written as in Python, or a function by name."""

import ast
import importlib
import os
import sys
from typing import Any

from hush.errors import InvalidArgument


def target(text: str) -> Any:
    """Return the mechanism `Laplace(scale=1.0)`, or the function `module:name`.

    A mechanism is read, not evaluated: its fields must be plain numbers and texts.

    Example:
        >>> target("Laplace(scale=2.0)")
        Laplace(scale=2.0)
    """
    module, colon, name = text.partition(":")
    if colon and module.replace(".", "").isidentifier() and name.isidentifier():
        return _function(module, name)
    return _mechanism(text)


def _function(module: str, name: str) -> Any:
    sys.path.insert(0, os.getcwd())  # a script beside the user, as with `python -m`
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError:
        found = None
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise InvalidArgument(
            f"there is no function {name!r} in a module {module!r}. Run the command "
            "in the folder that holds the module."
        )
    return found


def _mechanism(text: str) -> Any:
    from hush import mechanisms

    refused = InvalidArgument(
        f"{text!r} is neither a mechanism, as in 'Laplace(scale=1.0)', nor a function, "
        "as in 'module:name'."
    )
    try:
        call = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        raise refused from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise refused
    kind = getattr(mechanisms, call.func.id, None)
    if not (isinstance(kind, type) and issubclass(kind, mechanisms.Mechanism)):
        raise refused
    try:
        given = [ast.literal_eval(each) for each in call.args]
        named = {e.arg: ast.literal_eval(e.value) for e in call.keywords if e.arg}
        return kind(*given, **named)
    except (ValueError, TypeError) as problem:
        if isinstance(problem, InvalidArgument):
            raise
        raise refused from None
