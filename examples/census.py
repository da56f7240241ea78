"""A census table whose margins add up, and none of whose counts is negative.

Every noisy table contradicts itself: the regions add up to one number of people, the
ages to another, and some small cells fall below zero. Nothing about privacy forbids to
repair that, because the repair looks at released numbers only. It even helps: several
noisy views of the same people, made to agree, are each nearer to the truth.

Run it: python examples/census.py
"""

import numpy as np

import hush
from hush.inference import consistent, marginals, nonnegative
from hush.mechanisms import DiscreteGaussian
from hush.noise import Seeded

REGIONS = ["north", "east", "south", "west"]
AGES = ["0-14", "15-29", "30-44", "45-64", "65+"]
WORK = ["working", "not working"]
SHAPE = (len(REGIONS), len(AGES), len(WORK))

# Which tables are published, by the axes they keep. `()` is the total.
TABLES = {
    "everything": (0, 1, 2),
    "region by age": (0, 1),
    "region": (0,),
    "age": (1,),
    "total": (),
}
DESIGN = marginals(SHAPE, keep=list(TABLES.values()))


def people(seed: int = 3) -> np.ndarray:
    """Return a made-up town: one row of codes (region, age, work) per person."""
    rng = np.random.default_rng(seed)
    size = 6_000
    region = rng.choice(4, size, p=[0.55, 0.25, 0.15, 0.05])
    age = rng.choice(5, size, p=[0.18, 0.2, 0.22, 0.25, 0.15])
    idle = rng.random(size) > np.array([0.0, 0.6, 0.85, 0.75, 0.1])[age]
    return np.stack([region, age, idle.astype(int)], axis=1)


def cells(rows: np.ndarray) -> np.ndarray:
    """Return the exact count of every cell, in the order of the design."""
    place = np.ravel_multi_index(tuple(rows.T), SHAPE)
    return np.bincount(place, minlength=int(np.prod(SHAPE)))


def every_table(rows: np.ndarray) -> np.ndarray:
    """Return the exact counts of all published tables, one after the other."""
    return (DESIGN @ cells(rows)).astype(np.int64)


# A person stands in one cell of each of the five tables: five counts move by 1, which
# is a distance of √5. The bound is public, and the ledger charges what it says.
every_table.sensitivity = float(np.sqrt(len(TABLES)))
every_table.dimension = len(DESIGN)
every_table.neighbors = "add-remove"


def split(numbers: np.ndarray) -> dict[str, np.ndarray]:
    """Return the numbers of each table by its name."""
    sizes = [int(np.prod([SHAPE[a] for a in axes])) for axes in TABLES.values()]
    parts = np.split(np.asarray(numbers), np.cumsum(sizes)[:-1])
    return dict(zip(TABLES, parts, strict=True))


def main() -> None:
    """Release five tables, make them agree, and print one."""
    rows = people()
    noise = DiscreteGaussian(std=8.0)
    # A rehearsal takes seeded noise so that this page repeats; noise that can be
    # repeated can be subtracted, so a ledger for real data refuses it.
    budget = hush.Budget(rho=0.05)
    with hush.Ledger.open("memory://", budget=budget, rehearsal=True) as ledger:
        release = ledger.release(noise, every_table, rows, source=Seeded(5))
        print(f"paid: {release.receipt}")
    noisy = split(release.values)

    found = consistent(release.values, DESIGN, std=noise.error.std)
    total = float(found.value[-1])
    fixed = nonnegative(found.cells.value, std=found.cells.std, total=total)
    final = split(DESIGN @ fixed)

    print(f"negative cells before {(noisy['everything'] < 0).sum()}, after 0")
    print("one number of people, five answers:")
    for name in TABLES:
        print(f"  {name:14} {noisy[name].sum():>6.0f} -> {final[name].sum():8.1f}")
    print("noise of one count, before and after (before counts are cut at zero):")
    for name, std in split(found.std).items():
        print(f"  {name:14} {noise.error.std:.2f} -> {std.max():.2f}")
    print("region         released   repaired       true")
    exact = split(every_table(rows))
    for i, name in enumerate(REGIONS):
        before, after = noisy["region"][i], final["region"][i]
        print(f"  {name:10} {before:10} {after:10.1f} {exact['region'][i]:10}")


if __name__ == "__main__":
    main()
