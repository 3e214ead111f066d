"""Signed links: a member delegates a few operations on one record, for an hour, to somebody without an account.

A link is a credential. Its token contains ids and an expiry, is signed, and is not stored. The holder sends it in the
header `Link-Token` instead of a bearer credential, and acts with the current rights of the member who created it.

Without I/O.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final
from uuid import UUID

from chalicelib.kernel.core.clock import now_ms, timestamp
from chalicelib.kernel.core.problems import Problem, unauthenticated
from chalicelib.kernel.crypto import symmetric
from chalicelib.kernel.storage.entity import Item

LINK_TOKEN_HEADER: Final = "Link-Token"  # noqa: S105 - the name of a header
LINK_SECONDS: Final = 3600
"""Time for which a signed link is valid."""

LINK_ACTOR_TYPE: Final = "link"
"""Type of the actor in log entries of what the holder of a link does."""

_CONTEXT: Final = "signed-link"
_TYPE_BYTES: Final = 16
_LAYOUT: Final = struct.Struct(f">{_TYPE_BYTES}s16s16s16s16s16s16sQ")
"""Type; ids of link, container, record, creator and their memberships of two containers; expiry in milliseconds."""

_MAX_MEMBERSHIPS: Final = 2
_NIL_ID: Final = str(UUID(int=0))


@dataclass(frozen=True)
class SignedLink:
    """The content of a token.

    `type`: the name of a `LinkType`. `container_id` and `record_id`: the record that the link is about, and its
    container. `membership_ids`: the memberships that the creator had in that container and its ancestors. Only these
    count, so a link does not come back to life when its creator leaves and returns.
    """

    type: str
    id: str
    container_id: str
    record_id: str
    creator_id: str
    membership_ids: tuple[str, ...]
    expires_ms: int

    @property
    def expires_at(self) -> str:
        """Return the time at which the link expires."""
        return timestamp(self.expires_ms)

    def to_signed_token(self) -> str:
        """Return the signed token. Raises ValueError if there are more memberships than a token contains."""
        padding = (_NIL_ID,) * (_MAX_MEMBERSHIPS - len(self.membership_ids))
        ids = (self.id, self.container_id, self.record_id, self.creator_id, *self.membership_ids, *padding)
        if len(ids) != 4 + _MAX_MEMBERSHIPS:
            raise ValueError(f"a link contains at most {_MAX_MEMBERSHIPS} memberships")
        payload = _LAYOUT.pack(self.type.encode(), *(UUID(each).bytes for each in ids), self.expires_ms)
        return symmetric.sign_token(payload, _CONTEXT)


@dataclass(frozen=True)
class LinkHolder:
    """Somebody who has a valid token of a link. `creator_name`: the name of its creator, once it is read."""

    link: SignedLink
    creator_name: str | None = None
    actor_type: ClassVar[str] = LINK_ACTOR_TYPE

    @property
    def id(self) -> str:
        """Return the id of the link, by which requests are counted and idempotent responses are found."""
        return self.link.id

    @property
    def actor(self) -> dict[str, Any]:
        """Return the actor for log entries: the link, and the user who created it."""
        return {
            "type": self.actor_type,
            "id": self.id,
            "name": f"Link of {self.creator_name}" if self.creator_name else None,
            "createdBy": {"type": "user", "id": self.link.creator_id, "name": self.creator_name},
        }

    def with_creator(self, membership: Mapping[str, Any]) -> "LinkHolder":
        """Return the holder with the name of the creator, as a membership of theirs contains it."""
        names = (membership.get(field) for field in ("name", "username", "email"))
        return replace(self, creator_name=next(filter(None, names), None))

    def has_membership(self, item: Item) -> bool:
        """Return whether the creator had this membership when they created the link."""
        return item["id"] in self.link.membership_ids


def verify_link_token(token: str) -> LinkHolder:
    """Return the holder of a link. Raises Problem `unauthenticated` if the token is not valid or has expired."""
    payload = symmetric.verified_payload_or_none(token, _LAYOUT.size, _CONTEXT)
    if payload is None:
        raise ended_link()
    link_type, *ids, expires_ms = _LAYOUT.unpack(payload)
    link_id, container_id, record_id, creator_id, *membership_ids = (str(UUID(bytes=each)) for each in ids)
    link = SignedLink(
        link_type.rstrip(b"\0").decode(),
        link_id,
        container_id,
        record_id,
        creator_id,
        tuple(each for each in membership_ids if each != _NIL_ID),
        expires_ms,
    )
    if link.expires_ms <= now_ms():
        raise ended_link()
    return LinkHolder(link)


def ended_link() -> Problem:
    """Return 401 for a link that is not valid, whatever the reason: the holder learns nothing about its creator."""
    return unauthenticated(
        "The link is not valid, or not any more. Links are valid for an hour, and end with the rights of the person who"
        " created them. Ask that person for a new one."
    )
