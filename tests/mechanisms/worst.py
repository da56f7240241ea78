"""The worst neighbors of each mechanism as exact laws: noise factor -> pairs (p, q)."""

import itertools
import math

import exact
import numpy as np


def response(k, honesty):
    def pairs(factor):
        lie = min(1 - honesty, (1 - honesty) * factor)
        other = lie / (k - 1)
        p, q = np.full(k, other), np.full(k, other)
        p[0], q[1] = 1 - lie, 1 - lie
        return exact.both(p, q)

    return pairs


def selection(law, scale, monotone=False):
    """Worst pairs among small score vectors moved by 1 up or down."""

    def pairs(factor):
        found = []
        moves = (0, 1) if monotone else (-1, 0, 1)
        for size in (2, 3):
            for u in itertools.product((0, 1, 3), repeat=size):
                for step in itertools.product(moves, repeat=size):
                    v = np.array(u) + step
                    if size == 2 or sorted(step) == sorted(moves):
                        found += exact.both(
                            law(u, scale * factor), law(v.tolist(), scale * factor)
                        )
        return found

    return pairs


def exponential(scale, span):
    """The two-candidate pairs that attain the curve at each ε of the law-suite."""

    def pairs(factor):
        found = []
        for e in np.linspace(0, 1.2 * span, 200)[:166]:  # the rates of the law-suite
            t = (span + e) / 2
            p = -math.expm1(t - span) / -math.expm1(-span)
            gap = math.log(p / (1 - p)) * scale
            found.append(
                (
                    exact.softmax([gap, 0], scale * factor),
                    exact.softmax([gap - span * scale, 0], scale * factor),
                )
            )
        return found

    return pairs


def records(at, bounds, scale, *, replace):
    def pairs(factor):
        found = []
        points = [bounds[0], 0.3, 0.5, 0.9, bounds[1]]
        for n in (1, 2, 3):
            for data in itertools.combinations_with_replacement(points, n):
                others = (
                    [(x, *data[1:]) for x in points]
                    if replace
                    else [data[1:], (*data, 0.5), (*data, bounds[0]), (*data, 0.9)]
                )
                for other in others:
                    if other:
                        pair = exact.quantile(data, other, at, bounds, scale * factor)
                        found += exact.both(*pair)
        return found

    return pairs


def shift(law, by, noise):
    return lambda factor: exact.both(*exact.shifted(law(noise * factor), by))


def spread(law, shifts, noise):
    """Independent coordinates, each moved by its own shift."""

    def pairs(factor):
        moved = [exact.shifted(law(noise * factor), by) for by in shifts]
        p, q = (exact.product(*[each[side] for each in moved]) for side in (0, 1))
        return exact.both(p, q)

    return pairs


def stairs(epsilon, width, inner):
    def pairs(factor):
        law = exact.staircase(epsilon / factor, width, inner)
        found = []
        for by in range(1, width + 1):
            found += exact.both(*exact.shifted(law, by))
        return found

    return pairs


def sparse(scale, hits_scale):
    def pairs(factor):
        found = []
        for a, b in itertools.product(itertools.product((0, 1, 2), repeat=3), repeat=2):
            if max(abs(x - y) for x, y in zip(a, b, strict=True)) == 1:
                p, q = (
                    exact.above_threshold(x, 1, scale * factor, hits_scale * factor)
                    for x in (a, b)
                )
                found.append((p, q))
        return found[::7]

    return pairs


def chances(mechanism):
    """A key with n and n + 1 holders: named or not."""

    def pairs(_):
        named = [mechanism.chance(n) for n in range(mechanism.chances.size + 1)]
        found = []
        for p, q in itertools.pairwise(named):
            found += exact.both(np.array([p, 1 - p]), np.array([q, 1 - q]))
        return found

    return pairs
