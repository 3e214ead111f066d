"""Platforms and spaces, made over HTTP, and the people in them."""

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
        """Whose it is."""
        return str(self.record["organizationId"])


@dataclass(frozen=True)
class Room(Made):
    """A space."""

    platform: Running

    listed_at = "/spaces"


def run_platform(api: Api, organization: Founded, *, published: bool = False, **fields: Any) -> Running:
    """Let an organization's owner create a platform, and publish it."""
    body = {"organizationId": organization.id, "name": "Engines", **fields}
    answer = api.post("/platforms", as_=organization.owner, json=body)
    assert answer.status == 201, answer.text
    running = Running(answer.json, organization.owner)
    return publish(api, running) if published else running


def publish(api: Api, platform: Running) -> Running:
    """Let a platform be published."""
    answer = api.patch(f"{platform.path}/publish", as_=platform.owner, json={})
    assert answer.status == 200
    return replace(platform, record=answer.json)


def make_space(api: Api, platform: Running, *, as_: Person | None = None, **fields: Any) -> Room:
    """Let somebody make a space in a platform; its organization's owner, unless it is said who."""
    body = {"platformId": platform.id, "name": "Looms", **fields}
    answer = api.post("/spaces", as_=as_ or platform.owner, json=body)
    assert answer.status == 201, answer.text
    return Room(answer.json, platform)


def furnish(api: Api, space: Room, *, block: str, capability: str, module: str) -> None:
    """Let a space and its platform have something that paths name."""
    platform, owner = space.platform, space.platform.owner
    done = [
        api.patch(f"{platform.path}/project-blocks", as_=owner, json={"projectBlocks": [{"projectBlockId": block}]}),
        api.post(f"{space.path}/capabilities", as_=owner, json={"capabilityKey": capability}),
        api.post(f"{space.path}/module-overrides", as_=owner, json={"moduleId": module}),
    ]
    assert [answer.status for answer in done] == [200, 201, 201]


def takes_part(platform: Running, person: Person, role: Role | str = Role.MEMBER) -> PlatformMember:
    """Let a person be a member of a platform, put below HTTP."""
    place = {"organization_id": platform.organization_id, "platform_id": platform.id}
    return _put(PlatformMember.create(beginning(now()), person.user(), str(role), **place))


def comes_in(space: Room, person: Person, role: Role | str = Role.MEMBER) -> SpaceMember:
    """Let a person be a member of a space, put below HTTP."""
    platform = space.platform
    place = {"organization_id": platform.organization_id, "platform_id": platform.id, "space_id": space.id}
    return _put(SpaceMember.create(beginning(now()), person.user(), str(role), **place))


def is_made(api: Api, place: Running | Room, person: Person, role: Role | str) -> Json:
    """Let the owner give somebody a role at a platform or a space, over HTTP, and return the membership."""
    owner = place.platform.owner if isinstance(place, Room) else place.owner
    answer = api.patch(f"{place.path}/members/{person.id}", as_=owner, json={"role": str(role)})
    assert answer.status == 200, answer.text
    return answer.json


def _put(member: M) -> M:
    changes = UnitOfWork(now())
    changes.create(member)
    changes.commit()
    return member
