"""Authentication: the caller is a user with a JWT, an API key, a service key, the holder of a link, or anonymous."""

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
from chalicelib.kernel.identity.signed_links import LINK_TOKEN_HEADER, LinkHolder, verify_link_token
from chalicelib.kernel.permissions.grants import Credential, OrganizationCredential, ServiceCredential
from chalicelib.kernel.permissions.roles import Role, role_of_general_scopes_or_member
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.key_templates import render_prefix

_MAX_CACHED_KEYS: Final = 1000
_records_by_digest: OrderedDict[str, ItemKey] = OrderedDict()
_accepted_keys: OrderedDict[tuple[str, str], None] = OrderedDict()
"""The keys that this process accepted most recently, by digest of the secret and client address."""


@dataclass
class UnverifiedCredential:
    """An API key or service key as the caller sent it.

    `record_key`: the key of its record; `digest`: the SHA-256 of the secret. `is_accepted`: whether the credential is
    valid, None until its record is read.
    """

    record_key: ItemKey
    digest: str
    is_accepted: bool | None = None

    @property
    def record_type(self) -> type[OrganizationCredential] | type[ServiceCredential]:
        """Return the class of its record."""
        is_service_key = self.record_key[0].startswith(render_prefix(ServiceCredential.pk, {}))
        return ServiceCredential if is_service_key else OrganizationCredential

    @property
    def actor_type(self) -> str:
        """Return the type of the actor in log entries."""
        return self.record_type.actor_type

    def was_accepted_before(self, ip: str) -> bool:
        """Return whether this process accepted the same secret from the same address before."""
        return (self.digest, ip) in _accepted_keys

    @property
    def id(self) -> str:
        """Return the id by which requests are counted and idempotent responses are found.

        That of an API key is the sort key of its record, because stored items contain it.
        """
        return self.record_key[1] if self.record_type is OrganizationCredential else self.credential_id

    @property
    def credential_id(self) -> str:
        """Return the id of the record."""
        return self.record_type.id_from_item_key(self.record_key)


@dataclass(frozen=True)
class CredentialPrincipal:
    """A program with a valid credential, whose record is stored at `record_key`."""

    credential: Credential
    record_key: ItemKey

    @property
    def id(self) -> str:
        """Return the credential's id."""
        return self.credential.id

    @property
    def actor(self) -> dict[str, str | None]:
        """Return the actor for log entries."""
        return {"type": self.credential.actor_type, "id": self.id, "name": self.credential.name}


@dataclass(frozen=True)
class ApiKeyPrincipal(CredentialPrincipal):
    """A valid API key."""

    credential: OrganizationCredential

    @property
    def role_from_scopes(self) -> Role:
        """Return the role that the API key has in its organization."""
        return role_of_general_scopes_or_member(self.credential.scopes)


@dataclass(frozen=True)
class ServiceKeyPrincipal(CredentialPrincipal):
    """A valid service key. It has no role. Some operations admit it in every organization (`ServiceKeysToo`)."""

    credential: ServiceCredential


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


Principal = User | ApiKeyPrincipal | ServiceKeyPrincipal | LinkHolder | Anonymous

UnverifiedCaller = User | UnverifiedCredential | LinkHolder | Anonymous
"""The caller of a request, before the record of an API key or service key is read."""


def authenticate(request: Request) -> UnverifiedCaller:
    """Return the caller from the header `Authorization` or `Link-Token`.

    A user and the token of a link are verified here. The record of an API key or service key is read with the
    container, and verified by `verify_caller`. Raises Problem `unauthenticated`, `token_expired`, `unavailable`, and
    `invalid_header` if a request has both headers.
    """
    secret, link_token = bearer_credential_or_none(request), request.headers.get(ascii_lower(LINK_TOKEN_HEADER))
    if link_token is not None:
        if secret is not None:
            detail = f"Send either Authorization or {LINK_TOKEN_HEADER}. They are credentials of two callers."
            raise Problem.create_with_field_error(f"header/{LINK_TOKEN_HEADER}", "invalid_header", detail)
        return verify_link_token(link_token.strip())
    if secret is None:
        return Anonymous(request.ip)
    if secret.startswith(api_key_format.PREFIX):
        return _unverified_credential_from_pointer(secret, request.ip)
    return verify_token(secret)


def user_id_of_rights_or_none(caller: UnverifiedCaller | Principal) -> str | None:
    """Return the id of the user whose memberships decide what the caller may do, or None if none do.

    It is the caller or, for the holder of a link, its creator.
    """
    if isinstance(caller, LinkHolder):
        return caller.link.creator_id
    return caller.id if isinstance(caller, User) else None


def bearer_credential_or_none(request: Request) -> str | None:
    """Return the token or key of a request, or None without one.

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


def secret_pointer_key(digest: str) -> ItemKey:
    """Return the key of the item that finds a credential by the SHA-256 of its secret."""
    return f"K#{digest}", "#"


def build_secret_pointers(credential: Credential) -> tuple[Item, ...]:
    """Return the items that find a credential by the SHA-256 of each of its secrets."""
    record_pk, record_sk = credential.item_key
    keys = map(secret_pointer_key, credential.digests)
    return tuple({"pk": pk, "sk": sk, "record_pk": record_pk, "record_sk": record_sk} for pk, sk in keys)


def organization_pending_revocations_key(api_key_record_key: ItemKey) -> ItemKey:
    """Return the key of the item that lists revoked API keys of an organization whose records are not updated yet.

    More API keys can be revoked at once than one transaction can write. `api_key_record_key`: the key of any of the
    organization's API keys.
    """
    return api_key_record_key[0], "ENDING-KEYS"


def _unverified_credential_from_pointer(secret: str, ip: str) -> UnverifiedCredential:
    # A pointer never changes, so it is cached. The record is read for each request.
    if not api_key_format.is_well_formed(secret):
        raise _unknown_api_key()
    digest = api_key_format.digest_api_key(secret)
    if (digest, ip) not in _accepted_keys:
        # A flood of rejected keys costs no read, and does not affect accepted keys.
        request_quota.check_rejected_key_rate(digest, ip_networks.client_network(ip))
    if digest not in _records_by_digest:
        pointer = table.get(secret_pointer_key(digest))
        if pointer is None:
            request_quota.count_rejected_key(digest, ip_networks.client_network(ip))
            raise _unknown_api_key()
        _records_by_digest[digest] = (pointer["record_pk"], pointer["record_sk"])
        if len(_records_by_digest) > _MAX_CACHED_KEYS:
            _records_by_digest.popitem(last=False)
    return UnverifiedCredential(_records_by_digest[digest], digest)


def credential_item_keys(caller: UnverifiedCaller) -> tuple[ItemKey, ...]:
    """Return the keys of the items that decide whether a credential is valid.

    They are its record and, for an API key, the pending revocations of its organization.
    """
    if not isinstance(caller, UnverifiedCredential):
        return ()
    if caller.record_type is ServiceCredential:
        return (caller.record_key,)
    return caller.record_key, organization_pending_revocations_key(caller.record_key)


def verify_caller(caller: UnverifiedCaller, items: Mapping[ItemKey, Item], ip: str) -> Principal:
    """Return the caller. An API key or service key is verified by the items at `credential_item_keys`.

    Raises Problem 401 if it is unknown, revoked or expired, and 403 if the address is not allowed. A rejected request
    counts against the limits of its secret and client network, not against the quota of the key.
    """
    if not isinstance(caller, UnverifiedCredential):
        return caller
    try:
        principal = _valid_principal_or_raise(caller, items, ip)
    except Problem:
        caller.is_accepted = False
        _accepted_keys.pop((caller.digest, ip), None)
        request_quota.count_rejected_key(caller.digest, ip_networks.client_network(ip))
        raise
    caller.is_accepted = True
    _accepted_keys.pop((caller.digest, ip), None)
    _accepted_keys[caller.digest, ip] = None
    if len(_accepted_keys) > _MAX_CACHED_KEYS:
        _accepted_keys.popitem(last=False)
    return principal


def _valid_principal_or_raise(
    caller: UnverifiedCredential, items: Mapping[ItemKey, Item], ip: str
) -> ApiKeyPrincipal | ServiceKeyPrincipal:
    item = items.get(caller.record_key)
    record = caller.record_type.from_item(item) if item else None
    if record is None or caller.digest not in record.digests:
        raise _unknown_api_key()
    _reject_ended(record, caller.digest, is_revocation_pending=_is_revocation_pending(caller, items))
    if record.allowed_ips and not ip_networks.is_in_networks(ip, record.allowed_ips):
        raise Problem("ip_not_allowed", f"This {record.title} cannot be used from {ip}.")
    if isinstance(record, ServiceCredential):
        return ServiceKeyPrincipal(record, caller.record_key)
    return ApiKeyPrincipal(record, caller.record_key)


def _is_revocation_pending(caller: UnverifiedCredential, items: Mapping[ItemKey, Item]) -> bool:
    """Return whether an API key was revoked with others, but its record is not updated yet."""
    _record_key, *pending_keys = credential_item_keys(caller)
    return any(caller.credential_id in items.get(key, {}).get("reasons", {}) for key in pending_keys)


def _reject_ended(record: Credential, digest: str, *, is_revocation_pending: bool) -> None:
    """Raise Problem 401 if a credential was revoked or has expired, or if a rotation replaced the secret."""
    if record.status == "revoked" or is_revocation_pending:
        raise unauthenticated(f"The {record.title} was revoked. Create another one.", "api_key_revoked")
    if record.status == "expired":
        raise unauthenticated(f"The {record.title} has expired. Create another one.", "api_key_expired")
    secret_expires_at = record.digests[digest]
    if secret_expires_at is not None and secret_expires_at <= now():
        detail = (
            f"A rotation of the {record.title} replaced this secret, which stopped working at {secret_expires_at}. Use"
            f" the secret that the rotation returned. If it is lost, rotate the {record.title} again."
        )
        raise unauthenticated(detail, "api_key_revoked")


def _unknown_api_key() -> Problem:
    detail = "The API key is unknown. Check that it was copied completely, and that it is the latest secret of its key."
    return unauthenticated(detail)
