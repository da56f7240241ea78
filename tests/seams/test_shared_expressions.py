"""Threads build expressions: what Ibis remembers of a dead one is told of no other."""

import gc
import sys

import ibis
import pytest
from ibis.common.bases import Comparable

import hush.tables.engines.engine as ibis_equality
from seams.injector import together


def kept_of_the_dead(rounds, monkeypatch):
    """Compare and drop expressions in threads; return what went wrong on the way."""
    table = ibis.table({"x": "int64", "y": "int64"}, name="t")
    wrong, old = [], set(Comparable.__cache__)  # of other tests, some frozen for gc
    monkeypatch.setattr(
        sys, "unraisablehook", lambda about: wrong.append(about.exc_type)
    )
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    shared = [(table.x + n).op() for n in range(4)]

    def work(i):
        for n in range(rounds):
            mine = (table.x + n % 4).op()
            for j, each in enumerate(shared):
                if (each == mine) is not (j == n % 4):
                    wrong.append("an equality of another expression")

    try:
        together(work)
    finally:
        sys.setswitchinterval(before)
    gc.collect()
    alive = {id(each) for each in gc.get_objects() if isinstance(each, Comparable)}
    rows = list(Comparable.__cache__.items())
    stale = [
        (a, b) for a, row in rows for b in row if {a, b} - alive and not {a, b} & old
    ]
    return wrong, stale


def test_equalities_of_dead_expressions_are_forgotten(monkeypatch):
    wrong, stale = kept_of_the_dead(400, monkeypatch)
    assert not wrong
    assert not stale


@pytest.mark.slow
def test_a_memory_that_takes_rows_from_under_others_is_caught(monkeypatch):
    def as_ibis_does(self):
        for other in Comparable.__cache__.pop(id(self), ()):
            row = Comparable.__cache__[other]
            del row[id(self)]
            if not row:
                del Comparable.__cache__[other]

    monkeypatch.setattr(Comparable, "__del__", as_ibis_does)
    for _ in range(20):
        wrong, stale = kept_of_the_dead(2000, monkeypatch)
        if wrong or stale:
            break
    else:
        raise AssertionError("nothing was caught")
    Comparable.__cache__.clear()


def test_ibis_forgets_as_hush_tells_it():
    assert Comparable.__del__ is ibis_equality._drop_comparisons
