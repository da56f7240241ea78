"""Resuming: one charge, one noisy sum per step, whatever kills the run."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import optax
import pytest

from hush.errors import HushError, InvalidArgument, KeyConflict
from hush.learn import sgd
from hush.learn.sgd.checkpoint import Checkpoint
from hush.learn.sgd.program import Program
from hush.ledger import Budget, Ledger
from hush.noise import Seeded

X = np.linspace(-1, 1, 50, dtype=np.float32)
HERE = Path(__file__).parent


def loss(p, row):
    return p * row


def trained(**options):
    options = {"std": 5.0, "steps": 600, "optimizer": optax.sgd(1.0), **options}
    return sgd.train(loss, np.float32(0), X, **options)


class Crash(Exception):
    """Stands for a process that dies."""


def crash_after(monkeypatch, saves):
    """Let the run die after so many written checkpoints."""
    save, count = Checkpoint.save, 0

    def saving(self, state):
        nonlocal count
        save(self, state)
        count += 1
        if count == saves:
            raise Crash

    monkeypatch.setattr(Checkpoint, "save", saving)


def test_a_resumed_run_continues_where_it_was_saved(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    with monkeypatch.context() as patch:
        crash_after(patch, 2)
        with pytest.raises(Crash):
            trained(checkpoint=path)
    started = []
    advance = Program.advance

    def seen(self, plan, state, rows, source):
        started.append((int(state.step), float(state.params)))
        return advance(self, plan, state, rows, source)

    monkeypatch.setattr(Program, "advance", seen)
    found = trained(checkpoint=path)
    ((step, params),) = started
    assert 0 < step < 600
    assert params != 0
    assert found.steps == 600
    assert found.resumed_from == step
    assert f"resumed_from={step}" in repr(found)
    with pytest.warns(UserWarning, match="nothing is trained"):
        again = trained(checkpoint=path)  # nothing is left to draw
    assert again.params == found.params
    assert again.resumed_from == again.steps
    assert started[-1][0] == 600


def test_a_lost_checkpoint_is_not_replaced_under_the_same_charge(tmp_path):
    path = tmp_path / "run.npz"
    ledger = Ledger.open("memory://", budget=Budget(epsilon=900, delta=1e-5))
    trained(checkpoint=path, ledger=ledger, key="a", steps=3)
    left = ledger.remaining().epsilon
    path.unlink()
    with pytest.raises(KeyConflict):
        trained(checkpoint=path, ledger=ledger, key="a", steps=3)
    assert ledger.remaining().epsilon == left


def test_a_checkpoint_belongs_to_its_plan_and_to_one_process(tmp_path):
    path = tmp_path / "run.npz"
    trained(checkpoint=path, steps=3)
    with pytest.raises(InvalidArgument, match="another plan"):
        trained(checkpoint=path, steps=4)
    with pytest.raises(InvalidArgument, match="cannot resume"):
        trained(checkpoint=path, steps=3, source=Seeded(1))
    _, run = sgd.plan(
        loss, np.float32(0), X, std=5.0, steps=3, optimizer=optax.sgd(1.0)
    )
    held = Checkpoint.open(path, repr(run), None)
    with held.exclusive(), pytest.raises(InvalidArgument, match="in use"):
        trained(checkpoint=path, steps=3)
    path.write_bytes(b"something else")
    with pytest.raises(HushError, match="not a checkpoint"):
        trained(checkpoint=path, steps=3)


def test_a_finished_run_says_that_other_data_were_not_looked_at(tmp_path):
    path = tmp_path / "run.npz"
    first = trained(checkpoint=path, steps=3)
    assert first.resumed_from == 0
    assert "resumed" not in repr(first)
    with pytest.warns(UserWarning, match="the data are not looked at") as said:
        other = sgd.train(
            loss, np.float32(0), -X, std=5.0, steps=3, optimizer=optax.sgd(1.0),
            checkpoint=path,
        )  # fmt: skip
    assert said[0].filename == __file__
    assert other.params == first.params
    assert other.resumed_from == other.steps == 3


def test_a_checkpoint_belongs_to_a_version_of_the_data(tmp_path):
    path = tmp_path / "run.npz"
    trained(checkpoint=path, steps=3, version="2026-05")
    for other in ("2026-06", ""):
        with pytest.raises(InvalidArgument, match="version '2026-05'"):
            trained(checkpoint=path, steps=3, version=other)
    with pytest.warns(UserWarning, match="finished"):
        trained(checkpoint=path, steps=3, version="2026-05")


def _array(path):
    np.save(path, X)
    path.with_name(path.name + ".npy").rename(path)


JUNK = {
    "bytes": lambda path: path.write_bytes(b"something else"),
    "nothing": lambda path: path.write_bytes(b""),
    "half a zip": lambda path: path.write_bytes(b"PK\x03\x04 and so on"),
    "an array": lambda path: _array(path),
    "other arrays": lambda path: np.savez(path, x=X),
    "another head": lambda path: np.savez(path, head=np.array("[1]")),
    "no json": lambda path: np.savez(path, head=np.array("x")),
}


@pytest.mark.parametrize("name", JUNK)
def test_other_files_are_refused_in_our_words(tmp_path, name):
    path = tmp_path / "run.npz"
    JUNK[name](path)
    with pytest.raises(InvalidArgument, match="is not a checkpoint of hush") as refused:
        trained(checkpoint=path, steps=3)
    assert "pickle" not in str(refused.value)
    with pytest.raises(InvalidArgument, match="cannot be read"):
        trained(checkpoint=tmp_path, steps=3)


def run(folder, kill_after):
    code = Path(__file__).with_name("run_killed.py")
    source = str(HERE.parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": source, "JAX_PLATFORMS": "cpu"}
    return subprocess.run(
        [sys.executable, str(code), str(folder), str(kill_after)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


@pytest.mark.slow
@pytest.mark.parametrize("kill_after", [1, 2, -3])
def test_a_killed_run_is_charged_once(tmp_path, kill_after):
    """SIGKILL after the first, the second, and in the middle of the third save."""
    assert run(tmp_path, kill_after).returncode == -9
    before = (tmp_path / "run.npz").read_bytes()
    done = run(tmp_path, 0)
    params, left, whole = done.stdout.split()
    assert whole == "True"
    assert float(left) == pytest.approx(2.0, abs=1e-3)
    assert (tmp_path / "run.npz").read_bytes() != before
    assert run(tmp_path, 0).stdout.split() == [params, left, whole]


@pytest.mark.slow
def test_devices_share_the_rows_and_agree_on_the_sum():
    """Two host devices add whole numbers: the same sum as one device gives."""
    code = """
import jax, numpy as np, optax
from hush.learn import sgd
from hush.noise import Seeded
x = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)
def loss(p, row):
    return jax.numpy.sum(jax.numpy.tanh(row @ p) ** 2)
start = np.full((8, 4), 0.1, np.float32)
found = [
    sgd.train(loss, start, x, std=1.0, batch=200, steps=5, source=Seeded(4),
              optimizer=optax.sgd(0.1), devices=devices).params
    for devices in ((), tuple(jax.devices()))
]
print(len(jax.devices()), float(abs(found[0] - found[1]).max()))
"""
    flags = "--xla_force_host_platform_device_count=2"
    source = str(HERE.parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "XLA_FLAGS": flags, "PYTHONPATH": source},
    )
    count, gap = done.stdout.split()
    assert count == "2"
    assert float(gap) < 1e-4
