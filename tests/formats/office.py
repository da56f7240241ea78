"""A ledger with an administrator: accounts of every notion, and what becomes of them.

The keys here protect nothing: everybody can read them, and only these tests use them.
"""

import contextlib

from formats.asked import Broken, charge, on, release
from hush import mechanisms as m
from hush.errors import DrawFailed
from hush.ledger import Admin, Budget
from hush.privacy import GDP, ZCDP, Approx, Pure

SECRET = b"a secret of tests that everybody knows"
PASSWORD = b"a password of tests"
AGES = [31, 4, 55, 18, 62, 7, 44, 29]
SAID = {"unit": "row", "neighbors": "add-remove"}


def admin():
    """Return the administrator of the tests, whose key is public on purpose."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    return Admin("test office", key)


def accounts(ledger):
    """Open the accounts; each is a signed entry."""
    ledger.grant(Budget(epsilon=20, delta=1e-4), dataset="visits")
    ledger.grant(Budget(epsilon=5, delta=1e-5), dataset="second")
    ledger.grant(Budget(rho=4), dataset="concentrated")
    ledger.grant(Budget(mu=6), dataset="gaussian")
    ledger.grant(Budget(epsilon=3, delta=1e-5), analyst="ana")
    ledger.grant(Budget(rho=2), analyst="bo")


def before():
    """Return requests to data sets that are not tied to people yet."""
    count = m.count()
    return {
        "count": release(m.Laplace(10.0), count, AGES),
        "versioned": release(m.Laplace(10), count, AGES, version="monday"),
        "noted": release(
            m.Gaussian(30.0), count, AGES, delta=1e-7, notes={"why": ["a", 1, None]}
        ),
        "charged": charge(Pure(epsilon=0.125), notes=SAID),
        "concentrated": on(
            release(m.Gaussian(9.0), count, AGES), dataset="concentrated"
        ),
        "concentrated charge": on(
            charge(ZCDP(rho=0.0625), notes=SAID), dataset="concentrated"
        ),
        "gaussian": on(release(m.Gaussian(9.0), count, AGES), dataset="gaussian"),
        "gaussian charge": on(charge(GDP(mu=0.5), notes=SAID), dataset="gaussian"),
    }


def link(ledger):
    """Tie two data sets to their people; what was spent is carried over."""
    ledger.link("visits", "patients", Budget(epsilon=30, delta=1e-3))
    ledger.link("second", "patients")
    ledger.raise_budget(
        Budget(epsilon=25, delta=2e-4), dataset="visits", reason="second year"
    )
    ledger.raise_budget(Budget(epsilon=4, delta=1e-5), analyst="ana")


def after():
    """Return requests that analysts and people pay for as well."""
    count = m.count()
    return {
        "of ana": on(release(m.Laplace(20.0), count, AGES), analyst="ana"),
        "of bo": on(release(m.Gaussian(20.0), count, AGES, delta=1e-6), analyst="bo"),
        "second": on(
            charge(Approx(epsilon=0.25, delta=1e-7), notes=SAID), dataset="second"
        ),
    }


def _hold(mechanism):
    return lambda ledger, key: ledger.hold(mechanism, m.count(), key=key)


def held():
    """Return requests that reserve, of which one is drawn, one given back."""
    return {
        "held": _hold(m.Laplace(16.0)),
        "held, then drawn": _hold(m.Laplace(8.0)),
        "held, then void": _hold(m.Laplace(4.0)),
    }


def drawn():
    """Return the request that draws what was held."""
    return {"held, then drawn": release(m.Laplace(8.0), m.count(), AGES)}


def failed():
    """Return the request whose draw fails."""
    return {"failed": release(m.Laplace(32.0), Broken(), AGES)}


def requests():
    """Return every request that may be made again."""
    return {**before(), **after(), **held(), **drawn(), **failed()}


def write(ledger):
    """Make every kind of entry that a ledger knows."""
    accounts(ledger)
    for part in (before(), None, after(), held(), drawn()):
        if part is None:
            link(ledger)
            continue
        for key, request in part.items():
            request(ledger, key)
    ledger.void("held, then void", "nobody needs it")
    for key, request in failed().items():
        with contextlib.suppress(DrawFailed):
            request(ledger, key)
    ledger.unlock("the failure was looked into")
