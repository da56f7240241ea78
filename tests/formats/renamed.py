"""A copy of hush in which every private module has another name."""

import ast
import shutil
from pathlib import Path

# Modules that are documented imports; packages are public as well.
PUBLIC = {"__init__", "__main__", "errors", "units", "law", "estimate"}
PUBLIC_AT = {"hush.holdout.analysts", "hush.holdout.generalization"}


def _dotted(path, source):
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def names(source):
    """Return the new dotted name of every private module below a source folder."""
    found = {}
    for number, path in enumerate(sorted(source.rglob("*.py"))):
        old = _dotted(path, source)
        top = path.parent.parent == source
        if path.stem.startswith("__") or old in PUBLIC_AT:
            continue
        if not (top and path.stem in PUBLIC):
            found[old] = f"{old.rpartition('.')[0]}.m{number:04}"
    return found


def exported(source):
    """Return the dotted names that packages bind: functions, not modules of a name."""
    found = set()
    for path in source.rglob("__init__.py"):
        package = _dotted(path, source)
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.module != package:
                bound = (each.asname or each.name for each in node.names)
                found |= {f"{package}.{name}" for name in bound}
    return found


class _Edits(ast.NodeVisitor):
    """Where a file names a private module, and what it shall say instead."""

    def __init__(self, new, exported):
        self.new = new
        self.exported = exported
        self.found = []

    def visit_ImportFrom(self, node):
        module = node.module
        aliases = [self._alias(module, each) for each in node.names]
        made = ast.ImportFrom(self.new.get(module, module), aliases, node.level)
        if ast.dump(made) != ast.dump(ast.ImportFrom(module, node.names, node.level)):
            self.found.append((node, ast.unparse(made)))

    def _alias(self, module, alias):
        name = f"{module}.{alias.name}"
        new = self.new.get(name)
        if new is None or name in self.exported:
            return alias
        return ast.alias(new.rpartition(".")[2], alias.asname or alias.name)

    def visit_Import(self, node):
        for each in node.names:
            assert each.name not in self.new, f"import {each.name} is not rewritten"

    def visit_Constant(self, node):
        if not isinstance(node.value, str):
            return
        module, colon, name = node.value.partition(":")
        if module in self.new:
            self.found.append((node, repr(f"{self.new[module]}{colon}{name}")))

    def visit_JoinedStr(self, node):
        return

    def visit_AnnAssign(self, node):
        # The frozen table of what modules were called when texts named them.
        if ast.unparse(node.target) not in ("PATHS", "_FUNCTIONS"):
            self.generic_visit(node)


def rewritten(text, new, exported):
    """Return the text of a file with every import of a private module renamed."""
    edits = _Edits(new, exported)
    edits.visit(ast.parse(text))
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    whole = text.encode()
    for node, made in sorted(edits.found, key=lambda each: -each[0].lineno):
        start = starts[node.lineno - 1] + node.col_offset
        stop = starts[node.end_lineno - 1] + node.end_col_offset
        whole = whole[:start] + made.encode() + whole[stop:]
    return whole.decode()


def copy(source, target):
    """Copy a source folder and rename every private module in the copy."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source / "hush", target / "hush", ignore=ignored)
    new, bound = names(target), exported(target)
    for path in sorted(target.rglob("*.py")):
        path.write_text(rewritten(path.read_text(), new, bound))
    for old, name in new.items():
        path = target / Path(*old.split("."))
        path.with_suffix(".py").rename(path.with_name(name.rpartition(".")[2] + ".py"))
    return new
