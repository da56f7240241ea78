"""SQL that cannot be asked is refused with what to write instead, and for nothing."""

import traceback

import pytest

import hush
from hush.errors import HushError, InvalidArgument, Unsupported

VISITS = {
    "patient": [i % 40 for i in range(200)],
    "Ward": ["A", "B"] * 100,
    "Length of stay": [1.0, 2.0, None, 4.0] * 50,
    "smoker": ["yes", "no", ""] * 66 + ["no", "no"],
}
KNOWN = {
    "keys": {"Ward": ["A", "B"]},
    "bounds": {"Length of stay": (0, 30)},
    "tables": {"wards": {"Ward": ["A", "B"], "floor": ["1", "2"]}},
}


def opened() -> hush.tables.Dataset:
    budget = hush.Budget(epsilon=50)
    return hush.open(VISITS, unit="patient", rows=5, name="visits", budget=budget)


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("SELECT ward, COUNT(*) n FROM visits GROUP BY ward", "did you mean 'Ward'"),
        ("SELECT AVG(Length of stay) n FROM visits", "written in double quotes"),
        ("SELECT AVG('Length of stay') n FROM visits", 'double ones: "Length of stay"'),
        ("SELECT Ward, COUNT(*) n FROM visits", "Add GROUP BY Ward"),
        ("SELECT * FROM visits", "Rows are about people"),
        ("SELECT COUNT(*) OVER (PARTITION BY Ward) FROM visits", "Write GROUP BY"),
        ("SELECT COUNT(*) n FROM visits WHERE smoker = NULL", "Write x IS NULL"),
        ("SELECT COUNT(*) n FROM visits WHERE smoker ILIKE 'y%'", "LOWER"),
        ("SELECT COUNT(*) n FROM visits WHERE patient % 2 = 0", "FLOOR"),
        ("SELECT COUNT(*) n FROM visits WHERE CURRENT_DATE > '2026-01-01'", "the day"),
        ("SELECT patient, COUNT(*) n FROM visits GROUP BY patient", "of each person"),
        ("SELECT DISTINCT Ward FROM visits", "GROUP BY Ward"),
        ("SELECT COUNT(*) n FROM visits JOIN ward USING (Ward)", "mean 'wards'"),
        ("SELECT Ward, COUNT(*) n FROM visits GROUP BY Ward ORDER BY smoker", "SELECT"),
        ("SELECT MEAN(patient) n FROM visits", r"Write AVG\(x\)"),
        (
            "SELECT TO_CHAR(day, 'YYYY-MM') m, COUNT(*) n FROM visits GROUP BY 1",
            "TRUNC",
        ),
    ],
)
def test_a_mistake_is_answered_with_what_to_write(text, way):
    data = opened()
    with pytest.raises(Unsupported, match=way):
        data.sql(text, epsilon=1, **KNOWN)
    assert data.budget.epsilon == 50


def test_a_format_that_cannot_be_said_is_not_dropped_in_silence(caplog):
    """The writer of SQL would make a plain cast of it, and log that."""
    with pytest.raises(Unsupported, match="TO_CHAR"):
        opened().prepare("SELECT COUNT(*) n FROM visits WHERE TO_CHAR(day, 'MM') = '1'")
    assert not caplog.records


def test_null_may_stand_in_a_branch_of_case():
    """Noise of scale 1 or less passes these limits with probability below 1e-6."""
    share = (
        "SELECT AVG(CASE WHEN smoker = 'yes' THEN 1 WHEN smoker = '' THEN NULL ELSE 0 "
        "END) AS share, COUNT_IF(smoker = 'yes') AS n FROM visits"
    )
    answer = opened().sql(share, epsilon=40)
    assert answer["share"][0] == pytest.approx(66 / 134, abs=0.1)
    assert answer["n"][0] == pytest.approx(66, abs=15)
    with pytest.raises(Unsupported, match="not all NULL"):
        opened().where("CASE WHEN Ward = 'A' THEN NULL END = 1")


def test_months_of_a_group_are_whole_numbers():
    table = {"day": ["2026-01-31", "2026-02-01"] * 20}
    data = hush.open(table, budget=hush.Budget(epsilon=9))
    text = (
        "SELECT MONTH(CAST(day AS DATE)) AS month, COUNT(*) AS n FROM data GROUP BY 1"
    )
    answer = data.sql(text, epsilon=1)
    assert answer["month"] == [*range(1, 13), None]  # a day that is no date has none
    assert str(answer).splitlines()[1].split()[0] == "1"


def test_an_answer_is_printed_with_the_digits_that_mean_something():
    answer = opened().agg(n=hush.count()).release(epsilon=0.5)
    shown = str(answer).splitlines()[1]
    assert "." not in shown  # ± 60: no decimals
    low, high = (float(each.replace(",", "")) for each in shown.split()[1:])
    inner_low, inner_high = (float(each[0]) for each in answer.interval()["n"])
    assert low <= inner_low < inner_high <= high  # rounded outwards
    assert high - low <= inner_high - inner_low + 2


def test_a_count_with_decimals_says_why():
    several = opened().agg(n=hush.count()).release(epsilon=40)
    assert "more than 5 rows each weighs less" in str(several)
    rough = opened().agg(n=hush.count()).release(epsilon=0.5)
    assert "decimals" not in str(rough)


@pytest.mark.parametrize(
    "refused",
    [
        lambda: hush.open(VISITS, unit="patients", budget=hush.Budget(epsilon=1)),
        lambda: opened().sql("SELECT AVG(stay) FROM visits", epsilon=1),
        lambda: opened().agg(n=hush.count()).release(epsilon=51),
        lambda: hush.Ledger.open("budget.db"),
    ],
)
def test_a_refusal_shows_the_line_of_the_caller_and_one_of_ours(refused, monkeypatch):
    monkeypatch.delenv("HUSH_DEBUG", raising=False)
    with pytest.raises(HushError) as found:
        refused()
    ours = traceback.extract_tb(found.value.__traceback__)[2:]
    assert [each.filename.endswith("errors.py") for each in ours] == [True]
    monkeypatch.setenv("HUSH_DEBUG", "1")
    with pytest.raises(HushError) as whole:
        refused()
    assert len(traceback.extract_tb(whole.value.__traceback__)) > 3


def test_a_unit_and_types_that_are_misspelt_name_the_near_column(tmp_path):
    with pytest.raises(InvalidArgument, match="did you mean 'patient'"):
        hush.open(VISITS, unit="pacient", budget=hush.Budget(epsilon=1))
    (tmp_path / "v.csv").write_text("patient,age\n1,2\n")
    with pytest.raises(InvalidArgument, match="did you mean 'age'"):
        hush.open(
            tmp_path / "v.csv", budget=hush.Budget(epsilon=1), types={"agee": "number"}
        )
