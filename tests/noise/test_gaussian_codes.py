"""Coded noise: decoded, it is the discrete Gaussian, ties and far draws included."""

from fractions import Fraction

import numpy as np
import pytest

from goodness import FALSE_ALARM, fits
from hush import law
from hush.noise import Seeded
from hush.noise.gaussian_codes import (
    PLACE,
    Coded,
    _marked_places,
    aligned_buffer,
    codes_of,
)

WIDTHS = [Fraction(w) for w in (40, "777/2", 2**20, 2**21, 2**22 - 1)]


@pytest.mark.thin(3)
@pytest.mark.statistical
@pytest.mark.parametrize("std", WIDTHS, ids=str)
def test_decoded_codes_are_discrete_gaussian(std):
    """Fails wrongly with probability 1e-9; a law one part in fifty off is caught."""
    found = codes_of(std).decode(codes_of(std).draw(aligned_buffer(400_000), Seeded(5)))
    assert fits(law.DiscreteGaussian(std), found.astype(np.int64)) > FALSE_ALARM
    assert fits(law.DiscreteGaussian(std * 51 / 50), found.astype(np.int64)) < (
        FALSE_ALARM
    )


@pytest.mark.statistical
def test_short_tests_fall_back_on_exact_arithmetic():
    """With 4 bits of a test word nearly every test is a tie."""
    narrow = Coded(Fraction(100), test=4)
    found = narrow.decode(narrow.draw(aligned_buffer(30_000), Seeded(6)))
    assert fits(law.DiscreteGaussian(Fraction(100)), found.astype(np.int64)) > (
        FALSE_ALARM
    )


@pytest.mark.statistical
def test_open_buckets_that_keep_everything_are_caught():
    """The twin: without the test of open buckets the law is visibly too wide."""
    std = Fraction(2**20)  # blocks are widest, so rejections matter most
    sampler = Coded(std)
    sampler._always = np.where(sampler._decided, 1 << 32, sampler._always)
    found = sampler.decode(sampler.draw(aligned_buffer(8_000_000), Seeded(7)))
    assert fits(law.DiscreteGaussian(std), found.astype(np.int64)) < FALSE_ALARM


@pytest.mark.parametrize("std", WIDTHS, ids=str)
def test_what_is_sure_is_so_in_exact_arithmetic(std):
    """always and never enclose r(u) = (b + 1)/n and r(u) = b/n, by mpmath."""
    from mpmath import mp, mpf

    sampler = codes_of(std)
    with mp.workdps(40):
        for i in range(0, sampler._block.size, 97):
            if not sampler._decided[i]:
                continue
            h = int(sampler._block[i])
            start = (h << sampler.low) if h >= 0 else (~h << sampler.low) + 1
            n, b = int(sampler._count[i]), int(sampler._rank[i])

            def kept(u, start=start, n=n, b=b):
                scaled = Fraction(u * (2 * start + u)) / (2 * std**2)
                r = mp.exp(-mpf(scaled.numerator) / scaled.denominator)
                return n * r - b

            size = 1 << sampler.low
            start = (sampler._open + i) << PLACE
            always, never = (
                int(found[i] - start) >> (PLACE - sampler.low)
                for found in (sampler._always, sampler._never)
            )
            assert not always or kept(always - 1) >= 1
            assert never >= size or kept(never) <= 0


@pytest.mark.parametrize("std", WIDTHS, ids=str)
def test_every_number_within_seven_deviations_has_a_code(std):
    reach = int(7 * std)
    numbers = np.unique(np.linspace(-reach, reach, 20_001).astype(np.int64))
    codes = codes_of(std)._encode(numbers)
    assert codes.min() >= 0
    assert codes.max() < 2**32
    assert np.array_equal(codes_of(std).decode(codes.astype(np.uint32)), numbers)
    far = np.array([-(2**31), -int(20 * std), int(20 * std), 2**31 - 1])
    assert np.all(codes_of(std)._encode(far) < 0)


def test_draws_without_a_code_come_as_plain_numbers():
    """With codes for the inner blocks alone, numbers come as the codes said."""
    sampler, whole = Coded(Fraction(2**21)), codes_of(Fraction(2**21))
    sampler._bucket_of = sampler._bucket_of.copy()
    sampler._bucket_of[120:] = -1
    found = sampler.draw(aligned_buffer(100_000), Seeded(1))
    assert found.dtype == np.int32
    assert np.array_equal(
        found, whole.decode(whole.draw(aligned_buffer(100_000), Seeded(1)))
    )


def test_rooms_begin_on_a_cache_line():
    assert aligned_buffer(10).ctypes.data % 64 == 0
    assert codes_of(Fraction(100)).draw(aligned_buffer(0), Seeded(1)).size == 0


@pytest.mark.statistical
def test_too_few_spare_draws_are_made_up_for(monkeypatch):
    """64 spare draws for 2500 rejected ones; fails wrongly with probability 1e-9."""
    monkeypatch.setattr("hush.noise.gaussian_codes._SPARE", 1 << 40)
    std = Fraction(2**20)
    found = codes_of(std).decode(codes_of(std).draw(aligned_buffer(400_000), Seeded(8)))
    assert fits(law.DiscreteGaussian(std), found.astype(np.int64)) > FALSE_ALARM


def test_few_marks_are_found_where_they_are():
    for size in (0, 1, 7, 8, 1001):
        marks = np.random.default_rng(size).random(size) < 0.2
        assert np.array_equal(_marked_places(marks), np.flatnonzero(marks))
