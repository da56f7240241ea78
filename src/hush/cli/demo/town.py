"""A town that does not exist: 200,000 trips of 20,000 people, the same in every run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hush.noise import Seeded, integers

PEOPLE, TRIPS = 20_000, 200_000
REGIONS = ("Airport", "Centre", "Harbour", "Hills", "Lakes", "Woods")
_SHARES = (0.06, 0.34, 0.22, 0.17, 0.12, 0.09)  # of the trips
_MINUTES = (17.0, 5.0, 7.5, 10.0, 11.5, 13.0)  # half of the usual time of a trip
_PLACES = 60_000


@final
@dataclass(frozen=True)
class Town:
    """The columns of the table; only the demo, whose data is made up, looks at them."""

    person: NDArray[np.int64]
    region: NDArray[Any]
    minutes: NDArray[np.float64]
    fare: NDArray[np.float64]
    place: NDArray[np.int64]

    @classmethod
    def built(cls) -> "Town":
        """Return the town."""
        source = Seeded(2024)

        def chance() -> NDArray[np.float64]:
            words = integers(1 << 52, size=TRIPS, source=source)
            return (np.asarray(words) + 1) / (1 << 52)

        where = np.searchsorted(np.cumsum(_SHARES[:-1]), chance())
        mean = np.array(_MINUTES)[where]
        minutes = np.round(3 - mean * (np.log(chance()) + np.log(chance())), 1)
        return cls(
            person=np.asarray(integers(PEOPLE, size=TRIPS, source=source)),
            region=np.array(REGIONS)[where],
            minutes=minutes,
            fare=np.round(2.4 + 0.55 * minutes + 1.5 * chance(), 2),
            # Few places are popular, most are the home of one person.
            place=np.floor(np.exp(chance() * np.log(_PLACES))).astype(np.int64),
        )

    def write(self, path: Path) -> None:
        """Write the table as Parquet."""
        import duckdb

        names = ("person", "region", "minutes", "fare", "place")
        with duckdb.connect() as connection:
            connection.register("town", {name: getattr(self, name) for name in names})
            columns = ", ".join(names).replace("region", "region::VARCHAR AS region")
            connection.execute(f"COPY (SELECT {columns} FROM town) TO $1", [str(path)])

    def is_in_region(self, region: str) -> NDArray[np.bool_]:
        """Return which trips are in a region."""
        found: NDArray[np.bool_] = self.region == region
        return found

    def lonely_places(self) -> int:
        """Return how many places were visited by one person only."""
        pairs = np.unique(self.place * PEOPLE + self.person) // PEOPLE
        return int((np.unique(pairs, return_counts=True)[1] == 1).sum())
