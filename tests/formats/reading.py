"""What the code on the path reads from stored ledgers and texts, to the last digit.

Only public names are used, so that it reads with any later tree; run as a script it
prints what a folder holds: `python tests/formats/reading.py FOLDER [LEDGER]`.
"""

import contextlib
import functools
import io
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    # As in all tests: how many threads add up a sum decides its last digit.
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

from formats import devices, office, visits
from formats.exact import digest, exact, tried
from formats.ledgers import LEDGERS
from hush.ledger import Admin, Release

KINDS = (
    "verdict", "history", "accounts", "pending", "texts", "values", "receipts",
    "mechanisms", "errors", "intervals", "curves", "shown", "answers", "again",
)  # fmt: skip
TEXTS = (
    "curves",
    "mechanisms",
    "releases",
    "keys",
    "reports",
    "checkpoints",
    "project",
)
# What depends on the bytecode of a function or on the equations of JAX.
TIED = ("SubsampleAggregate", "sgd, ")


def versions():
    """Return what tied requests are recognised by: Python and JAX."""
    import jax

    return {"python": sys.version_info[:2], "jax": jax.__version__}


def points(curve):
    """Return what a curve says at a few places, or why it says nothing."""
    return {
        "is": digest(repr(curve)) if len(repr(curve)) > 1000 else repr(curve),
        "delta": [tried(lambda e=e: curve.delta_at(e)) for e in (0.0, 0.5, 2.0)],
        "delta_lower": tried(lambda: curve.delta_at_lower(0.5)),
        "epsilon": [tried(lambda d=d: curve.epsilon_at(d)) for d in (0.0, 1e-6)],
        "tradeoff": tried(lambda: curve.tradeoff_at(0.1)),
        "renyi": tried(lambda: curve.renyi_at(2.0)),
        "rho": tried(lambda: curve.rho),
        "mu": tried(lambda: curve.mu),
    }


def _few(curve):
    return {
        "is": repr(curve),
        "delta": tried(lambda: curve.delta_at(0.5)),
        "epsilon": tried(lambda: curve.epsilon_at(1e-6)),
    }


def _rich(thing):
    """Return what a terminal shows."""
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=100, color_system=None).print(thing)
    return out.getvalue()


def _law(law):
    if isinstance(law, tuple):
        return list(map(_law, law))
    return {
        "is": repr(law),
        "std": tried(lambda: law.std),
        "interval": tried(lambda: law.interval(0.95)),
        "quantile": tried(lambda: law.quantile(0.9)),
    }


def _error(release):
    try:
        return _law(release.error)
    except Exception as problem:
        return f"raises {type(problem).__name__}"


def _rewritten(kind, found):
    """Return whether what is written of it now is read as the same."""
    return kind.from_json(found.to_json()) == found


def of_release(release):
    """Return everything that a release says, by kind."""
    again = Release.from_json(release.to_json())
    curve = release.curve
    return {
        "texts": [digest(release.to_json()), again == release, digest(again.text)],
        "values": exact(release.values),
        "receipts": [
            digest(repr(exact(release.receipt.to_dict()))),
            repr(release.receipt),
            exact(release.cost),
            release.seeded,
        ],
        "mechanisms": tried(lambda: list(map(repr, release.mechanisms))),
        "errors": _error(release),
        "intervals": [tried(lambda p=p: release.interval(p)) for p in (0.5, 0.95)],
        "curves": {**_few(curve), "text": _rewritten(type(curve), curve)},
        "shown": [
            repr(release),
            digest(release._repr_html_()),
            tried(lambda: digest(_rich(release))),
        ],
    }


def _payers(ledger, accounts):
    """Return the ledger as those see it who paid from these accounts."""
    named = dict(each.split(":", 1) for each in json.loads(accounts))
    people = {kind: named[kind] for kind in ("dataset", "analyst") if kind in named}
    return ledger.on(**people)


def _record(each):
    return [
        each.kind, each.accounts, each.key, each.at, each.hash, each.state, each.what,
        each.charge,
    ]  # fmt: skip


def _left(each):
    amounts = (each.epsilon, each.delta, each.rho, each.mu)
    exactly = (each.notion, each.limits, each.spent_exact, each.left_exact)
    curve, total = each.curve, each.total
    return [str(each), exact(exactly), exact(amounts), repr(curve), repr(total)]


def _columns(answer, level):
    return exact({name: list(each) for name, each in answer.to_dict(level).items()})


def of_answer(answer):
    """Return everything that an answer of a table says."""
    return {
        "is": repr(answer),
        "columns": [tried(lambda p=p: _columns(answer, p)) for p in (0.5, 0.95)],
        "population": tried(lambda: answer.interval(0.9, population=True)),
        "receipt": repr(answer.receipt),
        "html": tried(lambda: digest(answer._repr_html_())),
        "bounds": tried(lambda: answer.bounds),
        "estimates": {
            name: tried(lambda name=name: list(map(_estimate, answer.estimates(name))))
            for name in answer.values
        },
    }


def _estimate(found):
    return [found.value, found.std, found.effective]


def _answers(ledger):
    """Return the answers of a ledger of tables, each read by its question."""
    found = {}
    for key, (name, find) in visits.finders().items():
        query = find(visits.opened(ledger, name))
        try:
            found[key] = of_answer(query.stored(key))
        except Exception as problem:
            found[key] = f"raises {type(problem).__name__}"
    return found


LEARNT = (
    "theta_", "coef_", "intercept_", "classes_", "cluster_centers_", "components_",
    "mean_", "explained_variance_", "value_", "var_", "class_prior_", "class_count_",
    "counts_", "support_", "n_features_in_",
)  # fmt: skip


def outcome(found):
    """Return what a request gave: a release, a receipt, an answer or a model."""
    if hasattr(found, "to_json") and hasattr(found, "values"):
        return digest(found.to_json() + repr(found))
    if hasattr(found, "sequence"):
        return repr(found)
    if hasattr(found, "average"):
        said = {"params": found.params, "average": found.average}
        return exact(said)
    if hasattr(found, "tables"):
        low, high = found.marginal("ill").interval()
        return [repr(found), exact(found.table("ill", "smoker")), exact((low, high))]
    said = {n: getattr(found, n) for n in LEARNT if hasattr(found, n)}
    return {"curve": repr(found.curve_), "receipt": repr(found.release_.receipt)} | {
        name: exact(each) for name, each in said.items()
    }


def _again(kept, ledger, known):
    """Ask everything that is stored once more; nothing may be charged for it."""
    found = {}
    before = len(ledger.history())
    for key, request in kept.requests().items():
        if key not in known:
            continue
        try:
            found[key] = outcome(request(ledger, key))
        except Exception as problem:
            found[key] = f"raises {type(problem).__name__}"
    # The draw of what was still held is no repetition, and is not among requests.
    found["entries"] = len(ledger.history()) - before
    return found


def read_ledger(name, url, **more):
    """Return what a ledger holds, by kind; it must be a copy that may be written."""
    kept = LEDGERS[name]
    with kept.open(url, **more) as ledger:
        verdict = ledger.verify()
        found = {kind: {} for kind in KINDS}
        found["verdict"] = {
            "is": [bool(verdict), str(verdict), repr(verdict), verdict.entries],
            "anchored": verdict.anchored,
            "voided": verdict.voided,
            "admin": ledger.admin,
        }
        history = ledger.history()
        found["history"] = {str(each.sequence): _record(each) for each in history}
        left = ledger.accounts().accounts
        found["accounts"] = {each.account: _left(each) for each in left}
        found["pending"] = {each.key: repr(each) for each in ledger.pending()}
        for each in history:
            if each.kind == "seal":
                release = _payers(ledger, each.accounts).stored(each.key)
                for kind, said in of_release(release).items():
                    found[kind][f"{each.sequence} {each.key}"] = said
        if name == "tables":
            found["answers"] = _answers(ledger)
        found["again"] = _again(kept, ledger, {each.key for each in history})
    return {kind: said for kind, said in found.items() if said}


def copied(folder, name, scratch):
    """Return the address of a copy of a stored ledger and its anchor."""
    for end in (".sqlite", ".sqlite.anchor"):
        shutil.copy(folder / f"{name}{end}", scratch / f"{name}{end}")
    return f"sqlite:///{scratch / name}.sqlite"


def read_curves(folder):
    """Return what the stored texts of curves say."""
    from hush.privacy import Curve

    texts = json.loads((folder / "curves.json").read_text())
    return {name: _text(Curve, text, points) for name, text in texts.items()}


def _text(kind, text, say):
    try:
        found = kind.from_json(text)
        return {**say(found), "text": _rewritten(kind, found)}
    except Exception as problem:
        return f"raises {type(problem).__name__}"


def _mechanism(found):
    said = {"is": repr(found), "error": tried(lambda: _law(found.error))}
    for distance in (1, 2):
        try:
            said[f"curve {distance}"] = _few(found.curve(distance))
        except Exception as problem:
            said[f"curve {distance}"] = f"raises {type(problem).__name__}"
    return said


def read_mechanisms(folder):
    """Return what the stored texts of mechanisms say."""
    from hush.mechanisms import Mechanism

    texts = json.loads((folder / "mechanisms.json").read_text())
    return {name: _text(Mechanism, text, _mechanism) for name, text in texts.items()}


def read_releases(folder):
    """Return what releases say that were stored as texts of their own."""
    lines = (folder / "releases.jsonl").read_text().splitlines()
    found = map(Release.from_json, lines)
    return {
        f"{each.receipt.sequence} {each.receipt.key}": of_release(each)
        for each in found
    }


def read_keys(folder):
    """Return what is read from the files of an administrator's key."""
    plain = Admin.from_pem("a", (folder / "admin.pem").read_bytes())
    locked = (folder / "admin.locked.pem").read_bytes()
    return {
        "plain": plain.public,
        "locked": Admin.from_pem("a", locked, office.PASSWORD).public,
    }


def read_reports(folder):
    """Return what collectors read from stored reports."""
    texts = json.loads((folder / "reports.json").read_text())
    return {name: devices.collected(name, text) for name, text in texts.items()}


def read_text(name, folder, scratch):
    """Return what is read from one of the stored texts."""
    if name == "checkpoints":
        return devices.resumed(folder / "checkpoints", scratch)
    if name == "project":
        return devices.commanded(folder / "project", scratch)
    return globals()[f"read_{name}"](folder)


def read(folder, name, scratch):
    """Return what one ledger or text of a folder holds."""
    if name in TEXTS:
        return read_text(name, folder, scratch)
    return read_ledger(name, copied(folder, name, scratch))


@functools.cache
def expected(folder):
    """Return what the code that wrote a folder read from it."""
    return json.loads((folder / "expected.json").read_text())


def wanted(folder, name):
    """Return what a reader of today must find in a folder.

    `changed.json` holds what was read otherwise later on, and README.md says why.
    """
    found = _without_texts(expected(folder)[name])
    changed = folder / "changed.json"
    later = json.loads(changed.read_text()) if changed.exists() else {}
    for kind, said in later.get(name, {}).items():
        found[kind] |= said
    return found


def _without_texts(found):
    """Return a reading in which texts of curves are not told: their form may change."""
    if isinstance(found, dict):
        return {
            name: True if name == "text" else _without_texts(each)
            for name, each in found.items()
        }
    return list(map(_without_texts, found)) if isinstance(found, list) else found


def wrong(folder, name, now, kind=None):
    """Return where a reading differs from what a folder expects, in one kind or all."""
    before = wanted(folder, name)
    if expected(folder)["made"]["versions"] != plain(versions()):
        for each in (before, now):
            known = each.get("again", {})
            for key in [key for key in known if key.startswith(TIED)]:
                del known[key]
    if kind is None:
        return differences(before, now)
    return differences(before[kind], now.get(kind))


def plain(found):
    """Return what JSON makes of a reading, to be compared with a stored one."""
    return json.loads(json.dumps(found))


def differences(wanted, found, at=""):
    """Return the places where two readings differ."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        names = list(dict.fromkeys([*wanted, *found]))
        return [
            each
            for name in names
            for each in differences(
                wanted.get(name, "nothing"), found.get(name, "nothing"), f"{at}/{name}"
            )
        ]
    if wanted == found:
        return []
    return [f"{at}: {json.dumps(wanted)[:200]} is now {json.dumps(found)[:200]}"]


def main(folder, *names):
    """Print the readings of a folder as JSON."""
    found = {}
    for name in names or (*LEDGERS, *TEXTS):
        with (
            tempfile.TemporaryDirectory() as scratch,
            contextlib.redirect_stdout(sys.stderr),
        ):
            found[name] = read(Path(folder), name, Path(scratch))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
