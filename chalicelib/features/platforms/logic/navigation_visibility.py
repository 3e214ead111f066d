"""Hide navigation items and home targets that the caller cannot see: spaces, pages and sites.

Callers who see every space of the platform and belong to its organization see everything, without any read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from chalicelib.features.platforms.entities import PAGE_KIND, SITE_KIND, LinkTarget, PageTarget, Platform
from chalicelib.features.platforms.logic.navigation_targets import possible_space_slug_or_id
from chalicelib.features.platforms.models.nested_items import iter_pointers_and_items
from chalicelib.features.platforms.spaces.entities import Space
from chalicelib.features.platforms.spaces.logic import (
    can_see_all_private_spaces,
    space_visibility_keys,
    visible_space_or_none,
)
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.execution.context import Context, Records
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.identity.auth import ApiKeyPrincipal
from chalicelib.kernel.permissions.roles import Role, scopes_allow
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.storage.record_types import get_record_type_of_base
from chalicelib.kernel.transactions.unique_items import guard_key, unexpired_reservation_record_id


def can_edit_navigation(ctx: Context) -> bool:
    """Return whether the caller may edit the navigation of the platform of the request."""
    if ctx.api_key_scopes is not None:
        return scopes_allow(ctx.api_key_scopes, "platforms:write", Role.EDITOR)
    return ctx.role is not None and ctx.role.includes(Role.EDITOR)


@dataclass(frozen=True)
class NavigationVisibility:
    """The parts of a platform's navigation and home that a caller can see."""

    ctx: Context
    platform: Platform

    def prefetch_keys(self) -> list[ItemKey]:
        """Return the keys of the known records that decide visibility, to be read together with other records.

        The process caches the space of a slug and the site of a page. The records that are read verify the cached ids.
        """
        slug_keys = [self._space_guard_key(slug) for slug in self._space_slugs_to_check]
        pointer_keys = [ancestor_cache.ancestor_pointer_key(page_id) for page_id in self._page_ids_to_check]
        cached = [ancestor_cache.cached_ancestor_ids_or_empty(key) for key in (*slug_keys, *pointer_keys)]
        space_ids = self._space_ids_to_check | {ids[Space.parameter] for ids in cached if Space.parameter in ids}
        pages = [*zip(self._page_ids_to_check, cached[len(slug_keys) :], strict=True)]
        return [
            *slug_keys,
            *pointer_keys,
            *self._space_keys(space_ids),
            *_page_and_site_keys(pages),
            *self._home_site_keys_to_check(),
        ]

    def load_visible_navigation_and_home_fields(self, records: Records) -> dict[str, Any]:
        """Return the visible `navigation` and `home` of the platform. `records` includes those at `prefetch_keys()`.

        Spaces and pages that are not cached yet take a second read.
        """
        records = self._cache_ids_and_load_missing_records(records)
        home = {**self.platform.home}
        if home.get("space_id") and not self._sees_space(home["space_id"], records):
            home["space_id"] = None
        if home.get("site_id") and not self._sees_site(home["site_id"], records):
            home["site_id"] = None
        items = [*self._visible_items(self.platform.navigation.get("items", ()), records)]
        return {"navigation": {**self.platform.navigation, "items": items}, "home": home}

    @cached_property
    def _can_see_all_spaces(self) -> bool:
        return can_see_all_private_spaces(self.ctx)

    @cached_property
    def _can_see_unpublished(self) -> bool:
        """Whether the caller sees unpublished pages and sites of the organization."""
        if isinstance(self.ctx.principal_or_anonymous, ApiKeyPrincipal):
            return self.ctx.role is not None
        return Organization in self.ctx.access.memberships.roles or can_edit_navigation(self.ctx)

    @cached_property
    def _navigation_items(self) -> list[Mapping[str, Any]]:
        return [item for _, item in iter_pointers_and_items(self.platform.navigation.get("items", ()), "")]

    @cached_property
    def _space_references_to_check(self) -> list[str]:
        references = (
            [] if self._can_see_all_spaces else [possible_space_slug_or_id(item) for item in self._navigation_items]
        )
        return [*dict.fromkeys(reference for reference in references if reference)]

    @cached_property
    def _space_slugs_to_check(self) -> list[str]:
        return [each for each in self._space_references_to_check if not re.fullmatch(UUID_PATTERN, each)]

    @cached_property
    def _space_ids_to_check(self) -> set[str]:
        home_space_ids = [] if self._can_see_all_spaces else [self.platform.home.get("space_id")]
        references = (*self._space_references_to_check, *home_space_ids)
        return {each for each in references if each and re.fullmatch(UUID_PATTERN, each)}

    @cached_property
    def _page_ids_to_check(self) -> list[str]:
        page_ids = [] if self._can_see_unpublished else [_linked_page_id(item) for item in self._navigation_items]
        return [*dict.fromkeys(page_id for page_id in page_ids if page_id)]

    def _space_guard_key(self, slug: str) -> ItemKey:
        return guard_key(Space.by_slug, {Platform.parameter: self.platform.id, "slug": slug})

    def _space_keys(self, ids: Iterable[str]) -> Iterator[ItemKey]:
        for space_id in sorted(ids):
            yield from space_visibility_keys(self.ctx, self.platform, space_id)

    def _home_site_keys_to_check(self) -> list[ItemKey]:
        site_id = self.platform.home.get("site_id")
        return [_site_entity_class().make_item_key(id=site_id)] if site_id and not self._can_see_unpublished else []

    def _cache_ids_and_load_missing_records(self, records: Records) -> Records:
        """Return the records together with those of spaces and pages that were not cached before."""
        space_ids: set[str] = set()
        for slug in self._space_slugs_to_check:
            if space_id := self._space_id_of_slug(slug, records):
                space_ids.add(space_id)
                ancestor_cache.store(self._space_guard_key(slug), {Space.parameter: space_id})
        pages = [
            (each, records.items_by_key.get(ancestor_cache.ancestor_pointer_key(each), {}))
            for each in self._page_ids_to_check
        ]
        for _, pointer in pages:
            ancestor_cache.cache_pointer_ancestor_ids(pointer)
        needed = [*self._space_keys(space_ids), *_page_and_site_keys(pages)]
        missing = [key for key in needed if key not in records.requested_keys and key not in self.ctx.access.items]
        return records.union(self.ctx.load_collections_and_keyed_records(keys=missing)) if missing else records

    def _space_id_of_slug(self, slug: str, records: Records) -> str | None:
        return unexpired_reservation_record_id(records.items_by_key.get(self._space_guard_key(slug)))

    def _sees_space(self, space_id: str, records: Records) -> bool:
        return self._can_see_all_spaces or visible_space_or_none(self.ctx, self.platform, space_id, records) is not None

    def _sees_site(self, site_id: str, records: Records) -> bool:
        return self._can_see_unpublished or any(
            site.id == site_id and site.is_currently_public(self.ctx.now)
            for site in records.instances_of(_site_entity_class())
        )

    def _visible_items(self, items: Iterable[Mapping[str, Any]], records: Records) -> Iterator[dict[str, Any]]:
        """Yield the items whose target is visible to the caller, each with its visible children."""
        for item in items:
            if self._is_space_visible_or_absent(item, records) and self._is_page_visible_or_absent(item, records):
                yield {**item, "children": [*self._visible_items(item.get("children", ()), records)]}

    def _is_space_visible_or_absent(self, item: Mapping[str, Any], records: Records) -> bool:
        reference = possible_space_slug_or_id(item)
        if reference is None or self._can_see_all_spaces:
            return True
        space_id = reference if re.fullmatch(UUID_PATTERN, reference) else self._space_id_of_slug(reference, records)
        if space_id and self._sees_space(space_id, records):
            return True
        # A path that refers to no space of this platform leads elsewhere, unless the item has the type space.
        own_ids = {space.id for space in records.instances_of(Space) if space.platform_id == self.platform.id}
        return item["type"] != "space" and space_id not in own_ids

    def _is_page_visible_or_absent(self, item: Mapping[str, Any], records: Records) -> bool:
        page_id = _linked_page_id(item)
        page = next((page for page in records.instances_of(_page_entity_class()) if page.id == page_id), None)
        if page is None or self._can_see_unpublished or page.organization_id != self.platform.organization_id:
            return True
        return page.is_currently_public(self.ctx.now) and self._sees_site(page.site_id, records)


def require_own_site(ctx: Context, organization_id: str, site_id: str) -> None:
    """Raise ValidationProblem if the organization has no site with this id."""
    site_type = _site_entity_class()
    sites = ctx.load_collections_and_keyed_records(keys=[site_type.make_item_key(id=site_id)]).instances_of(site_type)
    if not any(site.organization_id == organization_id for site in sites):
        raise ValidationProblem([FieldError("/siteId", "unknown", "No site of this organization has this id.")])


def _site_entity_class() -> type[LinkTarget]:
    return get_record_type_of_base(SITE_KIND, LinkTarget)


def _page_entity_class() -> type[PageTarget]:
    return get_record_type_of_base(PAGE_KIND, PageTarget)


def _linked_page_id(item: Mapping[str, Any]) -> str | None:
    """Return the id of the page that an item leads to, or None if its target is not a page id."""
    target = ascii_lower(str(item.get("target") or ""))
    return target if item["type"] == "page" and re.fullmatch(UUID_PATTERN, target) else None


def _page_and_site_keys(page_and_ancestor_ids: Iterable[tuple[str, Mapping[str, str]]]) -> Iterator[ItemKey]:
    for page_id, ids in page_and_ancestor_ids:
        if site_id := ids.get(_site_entity_class().parameter):
            yield from (
                _page_entity_class().make_item_key(site_id=site_id, id=page_id),
                _site_entity_class().make_item_key(id=site_id),
            )
