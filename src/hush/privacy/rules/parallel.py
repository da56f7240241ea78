"""Parallel composition: mechanisms on disjoint parts of the data."""

from collections.abc import Sequence

from hush.errors import NoBound
from hush.privacy.curve import Curve, checked_curve, checked_curves
from hush.privacy.pairs.curve_interval import worst
from hush.units import Neighbors


def parallel(curves: Sequence[Curve], *, neighbors: str | Neighbors) -> Curve:
    """Return the guarantee of mechanisms that each see another part of the people.

    Guarantee: the worst of the curves, for add/remove neighbors: one person is in one
    part. Under replace-one a person may leave one part and join another, and the sizes
    of the parts are no longer public, so no such bound holds and none is returned.

    Example:
        >>> from hush.privacy import Pure
        >>> parallel([Pure(epsilon=0.5), Pure(epsilon=1.0)], neighbors="add-remove")
        Pure(epsilon=1.0)

    Reference: N4.3; [DRS22] hull of the minimum.
    """
    for each in checked_curves("curves", curves):
        checked_curve("each part", each)
    if Neighbors.of(neighbors) is Neighbors.REPLACE_ONE:
        raise NoBound(
            "parallel composition fails for replace-one neighbors: an exchange can "
            "touch two parts and change their sizes. With curves that hold for "
            "add/remove use "
            'replace_one(parallel(curves, neighbors="add-remove")), which charges both.'
        )
    return worst(curves)
