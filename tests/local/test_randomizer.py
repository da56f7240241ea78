"""The wire format: documented bytes, hostile messages, tallies that merge."""

import os
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hush
from hush.errors import InvalidArgument
from hush.local import LocalHashing, RandomizedResponse, SubsetSelection, UnaryEncoding
from hush.noise import Seeded
from local.laws import every

ORACLES = every(9)


@pytest.mark.parametrize(
    ("oracle", "width"),
    list(zip(every(1000), [2, 125, 125, 5, 2, 125], strict=True)),
    ids=repr,
)
def test_bytes_per_report_are_as_documented(oracle, width):
    reports = oracle.encode(np.arange(10))
    assert oracle.width == width
    assert len(reports.to_bytes()) == 8 + 10 * width


def test_the_format_does_not_change_by_accident():
    # Devices in the field keep sending version 1.
    reports = RandomizedResponse(1.0, 300).encode([0, 299], source=Seeded(1))
    assert reports.to_bytes()[:5] == b"hu\x01\x01\x01"
    assert reports.to_bytes()[5:8].hex() == "a2e0ae"
    assert [each.kind for each in ORACLES] == [1, 2, 2, 5, 4, 3]


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
def test_messages_are_read_back(oracle):
    reports = oracle.encode(np.arange(9))
    again = oracle.collect(reports.messages())
    assert (again.rows == reports.rows).all()
    assert again.rejected == 0
    assert not again.seeded
    assert oracle.collect(oracle.encode([1], source=Seeded(1)).messages()).seeded


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
def test_other_versions_kinds_and_parameters_are_rejected(oracle):
    message = oracle.encode([1, 2]).to_bytes()
    for place in range(8):
        forged = bytearray(message)
        forged[place] ^= 0x40
        assert oracle.collect([bytes(forged)]).rejected == 1
    other = type(oracle)(oracle.epsilon, 8)
    assert other.collect([message]).rejected == 1
    torn = oracle.collect([message + b"\0" * (oracle.width - 1)])
    assert torn.rejected == (oracle.width > 1)
    assert oracle.collect([b"", None, 7, message]).rejected == 3


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
def test_one_sender_cannot_stuff_the_ballot(oracle):
    message = oracle.encode([1, 2]).to_bytes()
    single = next(oracle.encode([3]).messages())
    taken = oracle.collect([message, single], most=1)
    assert (len(taken), taken.rejected) == (1, 1)


@given(st.lists(st.binary(max_size=60), max_size=8), st.sampled_from(ORACLES))
def test_no_bytes_whatever_crash_the_collector(bodies, oracle):
    head = oracle.encode([]).to_bytes()
    reports = oracle.collect([*bodies, *(head + body for body in bodies)])
    tally = oracle.aggregate(reports)
    assert tally.people == len(reports)
    assert tally.people + tally.rejected >= len(bodies)
    if tally.people:
        assert np.isfinite(oracle.estimate(tally).value).all()


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
def test_impossible_rows_are_counted_not_used(oracle):
    rows = np.full((5, oracle.width), 255, dtype=np.uint8)
    reports = oracle.collect([oracle.encode([]).to_bytes() + rows.tobytes()])
    assert (len(reports), reports.rejected) == (0, 5)
    with pytest.raises(InvalidArgument, match="5 were rejected"):
        oracle.estimate(reports)


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
def test_a_forged_report_moves_a_share_by_its_leverage_at_most(oracle):
    rng = np.random.default_rng(3)
    honest = oracle.encode(np.arange(90) % 9, source=Seeded(1))
    before = oracle.estimate(honest).value
    for _ in range(300):
        forged = rng.integers(0, 256, (3, oracle.width), dtype=np.uint8)
        forged &= rng.integers(0, 256, (3, oracle.width), dtype=np.uint8)
        rows = honest.rows.copy()
        rows[:3] = np.where(oracle.valid(forged)[:, None], forged, rows[:3])
        after = oracle.estimate(
            oracle.collect([honest.header() + rows.tobytes()])
        ).value
        assert np.abs(after - before).max() <= 3 * oracle.leverage / 90 + 1e-12


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
def test_tallies_merge_in_any_way(oracle):
    reports = oracle.encode(np.arange(90) % 9)
    whole = oracle.aggregate(reports)
    parts = [oracle.aggregate(oracle.collect([m])) for m in reports.messages()]
    merged = pickle.loads(pickle.dumps(parts[0]))
    for each in reversed(parts[1:]):
        merged = each + merged
    assert (merged.totals == whole.totals).all()
    assert merged.people == whole.people == 90
    one, two = oracle.estimate(merged), oracle.estimate(reports)
    assert (one.value == two.value).all()


def test_tallies_of_different_oracles_do_not_merge():
    a, b = RandomizedResponse(1.0, 9), RandomizedResponse(1.1, 9)
    ours, theirs = a.aggregate(a.encode([1])), b.aggregate(b.encode([1]))
    with pytest.raises(InvalidArgument, match="one randomizer"):
        ours + theirs
    with pytest.raises(InvalidArgument, match="must come from"):
        a.estimate(theirs)
    with pytest.raises(InvalidArgument, match="must come from"):
        a.estimate(b.encode([1]))
    with pytest.raises(InvalidArgument, match="collect"):
        a.aggregate(b"bytes")


@pytest.mark.parametrize(
    "oracle",
    [UnaryEncoding(1.0, 1000), SubsetSelection(1.0, 1000), LocalHashing(1.0, 1000)],
    ids=repr,
)
def test_blocks_leave_no_seam(oracle):
    # More people than one block; every report is valid and every category is told.
    n = 20_000
    reports = oracle.encode(np.arange(n) % 1000, source=Seeded(6))
    assert oracle.valid(reports.rows).all()
    assert len(np.unique(reports.rows, axis=0)) > 0.999 * n
    found = oracle.estimate(reports)
    wide = np.abs(found.value - 0.001) / found.std
    assert wide.max() < 7  # fails with probability below 1e-8


MILLION = r"""
import re, sys
import numpy as np
from hush.local import UnaryEncoding
def peak():  # of this program alone: ru_maxrss remembers the one that started it
    return int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])
oracle = UnaryEncoding(1.0, 1000)
values = np.arange(10**6) % 1000
oracle.estimate(oracle.encode(values[:5000]))
before = peak()
if sys.argv[1] == "whole":
    tally = oracle.aggregate(oracle.encode(values))
else:
    tally = sum((oracle.aggregate(oracle.encode(each)) for each in
                 np.array_split(values, 50)), start=oracle.aggregate(oracle.encode([])))
assert tally.people == 10**6 and np.isfinite(oracle.estimate(tally).value).all()
print((peak() - before) / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("how", "most"), [("whole", 125 + 48), ("stream", 40)])
def test_a_million_people_and_a_thousand_bits_stay_in_bounded_memory(how, most):
    # MiB above a small run: the reports themselves (119), or none when streamed. As
    # bytes instead of bits they would be a gigabyte.
    done = subprocess.run(
        [sys.executable, "-c", MILLION, how],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(hush.__file__).parents[1])},
    )
    assert float(done.stdout) < most


@pytest.mark.parametrize("oracle", every(1000), ids=repr)
def test_memory_is_that_of_the_reports_and_of_some_blocks(oracle):
    values = np.arange(60_000) % 1000
    oracle.aggregate(oracle.encode(values[:10]))  # caches are made once
    tracemalloc.start()
    try:
        reports = oracle.encode(values)
        tracemalloc.reset_peak()
        held = tracemalloc.get_traced_memory()[0]
        oracle.aggregate(reports)
        counting = tracemalloc.get_traced_memory()[1] - held
        tracemalloc.reset_peak()
        again = oracle.encode(values)
        encoding = tracemalloc.get_traced_memory()[1] - held - again.rows.nbytes
    finally:
        tracemalloc.stop()
    # Without blocks the bits of a million people would be a gigabyte; here 60 MB.
    assert counting < 12 << 20
    assert encoding < 12 << 20


def test_one_message_is_no_list_of_messages():
    oracle = RandomizedResponse(epsilon=1, size=4)
    reports = oracle.encode([0, 1, 1, 3])
    for wrong in (reports.to_bytes(), bytearray(reports.to_bytes()), reports, "hu"):
        with pytest.raises(InvalidArgument, match=r"Write \[message\] for one"):
            oracle.collect(wrong)
    assert len(oracle.collect([reports.to_bytes()])) == 4


def test_where_all_were_rejected_the_likely_cause_is_named():
    heard = RandomizedResponse(epsilon=2, size=4).collect(
        RandomizedResponse(epsilon=1, size=4).encode([1, 2]).messages()
    )
    with pytest.raises(InvalidArgument, match=r"2 were rejected\. Messages of other"):
        heard.randomizer.estimate(heard)
    nobody = RandomizedResponse(epsilon=2, size=4).encode([])
    with pytest.raises(InvalidArgument, match=r"0 were rejected\.$"):
        nobody.randomizer.estimate(nobody)


def test_a_column_of_floats_is_told_what_to_do():
    with pytest.raises(InvalidArgument, match=r"values\.astype\(int\)"):
        RandomizedResponse(epsilon=1, size=4).encode([0.0, 1.0])
