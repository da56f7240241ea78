"""Paying: charged first and once, resumed by key, refused where it must be."""

import pytest

import hush
from hush.errors import (
    BudgetExceeded,
    InsecureSource,
    InvalidArgument,
    KeyConflict,
    Unsupported,
)
from hush.noise import Seeded
from hush.synth import Bins, TreeSynthesizer

DOMAIN = {"a": [0, 1], "b": ["x", "y"]}
ROWS = {"a": [0, 1] * 50, "b": ["x", "y"] * 50}
MAKER = TreeSynthesizer(DOMAIN, 1.0, 1e-6)
BUDGET = hush.Budget(epsilon=2.5, delta=1e-5)


@pytest.fixture
def ledger():
    return hush.Ledger.open("memory://", budget=BUDGET)


class Column(list):
    """A column that tells when it is read."""

    read = False

    def __iter__(self):
        type(self).read = True
        return super().__iter__()


def test_a_fit_is_charged_once_and_its_key_gives_the_same_model(ledger):
    one = MAKER.fit(ROWS, ledger=ledger, key="june")
    two = MAKER.fit(ROWS, ledger=ledger, key="june")
    assert one.release == two.release
    assert [t.counts.tolist() for t in one.tables] == [
        t.counts.tolist() for t in two.tables
    ]
    assert ledger.remaining().epsilon == pytest.approx(1.5)
    receipt = one.receipt
    assert receipt.unit == "row"
    assert receipt.neighbors == "add-remove"
    assert receipt.notes["domain"]["b"]["values"] == ["x", "y"]
    assert not one.seeded
    assert one.release.curve.delta_at(1.0) == pytest.approx(one.curve.delta_at(1.0))


def test_a_key_is_of_one_domain_and_one_version(ledger):
    MAKER.fit(ROWS, ledger=ledger, key="june", version="1")
    other = TreeSynthesizer({"a": [1, 0], "b": ["x", "y"]}, 1.0, 1e-6)
    for call in (
        lambda: other.fit(ROWS, ledger=ledger, key="june", version="1"),
        lambda: MAKER.fit(ROWS, ledger=ledger, key="june", version="2"),
    ):
        with pytest.raises(KeyConflict):
            call()


def test_what_does_not_fit_the_budget_is_never_read(ledger):
    big = TreeSynthesizer({"a": [0, 1]}, 3.0)
    with pytest.raises(BudgetExceeded):
        big.fit({"a": Column()}, ledger=ledger)
    assert not Column.read
    assert ledger.remaining().epsilon == pytest.approx(2.5)


def test_a_seeded_fit_says_so_and_a_ledger_refuses_it(ledger):
    assert MAKER.fit(ROWS, source=Seeded(1)).seeded
    with pytest.raises(InsecureSource):
        MAKER.fit(ROWS, ledger=ledger, source=Seeded(1))
    rehearsal = hush.Ledger.open("memory://", budget=BUDGET, rehearsal=True)
    model = MAKER.fit(ROWS, ledger=rehearsal, source=Seeded(1))
    assert model.seeded
    assert model.receipt.seeded
    assert "seeded" in repr(model)


def test_the_unit_of_an_account_is_kept(ledger):
    MAKER.fit(ROWS, ledger=ledger, unit="person")
    with pytest.raises(InvalidArgument, match="unit"):
        MAKER.fit(ROWS, ledger=ledger)


def test_pure_and_concentrated_ledgers_pay_in_their_own_notion():
    pure = hush.Ledger.open("memory://", budget=hush.Budget(epsilon=1))
    TreeSynthesizer(DOMAIN, 0.5).fit(ROWS, ledger=pure)
    assert pure.remaining().epsilon == pytest.approx(0.5)
    zcdp = hush.Ledger.open("memory://", budget=hush.Budget(rho=1))
    TreeSynthesizer(DOMAIN, rho=0.25).fit(ROWS, ledger=zcdp)
    assert zcdp.remaining().rho == pytest.approx(0.75, abs=1e-4)
    assert zcdp.remaining().rho >= 0.75 - 1e-12


@pytest.mark.parametrize(
    "options", [{"key": "a"}, {"ledger": 7}, {"ledger": None, "key": 3}, {"unit": ""}]
)
def test_what_cannot_pay_is_refused(options):
    with pytest.raises(InvalidArgument):
        MAKER.fit(ROWS, **options)


TABLE = {"who": [i % 60 for i in range(100)], **ROWS, "n": [1.5, None] * 50}


def opened(**more):
    options = {"unit": "who", "rows": 2, "budget": BUDGET} | more
    return hush.open(TABLE, **options)


def test_a_data_set_brings_its_ledger_and_its_people(tmp_path):
    data = opened()
    domain = {**DOMAIN, "n": Bins((0, 1, 2), missing=True)}
    maker = TreeSynthesizer(domain, 1.0, 1e-6)
    model = maker.fit(data, key="june")
    assert model.receipt.unit == "who"
    assert model.receipt.notes["rows"] == 2
    assert maker.fit(data, key="june").release == model.release
    assert data.budget.epsilon == pytest.approx(1.5)
    assert model.marginal("n").value.shape == (3,)
    # Two rows per person are twice the noise of one, in each of the steps.
    alone = maker.plan().within()[1]
    low, high = model.marginal("n").interval()
    assert ((high - low) / 2 > alone).all()


def test_a_table_is_counted_as_rows_are():
    from hush.synth import Domain
    from hush.synth.rows import Private, private_counts

    domain = Domain.of({**DOMAIN, "n": Bins((0, 1, 2), missing=True)})
    data = opened(rows=2)
    found = Private(domain.sizes, data.crossed(domain.plain).fetch)
    plain = private_counts(domain, TABLE)
    for columns in ((0,), (1,), (2,), (0, 2), (1, 2)):
        assert (found.counts(columns) == plain.counts(columns) << 20).all()


def test_what_a_table_cannot_count_is_refused_before_it_is_paid():
    data = opened()
    for domain, problem in (
        ({"z": [0]}, "z"),
        ({"a": ["x"]}, "a"),
        ({"n": Bins.of((0, 1), bins=500)}, "bins"),
    ):
        with pytest.raises((InvalidArgument, Unsupported), match=problem):
            TreeSynthesizer(domain, 1.0).fit(data)
    with pytest.raises(InvalidArgument, match="neighbors"):
        TreeSynthesizer(DOMAIN, 1.0, neighbors="replace-one").fit(data)
    with pytest.raises(InvalidArgument, match="ledger"):
        MAKER.fit(data, ledger=data.ledger)
    with pytest.raises(Unsupported, match="groups"):
        MAKER.fit(opened(groups=1))
    assert data.budget.epsilon == pytest.approx(2.5)


def test_replace_one_is_for_people_too():
    data = opened(neighbors="replace-one")
    model = TreeSynthesizer(DOMAIN, 1.0, neighbors="replace-one").fit(data)
    assert model.receipt.neighbors == "replace-one"
    assert model.curve.epsilon_at(0) <= 1.0
