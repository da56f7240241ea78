"""Private linear models and forests side by side: hush and diffprivlib, in one run.

Run `python benchmarks/learning.py`. Both see the same splits of the same data, scaled
by the same bounds: the ends of the columns, taken as known. Means over `SPLITS` splits,
30 % of the rows held out; seconds are CPU time of the fastest fit on one core. The peer
runs in an environment and a process of its own and prints JSON.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".bench" / "peers-mechanisms"
PEERS = ["opendp==0.16.0", "diffprivlib==0.6.6", "scikit-learn<1.7"]
EPSILONS = (0.1, 0.5, 1.0, 3.0)
SPLITS = 200
LONGEST = 10.0  # CPU seconds of fits, after which fewer splits must do


def classification():
    import numpy as np
    from sklearn import datasets

    x, y = datasets.load_breast_cancer(return_X_y=True)
    yield "breast cancer 569 x 30", *_unit(x, x.min(0), x.max(0)), y, SPLITS
    x, y = datasets.load_digits(return_X_y=True)
    few = (y == 3) | (y == 8)
    x, y = x[few], (y[few] == 8).astype(int)
    yield "digits 3 v 8, 357 x 64", *_unit(x, 0.0, 16.0), y, SPLITS
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (100_000, 20))
    y = (x @ rng.normal(size=20) + rng.logistic(size=100_000) > 0).astype(int)
    yield "made 100 000 x 20", x, y, 3


def regression():
    import numpy as np
    from sklearn import datasets

    x, y = datasets.load_diabetes(return_X_y=True, scaled=False)
    yield (
        "diabetes 442 x 10",
        *_unit(x, x.min(0), x.max(0)),
        (y - 185.5) / 160.5,
        SPLITS,
    )
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (60_000, 6))
    y = x @ [0.2, -0.1, 0.1, 0.05, 0.0, 0.1] + 0.27 * rng.normal(size=60_000)
    yield "made 60 000 x 6", x, np.clip(y, -1, 1), 3


def _unit(x, low, high):
    return (((x - low) / (high - low)) * 2 - 1,)


def scored(make, x, y, splits):
    """Mean score over splits, CPU seconds of the fastest fit, and the mean's error."""
    import numpy as np
    from sklearn.model_selection import train_test_split

    scores, seconds = [], []
    for seed in range(splits):
        a, b, c, d = train_test_split(x, y, test_size=0.3, random_state=seed)
        start = time.process_time()
        model = make().fit(a, c)
        seconds.append(time.process_time() - start)
        scores.append(model.score(b, d))
        if sum(seconds) > LONGEST:
            break
    error = np.std(scores, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.nan
    return [float(np.mean(scores)), min(seconds), float(error)]


def hush_scores():
    from hush.learn import (
        HuberSVM,
        LinearRegression,
        LogisticRegression,
        RandomForestClassifier,
    )

    box = {"bounds": (-1, 1)}
    lines = {"y_bounds": (-1, 1), **box}
    logistic = {
        "logistic": lambda e: LogisticRegression(e, classes=(0, 1), **box),
        "logistic by DP-SGD, δ = 1e-6": lambda e: LogisticRegression(
            e, delta=1e-6, method="sgd", classes=(0, 1), **box
        ),
        "Huber SVM": lambda e: HuberSVM(e, classes=(0, 1), **box),
        "random forest": lambda e: RandomForestClassifier(
            epsilon=e, classes=(0, 1), **box
        ),
        "random forest, δ = 1e-6": lambda e: RandomForestClassifier(
            epsilon=e, delta=1e-6, classes=(0, 1), **box
        ),
    }
    linear = {
        "log-cosh": lambda e: LinearRegression(e, **lines),
        "statistics": lambda e: LinearRegression(e, method="statistics", **lines),
        "K-norm gradient": lambda e: LinearRegression(e, method="kng", **lines),
    }
    return table(logistic, linear)


def diffprivlib_scores():
    import warnings

    warnings.simplefilter("ignore")
    from diffprivlib import models

    def logistic(epsilon):
        return lambda columns: models.LogisticRegression(
            epsilon=epsilon, data_norm=columns**0.5, max_iter=1000
        )

    def linear(epsilon):
        return models.LinearRegression(
            epsilon=epsilon, bounds_X=(-1, 1), bounds_y=(-1, 1)
        )

    def forest(epsilon):
        return models.RandomForestClassifier(
            epsilon=epsilon, bounds=(-1, 1), classes=[0, 1]
        )

    return table(
        {"logistic": logistic, "random forest": forest}, {"least squares": linear}
    )


def table(classifiers, regressors):
    found = {}
    for tasks, makers in ((classification, classifiers), (regression, regressors)):
        for name, x, y, splits in tasks():
            for kind, maker in makers.items():
                for epsilon in EPSILONS:
                    model = maker(epsilon)
                    fixed = hasattr(model, "fit")
                    make = (
                        (lambda e=epsilon, m=maker: m(e))
                        if fixed
                        else (lambda m=model, k=x.shape[1]: m(k))
                    )
                    found[f"{name}|{kind}|{epsilon}"] = scored(make, x, y, splits)
    return found


PARTS = {"hush": hush_scores, "diffprivlib": diffprivlib_scores}


def measured(part, script=__file__):
    """Run one part of a script in a process of its own, the peer where it lives."""
    python = sys.executable
    if not part.startswith("hush"):
        python = str(HOME / "bin" / "python")
        if not Path(python).exists():
            venv.create(HOME, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "-q", *PEERS], check=True)
    # One thread each: CPU seconds are then those of one core.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [python, script, "--part", part],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return {}
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=PARTS)
    part = parser.parse_args().part
    if part:
        print(json.dumps(PARTS[part]()))
        return
    print("| data | model | " + " | ".join(f"ε = {e}" for e in EPSILONS) + " | ms |")
    print("|---|---|" + "---|" * (len(EPSILONS) + 1))
    lines = {}
    for peer in PARTS:
        for key, cell in measured(peer).items():
            name, kind, epsilon = key.split("|")
            lines.setdefault((name, f"{peer}, {kind}"), {})[epsilon] = cell
    for (name, model), cells in sorted(lines.items()):
        scores = " | ".join(
            f"{cell[0]:.3f} ± {cell[2]:.3f}" if cell[0] > -10 else "below -10"
            for cell in cells.values()
        )
        fastest = 1000 * min(cell[1] for cell in cells.values())
        print(f"| {name} | {model} | {scores} | {fastest:.1f} |")


if __name__ == "__main__":
    main()
