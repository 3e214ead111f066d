"""The stored spaces and their members, and the access rule of operations on a space."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.members.entities import DEPENDENTS_OF_PLATFORM_MEMBER, PlatformRevocationMarker
from chalicelib.features.platforms.spaces.models import SpaceOut
from chalicelib.features.tenancy.entities.memberships import (
    DEPENDENTS_OF_MEMBER,
    ContainerMember,
    RevocationMarker,
    removal_of_dependents,
)
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Collection, Container, ItemKey
from chalicelib.kernel.storage.log_rules import EntryContent, LogRules, entries_about_others
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.unique_values import FormerName, Unique


def _creator_keys(entry: EntryContent) -> list[ItemKey]:
    """Return the key of the membership of the user who created a space."""
    user_id = entry["actor"]["id"]
    is_user = entry["actor"]["type"] == "user"
    return [SpaceMember.make_item_key(space_id=entry["target"]["id"], user_id=user_id)] if is_user else []


class Space(Container):
    """A space of a platform. Spaces are listed by position, then by time of creation."""

    kind, parameter, parent_type, scope_area = "space", "space_id", Platform, "spaces"
    log_rules = LogRules(
        ended_by=("space.deleted",),
        changed_by=entries_about_others(
            "space.capability.added",
            "space.capability.removed",
            "space.capabilities.replaced",
            "space.module_override.set",
            "space.module_override.removed",
            "space.module_overrides.replaced",
        ),
    )
    pk, sk = "S#{id}", "#"
    sibling_index = Collection("P#{platform_id}#S", "{position:09d}#{id}", index="index1")
    by_visibility = Collection("P#{platform_id}#S#{visibility}", "{position:09d}#{id}", index="index2")
    by_slug = Unique(
        "space-slug#{platform_id}", "{slug}", error_code="slug_taken", field="slug", former_values_field="former_slugs"
    )
    output_model = SpaceOut

    organization_id: str
    platform_id: str
    name: str
    slug: str
    description: str | None = None
    visibility: Literal["open", "private"] = "open"
    position: int = 0
    former_slugs: list[FormerName] = field(default_factory=list)

    @property
    def is_private(self) -> bool:
        """Whether only members of the space and admins of the platform can see it."""
        return self.visibility == "private"

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the name and description with the person's data redacted."""
        return person.redacted_field_changes({"name": self.name, "description": self.description})


def require_space_role(role: Role | None, *, at_platform: bool = False) -> RequireRole:
    """Return the access rule that requires a role at the space in the path or, with `at_platform`, at its platform."""
    return RequireRole(Space, role, role_at=Platform if at_platform else None)


class SpaceMember(ContainerMember):
    """A user's membership of a space."""

    kind, parameter, id_field = "space.member", "user_id", "user_id"
    log_rules = LogRules(
        ended_by=("space.member.removed",),
        changed_by={"space.created": _creator_keys},
        removed_by={
            "organization.member.removed": lambda entry: removal_of_dependents(
                RevocationMarker, DEPENDENTS_OF_MEMBER, entry
            ),
            "platform.member.removed": lambda entry: removal_of_dependents(
                PlatformRevocationMarker, DEPENDENTS_OF_PLATFORM_MEMBER, entry
            ),
        },
    )
    pk, sk = "S#{space_id}", "M#{user_id}"
    of_user = Collection("US#{user_id}#{platform_id}", "{space_id}", index="index1")
    in_space = Collection("S#{space_id}#M", "{id}", index="index2")
    with_member = DEPENDENTS_OF_MEMBER
    with_platform_member = DEPENDENTS_OF_PLATFORM_MEMBER

    platform_id: str
    space_id: str
