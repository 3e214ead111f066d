"""The stored records of a platform's members and of the invitations to it."""

import secrets
from collections.abc import Mapping
from typing import Any, Final, Self

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.tenancy.entities.memberships import WITH_MEMBER, Departure, Joined
from chalicelib.features.tenancy.invitations.entities import Invitation
from chalicelib.kernel.core.case_folding import casefold
from chalicelib.kernel.identity.jwt import MAX_LABEL_CHARACTERS
from chalicelib.kernel.permissions.grants import DescendantMembership
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Collection, Facet, Item, ItemKey
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.storage.unique_values import Unique
from chalicelib.kernel.transactions.unique_items import guard_key

_SUFFIX_BYTES: Final = 2

WITH_PLATFORM_MEMBER: Final = Facet("P#{platform_id}#U#{user_id}", "facet2")
"""All that goes with a member of a platform: what they are in its spaces, and whom they have invited to it."""


def below_row(user_id: str, platform_id: str = "") -> str:
    """Return the sort key of what leads, in an organization's partition, to a platform that a user is a member of.

    Without the platform's id it is what all those of the user begin with.
    """
    return f"B#{user_id}#{platform_id}"


class PlatformMember(Joined, DescendantMembership):
    """A user's membership of a platform. Usernames are told apart by more than the case of their letters.

    No issuer promises that they are unique: whoever comes with one that is taken gets it with a suffix.
    """

    kind, parameter, id_field = "platform.member", "user_id", "user_id"
    pk, sk = "P#{platform_id}", "M#{user_id}"
    container_type = Platform
    of_user = Collection("UP#{user_id}", "{platform_id}", index="index1")
    in_platform = Collection("P#{platform_id}#M", "{id}", index="index2")
    with_member = WITH_MEMBER
    by_email = Facet("P#{platform_id}#E#{email}", "facet2")
    by_username = Unique(
        "platform-username#{platform_id}",
        "{folded_username}",
        error_code="",
        field="username",
        applies_to=lambda member: member.username is not None,
        ref_field="user_id",
    )

    platform_id: str

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """What leads to the platform in its organization, too: the list of a user's memberships lags."""
        names = {"organization_id": self.organization_id, "platform_id": self.platform_id}
        row = {"pk": f"O#{self.organization_id}", "sk": below_row(self.user_id, self.platform_id), **names}
        return (*super().derived_items, row)

    @classmethod
    def row_prefix(cls, user_id: str) -> str:
        """Return the beginning of the sort keys, in an organization's partition, of a user's platforms."""
        return below_row(user_id)

    @property
    def folded_username(self) -> str:
        """The username as it is compared."""
        return folded(self.username or "")

    def distinct(self) -> Self:
        """Return it with its username, or with that and a suffix if another member has it: a read."""
        if self.username is None or not self.is_taken(self.username):
            return self
        suffix = f"-{secrets.token_hex(_SUFFIX_BYTES)}"
        return self.replace(username=self.username[: MAX_LABEL_CHARACTERS - len(suffix)] + suffix)

    def is_taken(self, username: str) -> bool:
        """Return whether another member of the platform has a username: a read."""
        (key,) = username_key(self.platform_id, username)
        guard = table.get(key)
        return guard is not None and guard["ref"] != self.user_id

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return None if it is the person's; of another a username that names them goes, so that it is nobody's."""
        changed = super().redact(person)
        return {**changed, "username": None} if changed and changed.get("username") else changed


class PlatformDeparture(Departure):
    """That somebody has left a platform, and with it its spaces."""

    kind = "platform.departure"
    pk, sk = "P#{platform_id}", "G#{user_id}"

    platform_id: str

    @property
    def below(self) -> Facet:
        """The index of what goes with them."""
        return WITH_PLATFORM_MEMBER


class PlatformInvitation(Invitation):
    """An invitation to a platform.

    The item that reserves its address also holds the inviter, so that one read yields both.
    """

    kind = "platform.invitation"
    of_container = Facet("P#{platform_id}#I", "facet3")
    with_platform_member = Facet("P#{platform_id}#U#{pending_by}", "facet2")
    by_address = Unique(
        "platform-invitation#{platform_id}",
        "{email}",
        error_code="already_exists",
        field="email",
        expires_at_field="expires_at",
        advice="Send that invitation again or, if it can't be sent, revoke it first.",
        applies_to=lambda invitation: invitation.outcome is None,
        projected_fields=("invited_by",),
    )
    container_type = Platform
    membership_type = PlatformMember

    @property
    def container_ids(self) -> dict[str, str]:
        """Ids of the platform and of its organization, by path parameter."""
        return {"organization_id": self.organization_id, "platform_id": str(self.platform_id)}


def folded(username: str) -> str:
    """Return a username as it is compared with others (Unicode, default caseless matching)."""
    return casefold(username)


def username_key(platform_id: str, username: str) -> list[ItemKey]:
    """Return where it stands whose a username is at a platform."""
    said = {"platform_id": platform_id, "folded_username": folded(username)}
    return [guard_key(PlatformMember.by_username, said)]
