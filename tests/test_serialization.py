"""Stored text: tags, values to the last bit, and limits on what is read."""

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import hush
from hush import legacy_formats, serialization
from hush.errors import HushError, InvalidArgument
from hush.mechanisms import Laplace, Mechanism, tagged
from hush.privacy import Curve, Pair, Pure
from hush.privacy.pairs.dominating import Density
from hush.serialization import decode, encode, freeze, kind_of, tag_of


def tags():
    """Return every tag of hush, found in a process that has loaded all of it."""
    import hush.learn.sgd
    import hush.tables  # noqa: F401

    ours = {k: v for k, v in serialization._kinds.items() if "hush" in v.__module__}
    return {k: v for k, v in ours.items() if v.__module__.startswith("hush.")}


def test_every_old_path_has_a_tag_that_a_fresh_process_finds():
    names = sorted(set(legacy_formats.PATHS.values()) | tags().keys())
    code = (
        "import json, sys\n"
        "from hush.serialization import kind_of, tag_of\n"
        "for tag in json.loads(sys.argv[1]):\n"
        "    assert tag_of(kind_of(tag)) == tag, tag\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(names)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-1500:]


@pytest.mark.parametrize("tag", ["geometric/1", "law.finite/1", "learn.moments/1"])
def test_a_tag_is_found_by_a_process_that_has_loaded_nothing(tag):
    code = f"from hush.serialization import kind_of; print(kind_of({tag!r}).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() in ("Geometric", "Finite", "Moments"), done.stderr


def test_no_two_classes_share_a_tag_and_every_mechanism_has_one():
    found = tags()
    assert len(set(found.values())) == len(found)
    mechanisms = [
        kind
        for name in hush.mechanisms.__all__
        if isinstance(kind := getattr(hush.mechanisms, name), type)
        and issubclass(kind, Mechanism)
        and kind is not Mechanism
    ]
    assert mechanisms
    assert not [kind for kind in mechanisms if tag_of(kind) is None]


def test_a_stored_text_names_no_module():
    ledger = hush.Ledger.open("memory://", budget=hush.Budget(epsilon=10))
    release = ledger.release(Laplace(2.0), hush.mechanisms.count(), [1, 2, 3])
    assert '"hush":"laplace/1"' in release.text
    for entry in ledger.history():
        assert "hush." not in json.dumps(entry.content)


FORGED = [
    {"hush": "fraction", "value": "1e1000000000"},
    {"hush": "fraction", "value": "1/0"},
    {"hush": "fraction", "value": "9" * 5000},
    {"hush": "decimal", "value": "1" * 5000},
    {"hush": "array", "shape": [1 << 60], "dtype": "<f8", "items": []},
    {"hush": "array", "shape": [2], "dtype": "<U999999999", "items": ["a", "b"]},
    {"hush": "array", "shape": [2], "dtype": "<f8", "items": [1.0]},
    {"hush": "array", "shape": [-1], "dtype": "<f8", "items": [1.0]},
    {"hush": "array", "shape": [1], "dtype": "<V8", "items": [1]},
    {"hush": "array", "shape": [1], "dtype": "<f8", "base64": "?"},
    {"hush": "scalar", "dtype": "object_", "value": 1},
    {"hush": "moment", "kind": "timedelta", "value": "1"},
    {"hush": "os.system/1", "command": "true"},
    {"hush": "subprocess.popen/1"},
    {"hush": "geometric/2", "scale": 2},
    {"hush": "geometric/1", "scale": -2},
    {"hush": "geometric/1", "wide": 2},
    {"hush": "geometric/1"},
    {"hush": ["geometric/1"]},
    {"hush": "tuple"},
    {"hush": "dict", "items": [[[], 1]]},
    {"hush": "units.neighbors/1", "value": "friends"},
]


@pytest.mark.parametrize("forged", FORGED, ids=lambda each: json.dumps(each)[:60])
def test_forged_values_are_refused(forged):
    with pytest.raises(HushError):
        decode(forged)
    with pytest.raises(HushError):
        decode({"a": [forged]})


def test_depth_length_and_digits_are_limited():
    deep = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(InvalidArgument, match="deep"):
        decode(deep)
    for text in ("[" * 100_000, '{"x": ' + "9" * 5000 + "}", "NaN", None, b"{}"):
        with pytest.raises(InvalidArgument):
            serialization.parse(text, "a text")
    for make in (Mechanism.from_json, Curve.from_json, hush.Release.from_json):
        with pytest.raises(InvalidArgument):
            make('{"mechanism": "laplace/1", "type": "pure/1", "scale": ' + "[" * 9999)


def test_old_text_builds_no_huge_number_and_imports_nothing():
    for text in (
        {"class": "os:system", "fields": {}},
        {"class": "hush.mechanisms.laplace:Mechanism", "fields": {}},
        {"class": "hush.cli.demo:main", "fields": {}},
        {"class": "tuple"},
        {"class": "value", "value": {"hush": "fraction", "value": "1e999999999"}},
    ):
        with pytest.raises(InvalidArgument):
            legacy_formats.thaw(text)
    for text in (
        '{"mechanism": "Laplace", "scale": {"fraction": "1e999999999"}}',
        '{"mechanism": "Error", "parts": 1}',
    ):
        with pytest.raises(InvalidArgument):
            Mechanism.from_json(text)
    with pytest.raises(InvalidArgument):
        Curve.from_json('{"type": "Pair", "p": {"type": "Fraction", "value": "1e9"}}')


@pytest.mark.parametrize(
    "value",
    [
        Fraction(1, 3), Decimal("1.250"), Decimal("1E+1000"), math.inf, -0.0, 5e-324,
        (1, (2.0, "a")), {"hush": 1}, {1: 2, (1, 2): [3]}, np.float32(0.1),
        np.array([[1, 2], [3, 4]], dtype=">i4"), np.array(["a", None], dtype=object),
    ],
    ids=repr,
)  # fmt: skip
def test_values_come_back_to_the_last_bit(value):
    again = decode(json.loads(json.dumps(encode(value))))
    assert type(again) is type(value)
    if isinstance(value, np.ndarray):
        assert again.tolist() == value.tolist()
    else:
        assert repr(again) == repr(value)


@dataclass(frozen=True)
class Untagged(Mechanism):
    scale: float = 1.0

    def curve(self, sensitivity=1):
        return Pure(sensitivity / self.scale)

    @property
    def error(self):
        return None

    def run(self, value, *, source=None):
        return value


@tagged("tests.own_noise/1")
@dataclass(frozen=True)
class Tagged(Untagged):
    pass


def test_a_mechanism_of_ones_own_is_stored_with_a_tag_and_says_so_without():
    assert Mechanism.from_json(Tagged(2.0).to_json()) == Tagged(2.0)
    with pytest.raises(InvalidArgument, match="tagged"):
        Untagged(2.0).to_json()
    assert freeze(Untagged(2.0)) is None
    for tag in ("geometric/1", "Geometric", "x/0", "x y/1", 3):
        with pytest.raises(InvalidArgument, match="tag"):
            tagged(tag)(Untagged)
    assert tag_of(Untagged) is None
    assert kind_of("tests.own_noise/1") is Tagged


def test_pairs_of_functions_are_written_as_tables_around_them():
    from scipy import stats

    def laplace(at):
        found = stats.laplace(loc=at, scale=2.0)
        return Density(found.logpdf, found.cdf, found.sf)

    pair = Pair(laplace(1.0), laplace(0.0), breaks=(0.0, 1.0))
    again = Curve.from_json(pair.to_json())
    for epsilon in (0.0, 0.1, 0.4):
        assert again.delta_at(epsilon) >= pair.delta_at(epsilon) * (1 - 1e-9)
        assert again.delta_at(epsilon) <= pair.delta_at(epsilon) * 1.05 + 1e-6
