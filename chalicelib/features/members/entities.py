"""What is stored of a member."""

from collections.abc import Mapping
from typing import Any, Final, Self

from chalicelib.features.members.models import MemberOut
from chalicelib.kernel.clock import after
from chalicelib.kernel.entity import Collection, Facet, Membership
from chalicelib.kernel.jobs import Job
from chalicelib.kernel.person import Person
from chalicelib.kernel.roles import Role
from chalicelib.kernel.tokens import User

_INDEX_SECONDS: Final = 5
"""How long an index may take to show all that a member has invited."""


class Joined(Membership):
    """A user's membership of a place, with what their token said of them when they joined."""

    public = MemberOut

    organization_id: str
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
    """What is left to be done once a member has gone: `membership_id` is that of the member they were."""

    kind, task = "organization.departure", "members.depart"
    pk, sk = "O#{organization_id}", "G#{id}"

    organization_id: str
    user_id: str
    membership_id: str

    @classmethod
    def of(cls, new: dict[str, Any], member: Member) -> "Departure":
        """Return the departure of a member. `new`: as of `Context.new`."""
        return cls(
            **new, organization_id=member.organization_id, user_id=member.user_id, membership_id=member.id,
            turn_at=after(new["created_at"], seconds=_INDEX_SECONDS),
        )  # fmt: skip

    def without(self, person: Person) -> Mapping[str, Any] | None:
        """Return None if it is the person's: what they had invited loses its inviter, and thereby its effect."""
        return None if self.user_id in person.user_ids else {}
