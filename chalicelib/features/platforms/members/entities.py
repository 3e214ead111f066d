"""The stored records of a platform's members and of the invitations to it."""

import secrets
from collections.abc import Mapping
from typing import Any, Final, Self

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.tenancy.entities.memberships import (
    DEPENDENTS_OF_MEMBER,
    ContainerMember,
    RevocationMarker,
    removal_of_dependents,
)
from chalicelib.features.tenancy.invitations.entities import PENDING_INVITATION_ADVICE, Invitation
from chalicelib.kernel.core.case_folding import casefold_without_new_ascii
from chalicelib.kernel.identity.claims import MAX_LABEL_CHARACTERS
from chalicelib.kernel.permissions.grants import DescendantMembership
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Collection, Facet, Item, ItemKey
from chalicelib.kernel.storage.log_rules import LogRules
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.unique_values import Unique
from chalicelib.kernel.transactions.unique_items import guard_key

_SUFFIX_BYTES: Final = 2

DEPENDENTS_OF_PLATFORM_MEMBER: Final = Facet("P#{platform_id}#U#{user_id}", "facet2")
"""Index of the memberships of spaces and of the pending invitations that depend on a member of a platform."""


def membership_listing_sort_key(user_id: str, platform_id: str = "") -> str:
    """Return the sort key, in an organization's partition, of the item that lists a platform of a user.

    Without a platform id it is the common prefix of all platforms of the user.
    """
    return f"B#{user_id}#{platform_id}"


class PlatformMember(ContainerMember, DescendantMembership):
    """A user's membership of a platform. Usernames are unique on a platform, ignoring case.

    Token issuers do not guarantee unique usernames, so a user whose username is taken gets a suffix.
    """

    kind, parameter, id_field = "platform.member", "user_id", "user_id"
    pk, sk = "P#{platform_id}", "M#{user_id}"
    container_type = Platform
    of_user = Collection("UP#{user_id}", "{platform_id}", index="index1")
    in_platform = Collection("P#{platform_id}#M", "{id}", index="index2")
    with_member = DEPENDENTS_OF_MEMBER
    by_email = Facet("P#{platform_id}#E#{email}", "facet2")
    by_username = Unique(
        "platform-username#{platform_id}",
        "{folded_username}",
        error_code="",
        field="username",
        applies_to=lambda member: member.username is not None,
        ref_field="user_id",
    )

    log_rules = LogRules(
        ended_by=("platform.member.removed",),
        changed_by={
            "platform.invitation.accepted": lambda entry: [
                PlatformMember.make_item_key(platform_id=entry["data"]["platformId"], user_id=entry["actor"]["id"])
            ]
        },
        removed_by={
            "organization.member.removed": lambda entry: removal_of_dependents(
                RevocationMarker, DEPENDENTS_OF_MEMBER, entry
            )
        },
    )

    platform_id: str

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """Also include an item in the organization's partition that lists the platform, because indexes lag."""
        names = {"organization_id": self.organization_id, "platform_id": self.platform_id}
        row = {
            "pk": f"O#{self.organization_id}",
            "sk": membership_listing_sort_key(self.user_id, self.platform_id),
            **names,
        }
        return (*super().derived_items, row)

    @classmethod
    def membership_listing_sort_key_prefix(cls, user_id: str) -> str:
        """Return the common sort key prefix, in an organization's partition, of a user's platforms."""
        return membership_listing_sort_key(user_id)

    @property
    def folded_username(self) -> str:
        """The username, case-folded for comparison."""
        return fold_username(self.username or "")

    def with_available_username(self) -> Self:
        """Return the membership with its username, or with a suffix if another member has it. It takes one read."""
        if self.username is None or not self.is_username_taken(self.username):
            return self
        suffix = f"-{secrets.token_hex(_SUFFIX_BYTES)}"
        return self.replace(username=self.username[: MAX_LABEL_CHARACTERS - len(suffix)] + suffix)

    def is_username_taken(self, username: str) -> bool:
        """Return whether another member of the platform has a username. It takes one read."""
        guard = table.get(username_guard_key(self.platform_id, username))
        return guard is not None and guard["ref"] != self.user_id

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return None if the membership is the person's. Another member loses a username that names the person."""
        changed = super().redaction_changes_or_none_to_delete(person)
        return {**changed, "username": None} if changed and changed.get("username") else changed


class PlatformRevocationMarker(RevocationMarker):
    """A marker that a user has left a platform and its spaces."""

    kind = "platform.departure"
    pk, sk = "P#{platform_id}", "G#{user_id}"

    platform_id: str

    @property
    def dependents_index(self) -> Facet:
        """The index of the records that depend on the membership."""
        return DEPENDENTS_OF_PLATFORM_MEMBER


class PlatformInvitation(Invitation):
    """An invitation to a platform.

    The item that reserves its email address also holds the inviter, so that one read yields both.
    """

    kind = "platform.invitation"
    of_container = Facet("P#{platform_id}#I", "facet3")
    with_platform_member = Facet("P#{platform_id}#U#{pending_inviter_id}", "facet2")
    by_address = Unique(
        "platform-invitation#{platform_id}",
        "{email}",
        error_code="already_exists",
        field="email",
        expires_at_field="expires_at",
        advice=PENDING_INVITATION_ADVICE,
        applies_to=lambda invitation: invitation.outcome is None,
        projected_fields=("invited_by",),
    )
    container_type = Platform
    membership_type = PlatformMember

    @property
    def container_ids_by_parameter(self) -> dict[str, str]:
        """The ids of the platform and of its organization, by path parameter."""
        return {"organization_id": self.organization_id, "platform_id": str(self.platform_id)}


def fold_username(username: str) -> str:
    """Return a username for comparison (Unicode default caseless matching)."""
    return casefold_without_new_ascii(username)


def username_guard_key(platform_id: str, username: str) -> ItemKey:
    """Return the item key that reserves a username on a platform."""
    values = {"platform_id": platform_id, "folded_username": fold_username(username)}
    return guard_key(PlatformMember.by_username, values)
