"""Naive Bayes, components and clusters side by side: hush and diffprivlib, in one run.

Run `python benchmarks/classics.py`. Both see the same data in the same box, the ends
of the columns taken as known. Naive Bayes: mean accuracy on the 30 % of rows held out.
Components: variance along the first two found, relative to the best two. Clusters: mean
squared distance to the nearest centre, relative to scikit-learn's best of ten. Means
over `REPEATS` fits; 1 is best for the last two. A fit that takes ten seconds is left
out: a third of the peer's components of breast cancer take longer than two.
"""

import argparse
import json
import signal
import time

from learning import measured, scored

EPSILONS = (0.1, 0.5, 1.0, 3.0)
REPEATS = 20


def tables():
    """Yield (name, rows in [-1, 1], labels)."""
    import numpy as np
    from sklearn import datasets

    for name, load in (
        ("iris", datasets.load_iris),
        ("breast cancer", datasets.load_breast_cancer),
    ):
        x, y = load(return_X_y=True)
        yield name, 2 * (x - x.min(0)) / (x.max(0) - x.min(0)) - 1, y
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 10_000)
    x = rng.uniform(-0.8, 0.8, (5, 6))[y] + 0.15 * rng.normal(size=(10_000, 6))
    yield "made, five classes", np.clip(x, -1, 1), y


def variance(x, components):
    """Variance along two directions, orthonormal or made so."""
    import numpy as np

    basis = np.linalg.qr(np.asarray(components).T)[0]
    return float(np.var(x @ basis, axis=0).sum())


def distance(x, centers):
    """Mean squared distance to the nearest centre."""
    import numpy as np

    return float(np.mean(((x[:, None] - centers) ** 2).sum(axis=2).min(axis=1)))


def repeated(make, measure):
    """Return the mean of a measure over fits, and CPU seconds of the fastest."""
    found, seconds = [], []
    for _ in range(REPEATS):
        start = time.process_time()
        model = within(make, seconds=10)
        if model is None:
            continue
        seconds.append(time.process_time() - start)
        found.append(measure(model))
    return [sum(found) / max(len(found), 1), min(seconds, default=float("inf"))]


def within(make, seconds):
    """Return what `make` does, or None if it takes longer."""

    def stop(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return make()
    except TimeoutError:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def table(bayes, components, clusters):
    """Measure every model on every table."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA

    found = {}
    for name, x, y in tables():
        shown = f"{name}, {len(x)} x {x.shape[1]}"
        groups = int(y.max()) + 1
        best = variance(x, PCA(2).fit(x).components_)
        plain = KMeans(groups, n_init=10, random_state=0).fit(x)
        least = distance(x, plain.cluster_centers_)
        for epsilon in EPSILONS:
            found[f"{shown}|naive Bayes|{epsilon}"] = scored(
                lambda e=epsilon, g=groups: bayes(e, g), x, y, REPEATS
            )
            found[f"{shown}|components|{epsilon}"] = repeated(
                lambda e=epsilon, x=x: components(e, x.shape[1]).fit(x),
                lambda m, x=x, b=best: variance(x, m.components_) / b,
            )
            found[f"{shown}|clusters|{epsilon}"] = repeated(
                lambda e=epsilon, g=groups, x=x: clusters(e, g).fit(x),
                lambda m, x=x, b=least: distance(x, m.cluster_centers_) / b,
            )
    return found


def hush_scores():
    from hush.learn import PCA, GaussianNB, KMeans

    box = {"bounds": (-1, 1)}
    return table(
        lambda e, g: GaussianNB(e, classes=tuple(range(g)), **box),
        lambda e, _: PCA(epsilon=e, n_components=2, **box),
        lambda e, g: KMeans(g, epsilon=e, **box),
    )


def hush_gaussian_scores():
    from hush.learn import PCA, GaussianNB, KMeans

    box = {"bounds": (-1, 1), "delta": 1e-6}
    return table(
        lambda e, g: GaussianNB(e, classes=tuple(range(g)), **box),
        lambda e, _: PCA(epsilon=e, n_components=2, **box),
        lambda e, g: KMeans(g, epsilon=e, **box),
    )


def diffprivlib_scores():
    import warnings

    warnings.simplefilter("ignore")
    from diffprivlib import models

    box = {"bounds": (-1, 1)}
    return table(
        lambda e, _: models.GaussianNB(epsilon=e, **box),
        lambda e, d: models.PCA(2, epsilon=e, data_norm=d**0.5, **box),
        lambda e, g: models.KMeans(g, epsilon=e, **box),
    )


PARTS = {
    "diffprivlib": diffprivlib_scores,
    "hush": hush_scores,
    "hush, δ = 1e-6": hush_gaussian_scores,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=PARTS)
    part = parser.parse_args().part
    if part:
        print(json.dumps(PARTS[part]()))
        return
    lines = {}
    for peer in PARTS:
        for key, (score, seconds, *_) in measured(peer, __file__).items():
            name, kind, epsilon = key.split("|")
            lines.setdefault((kind, name, peer), {})[epsilon] = (score, seconds)
    heads = " | ".join(f"ε = {e}" for e in EPSILONS)
    print(f"| what | data | library | {heads} | ms |")
    print("|---|---|---|" + "---|" * (len(EPSILONS) + 1))
    for (kind, name, peer), cells in sorted(lines.items()):
        scores = " | ".join(f"{score:.3f}" for score, _ in cells.values())
        fastest = 1000 * min(seconds for _, seconds in cells.values())
        print(f"| {kind} | {name} | {peer} | {scores} | {fastest:.1f} |")


if __name__ == "__main__":
    main()
