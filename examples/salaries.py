"""A salary survey: from a table to intervals and a test, without touching anybody.

Each person sent one row: department, gender, salary. What is published are head counts
and mean salaries with intervals that hold for all such people, not only for those who
answered, and the answer to one question: do women and men earn the same?

Table -> release -> inference: only the first step ever sees a person.

Run it: python examples/salaries.py
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

import hush
from hush.estimate import Estimate
from hush.inference import difference_interval, difference_test
from hush.noise import SECURE, Seeded, Source
from hush.tables import Answer, Dataset

BOUNDS = (20_000, 120_000)  # public: chosen before looking, never from the data
DEPARTMENTS = ["care", "kitchen", "office"]
GENDERS = ["woman", "man"]


def survey(gap: float, seed: int = 11, size: int = 20_000) -> dict[str, Any]:
    """Return made-up answers in which women earn `gap` less than men."""
    rng = np.random.default_rng(seed)
    gender = rng.integers(0, 2, size)  # 0: woman
    department = rng.choice(3, size, p=[0.5, 0.3, 0.2])
    base = np.array([46_000.0, 38_000.0, 61_000.0])[department]
    salary = base * np.exp(rng.normal(0, 0.25, size)) - gap * (gender == 0)
    return {
        "person": np.arange(size),
        "department": np.array(DEPARTMENTS)[department],
        "gender": np.array(GENDERS)[gender],
        "salary": np.round(salary, 2),
    }


def open_survey(answers: Mapping[str, Any], *, rehearsal: bool) -> Dataset:
    """Return the survey with ε = 2 for all that will ever be asked."""
    budget = hush.Budget(epsilon=2)
    ledger = hush.Ledger.open(
        "memory://", budget=budget, dataset="salaries", rehearsal=rehearsal
    )
    return hush.open(answers, unit="person", rows=1, ledger=ledger)


def by_department(data: Dataset, source: Source = SECURE) -> Answer:
    """Release head counts, means and medians of the departments."""
    query = data.group_by("department", keys=DEPARTMENTS).agg(
        people=hush.count(),
        mean=hush.mean("salary", bounds=BOUNDS),
        median=hush.median("salary", bounds=BOUNDS),
    )
    return query.release(epsilon=1, source=source)


def by_gender(data: Dataset, source: Source = SECURE) -> Answer:
    """Release what a test needs: means, and how far salaries spread around them."""
    query = data.group_by("gender", keys=GENDERS).agg(
        mean=hush.mean("salary", bounds=BOUNDS),
        spread=hush.std("salary", bounds=BOUNDS),
    )
    return query.release(epsilon=1, source=source)


def estimates(answer: Answer) -> tuple[Estimate, ...]:
    """Return the mean salary of each gender, noise and sampling included."""
    return answer.estimates("mean", variance=answer["spread"] ** 2)


def main() -> None:
    """Publish the survey."""
    # Seeded, so that the page repeats; rehearsal=True is what admits it. With real
    # answers leave both out: a seed is a key to everybody's salary.
    source = Seeded(2)
    data = open_survey(survey(gap=2_500), rehearsal=True)

    answer = by_department(data, source)
    low, high = answer.interval(0.95, population=True)["mean"]
    print("department  people    mean  (95% for the population)    median")
    for i, name in enumerate(DEPARTMENTS):
        row = {column: values[i] for column, values in answer.values.items()}
        print(f"{name:10} {row['people']:7,.0f} {row['mean']:8,.0f}", end="")
        print(f"  {low[i]:8,.0f} to {high[i]:6,.0f}       {row['median']:8,.0f}")

    women, men = estimates(by_gender(data, source))
    gap = difference_interval(men, women)
    test = difference_test(men, women)
    print(f"men earn {gap.value:,.0f} more ({gap.low:,.0f} to {gap.high:,.0f})")
    print(f"no difference? p = {test.p_value:.2g}")
    print(data.budget)


if __name__ == "__main__":
    main()
