"""The reference: one page per package, with every name of its `__all__`."""

import functools
import importlib
import inspect
import sys
from types import ModuleType

# Packages in the order in which a reader meets them, and their names on the site.
TITLES = {
    "hush": "hush",
    "hush.tables": "Tables",
    "hush.ledger": "Ledger",
    "hush.privacy": "Privacy",
    "hush.mechanisms": "Mechanisms",
    "hush.noise": "Noise",
    "hush.law": "Laws",
    "hush.learn": "Learning",
    "hush.inference": "Inference",
    "hush.synth": "Synthetic tables",
    "hush.local": "Local model",
    "hush.holdout": "Holdout",
    "hush.audit": "Audit",
    "hush.bounds": "Bounds",
    "hush.plots": "Plots",
    "hush.estimate": "Estimates",
    "hush.units": "Units",
    "hush.errors": "Errors",
}


# What a name says that is neither a class nor a function, and so has no docstring.
VALUES = {
    "hush.noise.SECURE": "The operating system's randomness; the default everywhere.",
}


def names(package: str) -> list[str]:
    """Return the public names of a package: its `__all__`, or what it defines."""
    module = importlib.import_module(package)
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [
            name
            for name, value in vars(module).items()
            if getattr(value, "__module__", None) == package
            and not name.startswith("_")
            and (inspect.isclass(value) or inspect.isfunction(value))
        ]
    return [name for name in listed if not name.startswith("__")]


def _packages() -> dict[str, str]:
    """Return every package with its title; modules in an `__all__` have their page."""
    found = {}
    for package, title in TITLES.items():
        found[package] = title
        module = importlib.import_module(package)
        for name in names(package):
            if inspect.ismodule(getattr(module, name)):
                found[f"{package}.{name}"] = f"{title}: {name}"
    return found


PACKAGES = _packages()


def target(package: str, name: str) -> str:
    """Return the name by which griffe finds a public name.

    A function and the file that defines it often share a name; griffe would take the
    file, so such a name is spelled out.
    """
    value = getattr(importlib.import_module(package), name)
    if f"{package}.{name}" in sys.modules and not inspect.ismodule(value):
        return f"{value.__module__}.{value.__name__}"
    return f"{package}.{name}"


def path(package: str) -> str:
    """Return where the page of a package lies, below docs/."""
    return f"reference/{package.replace('.', '_')}.md"


@functools.cache
def place(dotted: str) -> str | None:
    """Return the page and anchor of a public name or package, if it has one."""
    if dotted in PACKAGES:
        return path(dotted)
    package, _, name = dotted.rpartition(".")
    if package in PACKAGES and name in names(package):
        return f"{path(package)}#{dotted}"
    outer, _, owner = package.rpartition(".")
    if outer in PACKAGES and owner in names(outer):  # a method that the class defines
        kind = getattr(importlib.import_module(outer), owner)
        if target(outer, owner) == package and name in vars(kind):
            return f"{path(outer)}#{dotted}"
    return None


def _home(value: object) -> str:
    """Return the package on whose page a name of `hush` itself is described."""
    module = getattr(value, "__module__", "")
    return max((each for each in PACKAGES if module.startswith(each)), key=len)


def _front(module: ModuleType) -> str:
    rows = []
    for name in names("hush"):
        value = getattr(module, name)
        home = _home(value)
        own = next(
            each
            for each in names(home)
            if getattr(importlib.import_module(home), each) is value
        )
        first = (inspect.getdoc(value) or "").partition("\n")[0]
        place = f"{home.replace('.', '_')}.md#{home}.{own}"
        rows.append(f'| <a id="hush.{name}"></a>[`hush.{name}`]({place}) | {first} |')
    head = "The names that most programs need; each is described with its package."
    return "\n".join([head, "", "| name | what it does |", "|---|---|", *rows, ""])


def page(package: str) -> str:
    """Return the Markdown of one package's page."""
    module = importlib.import_module(package)
    doc = inspect.getdoc(module) or ""
    if package == "hush":
        return f"# hush\n\n{doc}\n\n{_front(module)}\n{_index()}"
    parts = [f"# {package}", "", doc, ""]
    for name in names(package):
        value = getattr(module, name)
        if inspect.ismodule(value):
            inner = f"{package}.{name}"
            first = (inspect.getdoc(value) or "").partition("\n")[0]
            place = inner.replace(".", "_") + ".md"
            parts += [f"## [{name}]({place}) {{ #{inner} }}", "", first, ""]
        else:
            found = target(package, name)
            if found != f"{package}.{name}":
                parts += [f'<a id="{package}.{name}"></a>', ""]
            parts += [f"::: {found}", "", VALUES.get(found, ""), ""]
    return "\n".join(parts)


def _index() -> str:
    rows = ["## All packages", "", "| package | names |", "|---|---|"]
    for package in list(PACKAGES)[1:]:
        place = package.replace(".", "_") + ".md"
        listed = " · ".join(f"[{n}]({place}#{package}.{n})" for n in names(package))
        rows.append(f"| [`{package}`]({place}) | {listed} |")
    return "\n".join([*rows, ""])
