"""Write docs/modules.md: every file with its first sentence and its public names."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "src" / "hush"
HEAD = """\
# Modules

Every file of `src/hush`, by folder, with its first sentence and the public names that
it defines. How data flows through the folders is in `ARCHITECTURE.md`. This page is
written from the docstrings, by `make pages`.
"""


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _public(path: Path) -> list[str]:
    """Return what a package's `__all__` takes from this file."""
    inside = path.relative_to(PACKAGE)
    if len(inside.parts) == 1:
        return _defined(path)
    module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    found = []
    for package in (PACKAGE / inside.parts[0], path.parent):
        for node in _tree(package / "__init__.py").body:
            if isinstance(node, ast.ImportFrom) and node.module == module:
                found += [each.asname or each.name for each in node.names]
    return list(dict.fromkeys(found))


def _defined(path: Path) -> list[str]:
    kinds = (ast.ClassDef, ast.FunctionDef)
    return [
        n.name for n in _tree(path).body if isinstance(n, kinds) and n.name[0] != "_"
    ]


def sentence(path: Path) -> str:
    """Return the first sentence of a file, without its full stop."""
    doc = ast.get_docstring(_tree(path)) or ""
    return doc.split("\n\n")[0].replace("\n", " ").rstrip(".")


def _rows(folder: Path) -> list[str]:
    """Return one row for each file of a folder."""
    found = []
    for path in sorted(folder.glob("*.py")):
        if path.name == "__init__.py":
            continue
        names = ", ".join(f"`{name}`" for name in _public(path))
        what = sentence(path).replace("|", "\\|")
        found.append(f"| `{path.name}` | {what} | {names} |")
    return found


def folders() -> list[Path]:
    """Return every folder of the package, the package itself first."""
    return sorted(path.parent for path in PACKAGE.rglob("__init__.py"))


def page() -> str:
    """Return the page of today."""
    parts = [HEAD]
    for folder in folders():
        name = folder.relative_to(PACKAGE).as_posix()
        title = "hush" if folder == PACKAGE else f"{name}/"
        parts += [f"## {title}", "", f"{sentence(folder / '__init__.py')}.", ""]
        rows = _rows(folder)
        if rows:
            parts += [
                "| file | what it is | public names |",
                "|---|---|---|",
                *rows,
                "",
            ]
    return "\n".join(parts).rstrip() + "\n"
