"""The house: small folders, one name for a module, imports in one direction, one home.

A newcomer looks for a word of the field and should find it at the first guess. What is
listed here as an exception has its reason beside it.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

MOST_MODULES = 24  # of a folder, its __init__ counted
MOST_LINES = 60  # of a function, below its signature and docstring

# Module names that two folders may share.
TWICE = {
    "__main__": "`python -m hush` and `python -m hush.cli`",
    "gaussian": "a mechanism and its sampler",
    "laplace": "a mechanism and its sampler",
    "staircase": "a mechanism and its sampler",
}

# Circles of imports that are only closed inside functions or for the type checker: a
# circle may shrink, and none may be added.
CIRCLES = {
    "a data set makes queries, joins and answers, which know their data set": """
        tables/aggregates/count_distinct tables/cross_tabulation tables/dataset
        tables/join tables/queries/answer tables/queries/private_bounds
        tables/queries/query_plan tables/queries/table_query tables/sql/from_where
        tables/sql/select""",
    "a relation may be counted in this process instead": """
        tables/bounding/in_process tables/bounding/relations""",
}

# Folders that import each other when they are loaded, module by module without circle.
FOLDERS = {
    "a ledger opens a store, and a store keeps what a ledger charges": """
        ledger ledger/stores""",
    "a query asks whether its mechanism selects": """
        mechanisms mechanisms/selection""",
}

# Modules that one other module imports, beside those that a package exports.
SINGLE = {
    "too large a concept of its own to stand inside its importer": """
        audit/distinguisher inference/bayes/clamped_sum
        inference/two_proportions learn/estimators/prior
        learn/mechanisms/certified_solver learn/mechanisms/lattice_sampler
        learn/mechanisms/linear_image learn/sgd/checkpoint
        synth/noise_calibration tables/sql/from_where""",
    "a word of the field that people look for": """
        privacy/notions/bounded_range
        tables/cross_tabulation
        tables/join tables/per_person
        tables/queries/budget_split privacy/pld/fixed_size_gaussian_loss""",
    "one store each, loaded when it is opened": """
        ledger/stores/sqlite ledger/stores/postgres""",
    "one accountant each, loaded when it is asked": """
        privacy/accountants/characteristic_function
        privacy/accountants/convolution_step privacy/accountants/fft
        privacy/accountants/rare_events privacy/accountants/tightest""",
    "loaded where it is used, so that other programs need not": """
        foreign_names learn/sgd/logistic
        tables/join""",
    "one table of rules each, checked by itself": """
        tables/expressions/functions tables/expressions/operators""",
    "a part with a guarantee of its own, in the package that can give it": """
        noise/gaussian_codes""",
}

# Functions with more lines.
LONG: dict[str, str] = {}

# Words of the field, and the one module that is its home: its name or the first
# sentence of its docstring says the word.
HOMES = {
    # what is protected, and how much
    "privacy unit": "units",
    "user-level": "units",
    "privacy budget": "ledger/budget",
    "contribution bounding": "tables/bounding/contribution_bounds",
    "contribution caps": "tables/bounding/contribution_caps",
    "sensitivity": "tables/bounding/sensitivity",
    "budget split": "tables/queries/budget_split",
    "push-down": "tables/bounding/relations",
    "count distinct": "tables/aggregates/count_distinct",
    "private keys": "tables/groups/private_keys",
    "public keys": "tables/groups/public_keys",
    "cross tabulation": "tables/cross_tabulation",
    # notions of privacy
    "pure differential privacy": "privacy/notions/pure",
    "approximate differential privacy": "privacy/notions/approx",
    "zero-concentrated": "privacy/notions/zcdp",
    "Rényi": "privacy/notions/rdp",
    "Gaussian differential privacy": "privacy/notions/gdp",
    "f-differential privacy": "privacy/notions/tradeoff",
    "privacy profile": "privacy/notions/profile",
    "bounded range": "privacy/notions/bounded_range",
    "dominating pair": "privacy/pairs/dominating",
    # their algebra
    "privacy loss distribution": "privacy/pld/loss_distribution",
    "PLD": "privacy/pld/loss_distribution",
    "characteristic function": "privacy/accountants/characteristic_function",
    "FFT": "privacy/accountants/fft",
    "rare event": "privacy/accountants/rare_events",
    "saddle point": "privacy/accountants/contour_quadrature",
    "composition": "privacy/rules/composition",
    "advanced composition": "privacy/textbook/advanced_composition",
    "optimal composition": "privacy/rules/optimal_composition",
    "parallel composition": "privacy/rules/parallel",
    "group privacy": "privacy/rules/group",
    "amplification": "privacy/rules/amplification",
    "Poisson sampling": "privacy/rules/amplification",
    "shuffling": "privacy/rules/shuffle",
    "calibration": "privacy/rules/calibrate",
    "Blackwell order": "privacy/rules/compare",
    # mechanisms
    "Laplace mechanism": "mechanisms/laplace",
    "geometric mechanism": "mechanisms/laplace",
    "Gaussian mechanism": "mechanisms/gaussian",
    "discrete Gaussian": "noise/gaussian",
    "staircase mechanism": "mechanisms/staircase",
    "K-norm mechanism": "mechanisms/k_norm",
    "exponential mechanism": "mechanisms/selection/exponential",
    "report noisy max": "mechanisms/selection/noisy_max",
    "permute and flip": "mechanisms/selection/permute_and_flip",
    "top k": "mechanisms/selection/top_k",
    "partition selection": "mechanisms/partition_selection",
    "sparse vector": "mechanisms/sparse_vector",
    "continual counting": "mechanisms/tree_sum",
    "randomized response": "mechanisms/randomized_response",
    "winsorized mean": "mechanisms/quantiles/winsorized_mean",
    # the ledger
    "privacy filter": "ledger/budget",
    "hash chain": "ledger/hash_chain",
    "two-phase": "ledger/two_phase",
    "administrator": "ledger/accounts",
    "receipt": "ledger/release",
    "anchor": "ledger/verify",
    # learning
    "objective perturbation": "learn/mechanisms/objective_perturbation",
    "subsample and aggregate": "learn/estimators/subsample_aggregate",
    "DP-SGD": "learn/sgd/dp_sgd",
    "per-example gradients": "learn/sgd/per_example",
    "gradient clipping": "learn/sgd/clipping",
    "naive Bayes": "learn/estimators/naive_bayes",
    "random forest": "learn/estimators/random_forest",
    # inference, the local model, holdouts, audits
    "sample size": "inference/sample_size",
    "posterior": "inference/bayes/posterior",
    "data augmentation": "inference/bayes/data_augmentation",
    "chi square": "inference/chi_square",
    "frequency oracle": "local/frequency/oracle",
    "unary encoding": "local/frequency/unary_encoding",
    "local hashing": "local/frequency/local_hashing",
    "Hadamard response": "local/frequency/hadamard",
    "heavy hitters": "local/frequency/heavy_hitters",
    "Thresholdout": "holdout/thresholdout",
    "generalization": "holdout/generalization",
    "membership inference": "audit/attacks/membership_inference",
    "reconstruction": "audit/attacks/reconstruction",
    "differencing attack": "audit/attacks/differencing",
    "synthesizer": "synth/synthesizer",
    "concentration inequalities": "bounds/concentration",
    "minimax": "bounds/minimax",
}

Edge = tuple[str, str]


def modules(package: Path) -> dict[str, ast.Module]:
    """Return every module by its place, as in privacy/curve."""
    return {
        path.relative_to(package).with_suffix("").as_posix(): ast.parse(
            path.read_text()
        )
        for path in sorted(package.rglob("*.py"))
    }


def folder(module: str) -> str:
    return module.rpartition("/")[0]


def _targets(node: ast.AST, known: dict[str, ast.Module]) -> Iterator[str]:
    """Yield the modules of hush that an import statement names."""
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    for name in names:
        pieces = name.split(".")
        if pieces[0] != "hush":
            continue
        for end in (len(pieces), len(pieces) - 1):
            place = "/".join(pieces[1:end])
            found = [p for p in (place, f"{place}/__init__") if p in known]
            if found:
                yield found[0]
                break


def _loads(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield what runs when a module is loaded, as a type checker does not."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _loads(node.orelse)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            inner = [*node.body, *getattr(node, "orelse", [])]
            for each in getattr(node, "handlers", []):
                inner += each.body
            yield from _loads(inner)
        else:
            yield node


def imports(known: dict[str, ast.Module], *, lazy: bool) -> set[Edge]:
    """Return which module imports which; lazily and for type checkers too, if asked."""
    found = set()
    for module, tree in known.items():
        nodes = ast.walk(tree) if lazy else _loads(tree.body)
        found |= {(module, to) for node in nodes for to in _targets(node, known)}
    return {(a, b) for a, b in found if a != b}


def circles(edges: set[Edge]) -> list[set[str]]:
    """Return the sets of at least two nodes that all reach one another."""
    after: dict[str, set[str]] = defaultdict(set)
    for a, b in edges:
        after[a].add(b)
    reach: dict[str, set[str]] = {}
    for start in list(after):
        seen, left = set(), [start]
        while left:
            new = after.get(left.pop(), set()) - seen
            seen |= new
            left += new
        reach[start] = seen
    found: list[set[str]] = []
    for node, there in reach.items():
        ring = {other for other in there if node in reach.get(other, ())}
        if node in there and len(ring) > 1 and ring not in found:
            found.append(ring)
    return found


def unknown(found: list[set[str]], known: dict[str, str]) -> list[list[str]]:
    """Return the circles that lie in none of those that are known."""
    allowed = [set(each.split()) for each in known.values()]
    return [sorted(ring) for ring in found if not any(ring <= one for one in allowed)]


def between_folders(edges: set[Edge]) -> set[Edge]:
    """Return which folder imports which; files outside of folders are below all."""
    found = {(folder(a), folder(b)) for a, b in edges if not a.endswith("__init__")}
    return {(a, b) for a, b in found if a and b and a != b}


def too_full(known: dict[str, ast.Module]) -> dict[str, int]:
    sizes = Counter(folder(module) for module in known)
    return {name: size for name, size in sizes.items() if size > MOST_MODULES}


def named_twice(known: dict[str, ast.Module]) -> set[str]:
    names = Counter(module.rpartition("/")[2] for module in known)
    return {n for n, times in names.items() if times > 1 and n != "__init__"}


def single(known: dict[str, ast.Module]) -> set[str]:
    """Return the modules with one importer, if that is not a package that exports."""
    importers = defaultdict(set)
    for a, b in imports(known, lazy=True):
        importers[b].add(a)
    return {
        module
        for module in known
        if not module.endswith(("__init__", "__main__"))
        and (len(importers[module]) < 2)
        and not any(a.endswith("__init__") for a in importers[module])
    }


def says(module: str, tree: ast.Module, term: str) -> bool:
    """Whether a module's name or the first paragraph of its docstring says a word."""

    def plain(text: str) -> str:
        return " ".join(text.lower().replace("_", " ").replace("-", " ").split())

    first = (ast.get_docstring(tree) or "").partition("\n\n")[0]
    name = module.rpartition("/")[2]
    return plain(term) in plain(name) or plain(term) in plain(first)


def long_functions(known: dict[str, ast.Module]) -> dict[str, int]:
    found = {}
    for module, tree in known.items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = node.body[1 if ast.get_docstring(node) else 0 :]
                first = body[0].lineno if body else node.lineno
                lines = (node.end_lineno or first) - first + 1
                if lines > MOST_LINES:
                    found[f"{module}.{node.name}"] = lines
    return found


@pytest.fixture(scope="module")
def house(root):
    return modules(root / "src" / "hush")


def test_a_folder_can_be_surveyed(house):
    assert too_full(house) == {}


def test_no_name_stands_for_two_modules(house):
    assert named_twice(house) == set(TWICE)


def test_functions_can_be_read_at_once(house):
    assert set(long_functions(house)) == set(LONG)


def test_loading_goes_round_in_no_circle(house):
    assert circles(imports(house, lazy=False)) == []


def test_late_imports_close_no_new_circle(house):
    inside = {
        (a, b) for a, b in imports(house, lazy=True) if not a.endswith("__init__")
    }
    assert unknown(circles(inside), CIRCLES) == []


def test_folders_stand_in_an_order(house):
    edges = between_folders(imports(house, lazy=False))
    assert unknown(circles(edges), FOLDERS) == []


def test_a_module_with_one_importer_has_its_reason(house):
    assert single(house) == set(" ".join(SINGLE.values()).split())


def test_every_word_of_the_field_has_a_home(house):
    assert len(HOMES) >= 60
    assert {t: m for t, m in HOMES.items() if m not in house} == {}
    assert {t: m for t, m in HOMES.items() if not says(m, house[m], t)} == {}


def made(**texts: str) -> dict[str, ast.Module]:
    return {name.replace("__", "/"): ast.parse(text) for name, text in texts.items()}


def test_what_breaks_the_house_is_noticed():
    crowd = {f"full/m{n}": ast.parse("") for n in range(MOST_MODULES + 1)}
    assert too_full(crowd) == {"full": MOST_MODULES + 1}
    assert named_twice(made(a__x="", b__x="")) == {"x"}
    long = "def f():\n" + "    x = 1\n" * (MOST_LINES + 1)
    assert long_functions(made(a=long)) == {"a.f": MOST_LINES + 1}
    assert not says("a", ast.parse('"""Of another thing."""'), "budget")


def test_a_circle_is_noticed():
    ring = made(a="import hush.b", b="def f():\n    from hush import a")
    assert circles(imports(ring, lazy=False)) == []
    assert circles(imports(ring, lazy=True)) == [{"a", "b"}]
    assert unknown([{"a", "b"}], {"why": "b c"}) == [["a", "b"]]
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import hush.a"
    assert circles(imports(made(a="import hush.b", b=typed), lazy=False)) == []
    folders = made(x__a="import hush.y.b", y__b="", y__c="import hush.x.d", x__d="")
    assert circles(between_folders(imports(folders, lazy=False))) == [{"x", "y"}]


def test_a_lonely_module_is_noticed():
    assert single(made(a="import hush.b", b="")) == {"a", "b"}


# -- no knowledge of classes where budget is counted ---------------------------------

# Those of hush.learn hold a noise of their own, and ask which of two it is.
ASKING = ("mechanisms/", "learn/mechanisms/")


def classes_of_mechanisms() -> set[str]:
    """Return the names of the concrete mechanisms of hush.mechanisms."""
    from hush import mechanisms

    found = (getattr(mechanisms, name) for name in mechanisms.__all__)
    kinds = [each for each in found if isinstance(each, type)]
    return {k.__name__ for k in kinds if issubclass(k, mechanisms.Mechanism)} - {
        "Mechanism"
    }


def kinds_asked(tree: ast.Module) -> set[str]:
    """Return the names of the classes that `isinstance` is asked about."""
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and len(node.args) == 2
    ]
    named = [part for call in calls for part in ast.walk(call.args[1])]
    plain = {part.id for part in named if isinstance(part, ast.Name)}
    # `law.DiscreteGaussian` is a law.
    return plain | {
        part.attr
        for part in named
        if isinstance(part, ast.Attribute) and ast.unparse(part.value) == "m"
    }


def test_nobody_asks_for_the_class_of_a_mechanism(root):
    source, known, wrong = root / "src" / "hush", classes_of_mechanisms(), {}
    assert len(known) > 15
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source).as_posix()
        if name.startswith(ASKING):
            continue
        tree = ast.parse(path.read_text())
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            and str(node.module).startswith("hush.mechanisms")
            for alias in node.names
        }
        asked = kinds_asked(tree) & known & (imported | {"m"} | known)
        if asked & imported:
            wrong[name] = asked & imported
    assert wrong == {}


def defaults(tree: ast.Module) -> int:
    """Return how often `getattr` is given a default."""
    return sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "getattr"
        and len(node.args) == 3
        for node in ast.walk(tree)
    )


def test_the_ledger_guesses_no_attribute(root):
    folder = root / "src" / "hush" / "ledger"
    found = {p.name: defaults(ast.parse(p.read_text())) for p in folder.rglob("*.py")}
    assert {name: n for name, n in found.items() if n} == {}
    assert defaults(ast.parse("getattr(a, 'b', None)")) == 1  # the twin


def test_a_class_that_is_asked_for_is_caught():
    tree = ast.parse("isinstance(x, (Laplace, m.Gaussian))")
    assert kinds_asked(tree) >= {"Laplace", "Gaussian"}
