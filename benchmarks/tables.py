"""Private group-bys from a Parquet file: hush, the raw engine, and OpenDP on Polars.

Run `python benchmarks/tables.py [rows]`: a table of skewed people is made once under
`.bench/`, every task runs in a process of its own, and times are given as multiples of
the raw `GROUP BY person` of the same run: any correct bounding touches every person.
"""

import json
import subprocess
import sys
from pathlib import Path

import peers

HOME = Path(__file__).resolve().parent.parent / ".bench" / "tables"
REGIONS, PRODUCTS = 50, 10_000

MAKE = """
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
rows, people, path = {rows}, {rows} // 10, {path!r}
rng = np.random.default_rng(1)
weight = rng.pareto(1.5, people) + 0.2
popular = 1 / np.arange(1, {products} + 1)
pq.write_table(pa.table({{
    "person": rng.choice(people, size=rows, p=weight / weight.sum()),
    "region": rng.integers(0, {regions}, rows),
    "product": rng.choice({products}, size=rows, p=popular / popular.sum()),
    "fare": np.round(rng.gamma(2, 10, rows), 2),
}}), path)
"""

COMMON = """
import json, resource, sys, time
path = {path!r}
def report(function, repeats=3):
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        answer = function()
        found.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({{"seconds": min(found), "gigabytes": peak, "answer": answer}}))
"""

RAW = """
import duckdb
connection = duckdb.connect()
def raw():
    connection.execute({sql!r}).fetchall()
report(raw)
"""

PERSON = (
    "SELECT count(*), max(c) FROM (SELECT count(*) c FROM '{path}' GROUP BY person)"
)
REGION = "SELECT region, count(*), sum(fare) FROM '{path}' GROUP BY region"

HUSH = """
import hush
def ask():
    budget = hush.Budget(epsilon=1, delta=1e-6)
    data = hush.open(path, budget=budget{who})
    answer = data.{query}.release(epsilon=1, delta={delta})
    return len(answer.keys)
report(ask)
"""

SUMS = (
    'agg(n=hush.count(), s=hush.sum("fare", bounds=(0, 80)), '
    'm=hush.mean("fare", bounds=(0, 80)))'
)
QUARTILES = 'q=hush.quantiles("fare", [0.25, 0.5, 0.75], (0, 200))'
BY_REGION = f'group_by("region", keys=range({REGIONS}))'
PEOPLE = ', unit="person", rows=5'
TASKS = {
    "count, sum, mean by region": (
        HUSH,
        {"who": PEOPLE, "delta": 0, "query": f"{BY_REGION}.{SUMS}"},
    ),
    "the same with literal caps": (
        HUSH,
        {
            "who": f"{PEOPLE}, groups=3",
            "delta": 0,
            "query": f"{BY_REGION}.{SUMS}",
        },
    ),
    "private keys over products": (
        HUSH,
        {
            "who": PEOPLE,
            "delta": 1e-6,
            "query": 'group_by("product", keys="private").agg(n=hush.count())',
        },
    ),
    "quantiles by region": (
        HUSH,
        {
            "who": PEOPLE,
            "delta": 0,
            "query": f"{BY_REGION}.agg({QUARTILES})",
        },
    ),
    "rows as people": (
        HUSH,
        {"who": "", "delta": 0, "query": f"{BY_REGION}.{SUMS}"},
    ),
}

OPENDP = """
import polars as pl, opendp.prelude as dp
dp.enable_features("contrib")
keys = pl.LazyFrame({{"region": list(range({regions}))}}, schema={{"region": pl.Int64}})
fare = pl.col("fare").fill_null(0.0).fill_nan(0.0)
def ask():
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("person")),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-6),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length={rows}, max_groups=20_000)],
    )
    rows = context.query()
    return len({query}.release().collect())
report(ask, 1)
"""
_CAPPED = "rows.truncate_per_group(5)"
_SUMS = 'agg(dp.len(), fare.dp.sum((0.0, 80.0)), fare.dp.mean((0.0, 80.0)).alias("m"))'
_GRID = "[float(x) for x in range(0, 200)]"
_LEVELS = "".join(
    f'fare.dp.quantile({at}, {_GRID}).alias("q{i}"), '
    for i, at in enumerate((0.25, 0.5, 0.75))
)
_REGION = f'{_CAPPED}.group_by("region")'
_PRODUCT = f'{_CAPPED}.group_by("product")'
OPENDP_TASKS = {
    "count, sum, mean by region": f"{_REGION}.{_SUMS}.with_keys(keys)",
    "private keys over products": f"{_PRODUCT}.agg(dp.len())",
    "quantiles by region": f"{_REGION}.agg({_LEVELS}).with_keys(keys)",
}
OPENDP_TASKS["the same with literal caps"] = OPENDP_TASKS["count, sum, mean by region"]


def run(python, code, **values):
    """Return what a script reports, or None with its last words."""
    text = COMMON.format(**values) + code.format(**values)
    done = subprocess.run(
        [str(python), "-c", text],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1][:200], file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def main(rows: int) -> None:
    HOME.mkdir(parents=True, exist_ok=True)
    path = str(HOME / f"trips{rows}.parquet")
    if not Path(path).exists():
        made = MAKE.format(rows=rows, path=path, regions=REGIONS, products=PRODUCTS)
        subprocess.run([sys.executable, "-c", made], check=True)
    raw = {
        name: run(sys.executable, RAW, path=path, sql=sql.format(path=path))["seconds"]
        for name, sql in (("person", PERSON), ("region", REGION))
    }
    print(f"{rows:,} rows; raw GROUP BY person {raw['person']:.2f} s, ", end="")
    print(f"region {raw['region']:.2f} s\n")
    print("| task | hush | x raw person | memory | rows out | OpenDP on Polars |")
    print("|---|---|---|---|---|---|")
    python = peers.environment("peers-tables", "opendp[polars]==0.16.0", "pyarrow")
    for name, (code, values) in TASKS.items():
        ours = run(sys.executable, code, path=path, **values)
        theirs = None
        if name in OPENDP_TASKS:
            theirs = run(
                python,
                OPENDP,
                path=path,
                query=OPENDP_TASKS[name],
                rows=rows,
                regions=REGIONS,
            )
        if ours is None:
            print(f"| {name} | failed | | | | |")
            continue
        seconds = ours["seconds"]
        other = "–"
        if theirs:
            other = f"{theirs['seconds']:.1f} s, {theirs['seconds'] / seconds:.1f}x"
        print(
            f"| {name} | {seconds:.2f} s | {seconds / raw['person']:.1f} | "
            f"{ours['gigabytes']:.2f} GB | {ours['answer']} | {other} |",
            flush=True,
        )


if __name__ == "__main__":
    sizes = [int(float(each)) for each in sys.argv[1:]] or [10**6, 10**7]
    for size in sizes:
        main(size)
