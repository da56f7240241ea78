"""Neighbors are one person apart, in the way their names say."""

import math

import numpy as np
import pytest

from hush.audit import (
    neighbors_of,
)
from hush.errors import InvalidArgument
from hush.units import Neighbors

TRIPS = {
    "driver": [1, 1, 2, 3, 4, 4],
    "borough": ["Bronx", "Queens", "Bronx", "Kings", "Bronx", "Kings"],
    "fare": [3.5, 90.0, 12.0, 40.0, 7.0, 8.0],
}


def listed(columns):
    plain = [np.asarray(each, dtype=object).tolist() for each in columns.values()]
    return list(zip(*plain, strict=True))


@pytest.mark.parametrize("relation", list(Neighbors), ids=str)
@pytest.mark.parametrize("data", [TRIPS, {k: np.array(v) for k, v in TRIPS.items()}])
def test_neighbors_differ_in_one_person(relation, data):
    for pair in neighbors_of(data, "driver", neighbors=relation):
        rows = [
            {
                who: sorted(
                    map(
                        repr,
                        (r for r in listed(each) if r[0] == who),
                    )
                )
                for who in set(np.asarray(each["driver"]).tolist())
            }
            for each in (pair.data, pair.neighbor)
        ]
        gone = [who for who in rows[0] if rows[1].get(who) != rows[0][who]]
        come = [who for who in rows[1] if rows[0].get(who) != rows[1][who]]
        if relation is Neighbors.ADD_REMOVE:
            assert len(gone) + len(come) == 1, pair.how
        else:
            assert len(gone) <= 1, pair.how
            assert len(come) <= 1, pair.how
            assert len(rows[0]) == len(rows[1]), pair.how


def test_strategies_do_what_their_names_say():
    found = {str(p): p for p in neighbors_of(TRIPS, "driver", rows=50)}
    assert len(found["heavy user, added"].neighbor["fare"]) == 56
    assert found["empty, added"].data["fare"] == []
    assert math.isnan(found["nan, added"].neighbor["fare"][-1])
    assert found["null, added"].neighbor["fare"][-1] is None
    assert found["outlier, added"].neighbor["fare"][-1] == 1e300
    alone = found["only holder, removed"]
    assert set(alone.data["borough"]) - set(alone.neighbor["borough"])
    assert len(found["single row, added"].data["fare"]) == 1


@pytest.mark.parametrize(
    "arguments", [{"how": ["odd"]}, {"rows": 0}, {"unit": "nobody"}]
)
def test_wrong_arguments_are_named(arguments):
    with pytest.raises(InvalidArgument):
        neighbors_of(TRIPS, **arguments)
