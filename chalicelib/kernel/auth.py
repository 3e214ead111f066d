"""Who is calling: a user by JWT, an organization's API key, or nobody known."""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from chalicelib.kernel import api_keys, table
from chalicelib.kernel.clock import now
from chalicelib.kernel.entity import Credential, Item, Key
from chalicelib.kernel.problems import Problem, unauthenticated
from chalicelib.kernel.request import Request
from chalicelib.kernel.roles import Role, role_of_key
from chalicelib.kernel.tokens import User, verify_token

_KNOWN_KEYS: Final = 1000
_known: OrderedDict[str, Key] = OrderedDict()


@dataclass(frozen=True)
class KeyHolder:
    """Whoever sent an API key: where its record stands, and the SHA-256 it was sent as."""

    record: Key
    digest: str

    @property
    def id(self) -> str:
        """The key's id."""
        return self.record[1]


@dataclass(frozen=True)
class ApiKeyPrincipal:
    """An API key whose record, stored at `record`, has been read and holds."""

    credential: Credential
    record: Key

    @property
    def id(self) -> str:
        """The key's id."""
        return self.credential.id

    @property
    def role(self) -> Role:
        """The role the key acts as in its organization."""
        return role_of_key(self.credential.scopes)

    @property
    def actor(self) -> dict[str, str | None]:
        """The key as an entry names it."""
        return {"type": "api_key", "id": self.id, "name": self.credential.name}


@dataclass(frozen=True)
class Anonymous:
    """Nobody known, at an address."""

    ip: str

    @property
    def id(self) -> str:
        """The address, shortened to a hash: it only tells callers apart."""
        return hashlib.sha256(self.ip.encode()).hexdigest()[:32]

    @property
    def actor(self) -> dict[str, str | None]:
        """Nobody, as an entry names them."""
        return {"type": "anonymous", "id": None, "name": None}


Principal = User | ApiKeyPrincipal | Anonymous


def credential(request: Request) -> User | KeyHolder | Anonymous:
    """Return who the `Authorization` header says is calling.

    A user is verified here; an API key's record is read with the place, and judged by `api_key`.
    Raises Problem `unauthenticated`, `token_expired`, `unavailable`.
    """
    header = request.headers.get("authorization")
    if header is None:
        return Anonymous(request.ip)
    scheme, _, secret = header.strip().partition(" ")
    secret = secret.strip()
    if scheme.lower() != "bearer" or not secret:
        raise unauthenticated()
    if secret.startswith(api_keys.PREFIX):
        return _key_holder(secret)
    return verify_token(secret)


def key_address(digest: str) -> Key:
    """Return where the pointer from an API key's SHA-256 to its record stands."""
    return f"K#{digest}", "#"


def key_pointer(digest: str, record: Key) -> Item:
    """Return the pointer from an API key's SHA-256 to its record."""
    pk, sk = key_address(digest)
    return {"pk": pk, "sk": sk, "record_pk": record[0], "record_sk": record[1]}


def _key_holder(secret: str) -> KeyHolder:
    # A pointer never changes, so it is remembered; whether the key still holds, its record says each time.
    unknown = unauthenticated("The API key is not known. Check that it was copied whole.")
    if not api_keys.well_formed(secret):
        raise unknown
    digest = api_keys.digest(secret)
    if digest not in _known:
        pointer = table.get(key_address(digest))
        if pointer is None:
            raise unknown
        _known[digest] = (pointer["record_pk"], pointer["record_sk"])
        if len(_known) > _KNOWN_KEYS:
            _known.popitem(last=False)
    return KeyHolder(_known[digest], digest)


def api_key(holder: KeyHolder, item: Item | None, ip: str) -> ApiKeyPrincipal:
    """Return the API key if its record holds. Raises 401 if it ended, 403 if the address is not allowed."""
    record = Credential.from_item(item) if item else None
    if record is None or holder.digest not in record.digests:
        raise unauthenticated("The API key is not known. It may have been rotated or removed.")
    ends = record.digests[holder.digest]
    if record.status == "revoked" or (ends is not None and ends <= now()):
        raise unauthenticated("The API key was revoked. Create another.", "api_key_revoked")
    if record.status == "expired":
        raise unauthenticated("The API key has expired. Create another.", "api_key_expired")
    if record.allowed_ips:
        from chalicelib.kernel.cidr import within

        if not within(ip, record.allowed_ips):
            raise Problem("ip_not_allowed", f"This API key may not be used from {ip}.")
    return ApiKeyPrincipal(record, holder.record)
