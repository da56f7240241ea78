"""A private posted price: why noise on the answer can ruin it, and what to do instead.

A seller has one good for everybody and asks each bidder for a limit. At a price p
everybody with a limit of at least p buys, so the revenue is p times their number. The
limits are secrets: the posted price must not give any of them away.

Revenue is discontinuous: one cent above a limit, that bidder is gone. A little noise on
the best price can lose everything. The exponential mechanism chooses among prices by
their revenue and never sees a cliff (result N7.ex1 of docs/theory.toml).

Run it: python examples/posted_price.py
"""

import numpy as np

from hush.bounds import exponential_gap
from hush.mechanisms import Exponential, Laplace
from hush.noise import SECURE, Seeded, Source

EPSILON = 1.0
TOP = 20.0  # the highest price anybody may be asked: public
PRICES = np.round(np.arange(0.05, TOP + 0.01, 0.05), 2)  # public as well


def revenue(limits: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Return the revenue at each price."""
    buyers = len(limits) - np.searchsorted(np.sort(limits), prices, side="left")
    return prices * buyers


def best(limits: np.ndarray) -> float:
    """Return the price with the largest revenue: a function of secrets, unprotected."""
    return float(PRICES[revenue(limits, PRICES).argmax()])


def noisy_price(limits: np.ndarray, source: Source = SECURE) -> float:
    """Return the best price with Laplace noise.

    One bidder can move the best price from one end of the range to the other (test
    `test_one_bidder_moves_the_best_price_far`), so the noise has to cover the range.
    """
    noise = Laplace.for_epsilon(EPSILON, sensitivity=TOP)
    return float(np.clip(noise.run(best(limits), source=source), 0.0, TOP))


def chosen_price(limits: np.ndarray, source: Source = SECURE) -> float:
    """Return a price chosen with probability ∝ exp(ε·revenue/top).

    One more bidder adds between 0 and `TOP` to the revenue of every price, never less:
    utilities move together, so `monotone` halves the noise.
    """
    choose = Exponential.for_epsilon(EPSILON, sensitivity=TOP, monotone=True)
    return float(PRICES[choose.run(revenue(limits, PRICES), source=source)])


def takings(limits: np.ndarray, prices: list[float]) -> float:
    """Return the mean revenue of several runs."""
    return float(revenue(limits, np.array(prices)).mean())


def main() -> None:
    """Compare three ways to post a price."""
    # A seed makes this page repeat. It also lets everybody subtract the noise: a real
    # price is drawn without `source=`, from the operating system.
    source = Seeded(7)
    limits = np.full(1_000, 10.0)  # everybody would pay 10, and not a cent more
    top = takings(limits, [best(limits)])
    runs = range(300)

    honest = takings(limits, [noisy_price(limits, source) for _ in runs])
    # Noise of one cent protects nobody. It is here to show that even that is too much.
    tiny = Laplace(scale=0.01)
    cents = [tiny.run(best(limits), source=source) for _ in runs]
    chosen = takings(limits, [chosen_price(limits, source) for _ in runs])

    print(f"best price {best(limits):.2f}, revenue {top:,.0f}")
    print(f"noise on the price, epsilon {EPSILON:g}      {honest / top:6.1%} of it")
    print(f"one cent of noise, private for nobody {takings(limits, cents) / top:6.1%}")
    print(f"exponential mechanism, epsilon {EPSILON:g}   {chosen / top:6.1%}")
    # monotone: twice the epsilon of the textbook's bound
    gap = exponential_gap(len(PRICES), 2 * EPSILON, TOP)
    print(f"promised on average: at least {1 - gap / top:.1%}, whatever the limits are")


if __name__ == "__main__":
    main()
