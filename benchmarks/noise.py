"""Samples per second: hush (exact, secure) beside NumPy (neither) and OpenDP (both).

Run with `make bench` or `python benchmarks/noise.py`. Each figure is the best of
several repetitions; NumPy and hush take turns, so that both meet the same machine.
"""

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import peers

from hush import noise

SCALES = [1, 100, 10**6]
FINE = Fraction(2**40)
SIZES = [50, 10**3, 10**5, 10**6, 10**7]

OPENDP = """
import json, time
import opendp.prelude as dp
dp.enable_features("contrib")
def best(f, repeat):
    times = []
    for _ in range(repeat):
        start = time.perf_counter(); f(); times.append(time.perf_counter() - start)
    return min(times)
out = {}
for scale in (1, 100, 10**6):
    for n in (50, 1000, 100000):
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
        laplace = dp.m.make_laplace(*space, scale=float(scale))
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
        gaussian = dp.m.make_gaussian(*space, scale=float(scale))
        zeros = [0] * n
        repeat = 3 if n < 10**5 else 1
        out[f"laplace {scale} {n}"] = n / best(lambda: laplace(zeros), repeat)
        out[f"gaussian {scale} {n}"] = n / best(lambda: gaussian(zeros), repeat)
print(json.dumps(out))
"""


def alternating(
    calls: dict[str, Callable[[], object]], size: int
) -> dict[str, tuple[float, float]]:
    """Return samples per second and seconds of each call, measured in turns."""
    repeat = 200 if size <= 1000 else 30 if size <= 10**5 else 9 if size <= 10**6 else 3
    best = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    for _ in range(repeat):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return {name: (size / seconds, seconds) for name, seconds in best.items()}


def table() -> list[str]:
    opendp = peers.run(peers.environment("opendp", "opendp==0.16.0"), OPENDP, 1800)
    generator = np.random.default_rng()
    lines = [
        "| law | scale | n | hush M/s | NumPy M/s | hush/NumPy | OpenDP M/s "
        "| hush/OpenDP | hush µs |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for law in ("laplace", "gaussian"):
        ours = noise.discrete_laplace if law == "laplace" else noise.discrete_gaussian
        theirs = generator.laplace if law == "laplace" else generator.normal
        for scale in SCALES:
            for size in SIZES:
                rates = alternating(
                    {
                        "hush": lambda o=ours, s=scale, n=size: o(s, n),
                        "numpy": lambda t=theirs, s=scale, n=size: t(0.0, s, n),
                    },
                    size,
                )
                peer = opendp.get(f"{law} {scale} {size}")
                lines.append(_line(f"discrete {law}", scale, size, rates, peer))
        # "Continuous" noise: the same integers on a grid of 2^-40.
        for size in SIZES[2:]:
            rates = alternating(
                {
                    "hush": lambda o=ours, n=size: o(FINE, n) * 2.0**-40,
                    "numpy": lambda t=theirs, n=size: t(0.0, 1.0, n),
                },
                size,
            )
            lines.append(_line(f"float {law} (2^-40 grid)", 1, size, rates, None))
    return lines


def _line(
    law: str,
    scale: int,
    size: int,
    rates: dict[str, tuple[float, float]],
    peer: float | None,
) -> str:
    ours, seconds = rates["hush"]
    numpy = rates["numpy"][0]
    against = f"{peer / 1e6:.3f} | {ours / peer:,.0f}×" if peer else "– | –"
    return (
        f"| {law} | {scale:g} | {size:g} | {ours / 1e6:.1f} | {numpy / 1e6:.1f} "
        f"| {ours / numpy:.2f}× | {against} | {seconds * 1e6:,.0f} |"
    )


def others() -> list[str]:
    """Single draws, set-up of a new scale, and noisy argmax over a million scores."""
    scores = np.random.default_rng(1).normal(size=10**6)
    fresh = iter(range(10**6, 2 * 10**6))
    calls: dict[str, Callable[[], object]] = {
        "one discrete Laplace draw": lambda: noise.discrete_laplace(10**6),
        "one discrete Gaussian draw": lambda: noise.discrete_gaussian(10**6),
        "new scale, 50 draws (Laplace)": lambda: noise.discrete_laplace(
            Fraction(next(fresh), 7), 50
        ),
        "new scale, 50 draws (Gaussian)": lambda: noise.discrete_gaussian(
            Fraction(next(fresh), 7), 50
        ),
        "new scale, 10^5 draws (Laplace)": lambda: noise.discrete_laplace(
            Fraction(next(fresh), 7), 10**5
        ),
        "new scale, 10^5 draws (Gaussian)": lambda: noise.discrete_gaussian(
            Fraction(next(fresh), 7), 10**5
        ),
        "Gumbel argmax of 10^6 scores": lambda: noise.gumbel_argmax(scores),
        "exponential argmax of 10^6 scores": lambda: noise.exponential_argmax(scores),
    }
    lines = ["| task | best time |", "|---|---|"]
    for name, call in calls.items():
        seconds = alternating({name: call}, 50)[name][1]
        text = (
            f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"
        )
        lines.append(f"| {name} | {text} |")
    return lines


if __name__ == "__main__":
    print("\n".join(table()), "\n", sep="")
    print("\n".join(others()))
