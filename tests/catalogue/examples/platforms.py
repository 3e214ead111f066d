"""Examples of the operations on platforms, their spaces, and what belongs to these."""

from typing import Any, Final

from chalicelib.features.platforms.capabilities.entities import Capability
from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.members.entities import PlatformMember
from chalicelib.features.platforms.modules.entities import ModuleOverride, PlatformModule
from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE
from chalicelib.features.platforms.project_blocks.entities import ProjectBlock
from chalicelib.features.platforms.spaces.entities import Space, SpaceMember
from tests.catalogue.examples.example import Example, ExampleFactories, Neighbours, example, new_fields
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.domains import custom_domain_path

_MAX_SET_SIZE: Final = 10
"""The size of sets is limited, because a replacement takes a write for each member."""


def _editor_example(tenant: TenantFixture, body: dict[str, str] | None = None) -> Example:
    return example(body, user_id=tenant.people.editor.id)


EXAMPLES: Final[ExampleFactories] = {
    "create_platform": lambda tenant: example(
        {"organizationId": tenant.id, "name": "Analytical Engines", "slug": "analytical-platform"}
    ),
    "update_platform": lambda _: example({"name": "Difference Engines", "slug": "difference-engines"}),
    "publish_platform": lambda tenant: example({}, subject_path=tenant.platform.path),
    "update_platform_home": lambda tenant: example(
        {"layout": "wide", "blocks": [{"id": "hello", "type": "hero"}]}, subject_path=tenant.platform.path
    ),
    "update_platform_navigation": lambda tenant: example(
        {"items": [{"id": "start", "label": "Start", "type": "url", "target": "/"}]}, subject_path=tenant.platform.path
    ),
    "update_platform_theme": lambda tenant: example(
        {"colors": {"text": "#222222", "background": "#ffffff"}}, subject_path=tenant.platform.path
    ),
    "add_space_capability": lambda _: example({"capabilityKey": "polls", "settings": {"most": 3}}),
    "replace_space_capabilities": lambda tenant: example(
        {"capabilities": [{"capabilityKey": "polls"}, {"capabilityKey": "video-calls"}]},
        subject_path=f"{tenant.space.path}/capabilities",
    ),
    "resolve_platform_config": lambda tenant: example(
        {"host": "engines.example.com:443", "path": f"/spaces/{tenant.space.record['slug']}/events", "locale": "en-GB"}
    ),
    "set_custom_domain": lambda tenant: example(
        {"domain": "engines.example.com"}, target_path=custom_domain_path(tenant.platform)
    ),
    "remove_custom_domain": lambda tenant: example(target_path=custom_domain_path(tenant.platform)),
    "create_custom_domain_link": lambda tenant: example(
        target_path=custom_domain_path(tenant.platform), merges_into_subject=True
    ),
    "verify_custom_domain": lambda tenant: example({}, target_path=custom_domain_path(tenant.platform)),
    "get_platform_member": _editor_example,
    "get_platform_member_by_user": _editor_example,
    "get_platform_member_by_username": lambda tenant: example(username=tenant.people.editor.username.upper()),
    "update_platform_member": lambda tenant: _editor_example(tenant, {"role": "member"}),
    "remove_platform_member": _editor_example,
    "invite_to_platform": lambda _: example(
        {"email": "sophie@example.org", "role": "editor", "message": "Come and join us.", "expiresInDays": 3}
    ),
    "join_platform": lambda tenant: example(
        subject_path=f"{tenant.open_platform.path}/members/{tenant.people.member.id}",
        is_open_to_all_users=True,
        platform_id=tenant.open_platform.id,
    ),
    "leave_platform": lambda tenant: example(
        only_caller=tenant.people.editor, subject_path=f"{tenant.platform.path}/members/{tenant.people.editor.id}"
    ),
    "update_platform_modules": lambda tenant: example(
        {"modules": [{"moduleId": "events", "enabled": False}, {"moduleId": "looms", "settings": {"columns": 2}}]},
        subject_path=f"{tenant.platform.path}/modules",
    ),
    "set_module_override": lambda _: example({"moduleId": "looms", "enabled": False, "settings": {"columns": 2}}),
    "replace_module_overrides": lambda tenant: example(
        {"overrides": [{"moduleId": "research"}, {"moduleId": "feed", "enabled": False}]},
        subject_path=f"{tenant.space.path}/module-overrides",
    ),
    "update_project_blocks": lambda tenant: example(
        {"projectBlocks": [{"projectBlockId": "gallery"}, {"projectBlockId": "showcase", "enabled": False}]},
        subject_path=f"{tenant.platform.path}/project-blocks",
    ),
    "create_space": lambda tenant: example({"platformId": tenant.platform.id, "name": "Mills", "slug": "mills"}),
    "update_space": lambda _: example({"name": "Jacquard looms", "position": 7}),
    "join_space": lambda tenant: example(subject_path=f"{tenant.space.path}/members/{tenant.people.member.id}"),
    "leave_space": lambda tenant: example(
        only_caller=tenant.people.editor, subject_path=f"{tenant.space.path}/members/{tenant.people.editor.id}"
    ),
    "get_space_member": _editor_example,
    "update_space_member": lambda tenant: _editor_example(tenant, {"role": "member"}),
    "remove_space_member": _editor_example,
}


def _platform_ids(tenant: TenantFixture) -> dict[str, Any]:
    return {"organization_id": tenant.id, "platform_id": tenant.platform.id}


def _space_ids(tenant: TenantFixture) -> dict[str, Any]:
    return {**_platform_ids(tenant), "space_id": tenant.space.id}


def build_platforms(tenant: TenantFixture, n: int) -> Neighbours:
    yield Platform(**new_fields(), organization_id=tenant.id, name=f"Neighbour {n}", slug=f"neighbouring-{n}")


def build_capabilities(tenant: TenantFixture, n: int) -> Neighbours:
    """Yield a capability of the space, up to the limit."""
    if n < _MAX_SET_SIZE:
        yield Capability(**new_fields(), **_space_ids(tenant), capability_key=f"crowd-{n}")


def build_domains(tenant: TenantFixture, n: int) -> Neighbours:
    """Yield what a platform without a domain has in the inventory of domains."""
    platform = Platform(**new_fields(), organization_id=tenant.id, name=f"Engine {n}", slug=f"engine-{n}")
    custom_domain = CustomDomain.create_unclaimed(platform)
    yield custom_domain
    yield from custom_domain.derived_items


def build_members(tenant: TenantFixture, n: int) -> Neighbours:
    user = tenant.people.issuer.create_person(f"guest-{n}", f"Guest {n}").to_user()
    for platform in (tenant.platform, tenant.open_platform):
        container_ids = {"organization_id": tenant.id, "platform_id": platform.id}
        yield PlatformMember.create(new_fields(), user, "member", **container_ids)


def build_modules(tenant: TenantFixture, n: int) -> Neighbours:
    """Yield a module of the platform, up to the limit, and the override of it in the space."""
    ids = [*MODULE_CATALOGUE, *(f"crowd-{number}" for number in range(_MAX_SET_SIZE))][:_MAX_SET_SIZE]
    if n < len(ids):
        yield PlatformModule(**new_fields(), **_platform_ids(tenant), module_id=ids[n])
        yield ModuleOverride(**new_fields(), **_space_ids(tenant), module_id=ids[n])


def build_project_blocks(tenant: TenantFixture, n: int) -> Neighbours:
    """Yield a project block of the platform, up to the limit, and another platform with the block of the examples."""
    if n < _MAX_SET_SIZE:
        yield ProjectBlock(**new_fields(), **_platform_ids(tenant), project_block_id=f"crowd-{n}", position=n + 1)
    platform = Platform(**new_fields(), organization_id=tenant.id, name=f"User {n}", slug=f"user-{n}")
    container_ids: dict[str, Any] = {"organization_id": tenant.id, "platform_id": platform.id}
    shared = tenant.organization.project_block_id
    yield platform
    yield ProjectBlock(**new_fields(), **container_ids, project_block_id=shared, position=0)


def build_spaces(tenant: TenantFixture, n: int) -> Neighbours:
    """Yield a space of the platform, and a member of the space."""
    yield Space(**new_fields(), **_platform_ids(tenant), name=f"Room {n}", slug=f"room-{n}", position=n)
    user = tenant.people.issuer.create_person(f"guest-{n}", f"Guest {n}").to_user()
    yield SpaceMember.create(new_fields(), user, "member", **_space_ids(tenant))
