"""Decide which entities a caller can see, for the entity types that the service defines."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.spaces.entities import Space
from chalicelib.features.platforms.spaces.logic import can_see_all_private_spaces
from chalicelib.features.research.entities import PUBLIC_LIBRARY_ID, Artefact, ResearchOutput
from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.authorization.memberships import (
    descendant_revocation_marker_key,
    has_unrevoked_membership,
    membership_key,
)
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey

EntityRef = tuple[str, str]
"""An entity, by its type and id."""

SERVICE_ENTITY_KEYS: Final[Mapping[str, Callable[[str], ItemKey]]] = {
    "platform": lambda platform_id: Platform.make_item_key(id=platform_id),
    "space": lambda space_id: Space.make_item_key(id=space_id),
    "site": lambda site_id: Site.make_item_key(id=site_id),
    "page": ancestor_cache.ancestor_pointer_key,
    "research-output": lambda output_id: ResearchOutput.make_item_key(id=output_id),
    "research-artefact": lambda artefact_id: Artefact.make_item_key(id=artefact_id),
}
"""The entity types that the service defines, and the function from an id to the key of an item of the entity.

The item contains the organization id, for entities in a platform the platform id, and for pages the site id.
"""

_REQUIRED_ATTRIBUTES: Final = {
    "space": "platform_id",
    "page": "site_id",
    "research-output": "library_id",
    "research-artefact": "library_id",
}
"""Entity type → an attribute that tells an entity from other records with the same key."""


def item_keys_if_service_defined_type(entity: EntityRef) -> list[ItemKey]:
    """Return the key of the item of an entity, or an empty list for an entity type that the caller defines."""
    make_key = SERVICE_ENTITY_KEYS.get(entity[0])
    return [make_key(entity[1])] if make_key else []


def find_hidden_entities(ctx: Context, entities: Iterable[EntityRef]) -> set[EntityRef]:
    """Return the entities that do not exist for the caller. Entities of the caller's own types always exist."""
    keys_by_entity = {
        entity: item_keys_if_service_defined_type(entity) for entity in entities if entity[0] in SERVICE_ENTITY_KEYS
    }
    missing_keys = sorted({key for keys in keys_by_entity.values() for key in keys} - ctx.access.items.keys())
    items = {**ctx.access.items, **(table.get_all(missing_keys) if missing_keys else {})}
    existing = {
        entity: items[key]
        for entity, keys in keys_by_entity.items()
        for key in keys
        if key in items and _is_item_of_entity_type(entity, items[key])
    }
    accessible = {
        entity: item for entity, item in existing.items() if _is_in_platform_or_organization(ctx, entity, item)
    }
    private = {
        each: item for each, item in accessible.items() if each[0] == Space.kind and _can_see_only_as_member(ctx, item)
    }
    return {*keys_by_entity} - ({*accessible} - {*private}) - _load_joined_spaces_in_request_platform(ctx, private)


def _is_item_of_entity_type(entity: EntityRef, item: Item) -> bool:
    """Return whether an item is of the type of an entity. Other records may have the same key."""
    return _REQUIRED_ATTRIBUTES.get(entity[0], "id") in item


def _is_in_platform_or_organization(ctx: Context, entity: EntityRef, item: Item) -> bool:
    """Return whether an entity is in the platform of the request, or elsewhere in the caller's organization."""
    if item.get("library_id") == PUBLIC_LIBRARY_ID:
        return True
    if ctx.container_or_none is None or item.get("organization_id") != ctx.container_or_none.audit_log_id:
        return False
    platform_id = {Platform.kind: entity[1], Space.kind: item.get("platform_id")}.get(entity[0])
    return platform_id == ctx.container_or_none.id or _role_in_organization(ctx) is not None


def _can_see_only_as_member(ctx: Context, space: Item) -> bool:
    """Return whether the caller sees a space only as a member: it is private, and they are not an admin."""
    role = _role_in_organization(ctx)
    is_in_platform = ctx.container_or_none is not None and space["platform_id"] == ctx.container_or_none.id
    is_organization_admin = role is not None and role.includes(Role.ADMIN)
    sees_as_admin = is_in_platform or not isinstance(ctx.principal_or_anonymous, User) or is_organization_admin
    return Space.from_item(space).is_private and not (sees_as_admin and can_see_all_private_spaces(ctx))


def _load_joined_spaces_in_request_platform(ctx: Context, spaces: Mapping[EntityRef, Item]) -> set[EntityRef]:
    """Return the spaces in the platform of the request of which the caller is a member."""
    if not spaces or not isinstance(ctx.principal_or_anonymous, User) or ctx.container_or_none is None:
        return set()
    user_id = ctx.user.id
    container_keys = [ctx.container_or_none.item_key, *ctx.container_or_none.ancestor_keys_by_type.values()]
    space_keys = {
        entity: Space.make_item_key(id=entity[1])
        for entity, item in spaces.items()
        if item["platform_id"] == ctx.container_or_none.id
    }
    keys = [
        *(descendant_revocation_marker_key(key, user_id) for key in container_keys),
        *(membership_key(key, user_id) for key in space_keys.values()),
    ]
    items = table.get_all(keys) if space_keys else {}
    return {
        entity for entity, key in space_keys.items() if has_unrevoked_membership(user_id, key, container_keys, items)
    }


def _role_in_organization(ctx: Context) -> Role | None:
    return ctx.access.memberships.roles.get(Organization)
