"""Write the table of concepts and files in ARCHITECTURE.md."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MARKS = "<!-- concepts: make pages -->\n", "<!-- end of concepts -->\n"


def _public(path: Path) -> list[str]:
    """Return what a package's `__all__` takes from this file."""
    inside = path.relative_to(ROOT / "src" / "hush")
    if len(inside.parts) == 1:
        return _defined(path)
    package = ROOT / "src" / "hush" / inside.parts[0] / "__init__.py"
    module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    found = []
    for node in ast.parse(package.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module == module:
            found += [each.asname or each.name for each in node.names]
    return found


def _defined(path: Path) -> list[str]:
    found = ast.parse(path.read_text(encoding="utf-8")).body
    kinds = (ast.ClassDef, ast.FunctionDef)
    return [n.name for n in found if isinstance(n, kinds) and n.name[0] != "_"]


def _concept(path: Path) -> str:
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return doc.split("\n\n")[0].replace("\n", " ").rstrip(".")


def rows() -> list[str]:
    """Return one row for each file that defines a public name, by package."""
    found = []
    package = ROOT / "src" / "hush"
    single = [p for p in sorted(package.glob("*.py")) if p.stem != "__init__"]
    inside = [p for p in sorted(package.glob("*/**/*.py")) if _public(p)]
    for path in [*single, *inside]:
        names = ", ".join(f"`{name}`" for name in _public(path))
        place = path.relative_to(package).as_posix()
        concept = _concept(path).replace("|", "\\|")
        found.append(f"| {concept} | `{place}` | {names} |")
    return found


def table() -> str:
    """Return the table."""
    head = "| concept | file | public names |\n|---|---|---|\n"
    return head + "\n".join(rows()) + "\n"


def written(text: str) -> str:
    """Return the table that a text holds."""
    return text.partition(MARKS[0])[2].partition(MARKS[1])[0]


def page() -> str:
    """Return ARCHITECTURE.md with the table of today."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    before, mark, rest = text.partition(MARKS[0])
    return before + mark + table() + MARKS[1] + rest.partition(MARKS[1])[2]
