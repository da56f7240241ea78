"""The doors behind which data lie: ledgers, tables, learners, synthesis, holdouts."""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

import hush
from hush import learn, synth
from hush import mechanisms as m
from hush.holdout import Holdout, ReusableHoldout
from hush.ledger import Budget, Ledger
from hush.noise import Seeded
from hush.privacy import GDP, ZCDP, Approx, Pure
from seams.doors import Door, Spent

AGES = [0.5, 2.5, 7.25, 1.0, 9.0]


def paid(ask, *, budget=None, unit=None):
    """Return what `ask(ledger)` answered and what it cost; say if a failure cost."""
    limit = Budget(epsilon=100, delta=0.5) if budget is None else budget
    with Ledger.open("memory://", budget=limit, rehearsal=True) as ledger:
        before = ledger.remaining()
        try:
            answer = ask(ledger)
        except Exception as problem:
            raise Spent(problem, paid=ledger.remaining() != before) from None
        return [each.spent_exact for each in ledger.remaining().accounts], answer


@dataclass(frozen=True)
class Stated:
    """A function of somebody's own, with the sensitivity it states."""

    sensitivity: Any
    neighbors: str = "add-remove"
    unit: str = "row"

    def __call__(self, data):
        return float(len(data))


@dataclass(frozen=True)
class Measured:
    """A function of somebody's own that returns several numbers."""

    sensitivity: Any
    dimension: Any
    neighbors: str = "add-remove"
    unit: str = "row"

    def __call__(self, data):
        return [float(len(data)), 0.0]


def _ledgers():
    some = {"Laplace": m.Laplace(2.0), "Gaussian": m.Gaussian(2.0)}
    some |= {"Staircase": m.Staircase(1.0, width=2), "NoisyMax": m.NoisyMax(2.0)}
    some |= {"RandomizedResponse": m.RandomizedResponse(0.75)}
    for name, mechanism in some.items():
        yield Door(
            f"ledger.charge {name}",
            lambda sensitivity, mechanism=mechanism: paid(
                lambda ledger: ledger.charge(mechanism, sensitivity).query
            ),
            {"sensitivity": 1},
            optional=frozenset(),
        )
    for name in ("Laplace", "Gaussian", "Staircase"):
        mechanism = some[name]
        yield Door(
            f"ledger.release {name}",
            lambda sensitivity, mechanism=mechanism: paid(
                lambda ledger: (
                    ledger.release(
                        mechanism, Stated(sensitivity), AGES, source=Seeded(7)
                    ).values
                )
            ),
            {"sensitivity": 2},
        )
        yield Door(
            f"ledger.hold {name}",
            lambda sensitivity, mechanism=mechanism: paid(
                lambda ledger: ledger.hold(mechanism, Stated(sensitivity)).neighbors
            ),
            {"sensitivity": 1},
        )
    yield Door(
        "ledger.release of several numbers",
        lambda sensitivity, dimension: paid(
            lambda ledger: (
                ledger.release(
                    m.Laplace(2.0, step=1),
                    Measured(sensitivity, 2 if dimension is None else dimension),
                    AGES,
                    source=Seeded(7),
                ).values
            )
        ),
        {"sensitivity": 2, "dimension": 2},
        optional=frozenset({"dimension"}),
    )
    for name, mechanism, query in (
        ("count", lambda x: m.Laplace(x), m.count()),
        ("mean", lambda x: m.Gaussian(x), m.mean((0, 10))),
        ("sum", lambda x: m.Laplace(x), m.sum((0.0, 8.0))),
    ):
        yield Door(
            f"ledger.release {name}",
            lambda noise, delta, mechanism=mechanism, query=query: paid(
                lambda ledger: (
                    ledger.release(
                        mechanism(noise), query, AGES, source=Seeded(7), delta=delta
                    ).values
                )
            ),
            {"noise": 2, "delta": 0.125},
            optional=frozenset({"delta"}),
        )
    for kind, value in ((Pure, 0.5), (GDP, 0.5), (ZCDP, 0.125)):
        yield Door(
            f"ledger.charge {kind.__name__}",
            lambda value, delta, kind=kind: paid(
                lambda ledger: ledger.charge(kind(value), delta=delta).neighbors
            ),
            {"value": value, "delta": 0.125},
            optional=frozenset({"delta"}),
        )
    yield Door(
        "Budget of epsilon",
        lambda epsilon, delta: paid(
            lambda ledger: ledger.charge(Approx(0.5, 2.0**-10)).neighbors,
            budget=Budget(epsilon=epsilon, delta=delta),
        ),
        {"epsilon": 1, "delta": 2.0**-7},
    )
    for name in ("rho", "mu"):
        yield Door(
            f"Budget of {name}",
            lambda amount, name=name: paid(
                lambda ledger: ledger.charge(GDP(0.5)).neighbors,
                budget=Budget(**{name: amount}),
            ),
            {"amount": 1},
        )
    yield Door(
        "Ledger.open",
        lambda lockout: paid_open(lockout),
        {"lockout": 2},
        optional=frozenset({"lockout"}),
    )


def paid_open(lockout):
    """Open a ledger with a lockout, and say that it opened."""
    with Ledger.open("memory://", budget=Budget(epsilon=1), lockout=lockout):
        return "open"


def rows():
    """Return a small table of people."""
    who = [i // 2 for i in range(40)]
    return {
        "who": who,
        "age": [float(20 + i) for i in range(40)],
        "ward": ["ab"[i % 2] for i in range(40)],
        "visits": [i % 5 for i in range(40)],
    }


class Desk:
    """One opened table, and what each question to it costs."""

    def __init__(self, **known):
        self.ledger = Ledger.open(
            "memory://", budget=Budget(epsilon=10**6, delta=0.9), rehearsal=True
        )
        self.data = hush.open(
            rows(), ledger=self.ledger, name="t", **{"unit": "who", "rows": 2, **known}
        )

    def spent(self):
        """Return what was spent so far, exactly."""
        (account,) = self.ledger.remaining().accounts
        return account.spent_exact

    def paid(self, ask):
        """Return what `ask(data)` answered and cost; say if a failure cost."""
        before = self.spent()
        try:
            answer = ask(self.data)
        except Exception as problem:
            raise Spent(problem, paid=self.spent() != before) from None
        after = self.spent()
        return [y - x for x, y in zip(before, after, strict=True)], answer


_desk = functools.cache(Desk)


def _asked(make, *, opened=None, release=None):
    """Return the call that asks a table, and says what that cost."""

    def call(**given):
        def ask(data):
            query = make(data, given)
            spent = {"epsilon": 1.0, **(release(given) if release else {})}
            answer = query.release(**spent, source=Seeded(7))
            return repr(query.plan(**spent)), repr(answer.values)

        desk = Desk(**opened(given)) if opened else _desk()
        return desk.paid(ask)

    return call


def _tables():
    count = {"n": hush.count()}
    yield Door(
        "query.release",
        _asked(lambda d, _: d.agg(**count), release=lambda g: g),
        {"epsilon": 1},
    )
    yield Door(
        "query.release of a half",
        _asked(
            lambda d, _: d.agg(n=hush.count(), s=hush.sum("age", bounds=(0, 80))),
            release=lambda g: {**g, "weights": None},
        ),
        {"epsilon": 0.5, "delta": 2.0**-7},
    )
    yield Door(
        "query.release with weights",
        _asked(
            lambda d, _: d.agg(n=hush.count(), s=hush.sum("age", bounds=(0, 80))),
            release=lambda g: {"weights": {"s": g["weight"]}},
        ),
        {"weight": 2},
    )
    yield Door(
        "open(rows=, groups=)",
        _asked(
            lambda d, _: d.group_by("ward", keys=["a", "b"]).agg(**count),
            opened=lambda g: g,
        ),
        {"rows": 2, "groups": 1},
        optional=frozenset({"rows", "groups"}),
    )
    for name in ("sum", "mean", "variance", "median", "min", "max", "std"):
        ask = getattr(hush, name)
        yield Door(
            f"{name}(bounds=)",
            _asked(lambda d, g, ask=ask: d.agg(x=ask("age", bounds=g["bounds"]))),
            {"bounds": (0, 80)},
            declared=frozenset({"bounds"}),
        )
    yield Door(
        "quantile(at=)",
        _asked(lambda d, g: d.agg(x=hush.quantile("age", g["at"], bounds=(0, 80)))),
        {"at": 0.75},
    )
    yield Door(
        "quantiles(at=)",
        _asked(lambda d, g: d.agg(x=hush.quantiles("age", g["at"], bounds=(0, 80)))),
        {"at": (0.25, 0.75)},
    )
    yield Door(
        "histogram(edges=)",
        _asked(lambda d, g: d.agg(x=hush.histogram("age", list(g["edges"])))),
        {"edges": (0, 40, 80)},
        declared=frozenset({"edges"}),
    )
    yield Door(
        "top_k",
        _asked(lambda d, g: d.agg(x=hush.top_k("ward", g["k"], ["a", "b"]))),
        {"k": 1},
    )
    yield Door(
        "plan(within=)",
        lambda within, level, cell: repr(
            hush.open(rows(), unit="who", rows=2, budget=Budget(epsilon=9))
            .agg(**count)
            .plan(within=within, level=level, cell=cell)
        ),
        {"within": 8, "level": 0.75, "cell": 100},
    )
    yield Door(
        "data.sql",
        lambda epsilon: _desk().paid(
            lambda data: str(
                type(data.sql("SELECT COUNT(*) AS n FROM t", epsilon=epsilon).values)
            )
        ),
        {"epsilon": 1},
    )


X = np.linspace(-1, 1, 60)[:, None]
Y = (X[:, 0] > 0).astype(int)


_LEARNT = {"coef_", "cluster_centers_", "components_", "value_", "theta_"}


def _fitted(make, *, labelled=True, y=None):
    def call(**given):
        def ask(ledger):
            model = make(given)
            targets = (Y if y is None else y,) if labelled else ()
            model.fit(X, *targets, ledger=ledger, source=Seeded(7))
            found = {k: v for k, v in vars(model).items() if k in _LEARNT}
            return model.curve_, found

        return paid(ask)

    return call


def _learners():
    line = X[:, 0] * 0.5
    linear = {"epsilon": 1, "bounds": (-1, 1), "y_bounds": (-1, 1)}
    yield Door(
        "LinearRegression",
        _fitted(lambda g: learn.LinearRegression(**g), y=line),
        {**linear, "penalty": 1},
    )
    yield Door(
        "LinearRegression of delta",
        _fitted(lambda g: learn.LinearRegression(**g, method="statistics"), y=line),
        {
            "epsilon": 0.5,
            "delta": 2.0**-7,
            "bounds": (-1.0, 1.0),
            "y_bounds": (-1.0, 1.0),
        },
    )
    public = {"bounds": (-1, 1), "classes": (0, 1)}
    yield Door(
        "LogisticRegression",
        _fitted(lambda g: learn.LogisticRegression(**g, classes=(0, 1))),
        {"epsilon": 1, "bounds": (-1, 1), "penalty": 1, "split": 0.5},
        optional=frozenset({"split"}),
    )
    yield Door(
        "LogisticRegression by norm",
        _fitted(lambda g: learn.LogisticRegression(**g, classes=(0, 1))),
        {"epsilon": 1, "norm": 1},
        optional=frozenset({"norm"}),
    )
    yield Door(
        "HuberSVM",
        _fitted(lambda g: learn.HuberSVM(**g, **public)),
        {"epsilon": 1, "delta": 2.0**-7, "width": 0.5},
    )
    yield Door(
        "QuantileRegression",
        _fitted(lambda g: learn.QuantileRegression(**g), y=line),
        {**linear, "quantile": 0.75},
    )
    yield Door(
        "GaussianNB",
        _fitted(lambda g: learn.GaussianNB(**g, classes=(0, 1))),
        {"epsilon": 1, "delta": 2.0**-7, "bounds": (-1, 1), "priors": (0.25, 0.75)},
        optional=frozenset({"priors"}),
    )
    yield Door(
        "KMeans",
        _fitted(lambda g: learn.KMeans(**g), labelled=False),
        {"n_clusters": 2, "epsilon": 1, "bounds": (-1, 1), "max_iter": 2},
        optional=frozenset({"max_iter"}),
    )
    yield Door(
        "PCA",
        _fitted(lambda g: learn.PCA(**g), labelled=False),
        {"epsilon": 1, "delta": 2.0**-7, "bounds": (-1, 1), "n_components": 1},
        optional=frozenset({"n_components"}),
    )
    yield Door(
        "RandomForestClassifier",
        _fitted(lambda g: learn.RandomForestClassifier(**g, **public)),
        {"epsilon": 1, "n_estimators": 2, "max_depth": 2},
        optional=frozenset({"n_estimators", "max_depth"}),
    )
    yield Door(
        "PoissonRegression",
        _fitted(lambda g: learn.PoissonRegression(**g, bounds=(-1, 1))),
        {"epsilon": 2, "top": 8},
    )
    yield Door(
        "SelectModel",
        _fitted(lambda g: learn.SelectModel(**g), y=line),
        {**linear, "variance": 0.125},
    )
    yield Door(
        "SubsampleAggregate",
        _fitted(
            lambda g: learn.SubsampleAggregate(lambda x, _: float(np.median(x)), **g)
        ),
        {"epsilon": 1, "bounds": (-1, 1), "blocks": 5, "outputs": 1},
        optional=frozenset({"blocks", "outputs"}),
    )


def told(answer):
    """Return what a holdout says, without the spelling of its level."""
    return float(answer.value), float(answer.radius), float(answer.level)


def _others():
    people = {"smoker": ["no", "yes"] * 20, "ill": [0, 1] * 20}
    domain = {"smoker": ["no", "yes"], "ill": [0, 1]}
    yield Door(
        "TreeSynthesizer",
        lambda **given: paid(
            lambda ledger: (
                synth.TreeSynthesizer(domain, **given)
                .fit(people, ledger=ledger, source=Seeded(7))
                .curve
            )
        ),
        {"epsilon": 2, "delta": 2.0**-7},
    )
    yield Door(
        "TreeSynthesizer.plan",
        lambda rows, whole: str(
            synth.TreeSynthesizer(domain, epsilon=2.0).plan(rows=rows, whole=whole)
        ),
        {"rows": 2, "whole": 2},
    )
    yield Door(
        "Bins.of",
        lambda bounds, bins: synth.Bins.of(bounds, bins=bins).edges,
        {"bounds": (0, 8), "bins": 4},
    )
    yield Door("Bins", lambda edges: synth.Bins(edges).edges, {"edges": (0, 1, 8)})
    labels = np.arange(4000) % 2
    yield Door(
        "Holdout",
        lambda **given: told(Holdout(labels, source=Seeded(7), **given).submit(labels)),
        {"queries": 50, "level": 0.75, "score_range": (0, 1)},
    )
    many = np.arange(100_000) % 2
    yield Door(
        "ReusableHoldout",
        lambda **given: told(
            ReusableHoldout(many, training=many, source=Seeded(7), **given).ask(float)
        ),
        {"queries": 100, "hits": 5, "tolerance": 0.5, "level": 0.75},
    )


def _by_column(door):
    """Return a learner's door whose bounds may be one list per end, as documented."""
    return dataclasses.replace(door, lists=door.lists | {"bounds"})


def doors():
    """Return every door to data."""
    parts = (_ledgers, _tables, _others)
    learners = [_by_column(door) for door in _learners()]
    return [*(door for part in parts for door in part()), *learners]
