"""Platforms, spaces and their members."""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

from chalicelib.features.platforms.members.entities import PlatformMember
from chalicelib.features.platforms.spaces.entities import SpaceMember
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness.api import ApiClient, Json
from tests.harness.callers import Person
from tests.harness.organizations import CreatedOrganization
from tests.harness.record_clients import CreatedRecord, RecordClient
from tests.harness.stored_records import new_id_and_time_fields

M = TypeVar("M", PlatformMember, SpaceMember)


@dataclass(frozen=True)
class CreatedPlatform(CreatedRecord):
    owner: Person

    collection_path = "/platforms"

    @property
    def organization_id(self) -> str:
        return str(self.record["organizationId"])


@dataclass(frozen=True)
class CreatedSpace(CreatedRecord):
    platform: CreatedPlatform

    collection_path = "/spaces"


@dataclass(frozen=True)
class PlatformClient(RecordClient, CreatedPlatform):
    """A platform, and requests about it."""


@dataclass(frozen=True)
class SpaceClient(RecordClient, CreatedSpace):
    """A space, and requests about it."""


def create_platform(
    api: ApiClient, organization: CreatedOrganization, *, publish: bool = False, **fields: Any
) -> CreatedPlatform:
    """Create a platform as the owner of an organization, and publish it on request."""
    body = {"organizationId": organization.id, "name": "Engines", **fields}
    answer = api.post("/platforms", caller=organization.owner, json=body).expect(201)
    platform = CreatedPlatform(answer.json, organization.owner)
    return publish_platform(api, platform) if publish else platform


def publish_platform(api: ApiClient, platform: CreatedPlatform) -> CreatedPlatform:
    answer = api.patch(f"{platform.path}/publish", caller=platform.owner, json={}).expect(200)
    return replace(platform, record=answer.json)


def create_space(
    api: ApiClient, platform: CreatedPlatform, *, caller: Person | None = None, **fields: Any
) -> CreatedSpace:
    body = {"platformId": platform.id, "name": "Looms", **fields}
    return CreatedSpace(api.post("/spaces", caller=caller or platform.owner, json=body).expect(201).json, platform)


def add_block_capability_and_module(
    api: ApiClient, space: CreatedSpace, *, project_block_id: str, capability_key: str, module_id: str
) -> None:
    """Add a project block to a platform, and a capability and a module override to its space."""
    platform, owner = space.platform, space.platform.owner
    responses = [
        api.patch(
            f"{platform.path}/project-blocks",
            caller=owner,
            json={"projectBlocks": [{"projectBlockId": project_block_id}]},
        ),
        api.post(f"{space.path}/capabilities", caller=owner, json={"capabilityKey": capability_key}),
        api.post(f"{space.path}/module-overrides", caller=owner, json={"moduleId": module_id}),
    ]
    assert [answer.status for answer in responses] == [200, 201, 201]


def add_platform_member(platform: CreatedPlatform, person: Person, role: Role | str = Role.MEMBER) -> PlatformMember:
    """Add a member to a platform, bypassing HTTP."""
    container_ids = {"organization_id": platform.organization_id, "platform_id": platform.id}
    return _store(PlatformMember.create(new_id_and_time_fields(now()), person.to_user(), str(role), **container_ids))


def add_space_member(space: CreatedSpace, person: Person, role: Role | str = Role.MEMBER) -> SpaceMember:
    """Add a member to a space, bypassing HTTP."""
    platform = space.platform
    container_ids = {"organization_id": platform.organization_id, "platform_id": platform.id, "space_id": space.id}
    return _store(SpaceMember.create(new_id_and_time_fields(now()), person.to_user(), str(role), **container_ids))


def set_member_role(
    api: ApiClient, container: CreatedPlatform | CreatedSpace, person: Person, role: Role | str
) -> Json:
    """Set a person's role in a platform or space as the owner, over HTTP, and return the membership."""
    owner = container.platform.owner if isinstance(container, CreatedSpace) else container.owner
    return api.patch(f"{container.path}/members/{person.id}", caller=owner, json={"role": str(role)}).expect(200).json


def _store(member: M) -> M:
    changes = UnitOfWork(now())
    changes.create(member)
    changes.commit()
    return member
