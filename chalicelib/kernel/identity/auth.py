"""Authentication: the caller is a user with a JWT, an API key of an organization, or anonymous."""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from chalicelib.kernel.core import ip_networks
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.problems import Problem, unauthenticated
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.identity.jwt import User, verify_token
from chalicelib.kernel.permissions.grants import Credential
from chalicelib.kernel.permissions.roles import Role, role_of_general_scopes_or_member
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey

_MAX_CACHED_KEYS: Final = 1000
_records_by_digest: OrderedDict[str, ItemKey] = OrderedDict()
_accepted_keys: OrderedDict[tuple[str, str], None] = OrderedDict()
"""The API keys that this process accepted most recently, by digest of the secret and client address."""


@dataclass
class UnverifiedApiKey:
    """An API key as the caller sent it. `record_key`: the key of its record; `digest`: the SHA-256 of the secret.

    `is_accepted`: whether the key is valid, None until its record is read.
    """

    record_key: ItemKey
    digest: str
    is_accepted: bool | None = None
    actor_type: ClassVar[str] = "api_key"

    def was_accepted_before(self, ip: str) -> bool:
        """Return whether this process accepted the same secret from the same address before."""
        return (self.digest, ip) in _accepted_keys

    @property
    def id(self) -> str:
        """Return the API key's id."""
        return self.record_key[1]


@dataclass(frozen=True)
class ApiKeyPrincipal:
    """A valid API key, whose record is stored at `record_key`."""

    credential: Credential
    record_key: ItemKey

    @property
    def id(self) -> str:
        """Return the API key's id."""
        return self.credential.id

    @property
    def role_from_scopes(self) -> Role:
        """Return the role that the API key has in its organization."""
        return role_of_general_scopes_or_member(self.credential.scopes)

    @property
    def actor(self) -> dict[str, str | None]:
        """Return the actor for log entries."""
        return {"type": "api_key", "id": self.id, "name": self.credential.name}


@dataclass(frozen=True)
class Anonymous:
    """An unauthenticated caller with an IP address."""

    ip: str
    actor_type: ClassVar[str] = "anonymous"

    @property
    def id(self) -> str:
        """Return a hash of the address, which only distinguishes callers."""
        return hashlib.sha256(self.ip.encode()).hexdigest()[:32]

    @property
    def actor(self) -> dict[str, str | None]:
        """Return the actor for log entries."""
        return {"type": self.actor_type, "id": None, "name": None}


Principal = User | ApiKeyPrincipal | Anonymous

UnverifiedCaller = User | UnverifiedApiKey | Anonymous
"""The caller of a request, before the record of an API key is read."""


def authenticate(request: Request) -> UnverifiedCaller:
    """Return the caller from the `Authorization` header.

    A user is verified here. An API key's record is read with the container, and verified by `verify_caller`. Raises
    Problem `unauthenticated`, `token_expired`, `unavailable`.
    """
    secret = bearer_credential_or_none(request)
    if secret is None:
        return Anonymous(request.ip)
    if secret.startswith(api_key_format.PREFIX):
        return _unverified_api_key_from_pointer(secret, request.ip)
    return verify_token(secret)


def bearer_credential_or_none(request: Request) -> str | None:
    """Return the token or API key of a request, or None without one.

    Raises Problem `unauthenticated` if the header is malformed.
    """
    header = request.headers.get("authorization")
    if header is None:
        return None
    scheme, _, secret = header.strip().partition(" ")
    secret = secret.strip()
    if ascii_lower(scheme) != "bearer" or not secret:
        raise unauthenticated()
    return secret


def api_key_pointer_key(digest: str) -> ItemKey:
    """Return the key of the item that finds an API key by its SHA-256."""
    return f"K#{digest}", "#"


def build_api_key_pointer(digest: str, record_key: ItemKey) -> Item:
    """Return the item that finds an API key by its SHA-256."""
    pk, sk = api_key_pointer_key(digest)
    return {"pk": pk, "sk": sk, "record_pk": record_key[0], "record_sk": record_key[1]}


def organization_pending_revocations_key(api_key_record_key: ItemKey) -> ItemKey:
    """Return the key of the item that lists revoked API keys of an organization whose records are not updated yet.

    More API keys can be revoked at once than one transaction can write. `api_key_record_key`: the key of any of the
    organization's API keys.
    """
    return api_key_record_key[0], "ENDING-KEYS"


def _unverified_api_key_from_pointer(secret: str, ip: str) -> UnverifiedApiKey:
    # A pointer never changes, so it is cached. The record is read for each request.
    if not api_key_format.is_well_formed(secret):
        raise _unknown_api_key()
    digest = api_key_format.digest_api_key(secret)
    if (digest, ip) not in _accepted_keys:
        # A flood of rejected keys costs no read, and does not affect accepted keys.
        request_quota.check_rejected_key_rate(digest, ip_networks.client_network(ip))
    if digest not in _records_by_digest:
        pointer = table.get(api_key_pointer_key(digest))
        if pointer is None:
            request_quota.count_rejected_key(digest, ip_networks.client_network(ip))
            raise _unknown_api_key()
        _records_by_digest[digest] = (pointer["record_pk"], pointer["record_sk"])
        if len(_records_by_digest) > _MAX_CACHED_KEYS:
            _records_by_digest.popitem(last=False)
    return UnverifiedApiKey(_records_by_digest[digest], digest)


def api_key_item_keys(caller: UnverifiedCaller) -> tuple[ItemKey, ...]:
    """Return the keys of the items that decide whether an API key is valid: its record, and pending revocations."""
    if not isinstance(caller, UnverifiedApiKey):
        return ()
    return caller.record_key, organization_pending_revocations_key(caller.record_key)


def verify_caller(caller: UnverifiedCaller, items: Mapping[ItemKey, Item], ip: str) -> Principal:
    """Return the caller. An API key is verified by the items at `api_key_item_keys`.

    Raises Problem 401 if it is unknown, revoked or expired, and 403 if the address is not allowed. A rejected request
    counts against the limits of its secret and client network, not against the quota of the key.
    """
    if not isinstance(caller, UnverifiedApiKey):
        return caller
    api_key, (record, pending_revocations) = caller, map(items.get, api_key_item_keys(caller))
    try:
        principal = _valid_principal_or_raise(api_key, record, pending_revocations, ip)
    except Problem:
        api_key.is_accepted = False
        _accepted_keys.pop((api_key.digest, ip), None)
        request_quota.count_rejected_key(api_key.digest, ip_networks.client_network(ip))
        raise
    api_key.is_accepted = True
    _accepted_keys.pop((api_key.digest, ip), None)
    _accepted_keys[api_key.digest, ip] = None
    if len(_accepted_keys) > _MAX_CACHED_KEYS:
        _accepted_keys.popitem(last=False)
    return principal


def _valid_principal_or_raise(
    api_key: UnverifiedApiKey, item: Item | None, pending_revocations: Item | None, ip: str
) -> ApiKeyPrincipal:
    record = Credential.from_item(item) if item else None
    if record is None or api_key.digest not in record.digests:
        raise _unknown_api_key()
    if record.status == "revoked" or record.id in (pending_revocations or {}).get("reasons", {}):
        raise unauthenticated("The API key was revoked. Create another one.", "api_key_revoked")
    if record.status == "expired":
        raise unauthenticated("The API key has expired. Create another one.", "api_key_expired")
    secret_expires_at = record.digests[api_key.digest]
    if secret_expires_at is not None and secret_expires_at <= now():
        detail = (
            f"A rotation of the API key replaced this secret, which stopped working at {secret_expires_at}. Use the"
            " secret that the rotation returned. If it is lost, rotate the API key again."
        )
        raise unauthenticated(detail, "api_key_revoked")
    if record.allowed_ips and not ip_networks.is_in_networks(ip, record.allowed_ips):
        raise Problem("ip_not_allowed", f"This API key cannot be used from {ip}.")
    return ApiKeyPrincipal(record, api_key.record_key)


def _unknown_api_key() -> Problem:
    detail = "The API key is unknown. Check that it was copied completely, and that it is the latest secret of its key."
    return unauthenticated(detail)
