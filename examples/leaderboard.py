"""A leaderboard that cannot be climbed by guessing.

A competition shows the score of every submission on hidden labels. Whoever submits
often enough learns the labels through the scores: random guesses that happened to score
well, put to a vote, climb the board while predicting nothing. The private board answers
with noise from differential privacy, so its answers keep telling about the population:
the climber stays at one half, and an honest model still sees its true worth.

Run it: python examples/leaderboard.py
"""

import numpy as np

from hush.holdout import Holdout, generalization
from hush.holdout.analysts import Booster, PlainBoard
from hush.noise import SECURE, Seeded, Source, integers

PEOPLE = 10_000
QUERIES = 1_000


def coins(seed: int = 5) -> np.ndarray:
    """Return labels that nobody can predict: coin flips."""
    return integers(2, PEOPLE, source=Seeded(seed))


def plain(labels: np.ndarray, attacker: Booster) -> float:
    """Return the score that an ordinary board reports to the attacker at the end."""
    return float(attacker.attack(PlainBoard(labels).submit, PEOPLE).reported)


def private(
    labels: np.ndarray, attacker: Booster, source: Source = SECURE
) -> tuple[float, float, float]:
    """Return what the private board reports to the attacker: score, low, high."""
    board = Holdout(labels, queries=QUERIES, source=source)
    found = attacker.attack(board.submit, PEOPLE).reported
    low, high = found.interval()
    return float(found), low, high


def honest_model(labels: np.ndarray, right: float, seed: int = 8) -> np.ndarray:
    """Return predictions that are right for a share of the people."""
    rng = np.random.default_rng(seed)
    wrong = rng.random(len(labels)) > right
    return np.where(wrong, 1 - labels, labels)


def main() -> None:
    """Let the same attacker loose on both boards, then submit an honest model."""
    # The boards' noise is seeded so that the page repeats. A real board must not be:
    # who knows the seed subtracts the noise and is back on the plain board. The
    # attacker's own coins may be what they like.
    labels = coins()
    print(f"{PEOPLE:,} hidden labels, all of them coin flips; {QUERIES:,} submissions")
    print("the attacker votes among random guesses that scored well; the truth is 50%")
    print("submissions   plain board says   and would claim")
    for queries in (10, 100, 1_000):
        said, bar = plain(labels, Booster(queries)), 1.96 * 0.5 / PEOPLE**0.5
        print(f"{queries:11,}   {said:16.1%}   ±{bar:.1%}")

    score, low, high = private(labels, Booster(QUERIES), Seeded(1))
    print(f"private board after {QUERIES:,}: {score:.1%} ({low:.1%} to {high:.1%})")

    board = Holdout(labels, queries=QUERIES, source=Seeded(2))
    answer = board.submit(honest_model(labels, right=0.8))
    low, high = answer.interval()
    print(
        f"an honest model, right for 80%: {float(answer):.1%} ({low:.1%} to {high:.1%})"
    )
    print(f"it has {answer.left:,} submissions left; after the last one it closes")
    print("(the intervals are wide: ten thousand people are few for so many questions)")

    print("how many people a board needs to stay within 5 points:")
    for queries in (10, 100, 1_000):
        needed = generalization.records_for(within=0.05, queries=queries)
        print(f"{queries:11,} submissions   {needed:9,} people")


if __name__ == "__main__":
    main()
