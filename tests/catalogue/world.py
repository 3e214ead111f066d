"""The world that every operation's example is called in: an organization with its people, and another beside it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.kernel import table
from chalicelib.kernel.clock import now
from chalicelib.kernel.entity import Entity, Item
from chalicelib.kernel.operation import At, Caller, Operation
from chalicelib.kernel.roles import Role
from chalicelib.kernel.table import Write
from tests.harness import callers
from tests.harness.api import Api
from tests.harness.callers import Issuer, Person
from tests.harness.clock import ago
from tests.harness.invitations import Invited, invite
from tests.harness.joining import beginning
from tests.harness.organizations import Founded, found, joins, make_key
from tests.harness.workers import Workers


@dataclass(frozen=True)
class People:
    """Who is in the world.

    `invited` has an invitation that waits; `outsider` belongs to the rivals' organization only, and owns it.
    """

    owner: Person
    admin: Person
    editor: Person
    member: Person
    invited: Person
    outsider: Person
    operator: Person
    issuer: Issuer

    def of_role(self, role: Role) -> Person:
        """Return the one who has this role in the organization."""
        person: Person = getattr(self, role.value)
        return person


@dataclass
class World:
    """An organization with a member of each role, an API key, an invitation and a log; and a rivals' organization.

    It was made some minutes ago.
    """

    api: Api
    workers: Workers
    people: People
    organization: Founded
    rivals: Founded
    api_key: callers.Caller
    rival_key: callers.Caller
    invitation: Invited
    rival_invitation: Invited

    @classmethod
    def made(cls, api: Api, workers: Workers, people: People) -> "World":
        """Make it, over HTTP, until nothing is left to be done."""
        with ago(minutes=3):
            return cls._made(api, workers, people)

    @classmethod
    def _made(cls, api: Api, workers: Workers, people: People) -> "World":
        organization, rivals = (
            found(api, owner, name=name) for owner, name in ((people.owner, "Bletchley"), (people.outsider, "Rivals"))
        )
        for role in (Role.ADMIN, Role.EDITOR, Role.MEMBER):
            joins(organization, people.of_role(role), role)
        both = (organization, rivals)
        key, rival_key = (make_key(api, place, "api-keys:read", name="Inventory") for place in both)
        invitation, rival_invitation = (invite(api, place, people.invited) for place in both)
        workers.settle()
        return cls(api, workers, people, organization, rivals, key, rival_key, invitation, rival_invitation)

    @property
    def id(self) -> str:
        """The organization's id."""
        return self.organization.id

    @property
    def slug(self) -> str:
        """The organization's slug."""
        return str(self.organization.record["slug"])

    def rivals_own(self, parameter: str) -> str:
        """Return what a path parameter holds that names something of the rivals."""
        theirs = {
            "organization_id": self.rivals.id,
            "slug": str(self.rivals.record["slug"]),
            "user_id": self.people.outsider.id,
            "api_key_id": self.rival_key.id,
            "invitation_id": self.rival_invitation.id,
        }
        assert parameter in theirs, f"give the rivals something that {parameter} names, in tests/catalogue/world.py"
        return theirs[parameter]

    def entitled(self, operation: Operation) -> Person | None:
        """Return who has just the right to an operation by its declaration, and no more; None needs no credential."""
        if isinstance(operation.needs, At):
            return self.people.of_role(operation.needs.role)
        kinds = {Caller.OPERATOR: self.people.operator, Caller.PUBLIC: None}
        return kinds.get(operation.needs, self.people.owner)

    def key(self, *scopes: str, **fields: Any) -> callers.Caller:
        """Return a new API key of the organization."""
        return make_key(self.api, self.organization, *scopes, **fields)


def new(number: int) -> list[dict[str, Any]]:
    """Return what so many new records begin with."""
    moment = now()
    return [beginning(moment) for _ in range(number)]


def put(records: Iterable[Entity]) -> None:
    """Put records into the table that no operation has made: a crowd to stand beside what is looked at."""
    put_items(record.item() for record in records)


def put_items(items: Iterable[Item]) -> None:
    """Put items into the table."""
    writes = [Write("Put", (item["pk"], item["sk"]), item=item) for item in items]
    for start in range(0, len(writes), _AT_ONCE):
        table.write(writes[start : start + _AT_ONCE])


_AT_ONCE: Final = table.MOST_WRITES
