"""Platforms, spaces and their members."""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

from chalicelib.features.platforms.members.entities import PlatformMember
from chalicelib.features.platforms.spaces.entities import SpaceMember
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness.api import Api, Json
from tests.harness.builders import Made
from tests.harness.callers import Person
from tests.harness.organizations import Founded
from tests.harness.stored_records import beginning

M = TypeVar("M", PlatformMember, SpaceMember)


@dataclass(frozen=True)
class Running(Made):
    """A platform."""

    owner: Person

    listed_at = "/platforms"

    @property
    def organization_id(self) -> str:
        """The id of its organization."""
        return str(self.record["organizationId"])


@dataclass(frozen=True)
class Room(Made):
    """A space."""

    platform: Running

    listed_at = "/spaces"


def run_platform(api: Api, organization: Founded, *, published: bool = False, **fields: Any) -> Running:
    """Create a platform as the owner of an organization, and publish it on request."""
    body = {"organizationId": organization.id, "name": "Engines", **fields}
    answer = api.post("/platforms", as_=organization.owner, json=body)
    assert answer.status == 201, answer.text
    platform = Running(answer.json, organization.owner)
    return publish(api, platform) if published else platform


def publish(api: Api, platform: Running) -> Running:
    """Publish a platform."""
    answer = api.patch(f"{platform.path}/publish", as_=platform.owner, json={})
    assert answer.status == 200
    return replace(platform, record=answer.json)


def make_space(api: Api, platform: Running, *, as_: Person | None = None, **fields: Any) -> Room:
    """Create a space in a platform, by default as the owner of the organization."""
    body = {"platformId": platform.id, "name": "Looms", **fields}
    answer = api.post("/spaces", as_=as_ or platform.owner, json=body)
    assert answer.status == 201, answer.text
    return Room(answer.json, platform)


def furnish(api: Api, space: Room, *, block: str, capability: str, module: str) -> None:
    """Add a project block to a platform, and a capability and a module override to its space."""
    platform, owner = space.platform, space.platform.owner
    responses = [
        api.patch(f"{platform.path}/project-blocks", as_=owner, json={"projectBlocks": [{"projectBlockId": block}]}),
        api.post(f"{space.path}/capabilities", as_=owner, json={"capabilityKey": capability}),
        api.post(f"{space.path}/module-overrides", as_=owner, json={"moduleId": module}),
    ]
    assert [answer.status for answer in responses] == [200, 201, 201]


def takes_part(platform: Running, person: Person, role: Role | str = Role.MEMBER) -> PlatformMember:
    """Add a member to a platform, bypassing HTTP."""
    container_ids = {"organization_id": platform.organization_id, "platform_id": platform.id}
    return _store(PlatformMember.create(beginning(now()), person.user(), str(role), **container_ids))


def comes_in(space: Room, person: Person, role: Role | str = Role.MEMBER) -> SpaceMember:
    """Add a member to a space, bypassing HTTP."""
    platform = space.platform
    container_ids = {"organization_id": platform.organization_id, "platform_id": platform.id, "space_id": space.id}
    return _store(SpaceMember.create(beginning(now()), person.user(), str(role), **container_ids))


def is_made(api: Api, place: Running | Room, person: Person, role: Role | str) -> Json:
    """Set a person's role in a platform or space as the owner, over HTTP, and return the membership."""
    owner = place.platform.owner if isinstance(place, Room) else place.owner
    answer = api.patch(f"{place.path}/members/{person.id}", as_=owner, json={"role": str(role)})
    assert answer.status == 200, answer.text
    return answer.json


def _store(member: M) -> M:
    changes = UnitOfWork(now())
    changes.create(member)
    changes.commit()
    return member
