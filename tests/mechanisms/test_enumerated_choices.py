"""Choices against laws enumerated from their descriptions."""

import itertools
import math
import random
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from fifty import EPSILONS, covers, laplace, real

from goodness import FALSE_ALARM, p_value
from hush import mechanisms as m
from hush.noise import Seeded


@pytest.fixture(autouse=True)
def fifty_digits():
    with mp.workdps(50):
        yield


def softmax(u, scale):
    weights = [mp.exp(real(x) / real(scale)) for x in u]
    return [w / mp.fsum(weights) for w in weights]


def best_first(u, scale, count):
    """Ordered choices without replacement."""
    law = {}
    for order in itertools.permutations(range(len(u)), count):
        left, chance = list(range(len(u))), mp.mpf(1)
        for place in order:
            chance *= softmax([u[i] for i in left], scale)[left.index(place)]
            left.remove(place)
        law[order] = chance
    return law


def permute_and_flip(u, scale):
    """Each kept with chance e^(gap/scale), one of the kept at random."""
    keep = [mp.exp(real(x - max(u)) / real(scale)) for x in u]
    law = dict.fromkeys(range(len(u)), mp.mpf(0))
    for kept in itertools.product((False, True), repeat=len(u)):
        if any(kept):
            chance = mp.fprod(
                k if yes else 1 - k for k, yes in zip(keep, kept, strict=True)
            )
            for i, yes in enumerate(kept):
                law[i] += chance / sum(kept) if yes else 0
    return law


def noisy_max(u, scale):
    """Integer Laplace noise on each, ties shared."""
    reach = math.ceil(60 * scale)
    noise = laplace(scale, reach)
    law = dict.fromkeys(range(len(u)), mp.mpf(0))
    below = {}
    total = mp.mpf(0)
    for k in range(-reach, reach + 1):
        below[k] = total
        total += noise[k]
    for i, top in itertools.product(range(len(u)), range(-reach, reach + 1)):
        rivals = [top + u[i] - u[j] for j in range(len(u)) if j != i]
        at = [noise.get(k, mp.mpf(0)) for k in rivals]
        under = [below.get(k, mp.mpf(k > 0)) for k in rivals]
        for tied in itertools.product((False, True), repeat=len(rivals)):
            chance = mp.fprod(
                a if t else b for a, b, t in zip(at, under, tied, strict=True)
            )
            law[i] += noise[top] * chance / (1 + sum(tied))
    return law


def moves(rng, u, monotone):
    step = [rng.choice((0, 1) if monotone else (-1, 0, 1)) for _ in u]
    return [a + b for a, b in zip(u, step, strict=True)]


@pytest.mark.parametrize("monotone", [False, True])
def test_selections_of_random_utilities(monotone):
    rng = random.Random(7)
    exponential = m.Exponential(1.5, monotone=monotone)
    flip = m.PermuteAndFlip(1.5, monotone=monotone)
    largest = m.NoisyMax(1.0, kind="laplace", monotone=monotone)
    top = m.TopK(count=2, scale=1.5, monotone=monotone)
    for _ in range(6):
        u = [rng.choice([0, 0, 1, 2, 5]) for _ in range(3)]
        v = moves(rng, u, monotone)
        p, q = (dict(enumerate(softmax(x, 1.5))) for x in (u, v))
        assert covers(exponential.curve(1), [(p, q)])
        assert covers(flip.curve(1), [tuple(permute_and_flip(x, 1.5) for x in (u, v))])
        assert covers(top.curve(1), [tuple(best_first(x, 1.5, 2) for x in (u, v))])
    pair = tuple(noisy_max(x, 1.0) for x in (u, v))
    assert covers(largest.curve(1), [pair], EPSILONS[:7], "1e-20")


def test_three_best_of_four_are_drawn_in_order():
    u, mechanism, source = [3, 0, 1, 1], m.TopK(count=3, scale=1.5), Seeded(5)
    law = best_first(u, 1.5, 3)
    drawn = [tuple(mechanism.run(u, source=source).tolist()) for _ in range(600)]
    seen = [drawn.count(order) for order in law]
    assert p_value(seen, [float(p) * len(drawn) for p in law.values()]) > FALSE_ALARM
    rows = np.tile(np.array(u), (600, 1))
    groups = m.CellTop(count=3, scale=1.5).run(rows, source=source)
    seen = [sum(tuple(row) == order for row in groups.tolist()) for order in law]
    assert p_value(seen, [float(p) * 600 for p in law.values()]) > FALSE_ALARM


def talk(queries, threshold, scale, hits, monotone):
    """Law of all answers; `queries` maps the answers so far to the next question."""
    wide = hits * scale * (1 if monotone else 2)
    bar = laplace(scale, math.ceil(40 * scale))
    each = laplace(wide, math.ceil(45 * wide))
    largest = max(each)
    tail, total = {}, mp.mpf(0)
    for k in range(largest, -largest - 1, -1):
        total += each[k]
        tail[k] = total

    def yes(need):
        return tail.get(need, mp.mpf(need < 0))

    law = {}

    def ask(answers, weights):
        question = queries.get(answers)
        if question is None or sum(answers) == hits:
            law[answers] = mp.fsum(weights.values())
            return
        for answer in (False, True):
            chance = {t: yes(threshold + t - question) for t in weights}
            ask(
                (*answers, answer),
                {
                    t: w * (chance[t] if answer else 1 - chance[t])
                    for t, w in weights.items()
                },
            )

    ask((), bar)
    return law


@pytest.mark.parametrize("monotone", [False, True])
def test_conversations_with_two_hits_that_depend_on_the_answers(monotone):
    rng = random.Random(3)
    threshold, scale = 1, 0.5
    mechanism = m.SparseVector(threshold, scale, hits=2, monotone=monotone)
    asked = [a for n in range(3) for a in itertools.product((False, True), repeat=n)]
    one = {a: rng.randrange(-1, 4) for a in asked}
    two = dict(zip(asked, moves(rng, list(one.values()), monotone), strict=True))
    worst = {a: v + (1 if monotone else rng.choice((-1, 1))) for a, v in one.items()}
    laws = [talk(q, threshold, scale, 2, monotone) for q in (one, two, worst)]
    pairs = [(laws[0], laws[1]), (laws[0], laws[2])]
    assert covers(mechanism.curve(1), pairs, EPSILONS[:7], "1e-15")
    source, seen = Seeded(4), dict.fromkeys(laws[0], 0)
    for _ in range(800):
        conversation, answers = mechanism.start(source=source), ()
        while answers in one and not conversation.over:
            answers = (*answers, conversation.ask(one[answers]))
        seen[answers] += 1
    expected = [float(p) * 800 for p in laws[0].values()]
    assert p_value(list(seen.values()), expected) > FALSE_ALARM


def quantile_law(weights, at, scale):
    """exp(-distance of at·total from [below, up to]/scale), cell by cell."""
    target, below, errors = at * sum(weights), 0, []
    for w in weights:
        errors.append(max(Fraction(0), below - target, target - below - w))
        below += w
    chances = [mp.exp(-real(x / Fraction(scale))) for x in errors]
    return dict(enumerate(c / mp.fsum(chances) for c in chances))


CELLS = [[0] * 5, [0, 3, 0, 1, 2], [9, 0, 0, 0, 0], [0, 0, 0, 0, 9], [4, 0, 0, 0, 5]]


@pytest.mark.parametrize("at", [0.5, 0.9])
def test_cells_are_drawn_and_charged_by_their_rank_error(at):
    level, scale = Fraction(at).limit_denominator(100), 0.7
    mechanism = m.CellQuantile(at, size=5, scale=scale)
    curve, source = mechanism.curve(1), Seeded(8)
    for weights in CELLS:
        law = quantile_law(weights, level, scale)
        more = [
            quantile_law([w + (i == j) for j, w in enumerate(weights)], level, scale)
            for i in range(5)
        ]
        assert covers(curve, [(law, other) for other in more], EPSILONS[:6])
        seen = np.bincount(
            mechanism.run(np.tile(weights, (600, 1)), source=source), minlength=5
        )
        assert p_value(seen, [float(p) * 600 for p in law.values()]) > FALSE_ALARM


def test_the_tests_can_fail():
    """Half the noise is noticed, in the curve and in the draws."""
    p, q = (dict(enumerate(softmax(u, 1.5))) for u in ([0, 1, 0], [1, 0, 0]))
    assert not covers(m.Exponential(3.0).curve(1), [(p, q)])
    law = best_first([3, 0, 1], 1.5, 2)
    drawn = m.CellTop(count=2, scale=3.0).run(np.tile([3, 0, 1], (600, 1)))
    seen = [sum(tuple(row) == order for row in drawn.tolist()) for order in law]
    assert p_value(seen, [float(x) * 600 for x in law.values()]) < FALSE_ALARM
