"""Accounting side by side: hush against its peers, in one run on one machine.

    python benchmarks/accounting.py [--write FILE] [--without-peers]

Peers live in an environment of their own under .bench/, made on first use, and answer
in a subprocess. Times are process CPU time, the best of three for everyone. Peers run
with their defaults; prv-accountant is asked for an error of 0.1 in epsilon.
"""

import argparse
import itertools
import json
import math
import platform
import statistics
import subprocess
import sys
import time
import venv
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / ".bench" / "peers"
PACKAGES = ["dp-accounting==0.6.0", "prv-accountant==0.2.0", "setuptools<81"]

# (std, rate, times, delta) of DP-SGD, add/remove neighbors.
CASES = [
    (1.1, 256 / 60000, 14062, 1e-5),
    (0.8, 0.01, 1000, 1e-12),
    (4.0, 0.1, 10000, 1e-12),
    (0.5, 0.01, 5000, 1e-5),
    (2.0, 1e-4, 10**6, 1e-5),
    (2.0, 1e-4, 10**6, 1e-12),
    (1.1, 256 / 60000, 14062, 1e-30),
]
# The whole range that is promised, its hard corners (small σ, two steps) included.
GRID = list(
    itertools.product(
        (0.3, 1.0, 4.0, 50.0),
        (1e-7, 1e-4, 0.01, 0.3, 1.0),
        (1, 2, 30, 10**3, 10**6, 10**9, 10**12),
        (1e-3, 1e-6, 1e-30, 1e-100),
    )
)

PEER_SCRIPT = r"""
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import dp_accounting
from dp_accounting import pld, rdp
from prv_accountant import PRVAccountant, PoissonSubsampledGaussianMechanism

def event(std, rate, times):
    step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(std))
    return dp_accounting.SelfComposedDpEvent(step, times)

def ask_pld(std, rate, times, delta):
    accountant = pld.PLDAccountant().compose(event(std, rate, times))
    return [None, accountant.get_epsilon(delta)]

def ask_rdp(std, rate, times, delta):
    accountant = rdp.RdpAccountant().compose(event(std, rate, times))
    return [None, accountant.get_epsilon(delta)]

def ask_prv(std, rate, times, delta):
    step = PoissonSubsampledGaussianMechanism(
        noise_multiplier=std, sampling_probability=rate)
    accountant = PRVAccountant(prvs=[step], max_self_compositions=[times],
                               eps_error=0.1, delta_error=delta / 1000)
    low, _, high = accountant.compute_epsilon(
        delta=delta, num_self_compositions=[times])
    return [low, high]

for case in json.load(sys.stdin):
    answer = {}
    for name, ask in (("pld", ask_pld), ("prv", ask_prv), ("rdp", ask_rdp)):
        seconds = []
        for _ in range(3):
            start = time.process_time()
            try:
                bracket = [None if x is None else float(x) for x in ask(*case)]
            except Exception:
                bracket = [None, None]
            seconds.append(time.process_time() - start)
        answer[name] = {"bracket": bracket, "seconds": min(seconds)}
    print(json.dumps(answer), flush=True)
"""


def peers(cases: list[tuple[float, float, int, float]]) -> list[dict[str, dict]]:
    python = PEERS / "bin" / "python"
    if not python.exists():
        venv.create(PEERS, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES]
        subprocess.run(install, check=True)
    done = subprocess.run(
        [str(python), "-c", PEER_SCRIPT],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(
    std: float, rate: float, times: int, delta: float, repeats: int = 3
) -> tuple[float, float, float]:
    from hush.privacy.accountants.tightest import epsilon_bracket
    from hush.privacy.pld.gaussian_loss import SubsampledGaussianLoss

    best, low, high = math.inf, 0.0, 0.0
    for _ in range(repeats):
        start = time.process_time()
        both = [
            epsilon_bracket([(SubsampledGaussianLoss(std, rate, side), times)], delta)
            for side in ("add", "remove")
        ]
        best = min(best, time.process_time() - start)
        low = max(float(pair[0]) for pair in both)
        high = max(float(pair[1]) for pair in both)
    return low, high, best


def shown(answer: dict) -> str:
    low, high = answer["bracket"]
    if high is None:
        return f"error, {answer['seconds']:.2f} s"
    text = f"{high:.6g}" if low is None else f"[{low:.5g}, {high:.5g}]"
    return f"{text}, {answer['seconds']:.2f} s"


def tight(answer: dict, truth: float) -> bool:
    high = answer["bracket"][1]
    return high is not None and truth <= high <= 1.01 * truth


def side_by_side(*, with_peers: bool) -> list[str]:
    answers = peers(CASES) if with_peers else [{} for _ in CASES]
    lines = [
        "| (σ, q, T), δ | hush: bracket | width | time | dp-accounting PLD "
        "| prv-accountant | RDP | faster than the fastest tight peer |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case, answer in zip(CASES, answers, strict=True):
        low, high, seconds = ours(*case)
        rivals = [a["seconds"] for a in answer.values() if tight(a, low)]
        ratio = f"{min(rivals) / seconds:.0f}×" if rivals else "no peer is tight"
        std, rate, times, delta = case
        cells = [
            shown(answer[name]) for name in ("pld", "prv", "rdp") if name in answer
        ]
        cells = cells or ["–"] * 3
        lines.append(
            f"| ({std:g}, {rate:.4g}, {times:g}), {delta:g} "
            f"| [{low:.10g}, {high:.10g}] "
            f"| {(high - low) / high:.0e} | {1e3 * seconds:.1f} ms | "
            + " | ".join(cells)
            + f" | {ratio if answer else '–'} |"
        )
    return lines


def grid() -> list[str]:
    rows: dict[int, list[tuple[float, float]]] = {}
    for case in GRID:
        low, high, spent = ours(*case, repeats=1)
        width = 0.0 if high == 0 else (high - low) / high
        rows.setdefault(case[2], []).append((spent, width if high < math.inf else 1.0))
    everything = [row for part in rows.values() for row in part]
    lines = [
        "",
        f"A grid of {len(GRID)} cases: σ 0.3 to 50, q 1e-7 to 1, T 1 to 1e12, "
        "δ 1e-3 to 1e-100; both directions, caches cold.",
        "",
        "| T | cases | width ≤ 1e-6 | width ≤ 1e-3 | median time | slowest |",
        "|---|---|---|---|---|---|",
    ]
    for name, part in [*((f"{k:g}", v) for k, v in rows.items()), ("all", everything)]:
        spent = [row[0] for row in part]
        lines.append(
            f"| {name} | {len(part)} | {sum(row[1] <= 1e-6 for row in part)} "
            f"| {sum(row[1] <= 1e-3 for row in part)} "
            f"| {1e3 * statistics.median(spent):.1f} ms | {max(spent):.2f} s |"
        )
    return lines


def mix() -> list[str]:
    from hush.privacy.accountants.tightest import epsilon_bracket
    from hush.privacy.pld.discrete_loss import AtomsLoss
    from hush.privacy.pld.gaussian_loss import GaussianLoss, SubsampledGaussianLoss
    from hush.privacy.pld.laplace_loss import LaplaceLoss

    laws = [(LaplaceLoss(5 + 0.5 * i), 1) for i in range(50)]
    laws += [(GaussianLoss(0.05 + 0.01 * i), 1) for i in range(20)]
    for i in range(1, 11):
        p = [0.5 + 0.01 * i, 0.5 - 0.01 * i]
        laws.append((AtomsLoss.of(p, p[::-1]), 1))
    laws.append((SubsampledGaussianLoss(1.0, 0.01, "remove"), 500))
    best = math.inf
    for _ in range(5):
        start = time.process_time()
        low, high = epsilon_bracket(laws, 1e-6)
        best = min(best, time.process_time() - start)
    return [
        "",
        "A mix of 50 Laplace scales, 20 Gaussians, 10 randomized responses and 500 "
        f"subsampled steps, δ = 1e-6: [{low:.10g}, {high:.10g}] "
        f"in {1e3 * best:.0f} ms.",
    ]


def timed(ask, repeats: int = 5) -> tuple[object, float]:
    """Return an answer and the median CPU time; every turn starts from new values."""
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        found = ask()
        spent.append(time.process_time() - start)
    return found, statistics.median(spent)


def steps(std: float, rate: float, times: int):
    from hush.privacy import GDP, poisson, repeat

    return repeat(poisson(GDP(mu=1 / std), rate=rate), times=times)


def public() -> list[str]:
    """What a caller of the public functions waits for, caches cold."""
    from hush.mechanisms import Quantile, TopK, WinsorizedMean
    from hush.privacy import (
        GDP,
        RDP,
        ZCDP,
        Approx,
        Pair,
        Pure,
        calibrate,
        compose,
        fixed_size,
        repeat,
    )

    def calibrated(rate: float, times: int, target: Approx) -> float:
        return calibrate(lambda std: steps(std, rate, times), target=target)

    def batches(times: int):
        return repeat(fixed_size(GDP(1.0), batch=10, records=1000), times=times)

    answers = {
        "calibrate σ: q 0.01, T 1000, (2, 1e-6)": lambda: calibrated(
            0.01, 1000, Approx(2, 1e-6)
        ),
        "calibrate σ: q 256/60000, T 14062, (3, 1e-5)": lambda: calibrated(
            256 / 60000, 14062, Approx(3, 1e-5)
        ),
    }
    answers |= {
        f"delta_at: (1.1, 256/60000, 14062), ε {epsilon:g}": lambda e=epsilon: steps(
            1.1, 256 / 60000, 14062
        ).delta_at(e)
        for epsilon in (2.4, 8.0, 16.4, 25.0)
    }
    curves = {
        "zCDP with Laplace and Gaussian": lambda: compose(
            ZCDP(0.1), Pair.laplace(scale=2.0), GDP(0.3)
        ),
        "zCDP with ε-DP": lambda: compose(ZCDP(0.1), Pure(0.5)),
        "Rényi, top 1 and ε-DP": lambda: compose(
            TopK(1, scale=2.0).curve(1), RDP(lambda order: 0.05 * order), Pure(0.2)
        ),
        "100 batches of 10 in 1000": lambda: batches(100),
        "10000 batches of 10 in 1000": lambda: batches(10_000),
        "top 10": lambda: TopK(10, scale=2.0).curve(1),
        "quartiles": lambda: Quantile((0.25, 0.5, 0.75), (0.0, 1.0), 4.0).curve(1),
        "winsorized mean": lambda: WinsorizedMean((0.0, 1.0), 2.0).curve(1),
    }
    lines = ["", "| answer of one call | value | median time |", "|---|---|---|"]
    for name, ask in answers.items():
        found, spent = timed(ask)
        lines.append(f"| {name} | {found:.10g} | {1e3 * spent:.1f} ms |")
    for name, curve in curves.items():
        found, spent = timed(lambda curve=curve: curve().epsilon_at(1e-6))
        low = curve().epsilon_at_lower(1e-6)
        lines.append(
            f"| epsilon_at(1e-6): {name} | [{low:.8g}, {found:.8g}] "
            f"| {1e3 * spent:.1f} ms |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path)
    parser.add_argument("--without-peers", action="store_true")
    arguments = parser.parse_args()
    sys.path.insert(0, str(ROOT / "src"))
    lines = [
        f"Measured {date.today()} with Python {platform.python_version()} on "
        f"{platform.machine()}; process CPU time.",
        "",
        *side_by_side(with_peers=not arguments.without_peers),
        *grid(),
        *mix(),
        *public(),
    ]
    print("\n".join(lines))
    if arguments.write:
        arguments.write.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
