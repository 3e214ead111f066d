"""The stored records of members."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

from chalicelib.features.tenancy.models.memberships import MemberOut
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.grants import Membership
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Collection, Facet, Item, ItemKey
from chalicelib.kernel.storage.key_templates import fields_of
from chalicelib.kernel.storage.log_rules import EntryContent, LogRules, Removal
from chalicelib.kernel.storage.name_index import FoundByName, NameIndex
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.work.jobs import Job

INDEX_LAG_SECONDS: Final = 5
"""Time after which an index usually shows all records that depend on a membership."""

DEPENDENTS_OF_MEMBER: Final = Facet("O#{organization_id}#U#{user_id}", "facet1")
"""Index of the memberships below an organization and of the pending invitations that depend on a member of it."""


def email_sort_key(email: str, user_id: str) -> str:
    """Return the sort key of the item that finds a member by e-mail address. Without a user id, it is the prefix."""
    return f"E#{email}#{user_id}"


class ContainerMember(Membership):
    """A user's membership of a container, with the profile that their token contained when they joined.

    `descendant_joined_at` is the time at which they last became a member of a descendant. Transactions check it, so one
    of two concurrent requests that leave the container and join a descendant fails.
    """

    output_model = MemberOut
    attribute_names: ClassVar[Mapping[str, str]] = {"descendant_joined_at": "below_at"}
    version_fields: ClassVar[tuple[str, ...]] = ("id", "version", "descendant_joined_at")

    unauthenticated_fields: ClassVar[Mapping[str, str]] = {
        "descendant_joined_at": "It only makes concurrent requests conflict."
    }

    by_email: ClassVar[Facet]
    """Index of the members by e-mail address."""

    organization_id: str
    descendant_joined_at: str | None = None
    username: str | None = None
    name: str | None = None
    email: str | None = None

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """Return the item that finds the member by e-mail address, where members are searched by it. Indexes lag."""
        if not (self.email and "by_email" in self.facets):
            return ()
        pk, _ = self.item_key
        return ({"pk": pk, "sk": email_sort_key(self.email, self.user_id), "user_id": self.user_id},)

    @property
    def joined_at(self) -> str:
        """Return the time at which the user became a member."""
        return self.created_at

    @property
    def audit_log_label(self) -> str:
        """Return the member's name, username or e-mail address for chat messages."""
        return self.name or self.username or self.email or self.user_id

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return None if the membership is the person's. Another member only loses values that name the person."""
        if self.user_id in person.user_ids:
            return None
        redacted = person.redacted_field_changes({"username": self.username, "name": self.name})
        return {**redacted, "email": None} if self.email in person.emails else redacted

    def with_available_username(self) -> Self:
        """Return the membership with a username that no other member has, in containers where usernames are unique."""
        return self

    @classmethod
    def create(
        cls, record_fields: dict[str, Any], user: "User | ContainerMember", role: str, **container_ids: str
    ) -> Self:
        """Return a new membership of a container.

        `record_fields`: the result of `Context.new_record_fields`. `container_ids`: the ids of the container and of its
        ancestors.
        """
        user_id = user.id if isinstance(user, User) else user.user_id
        profile = {"username": user.username, "name": user.name, "email": user.email}
        return cls(**{**record_fields, **container_ids, **profile}, user_id=user_id, role=role)


class Member(FoundByName, ContainerMember):
    """A user's membership of an organization.

    `last_key_issuance_id` changes whenever the member creates or rotates an API key, so one of two concurrent requests
    that create a key and remove the member fails. `revoked_keys` are the API keys that a change of the membership
    revoked, for the response and the log entry of that change. `list_name` is the list of the user's organizations in
    which the membership appears: `active`, or `pending_deletion` for the owner of a deleted organization.
    `email_verified` is whether the issuer said, when the user joined, that it had verified the e-mail address. It is
    None in memberships of earlier releases.
    """

    kind, parameter, id_field = "organization.member", "user_id", "user_id"
    pk, sk = "O#{organization_id}", "M#{user_id}"
    of_user = Collection("USER#{user_id}#{list_name}", "{organization_id}", index="index1")
    in_organization = Collection("O#{organization_id}#M", "{id}", index="index2")
    by_email = Facet("O#{organization_id}#E#{email}", "facet1")
    names_for_all = NameIndex(
        "O#{organization_id}#NAMES#M", names=("name", "username"), ordered_by=("name", "username")
    )
    emails_for_admins = NameIndex(
        "O#{organization_id}#NAMES#E", names=("email",), ordered_by=("email_of_unnamed",), lists_unnamed=False
    )
    name_indexes = (names_for_all, emails_for_admins)
    """Two indexes, because only admins see e-mail addresses. A row in a common one would reveal that it exists.

    Only the first one lists members without any name or address. A second row of them would make a page short.
    """

    attribute_names: ClassVar[Mapping[str, str]] = {
        "last_key_issuance_id": "keys_mark",
        "list_name": "shelf",
    }
    version_fields = ("id", "version", "descendant_joined_at", "last_key_issuance_id")
    computed_fields = frozenset({"revoked_keys"})
    log_rules = LogRules(
        ended_by=("organization.member.removed",),
        changed_by={
            "organization.created": lambda entry: _member_keys(entry, entry["data"]["ownerId"]),
            "organization.ownership_transferred": lambda entry: _member_keys(entry, entry["data"]["ownerId"]),
            "organization.invitation.accepted": lambda entry: _member_keys(entry, entry["actor"]["id"]),
        },
    )
    unauthenticated_fields: ClassVar = {
        "list_name": "It selects the list in which the organization appears.",
        "last_key_issuance_id": "It only makes concurrent requests conflict.",
    }

    list_name: str = "active"
    last_key_issuance_id: str | None = None
    email_verified: bool | None = None
    revoked_keys: list[dict[str, str]] | None = None

    @property
    def verified_email_or_none(self) -> str | None:
        """Return the e-mail address if it is verified. Notices to the member are sent to no other address."""
        return self.email if self.email_verified else None

    @property
    def email_of_unnamed(self) -> str | None:
        """Return the e-mail address of a member without any name. Admins see it instead of the name."""
        return None if self.name or self.username else self.email

    @classmethod
    def create(
        cls, record_fields: dict[str, Any], user: User | ContainerMember, role: str, **container_ids: str
    ) -> Self:
        """Return a user's new membership, which stores whether their e-mail address is verified."""
        is_verified = isinstance(user, User) and user.email_verified
        return super().create(record_fields, user, role, **container_ids).replace(email_verified=is_verified)

    @classmethod
    def create_for_organization(
        cls, record_fields: dict[str, Any], organization_id: str, user: User, role: Role
    ) -> Self:
        """Return a user's new membership of an organization.

        `record_fields`: the result of `Context.new_record_fields`.
        """
        return cls.create(record_fields, user, role.value, organization_id=organization_id)


def _member_keys(entry: EntryContent, user_id: str) -> list[ItemKey]:
    return [Member.make_item_key(organization_id=entry["organizationId"], user_id=user_id)]


def removal_of_dependents(marker_type: "type[RevocationMarker]", facet: Facet, entry: EntryContent) -> Removal:
    """Return the records in an index of dependents that are removed after a membership has ended.

    Entries of former releases do not name the platform.
    """
    data = entry["data"]
    ids = {
        "organization_id": entry["organizationId"],
        "platform_id": data.get("platformId"),
        "user_id": data.get("userId"),
    }
    fields = {name: value for name in fields_of(facet.pk) if (value := ids[name])}
    is_complete = len(fields) == len(fields_of(facet.pk))
    return Removal(
        fields=fields,
        partition=facet.partition(**fields) if is_complete else None,
        job_key=marker_type.make_item_key(**fields) if is_complete else None,
    )


class RevocationMarker(Job):
    """A marker that a user has left a container. It revokes everything that depended on the membership until then.

    The marker stays until a task has removed the memberships below the container and revoked the user's invitations.
    """

    kind, task = "organization.departure", "members.depart"
    pk, sk = "O#{organization_id}", "G#{user_id}"

    organization_id: str
    user_id: str

    @property
    def dependents_index(self) -> Facet:
        """Return the index of the records that depend on the membership."""
        return DEPENDENTS_OF_MEMBER

    @classmethod
    def create(cls, record_fields: dict[str, Any], user_id: str, **container_ids: str) -> Self:
        """Return the marker of a user who leaves a container.

        `record_fields`: the result of `Context.new_record_fields`. `container_ids`: the ids of the container and of its
        ancestors.
        """
        return cls(
            **{**record_fields, **container_ids},
            user_id=user_id,
            lease_until=after(record_fields["created_at"], seconds=INDEX_LAG_SECONDS),
        )
