"""Tokens of preview links. Without I/O.

A token contains the ids of one revision of a page and of its issuer, and its expiry. It is signed, and not stored.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from chalicelib.features.sites.pages.models.schemas import DEFAULT_PREVIEW_SECONDS
from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.authorization.memberships import membership_key
from chalicelib.kernel.core.clock import now_ms
from chalicelib.kernel.crypto import symmetric
from chalicelib.kernel.permissions.roles import Role, scopes_allow
from chalicelib.kernel.storage.entity import Item, ItemKey

_CONTEXT: Final = "preview"
_LAYOUT: Final = struct.Struct(">16s16s16s16s16sQI")
"""Ids of site, page, revision, issuer and their membership; expiry in milliseconds; preview epoch of the page."""

_NO_MEMBERSHIP: Final = str(UUID(int=0))


@dataclass(frozen=True)
class PreviewClaim:
    """The content of a token. `membership_id` is the membership of the issuer, or None if the issuer is an API key."""

    site_id: str
    page_id: str
    revision_id: str
    issuer_id: str
    membership_id: str | None
    expires_ms: int
    epoch: int

    def to_signed_token(self) -> str:
        """Return the signed token."""
        ids = (self.site_id, self.page_id, self.revision_id, self.issuer_id, self.membership_id or _NO_MEMBERSHIP)
        payload = _LAYOUT.pack(*(UUID(each).bytes for each in ids), self.expires_ms, self.epoch)
        return symmetric.sign_token(payload, _CONTEXT)

    def issuer_item_key(self, organization_id: str) -> ItemKey:
        """Return the item key of the issuer: of their membership of an organization, or of the API key."""
        if self.membership_id:
            return membership_key(Organization.make_item_key(id=organization_id), self.issuer_id)
        return ApiKey.make_item_key(organization_id=organization_id, id=self.issuer_id)

    def is_issuer_valid(self, issuer_item: Item | None) -> bool:
        """Return whether the issuer still has the membership or API key, and may still issue such a link.

        `issuer_item` is the item at `issuer_key`.
        """
        if issuer_item is None:
            return False
        is_long = self.expires_ms > now_ms() + DEFAULT_PREVIEW_SECONDS * 1000
        if self.membership_id:
            return issuer_item["id"] == self.membership_id and not (
                is_long and not can_issue_long_links(Role(issuer_item["role"]))
            )
        key = ApiKey.from_item(issuer_item)
        return key.status == "active" and not (is_long and not can_issue_long_links(key.scopes))


def can_issue_long_links(role_or_scopes: Role | Sequence[str] | None) -> bool:
    """Return whether a role, or an API key's scopes, allow links that are valid for more than a day."""
    if role_or_scopes is None or isinstance(role_or_scopes, Role):
        return role_or_scopes is not None and role_or_scopes.includes(Role.EDITOR)
    return scopes_allow([*role_or_scopes], "sites:write", Role.EDITOR)


def parse_preview_token_or_none(token: str, path_parameters: Mapping[str, str]) -> PreviewClaim | None:
    """Return the content of a token, or None if it is invalid, expired or not for the page in the path."""
    payload = symmetric.verified_payload_or_none(token, _LAYOUT.size, _CONTEXT)
    if payload is None:
        return None
    *ids, expires_ms, epoch = _LAYOUT.unpack(payload)
    site_id, page_id, revision_id, issuer_id, membership_id = (str(UUID(bytes=each)) for each in ids)
    claim = PreviewClaim(
        site_id,
        page_id,
        revision_id,
        issuer_id,
        membership_id if membership_id != _NO_MEMBERSHIP else None,
        expires_ms,
        epoch,
    )
    is_for_path = (claim.site_id, claim.page_id) == (path_parameters["site_id"], path_parameters["page_id"])
    return claim if is_for_path and claim.expires_ms > now_ms() else None
