"""Ties: short words take the exact path thousands of times, and the law stands."""

import math
from fractions import Fraction

import numpy as np
import pytest

from goodness import FALSE_ALARM, fits, p_value
from hush import law, noise
from hush.noise.categorical import SoftmaxSampler, _Candidates
from hush.noise.gaussian import GaussianSampler
from hush.noise.inversion import Uniform, Word, exp_bracket
from hush.noise.laplace import GeometricSampler
from hush.noise.source import Seeded

DRAWS = 40_000
WORDS = [Word(bits=8, bucket=4), Word(bits=10, bucket=5), Word(bits=12, bucket=6)]


@pytest.fixture
def ties(monkeypatch):
    """Count the comparisons that exact arithmetic decides."""
    counted = []
    honest = Uniform.below

    def below(self, bracket):
        counted.append(1)
        return honest(self, bracket)

    monkeypatch.setattr(Uniform, "below", below)
    return counted


def sampled(sampler, bulk: bool, draws: int = DRAWS):
    draw = sampler.draw_many if bulk else sampler.draw_few
    source = Seeded(21)
    return np.concatenate([draw(4000, source) for _ in range(draws // 4000)])


@pytest.mark.thin(3)
@pytest.mark.statistical
@pytest.mark.parametrize("bulk", [False, True], ids=["steps", "table"])
@pytest.mark.parametrize("word", WORDS, ids=lambda word: f"{word.bits} bits")
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(5, 2), Fraction(40)])
def test_laplace_survives_ties(ties, scale, word, bulk):
    sampler = GeometricSampler(scale, signed=True, word=word)
    x = sampled(sampler, bulk)
    assert len(ties) > 100
    assert fits(law.DiscreteLaplace(scale), x) > FALSE_ALARM


@pytest.mark.thin(5)
@pytest.mark.statistical
@pytest.mark.parametrize("bulk", [False, True], ids=["steps", "table"])
@pytest.mark.parametrize("word", WORDS, ids=lambda word: f"{word.bits} bits")
@pytest.mark.parametrize("std", [Fraction(1), Fraction(5, 2), Fraction(70), 3000])
def test_gaussian_survives_ties(ties, std, word, bulk):
    x = sampled(GaussianSampler(Fraction(std), word=word), bulk)
    assert len(ties) > 100
    assert fits(law.DiscreteGaussian(std), x) > FALSE_ALARM


@pytest.mark.statistical
def test_low_digits_survive_ties(ties):
    # Scale 5000 has low digits, so the acceptance test meets ties as well.
    sampler = GeometricSampler(Fraction(5000), signed=True, word=Word(8, 4))
    assert fits(law.DiscreteLaplace(5000), sampled(sampler, True)) > FALSE_ALARM
    assert len(ties) > 1000


@pytest.mark.statistical
@pytest.mark.parametrize("answer", [True, False])
def test_a_tie_always_decided_the_same_way_is_noticed(monkeypatch, answer):
    # Sabotage: ties count as below (the cut is never passed), or pass exactly one cut.
    calls = {}

    def below(self, bracket):
        first = calls.setdefault(id(self), (self, 0))[1] == 0
        calls[id(self)] = (self, 1)
        return answer or not first

    monkeypatch.setattr(Uniform, "below", below)
    word = Word(bits=8, bucket=4)
    x = sampled(
        GeometricSampler(Fraction(5, 2), signed=True, word=word), False, 200_000
    )
    assert fits(law.DiscreteLaplace(Fraction(5, 2)), x) < FALSE_ALARM
    calls.clear()
    y = sampled(GaussianSampler(Fraction(5, 2), word=word), False, 200_000)
    assert fits(law.DiscreteGaussian(Fraction(5, 2)), y) < FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("word", WORDS, ids=lambda word: f"{word.bits} bits")
def test_coins_and_choices_survive_ties(ties, word):
    n = DRAWS
    third = noise.bernoulli(Fraction(1, 3), n, source=Seeded(22), word=word).sum()
    assert p_value([third, n - third], [n / 3, 2 * n / 3]) > FALSE_ALARM
    tenth = noise.bernoulli(np.full(n, 0.1), source=Seeded(23), word=word).sum()
    assert p_value([tenth, n - tenth], [n * 0.1, n * 0.9]) > FALSE_ALARM
    hits = noise.bernoulli_exp(1, n, source=Seeded(24), word=word).sum()
    chance = math.exp(-1)
    assert p_value([hits, n - hits], [n * chance, n * (1 - chance)]) > FALSE_ALARM
    weights = [0.0, -0.5, -3.0, -7.0]
    candidates = _Candidates("weights", weights, Fraction(1))
    x = SoftmaxSampler(candidates, word=word).draw(n, Seeded(25))
    law_ = np.exp(weights) / np.exp(weights).sum()
    assert p_value(np.bincount(x, minlength=4), law_ * n) > FALSE_ALARM
    assert len(ties) > 50


@pytest.mark.parametrize("x", [Fraction(1, 7), Fraction(3), Fraction(10**6, 7), 0])
@pytest.mark.parametrize("digits", [10, 40, 200])
def test_exponential_brackets_enclose(x, digits):
    import mpmath

    low, high = exp_bracket(Fraction(x), digits)
    with mpmath.workdps(digits + 450_000 // 1000 + 30):
        truth = mpmath.exp(-mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator)
        assert mpmath.mpf(low.numerator) / low.denominator <= truth
        assert truth <= mpmath.mpf(high.numerator) / high.denominator
    assert high - low <= high * Fraction(4, 10 ** (digits - 7))


def test_a_uniform_number_is_extended_until_it_differs():
    # 1/3 = 0.0101...: the first 8 bits are equal, so more must be drawn, again and
    # again while they repeat the pattern.
    class Repeating:
        left = 3

        def bits(self, count):
            self.left -= 1
            return (2**count - 1) // 3 if self.left else 0

    source = Repeating()
    third = Fraction(1, 3)
    assert Uniform(0b01010101, 8, source).below(lambda _: (third, third))
    assert source.left == 0
