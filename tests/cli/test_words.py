"""Messages of commands: advice that a shell can follow, and keys that can be copied."""

import pytest

from shop import BY, COUNT

PYTHON = ("types=", "release(", "raise_budget", "in Python", "hush.Budget(")


def refused(shop, *arguments) -> str:
    done = shop.run(*arguments)
    assert done.exit_code != 0
    assert not [word for word in PYTHON if word in done.stderr], done.stderr
    return done.stderr


@pytest.fixture
def comma(shop):
    """The same folder, with a small CSV in place of its table."""
    (shop.folder / "trips.csv").write_text("driver,fare,pick up\na,1,3\nb,2,4\n")
    (shop.folder / "hush.toml").write_text(
        '[data]\nsource = "trips.csv"\nname = "trips"\nunit = "driver"\n'
        '[budget]\nepsilon = 1\n[ledger]\nurl = "sqlite:///b.db"\n'
    )
    return shop


def test_a_text_becomes_a_number_by_hush_toml(comma):
    text = "SELECT SUM(CLAMP(fare, 0, 60)) AS s FROM trips"
    said = refused(comma, "query", text, "-e", 0.5)
    assert 'write type = "number" under [columns.fare] in hush.toml' in said
    comma.edit("[ledger]", '[columns.fare]\ntype = "number"\n[ledger]')
    assert comma.run("query", text, "-e", 0.5).exit_code == 0


def test_keys_of_what_select_names_have_a_place_that_is_taken(shop):
    text = "SELECT FLOOR(fare / 10) AS tens, COUNT(*) AS n FROM trips GROUP BY tens"
    said = refused(shop, "query", text, "-e", 0.5)
    assert "tens = [...] under [keys] in hush.toml" in said
    assert 'or tens = "private" there' in said
    shop.edit("[columns.zone]", "[keys]\ntens = [0, 1, 2]\n[columns.zone]")
    assert len(shop.json("query", text, "-e", 0.5)["rows"]) == 3
    shop.edit("tens = [0, 1, 2]", 'tens = "private"')
    assert shop.run("query", text, "-e", 0.5, "-d", 1e-6).exit_code == 0
    shop.edit("[keys]\ntens", "[columns.tens]\nkeys")
    assert "or of a public table, stand under [keys]" in refused(
        shop, "query", text, "-e", 0.5
    )


def test_bounds_of_an_expression_are_given_in_the_statement(shop):
    said = refused(shop, "query", "SELECT SUM(fare * 2) AS s FROM trips", "-e", 0.5)
    assert "write SUM(CLAMP(fare * 2, 0, 100))." in said
    assert "[columns.fare * 2]" not in said


def test_columns_of_a_public_table_get_their_types_and_keys(comma):
    (comma.folder / "zones.csv").write_text("pick up,side,size\n3,east,5\n4,west,6\n")
    comma.edit("[ledger]", '[tables]\nzones = "zones.csv"\n[ledger]')
    joined = 'FROM trips JOIN zones USING ("pick up")'
    sums = f"SELECT SUM(CLAMP(size, 0, 9)) AS s {joined}"
    line = 'zones = {source = "zones.csv", types = {size = "number"}}'
    assert f"{line} under [tables] in hush.toml" in refused(
        comma, "query", sums, "-e", 0.1
    )
    more = f"SELECT COUNT(*) AS n {joined} WHERE size > 5"
    assert f"Write {line} under" in refused(comma, "query", more, "-e", 0.1)
    comma.edit('zones = "zones.csv"', line)
    assert comma.run("query", sums, "-e", 0.1).exit_code == 0
    assert comma.run("query", more, "-e", 0.1).exit_code == 0
    by = f"SELECT side, COUNT(*) AS n {joined} GROUP BY side"
    assert "side = [...] under [keys]" in refused(comma, "query", by, "-e", 0.1)
    comma.edit("[ledger]", '[keys]\nside = ["east", "west"]\n[ledger]')
    assert comma.run("query", by, "-e", 0.1).exit_code == 0


@pytest.mark.parametrize(
    "line",
    [
        "zones = 3",
        'zones = {source = "zones.csv"}',
        'zones = {source = 3, types = {size = "number"}}',
        'zones = {source = "zones.csv", types = {size = "tall"}}',
        'zones = {source = "zones.csv", types = {}, more = 1}',
    ],
)
def test_a_public_table_that_is_not_described_well_is_refused(comma, line):
    comma.edit("[ledger]", f"[tables]\n{line}\n[ledger]")
    assert "[tables] zones" in refused(comma, "plan", COUNT, "-e", 0.1)


def test_a_text_of_a_table_with_types_is_cast(shop):
    said = refused(shop, "plan", "SELECT AVG(borough) AS b FROM trips", "-e", 0.5)
    assert "Write CAST(borough AS DOUBLE)." in said


def test_private_keys_are_named_with_the_option_that_they_need(shop):
    shop.edit('keys = ["Bronx", "Kings"]\n', "")
    said = refused(shop, "query", BY, "-e", 0.5)
    assert "keys = [...] under [columns.borough] in hush.toml" in said
    assert 'or keys = "private" there' in said
    shop.edit("[columns.borough]\n", '[columns.borough]\nkeys = "private"\n')
    assert "add -d 1e-6" in refused(shop, "query", BY, "-e", 0.5)
    assert shop.run("query", BY, "-e", 0.5, "-d", "1e-6").exit_code == 0


def test_bounds_are_given_in_hush_toml(shop):
    said = refused(shop, "query", "SELECT AVG(zone) AS z FROM trips", "-e", 0.5)
    assert "bounds = [0, 100] under [columns.zone] in hush.toml" in said


def test_a_spent_budget_is_enlarged_by_a_command(shop):
    said = refused(shop, "query", COUNT, "-e", 2.5)
    assert "Give a smaller -e, or enlarge the budget: write the larger one" in said
    assert "then `hush budget --raise`." in said
    shop.edit("epsilon = 2.0", "epsilon = 3.0")
    assert shop.run("budget", "--raise").exit_code == 0
    assert shop.run("query", COUNT, "-e", 2.5).exit_code == 0


def test_a_short_delta_is_named_by_its_option(shop):
    said = refused(shop, "query", COUNT, "-e", 0.5, "-d", 0.1)
    assert "Delta is short: give a smaller -d, or none, or enlarge" in said


def test_a_lost_anchor_is_a_decision_in_python(shop):
    assert shop.run("query", COUNT, "-e", 0.5).exit_code == 0
    (shop.folder / "trips.budget.db.anchor").unlink()
    said = shop.run("verify").stderr
    assert "in Python: hush.Ledger.open(url, renew_anchor=True)" in said


def test_a_rehearsal_is_an_option(shop):
    assert shop.run("query", COUNT, "-e", 0.5).exit_code == 0
    assert "leave --rehearsal out" in shop.run("verify", "--rehearsal").stderr


def test_verify_finds_the_ledger_that_hush_toml_names(shop):
    assert shop.run("query", COUNT, "-e", 0.5).exit_code == 0
    assert shop.json("verify")["whole"]
    (shop.folder / "hush.toml").rename(shop.folder / "other.toml")
    said = refused(shop, "verify")
    assert "hush verify trips.budget.db" in said
    assert shop.json("verify", "--config", "other.toml")["whole"]


@pytest.mark.parametrize("key", [None, "k" * 70])
def test_a_key_is_shown_whole_on_a_narrow_terminal(shop, key, monkeypatch):
    more = () if key is None else ("--key", key)
    assert (
        shop.run("query", COUNT, "-e", 0.123456, "-d", "1.5e-7", *more).exit_code == 0
    )
    whole = shop.json("budget")["charges"][0]["key"]
    monkeypatch.setattr("hush.cli.session.width", lambda: 80)
    shown = shop.run("budget").stdout
    assert "…" not in shown
    assert "  epsilon 0.123456, delta 1.5e-07\n       rows\n" in shown
    if key is None:
        assert whole in shown
    else:
        assert shown.count("k") >= len(key)
    assert max(map(len, shown.splitlines())) <= 80


def test_flags_are_shown_as_flags(shop):
    for command in ((), ("verify",), ("query",), ("plot", "error"), ("attack",)):
        assert "<bool>" not in shop.run(*command, "--help").stdout
