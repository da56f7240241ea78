"""What `hush.learn` needs beyond the default install, and how to get it."""

from importlib.util import find_spec


def package(name: str, extra: str, more: str = "") -> None:
    """Refuse to go on without a package, and name the extra that brings it."""
    if find_spec(name) is None:
        raise ModuleNotFoundError(
            f"hush.learn needs {name}. Install it with: pip install 'hush[{extra}]'"
            f"{more}",
            name=name,
        )


# `hush.learn.sgd` loads this package first, so its extra has to be named here too.
package("sklearn", "learn", "; hush.learn.sgd needs 'hush[sgd]', which includes it")
