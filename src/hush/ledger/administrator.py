"""The administrator: whose signature enlarges a budget or gives a charge back.

A ledger that is begun with an administrator keeps the public key in its first entry.
From then on an account is opened, raised, tied, unlocked or voided only by an entry
signed with the private key. There is one key, for ever: no list to manage.
"""

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from hush.errors import InvalidArgument, LedgerError
from hush.ledger.hash_chain import Entry, Kind, canonical, digest
from hush.ledger.transaction import Transaction

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SIGNED = (Kind.GRANT, Kind.LINK, Kind.VOID, Kind.UNLOCK)
_SIGNATURE = "signature"


@final
@dataclass(frozen=True)
class Admin:
    """Somebody who may change accounts: a name to read, and an Ed25519 key.

    Guarantee: neither the key nor anything that reveals it is printed or stored in a
    ledger; only its public half is.

    Example:
        >>> Admin.generate("data office")
        Admin(name='data office')
    """

    name: str
    key: "Ed25519PrivateKey" = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isprintable():
            raise InvalidArgument(
                f"an administrator's name must be printable text; got {self.name!r}."
            )

    @classmethod
    def generate(cls, name: str) -> "Admin":
        """Return an administrator with a new key; keep `to_pem` in a safe place."""
        from cryptography.hazmat.primitives.asymmetric import ed25519

        return cls(name, ed25519.Ed25519PrivateKey.generate())

    @classmethod
    def from_pem(cls, name: str, pem: bytes, password: bytes | None = None) -> "Admin":
        """Return the administrator whose key `to_pem` wrote."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519

        try:
            key = serialization.load_pem_private_key(pem, password)
        except (ValueError, TypeError):
            raise InvalidArgument(
                "pem must be a private key in PEM, and password the one it was "
                "written with (None where there was none)."
            ) from None
        if not isinstance(key, ed25519.Ed25519PrivateKey):
            raise InvalidArgument("pem must hold an Ed25519 key; make one by generate.")
        return cls(name, key)

    def to_pem(self, password: bytes | None = None) -> bytes:
        """Return the private key as text, encrypted if there is a password."""
        from cryptography.hazmat.primitives import serialization as s

        how: Any = s.NoEncryption()
        if password is not None:
            if not isinstance(password, bytes) or not password:
                raise InvalidArgument(
                    "password must be bytes, such as b'...', or None."
                )
            how = s.BestAvailableEncryption(password)
        return self.key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, how)

    @property
    def public(self) -> str:
        """The public key, in hexadecimal: what a ledger keeps and others may pin."""
        return self.key.public_key().public_bytes_raw().hex()


@final
@dataclass(frozen=True)
class Authority:
    """What an open ledger asks of administrative entries, and who can give it."""

    pinned: str | None = None  # the public key in the first entry
    admin: Admin | None = None

    @classmethod
    def of(cls, pinned: str | None, admin: Admin | str | None) -> "Authority":
        """Return the authority of a ledger; refuse one that is not as expected."""
        expected = admin.public if isinstance(admin, Admin) else admin
        if expected is not None and expected != pinned:
            has = "has none" if pinned is None else "has another"
            raise LedgerError(
                f"this ledger {has} administrator than the one given with admin=: a "
                "key is pinned when a ledger begins, and stays. Was it replaced?"
            )
        return cls(pinned, admin if isinstance(admin, Admin) else None)

    def write(
        self,
        transaction: Transaction,
        kind: Kind,
        scope: str,
        key: str,
        content: dict[str, Any],
    ) -> Entry:
        """Append an administrative entry, signed where the ledger asks for it."""
        head = transaction.head()
        if self.pinned is not None:
            if self.admin is None:
                raise LedgerError(
                    f"a {kind} in this ledger must be signed by its administrator. "
                    "Open it with admin=Admin.from_pem(...)."
                )
            content = {**content, "by": self.admin.name}
            text = _message(head[0] + 1, kind, scope, key, content, head[1])
            content[_SIGNATURE] = self.admin.key.sign(text).hex()
        return transaction.chain(head, kind, scope, key, canonical(content))


def _message(
    seq: int, kind: str, scope: str, key: str, content: dict[str, Any], prev: str
) -> bytes:
    """Return what is signed: the entry in its place, so that it fits no other."""
    whole = digest(seq, kind, scope, key, "", canonical(content), prev)
    return f"hush administrative entry {whole}".encode()


def signed(
    pinned: str, seq: int, kind: str, scope: str, key: str, body: str, prev: str
) -> bool:
    """Whether an entry carries a signature by the pinned key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ed25519

    try:
        content = json.loads(body)
        signature = bytes.fromhex(content.pop(_SIGNATURE))
        public = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(pinned))
        public.verify(signature, _message(seq, kind, scope, key, content, prev))
    except (InvalidSignature, ValueError, KeyError, TypeError, AttributeError):
        return False
    return True
