"""A private training run, and the audit that tries to refute it.

DP-SGD clips each person's gradient, adds noise to the sum, and counts what a whole run
costs. Whether the code keeps what it claims can be tried out: put many canaries, each
by its own coin, into the training data, train once, and guess the coins from it.
Somebody who can guess too many has refuted the claim. An honest run survives; a run
that claims more privacy than its noise gives does not.

Run it: python examples/training.py   (needs the extra `sgd`: JAX and Optax)
"""

import jax.numpy as jnp
import numpy as np

from hush.audit import OneRun, one_run
from hush.learn import sgd
from hush.noise import SECURE, Seeded, Source
from hush.privacy import Curve

PEOPLE, FEATURES, CANARIES = 2_000, 5, 400
SLOPES = np.array([1.5, -2.0, 0.5, 0.0, 1.0])
PUBLIC = {"clip": 1.0, "batch": 300, "steps": 60, "sampling": "poisson"}


def people(seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return made-up features and the outcomes that they explain."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(PEOPLE, FEATURES))
    labels = (rows @ SLOPES + rng.logistic(size=PEOPLE) > 0).astype(np.float32)
    return rows.astype(np.float32), labels


def loss(weights: jnp.ndarray, example: tuple[jnp.ndarray, jnp.ndarray]) -> jnp.ndarray:
    """Return the logistic loss of one person: clipping needs one loss per person."""
    row, label = example
    return jnp.logaddexp(0.0, (1 - 2 * label) * (row @ weights))


def fit(
    data: tuple[np.ndarray, np.ndarray], std: float, source: Source = SECURE
) -> sgd.Trained:
    """Return a trained model that knows what it cost."""
    # The number of rows decides the sampling rate. With canaries it is secret, so a
    # public bound stands in its place.
    start = np.zeros(data[0].shape[1], dtype=np.float32)
    bound = PEOPLE + CANARIES
    return sgd.train(loss, start, data, std=std, records=bound, source=source, **PUBLIC)


def with_canaries(included: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the data and those canaries whose coin said so.

    Each has a column of its own, the easiest thing a model can remember.
    """
    rows, labels = people()
    own = np.zeros((PEOPLE, CANARIES), dtype=np.float32)
    marks = 10 * np.eye(CANARIES, dtype=np.float32)[included]
    extra = np.hstack([np.zeros((len(marks), FEATURES), dtype=np.float32), marks])
    everybody = np.vstack([np.hstack([rows, own]), extra])
    return everybody, np.concatenate([labels, np.ones(len(marks), dtype=np.float32)])


def examine(std: float, claim: Curve, source: Source = SECURE) -> OneRun:
    """Return what one run with this much noise says about a claim."""

    def train(included: np.ndarray) -> np.ndarray:
        model = fit(with_canaries(included), std, source)
        return np.asarray(model.average)[FEATURES:]  # a canary's score: its own weight

    return one_run(train, CANARIES, claim=claim, source=source)


def accuracy(model: sgd.Trained) -> float:
    """Return the share of fresh people whose outcome is predicted."""
    rows, labels = people(seed=4)
    return float(np.mean((rows @ np.asarray(model.average) > 0) == labels))


def main() -> None:
    """Train, then try to refute two claims about training."""
    # Seeded so that the page repeats. Noise of a real run must not be: whoever knows
    # the seed trains again without one person and compares.
    source = Seeded(1)
    for std in (8.0, 2.0, 0.5):
        model = fit(people(), std, source)
        epsilon = model.curve.epsilon_at(1e-5)
        print(f"noise {std:3g}: epsilon {epsilon:7.2f}, accuracy {accuracy(model):.1%}")

    claim = fit(people(), 2.0, source).curve
    print("claimed: what noise 2 gives")
    for std in (2.0, 0.1):
        found = examine(std, claim, source)
        print(
            f"  noise {std:g} was used: {found.right} of {found.guesses} coins", end=""
        )
        print(f" guessed right, the claim is {found.verdict}")


if __name__ == "__main__":
    main()
