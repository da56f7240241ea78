"""Mechanisms side by side: hush, OpenDP, diffprivlib and NumPy, in one run.

Run `python benchmarks/mechanisms.py`: peers are installed into an environment of their
own, run in a process of their own, and print JSON; the table goes to standard output.
NumPy's noise is neither private (floats) nor secure; it is here as the speed of light.
"""

import argparse
import json
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".bench" / "peers-mechanisms"
# diffprivlib 0.6.6 imports names that later scikit-learn versions dropped.
PEERS = ["opendp==0.16.0", "diffprivlib==0.6.6", "scikit-learn<1.7"]
SIZE = 10**6
TASKS = [
    "laplace floats",
    "laplace integers",
    "gaussian floats",
    "noisy max",
    "quantile",
]


def best(function, repeats: int) -> float:
    function()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        found.append(time.perf_counter() - start)
    return min(found)


def inputs():
    import numpy as np

    rng = np.random.default_rng(1)
    return (
        rng.normal(50, 10, SIZE),
        rng.integers(0, 1000, SIZE),
        rng.uniform(0, 100, SIZE),
    )


def hush_times() -> dict[str, float]:
    from hush import mechanisms as m

    floats, whole, scores = inputs()
    quantile = m.Quantile.for_epsilon(1, at=0.9, bounds=(0, 100))
    return {
        "laplace floats": best(lambda: m.Laplace(1.0).run(floats), 5),
        "laplace integers": best(lambda: m.Laplace(1.0).run(whole), 5),
        "gaussian floats": best(lambda: m.Gaussian(1.0).run(floats), 5),
        "noisy max": best(lambda: m.NoisyMax(1.0).run(scores), 5),
        "quantile": best(lambda: quantile.run(floats), 5),
    }


def numpy_times() -> dict[str, float]:
    import numpy as np

    floats, whole, scores = inputs()
    rng = np.random.default_rng(2)
    return {
        "laplace floats": best(lambda: floats + rng.laplace(size=SIZE), 5),
        "laplace integers": best(
            lambda: whole + rng.geometric(0.63, SIZE) - rng.geometric(0.63, SIZE), 5
        ),
        "gaussian floats": best(lambda: floats + rng.normal(size=SIZE), 5),
        "noisy max": best(lambda: np.argmax(scores + rng.gumbel(size=SIZE)), 5),
        "quantile": best(lambda: np.quantile(floats, 0.9), 5),
    }


def opendp_times() -> dict[str, float]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    floats, whole, scores = (each.tolist() for each in inputs())
    reals = (
        dp.vector_domain(dp.atom_domain(T=float, nan=False)),
        dp.l1_distance(T=float),
    )
    integers = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    wide = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    laplace = dp.m.make_laplace(*reals, scale=1.0)
    geometric = dp.m.make_laplace(*integers, scale=1.0)
    gaussian = dp.m.make_gaussian(*wide, scale=1.0)
    # Its vectors cost the same per value at any length: a twentieth, scaled up.
    part = SIZE // 20
    few, ints = floats[:part], whole[:part]
    found = {
        "laplace floats": 20 * best(lambda: laplace(few), 1),
        "laplace integers": 20 * best(lambda: geometric(ints), 1),
        "gaussian floats": 20 * best(lambda: gaussian(few), 1),
    }
    try:
        chosen = dp.m.make_noisy_max(
            dp.vector_domain(dp.atom_domain(T=float, nan=False)),
            dp.linf_distance(T=float),
            dp.max_divergence(),
            scale=1.0,
        )
        found["noisy max"] = best(lambda: chosen(scores), 1)
    except Exception as problem:  # a peer's interface may move; the table says so
        print(f"opendp noisy max: {problem}", file=sys.stderr)
    try:
        space = (
            dp.vector_domain(dp.atom_domain(T=float, nan=False)),
            dp.symmetric_distance(),
        )
        candidates = [i / 10 for i in range(1001)]
        quantile = dp.m.make_private_quantile(
            *space, dp.max_divergence(), candidates=candidates, alpha=0.9, scale=1.0
        )
        found["quantile"] = best(lambda: quantile(floats), 1)
    except Exception as problem:
        print(f"opendp quantile: {problem}", file=sys.stderr)
    return found


def diffprivlib_times() -> dict[str, float]:
    import warnings

    warnings.simplefilter("ignore")
    from diffprivlib import mechanisms as dm
    from diffprivlib import tools

    floats, whole, scores = inputs()
    part = 10**4  # one Python call per value: a hundredth, scaled up
    laplace = dm.Laplace(epsilon=1, sensitivity=1)
    geometric = dm.Geometric(epsilon=1, sensitivity=1)
    gaussian = dm.GaussianAnalytic(epsilon=1, delta=1e-6, sensitivity=1)
    few = [float(each) for each in floats[:part]]
    ints = [int(each) for each in whole[:part]]
    factor = SIZE / part
    found = {
        "laplace floats": factor * best(lambda: [laplace.randomise(x) for x in few], 1),
        "laplace integers": factor
        * best(lambda: [geometric.randomise(x) for x in ints], 1),
        "gaussian floats": factor
        * best(lambda: [gaussian.randomise(x) for x in few], 1),
        "quantile": best(
            lambda: tools.quantile(floats, 0.9, epsilon=1, bounds=(0, 100)), 1
        ),
    }
    choice = dm.PermuteAndFlip(
        epsilon=1, sensitivity=1, utility=scores.tolist(), monotonic=False
    )
    found["noisy max"] = best(choice.randomise, 1)
    exponential = best(
        lambda: dm.Exponential(
            epsilon=1, sensitivity=1, utility=scores.tolist()
        ).randomise(),
        1,
    )
    found["noisy max"] = min(found["noisy max"], exponential)
    return found


PARTS = {
    "hush": hush_times,
    "numpy": numpy_times,
    "opendp": opendp_times,
    "diffprivlib": diffprivlib_times,
}


def peers_python() -> str:
    python = HOME / "bin" / "python"
    if not python.exists():
        venv.create(HOME, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", *PEERS]
        subprocess.run(pip, check=True)
    return str(python)


def measured(part: str) -> dict[str, float]:
    python = sys.executable if part in ("hush", "numpy") else peers_python()
    done = subprocess.run(
        [python, __file__, "--part", part], check=False, capture_output=True, text=True
    )
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return {}
    return json.loads(done.stdout.splitlines()[-1])


def table(times: dict[str, dict[str, float]]) -> str:
    head = ["task (10^6 values)", *times, "fastest private peer / hush"]
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    for task in TASKS:
        row = [task]
        row += [f"{1e3 * t[task]:.1f} ms" if task in t else "-" for t in times.values()]
        rivals = [times[p][task] for p in ("opendp", "diffprivlib") if task in times[p]]
        ours = times["hush"].get(task)
        row.append(f"{min(rivals) / ours:.0f}x" if rivals and ours else "-")
        lines.append(" | ".join(row))
    return "\n".join(f"| {line} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    chosen = parser.parse_args()
    if chosen.part:
        print(json.dumps(PARTS[chosen.part]()))
        return
    text = table({part: measured(part) for part in PARTS})
    print(text)
    if chosen.out:
        chosen.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
