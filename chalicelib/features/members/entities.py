"""What is stored of a member."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

from chalicelib.features.members.models import MemberOut
from chalicelib.kernel.clock import after
from chalicelib.kernel.entity import Collection, Facet, Membership
from chalicelib.kernel.jobs import Job
from chalicelib.kernel.person import Person
from chalicelib.kernel.roles import Role
from chalicelib.kernel.tokens import User

INDEX_SECONDS: Final = 5
"""How long an index usually takes to show all that stands on a membership."""

WITH_MEMBER: Final = Facet("O#{organization_id}#U#{user_id}", "facet1")
"""All that goes with a member of an organization: what they are below it, and what they have invited."""


class Joined(Membership):
    """A user's membership of a place, with what their token said of them when they joined.

    `below_at`: when they last became a member of a place below. So of a departure and such a beginning at the same
    moment one sees the other.
    """

    public = MemberOut
    guarded_by = ("id", "version", "below_at")

    by_email: ClassVar[Facet]
    """Who has an address, of those that are members with records like this."""

    organization_id: str
    below_at: str | None = None
    username: str | None = None
    name: str | None = None
    email: str | None = None

    @property
    def joined_at(self) -> str:
        """When they became a member."""
        return self.created_at

    @property
    def name_shown(self) -> str:
        """What people call the member."""
        return self.name or self.username or self.email or self.user_id

    def without(self, person: Person) -> Mapping[str, Any] | None:
        """Return None if it is the person's; that of another only loses what it shares with them."""
        if self.user_id in person.user_ids:
            return None
        named = person.out_of_all({"username": self.username, "name": self.name})
        return {**named, "email": None} if self.email in person.emails else named

    @classmethod
    def made(cls, new: dict[str, Any], user: "User | Joined", role: str, **place: str) -> Self:
        """Return a user's new membership of a place. `new`: as of `Context.new`; `place`: the ids that name it."""
        user_id = user.id if isinstance(user, User) else user.user_id
        said = {"username": user.username, "name": user.name, "email": user.email}
        return cls(**{**new, **place, **said}, user_id=user_id, role=role)


class Member(Joined):
    """A user's membership of an organization.

    `shelf` is the list of the user's organizations it is found in: `active`, or `pending_deletion` at the owner of an
    organization that waits for its purge.
    """

    kind, parameter, named_by = "organization.member", "user_id", "user_id"
    pk, sk = "O#{organization_id}", "M#{user_id}"
    of_user = Collection("USER#{user_id}#{shelf}", "{organization_id}", index="index1")
    in_organization = Collection("O#{organization_id}#M", "{id}", index="index2")
    by_email = Facet("O#{organization_id}#E#{email}", "facet1")

    shelf: str = "active"

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
