"""A program as a user would write it; it is run, and checked by `mypy --strict`."""

import pyarrow

import hush
from hush.errors import BudgetExceeded
from hush.mechanisms import Gaussian, Laplace, count
from hush.privacy import GDP, Approx, Curve, Pure, calibrate, compose, poisson, repeat


def accounted() -> float:
    training: Curve = repeat(poisson(GDP(mu=1.0), rate=0.01), times=100)
    both = compose(training, Pure(epsilon=0.1))
    epsilon: float = both.epsilon_at(1e-6)
    return epsilon


def noise_for(target: Approx) -> float:
    return calibrate(lambda std: GDP(mu=1 / std), target=target)


def table() -> str:
    people = pyarrow.table({"id": list(range(1000)), "age": [20, 40, 60, 80] * 250})
    data = hush.open(people, unit="id", rows=1, budget=hush.Budget(epsilon=2))
    query = data.where("age > 30").agg(
        n=hush.count(),
        age=hush.mean("age", bounds=(0, 100)),
        middle=hush.median("age", bounds=(0, 100)),
    )
    plan = query.plan(epsilon=1)
    answer = query.release(epsilon=1)
    low, high = answer.interval(0.95)["n"]
    return f"{plan} {low} {high} {answer.receipt.sequence} {data.budget}"


def spent() -> str:
    ledger = hush.Ledger.open("memory://", budget=hush.Budget(epsilon=1, delta=1e-6))
    with ledger:
        release: hush.Release = ledger.release(Laplace(scale=2.0), count(), [1, 2, 3])
        try:
            ledger.release(Gaussian(std=1.0), count(), [1, 2, 3])
        except BudgetExceeded:
            return f"{release.interval(0.95)} {ledger.remaining()}"
    return "not refused"


if __name__ == "__main__":
    print(f"{accounted():.3f}")
    print(f"{noise_for(Approx(1.0, 1e-6)):.3f}")
    print(table())
    print(spent())
    print(hush.__version__)
