"""What is stored of a member."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

from chalicelib.features.tenancy.models.memberships import MemberOut
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.grants import Membership
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Collection, Facet, Item
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.work.jobs import Job

INDEX_SECONDS: Final = 5
"""How long an index usually takes to show all that stands on a membership."""

WITH_MEMBER: Final = Facet("O#{organization_id}#U#{user_id}", "facet1")
"""All that goes with a member of an organization: what they are below it, and what they have invited."""


def address_row(email: str, user_id: str) -> str:
    """Return the sort key of what leads to a member by their address; without the user's id, what those begin with."""
    return f"E#{email}#{user_id}"


class Joined(Membership):
    """A user's membership of a place, with what their token said of them when they joined.

    `below_at`: when they last became a member of a place below. So of a departure and such a beginning at the same
    moment one sees the other.
    """

    output_model = MemberOut
    version_fields: ClassVar[tuple[str, ...]] = ("id", "version", "below_at")

    by_email: ClassVar[Facet]
    """Who has an address, of those that are members with records like this."""

    organization_id: str
    below_at: str | None = None
    username: str | None = None
    name: str | None = None
    email: str | None = None

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """What leads to them by their address, where members are looked for by it: an index lags."""
        if not (self.email and "by_email" in self.facets):
            return ()
        pk, _ = self.item_key
        return ({"pk": pk, "sk": address_row(self.email, self.user_id), "user_id": self.user_id},)

    @property
    def joined_at(self) -> str:
        """When they became a member."""
        return self.created_at

    @property
    def log_label(self) -> str:
        """What people call the member."""
        return self.name or self.username or self.email or self.user_id

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return None if it is the person's; that of another only loses what it shares with them."""
        if self.user_id in person.user_ids:
            return None
        named = person.redact_all({"username": self.username, "name": self.name})
        return {**named, "email": None} if self.email in person.emails else named

    def distinct(self) -> Self:
        """Return it with a username that nobody else has at the place, where these are told apart."""
        return self

    @classmethod
    def made(cls, new: dict[str, Any], user: "User | Joined", role: str, **place: str) -> Self:
        """Return a user's new membership of a place. `new`: as of `Context.new`; `place`: the ids that name it."""
        user_id = user.id if isinstance(user, User) else user.user_id
        said = {"username": user.username, "name": user.name, "email": user.email}
        return cls(**{**new, **place, **said}, user_id=user_id, role=role)


class Member(Joined):
    """A user's membership of an organization.

    `keys_mark`: another one each time that they make or rotate an API key, so that of that and their removal one sees
    the other.
    `revoked_keys`: those that ended by a change of the membership, for who made that change and for its entry.
    `shelf` is the list of the user's organizations it is found in: `active`, or `pending_deletion` at the owner of an
    organization that waits for its purge.
    """

    kind, parameter, id_field = "organization.member", "user_id", "user_id"
    pk, sk = "O#{organization_id}", "M#{user_id}"
    of_user = Collection("USER#{user_id}#{shelf}", "{organization_id}", index="index1")
    in_organization = Collection("O#{organization_id}#M", "{id}", index="index2")
    by_email = Facet("O#{organization_id}#E#{email}", "facet1")

    version_fields = ("id", "version", "below_at", "keys_mark")
    computed_fields = frozenset({"revoked_keys"})

    shelf: str = "active"
    keys_mark: str | None = None
    revoked_keys: list[dict[str, str]] | None = None

    @classmethod
    def joining(cls, new: dict[str, Any], organization_id: str, user: User, role: Role) -> Self:
        """Return a user's new membership of an organization. `new`: as of `Context.new`."""
        return cls.made(new, user, role.value, organization_id=organization_id)


class Departure(Job):
    """That somebody has left a place: what they were below it until then holds no longer.

    It stays until all of that is removed, and revoked what they had invited.
    """

    kind, task = "organization.departure", "members.depart"
    pk, sk = "O#{organization_id}", "G#{user_id}"

    organization_id: str
    user_id: str

    @property
    def below(self) -> Facet:
        """The index of what goes with them."""
        return WITH_MEMBER

    @classmethod
    def made(cls, new: dict[str, Any], user_id: str, **place: str) -> Self:
        """Return the departure of a user from a place. `new`: as of `Context.new`; `place`: the ids that name it."""
        return cls(**{**new, **place}, user_id=user_id, turn_at=after(new["created_at"], seconds=INDEX_SECONDS))
