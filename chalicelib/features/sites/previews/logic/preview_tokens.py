"""What a link to a preview says, and who vouches for it: pure decisions.

Its token names one revision of one page, until when it holds, and who made it, with a tag by which the service knows
that it did. It is stored nowhere.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from chalicelib.features.sites.pages.models.schemas import PREVIEW_SECONDS
from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.authorization.memberships import membership_key
from chalicelib.kernel.core.clock import now_ms
from chalicelib.kernel.crypto import signatures
from chalicelib.kernel.permissions.roles import Role, scopes_allow
from chalicelib.kernel.storage.entity import Item, ItemKey

_CONTEXT: Final = "preview"
_LAYOUT: Final = struct.Struct(">16s16s16s16s16sQI")
"""Site, page, revision, maker, their membership; when it ends, in milliseconds; the page's epoch."""

_NO_MEMBERSHIP: Final = str(UUID(int=0))


@dataclass(frozen=True)
class Claim:
    """What a token says. `membership_id`: by which its maker is a member; of an API key none."""

    site_id: str
    page_id: str
    revision_id: str
    maker_id: str
    membership_id: str | None
    expires_ms: int
    epoch: int

    def token(self) -> str:
        """Return the token that says so."""
        ids = (self.site_id, self.page_id, self.revision_id, self.maker_id, self.membership_id or _NO_MEMBERSHIP)
        said = _LAYOUT.pack(*(UUID(each).bytes for each in ids), self.expires_ms, self.epoch)
        return signatures.sign_token(said, _CONTEXT)

    def maker_key(self, organization_id: str) -> ItemKey:
        """Return where the maker's membership of an organization stands, or the API key."""
        if self.membership_id:
            return membership_key(Organization.make_item_key(id=organization_id), self.maker_id)
        return ApiKey.make_item_key(organization_id=organization_id, id=self.maker_id)

    def is_vouched_for(self, maker: Item | None) -> bool:
        """Return whether its maker is still who they were, and could let it hold so long today.

        `maker` stands at `maker_key`.
        """
        if maker is None:
            return False
        is_long = self.expires_ms > now_ms() + PREVIEW_SECONDS * 1000
        if self.membership_id:
            return maker["id"] == self.membership_id and not (is_long and not allows_long(Role(maker["role"])))
        key = ApiKey.from_item(maker)
        return key.status == "active" and not (is_long and not allows_long(key.scopes))


def allows_long(rights: Role | Sequence[str] | None) -> bool:
    """Return whether somebody may make links that hold for more than a day: by their role or, of a key, its scopes."""
    if rights is None or isinstance(rights, Role):
        return rights is not None and rights.includes(Role.EDITOR)
    return scopes_allow([*rights], "sites:write", Role.EDITOR)


def claimed(token: str, path: Mapping[str, str]) -> Claim | None:
    """Return what a token says, if the service made it for the page that a path names, and its time is not over."""
    said = signatures.verify_token(token, _LAYOUT.size, _CONTEXT)
    if said is None:
        return None
    *ids, expires_ms, epoch = _LAYOUT.unpack(said)
    site_id, page_id, revision_id, maker_id, membership_id = (str(UUID(bytes=each)) for each in ids)
    claim = Claim(
        site_id,
        page_id,
        revision_id,
        maker_id,
        membership_id if membership_id != _NO_MEMBERSHIP else None,
        expires_ms,
        epoch,
    )
    named = (claim.site_id, claim.page_id) == (path["site_id"], path["page_id"])
    return claim if named and claim.expires_ms > now_ms() else None
