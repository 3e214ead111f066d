"""Who is calling: a user by JWT, an organization's API key, or nobody known."""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from chalicelib.kernel.core import ip_networks
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.problems import Problem, unauthenticated
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.identity.jwt import User, verify_token
from chalicelib.kernel.permissions.grants import Credential
from chalicelib.kernel.permissions.roles import Role, role_for_scopes
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey

_KNOWN_KEYS: Final = 1000
_known: OrderedDict[str, ItemKey] = OrderedDict()
_accepted: OrderedDict[tuple[str, str], None] = OrderedDict()
"""The API keys that this process accepted last, by the digest of the secret and the client's address."""


@dataclass
class UnverifiedApiKey:
    """Whoever sent an API key: where its record stands, and the SHA-256 it was sent as.

    `accepted`: whether this request's key holds; None as long as its record is not read.
    """

    record: ItemKey
    digest: str
    accepted: bool | None = None

    def verify(self, ip: str) -> bool:
        """Return whether this process accepted the same secret from the same address before."""
        return (self.digest, ip) in _accepted

    @property
    def id(self) -> str:
        """The key's id."""
        return self.record[1]


@dataclass(frozen=True)
class ApiKeyPrincipal:
    """An API key whose record, stored at `record`, has been read and holds."""

    credential: Credential
    record: ItemKey

    @property
    def id(self) -> str:
        """The key's id."""
        return self.credential.id

    @property
    def role(self) -> Role:
        """The role the key acts as in its organization."""
        return role_for_scopes(self.credential.scopes)

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


def authenticate(request: Request) -> User | UnverifiedApiKey | Anonymous:
    """Return who the `Authorization` header says is calling.

    A user is verified here; an API key's record is read with the place, and judged by `api_key`.
    Raises Problem `unauthenticated`, `token_expired`, `unavailable`.
    """
    header = request.headers.get("authorization")
    if header is None:
        return Anonymous(request.ip)
    scheme, _, secret = header.strip().partition(" ")
    secret = secret.strip()
    if ascii_lower(scheme) != "bearer" or not secret:
        raise unauthenticated()
    if secret.startswith(api_key_format.PREFIX):
        return _key_holder(secret, request.ip)
    return verify_token(secret)


def api_key_pointer_key(digest: str) -> ItemKey:
    """Return where the pointer from an API key's SHA-256 to its record stands."""
    return f"K#{digest}", "#"


def key_pointer(digest: str, record: ItemKey) -> Item:
    """Return the pointer from an API key's SHA-256 to its record."""
    pk, sk = api_key_pointer_key(digest)
    return {"pk": pk, "sk": sk, "record_pk": record[0], "record_sk": record[1]}


def ending_keys_key(record: ItemKey) -> ItemKey:
    """Return where it stands which keys of an organization have ended although their records do not say so yet.

    More keys may end at once than one transaction can write; `record`: where one of its keys is stored.
    """
    return record[0], "ENDING-KEYS"


def _key_holder(secret: str, ip: str) -> UnverifiedApiKey:
    # A pointer never changes, so it is remembered; whether the key still holds, its record says each time.
    unknown = unauthenticated("The API key is not known. Check that it was copied whole.")
    if not api_key_format.is_well_formed(secret):
        raise unknown
    digest = api_key_format.digest_api_key(secret)
    if (digest, ip) not in _accepted:
        # A flood of what is refused costs no read, and the key's own requests are none of it.
        request_quota.check_unproven(digest, ip_networks.client_network(ip))
    if digest not in _known:
        pointer = table.get(api_key_pointer_key(digest))
        if pointer is None:
            request_quota.count_refused(digest, ip_networks.client_network(ip))
            raise unknown
        _known[digest] = (pointer["record_pk"], pointer["record_sk"])
        if len(_known) > _KNOWN_KEYS:
            _known.popitem(last=False)
    return UnverifiedApiKey(_known[digest], digest)


def verify_api_key(holder: UnverifiedApiKey, item: Item | None, ending: Item | None, ip: str) -> ApiKeyPrincipal:
    """Return the API key if its record holds. Raises 401 if it ended, 403 if the address is not allowed.

    What is refused is counted by the secret and the client's network, and costs the key itself nothing. `ending`: what
    stands at `ending_keys_key`.
    """
    try:
        principal = _judged(holder, item, ending, ip)
    except Problem:
        holder.accepted = False
        _accepted.pop((holder.digest, ip), None)
        request_quota.count_refused(holder.digest, ip_networks.client_network(ip))
        raise
    holder.accepted = True
    _accepted.pop((holder.digest, ip), None)
    _accepted[holder.digest, ip] = None
    if len(_accepted) > _KNOWN_KEYS:
        _accepted.popitem(last=False)
    return principal


def _judged(holder: UnverifiedApiKey, item: Item | None, ending: Item | None, ip: str) -> ApiKeyPrincipal:
    record = Credential.from_item(item) if item else None
    if record is None or holder.digest not in record.digests:
        raise unauthenticated("The API key is not known. It may have been rotated or removed.")
    ends = record.digests[holder.digest]
    revoked = record.status == "revoked" or record.id in (ending or {}).get("reasons", {})
    if revoked or (ends is not None and ends <= now()):
        raise unauthenticated("The API key was revoked. Create another.", "api_key_revoked")
    if record.status == "expired":
        raise unauthenticated("The API key has expired. Create another.", "api_key_expired")
    if record.allowed_ips and not ip_networks.within(ip, record.allowed_ips):
        raise Problem("ip_not_allowed", f"This API key may not be used from {ip}.")
    return ApiKeyPrincipal(record, holder.record)
