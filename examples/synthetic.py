"""A table to hand on: rows that belong to nobody, and how far they may be off.

A clinic wants to give its students a table to practise on. A synthetic one keeps the
counts of every column and of the pairs that tell most. What was measured has a proven
error; what was not has none, and asking for it says so. A question that is known
beforehand is better asked directly: the last line shows by how much.

Run it: python examples/synthetic.py
"""

import numpy as np

import hush
from hush.errors import NoBound
from hush.mechanisms import DiscreteGaussian
from hush.noise import Seeded
from hush.synth import Bins, TreeSynthesizer

# All of this is public: it comes from the form that patients fill in.
DOMAIN = {
    "age": Bins(edges=range(10, 101, 10), whole=True),
    "ward": ["north", "south", "west"],
    "smoker": ["no", "yes"],
    "ill": [False, True],
}


def patients(seed: int = 4) -> dict[str, np.ndarray]:
    """Return a made-up clinic: the old are in the west, smokers are ill more often."""
    rng = np.random.default_rng(seed)
    size = 8_000
    age = rng.integers(18, 95, size)
    ward = np.where(age > 70, 2, rng.integers(0, 2, size))
    smoker = rng.random(size) < np.where(age < 50, 0.4, 0.15)
    ill = rng.random(size) < np.where(smoker, 0.45, 0.1)
    return {
        "age": age,
        "ward": np.array(DOMAIN["ward"])[ward],
        "smoker": np.where(smoker, "yes", "no"),
        "ill": ill,
    }


def share(rows, column: str, value: object) -> float:
    """Return the share of the ill among rows with a value."""
    here = np.asarray(rows[column]) == value
    return float(np.mean(np.asarray(rows["ill"], dtype=bool)[here]))


def main() -> None:
    """Measure once, draw rows, and compare them with what they stand for."""
    rows = patients()
    maker = TreeSynthesizer(DOMAIN, epsilon=1.0, delta=1e-6)
    print(f"plan: {maker.plan()}")
    # A rehearsal takes seeded noise so that this page repeats; a ledger for real data
    # refuses it.
    budget = hush.Budget(epsilon=2, delta=1e-5)
    with hush.Ledger.open("memory://", budget=budget, rehearsal=True) as ledger:
        model = maker.fit(rows, ledger=ledger, unit="patient", source=Seeded(5))
        print(f"paid: {model.receipt}")
    drawn = model.sample(source=Seeded(6))
    print(f"{len(drawn):,} synthetic rows of {len(rows['age']):,} patients")

    print("measured together        count within   rows misplaced, at most (95%)")
    for pair in model.pairs:
        found = model.marginal(*pair)
        low, high = found.interval(0.95)
        within = float((high - low).flat[0]) / 2
        print(f"  {' and '.join(pair):22} {within:12.0f} {found.distance(0.95):14.0f}")
    try:
        model.marginal("ward", "ill")
    except NoBound:
        print("  ward and ill           not measured: nothing bounds the error")

    print("share of the ill         true   synthetic")
    for column, value in (("smoker", "yes"), ("smoker", "no"), ("ward", "west")):
        true, made = share(rows, column, value), share(drawn, column, value)
        print(f"  {column} = {value:12} {true:9.3f} {made:11.3f}")

    # One pair asked directly gets the whole budget: a person moves one count by one.
    direct = DiscreteGaussian.for_epsilon(1.0, delta=1e-6)
    within = direct.error.interval(0.95)[1]
    print(f"asked directly, each count of a pair is within {within:.0f}")


if __name__ == "__main__":
    main()
