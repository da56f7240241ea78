"""What benchmarks ask of hush is still asked rightly: tried on a small table."""

import runpy

import pytest

TASKS = (
    "count, sum, mean by region",
    "the same with literal caps",
    "private keys over products",
    "quantiles by region",
    "rows as people",
)


@pytest.fixture(scope="module")
def tables(root, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(root / "benchmarks"))
        found = runpy.run_path(str(root / "benchmarks" / "tables.py"))
    path = str(tmp_path_factory.mktemp("bench") / "trips.parquet")
    public = {"rows": 5_000, "regions": found["REGIONS"], "products": found["PRODUCTS"]}
    exec(found["MAKE"].format(path=path, **public), {})
    return found, path


def test_every_task_is_here(tables):
    assert set(tables[0]["TASKS"]) == set(TASKS)


@pytest.mark.parametrize("task", TASKS)
def test_a_task_answers(tables, task):
    found, path = tables
    code, values = found["TASKS"][task]
    heard = []
    exec(code.format(**values), {"path": path, "report": lambda f: heard.append(f())})
    # Private keys of 500 people: how many are found is not known, the rest is public.
    assert "keys" in task or heard == [found["REGIONS"]]
