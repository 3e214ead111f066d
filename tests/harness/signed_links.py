"""Signed links, and callers who hold one."""

from dataclasses import dataclass
from typing import Any

from chalicelib.features.notifications.webhooks.logic.links import WEBHOOK_LINK
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.kernel.core.clock import now_ms
from chalicelib.kernel.identity.signed_links import LINK_SECONDS, LINK_TOKEN_HEADER, SignedLink
from tests.harness import memory_aws
from tests.harness.api import ApiClient, Json
from tests.harness.callers import Caller, Person

_LINK_ID = "01939d3c-0000-7000-8000-0000000000aa"


@dataclass(frozen=True)
class LinkHolder(Caller):
    """The holder of a signed link. `id`: the id of the link, `credential`: its token."""

    @property
    def headers(self) -> dict[str, str]:
        """The header with the credential."""
        return {LINK_TOKEN_HEADER: self.credential}


def create_link(api: ApiClient, path: str, caller: Person) -> tuple[LinkHolder, Json]:
    """Create a link to a record, and return its holder and the response."""
    created = api.post(f"{path}/links", caller=caller).expect(201).json
    return LinkHolder(created["id"], created["url"].partition("#token=")[2]), created


def sign_webhook_link(organization_id: str, webhook_id: str, creator: Person, **changed: Any) -> LinkHolder:
    """Return the holder of a link that a member could have created now, without a request. `changed`: its fields."""
    membership = memory_aws.get_item(*Member.make_item_key(organization_id=organization_id, user_id=creator.id)) or {}
    expires_ms = now_ms() + LINK_SECONDS * 1000
    fields = {
        "type": WEBHOOK_LINK.name,
        "id": _LINK_ID,
        "container_id": organization_id,
        "record_id": webhook_id,
        "creator_id": creator.id,
        "membership_ids": (membership.get("id", _LINK_ID),),
        "expires_ms": expires_ms,
    }
    link = SignedLink(**{**fields, **changed})
    return LinkHolder(link.id, link.to_signed_token())
