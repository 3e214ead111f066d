"""What a caller is shown of where a platform leads to: no space, page or site that is not there for them.

Who sees every space of the platform and belongs to its organization is shown all of it, and nothing is read for that.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from chalicelib.features.organizations.entities import Organization
from chalicelib.features.pages.entities import Page
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.nested_items import placed
from chalicelib.features.platforms.rules import space_named_by
from chalicelib.features.sites.entities import Site
from chalicelib.features.spaces.entities import Space
from chalicelib.features.spaces.reach import keys_of, seen, sees_all
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.execution.context import Context, Records
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.identity.auth import ApiKeyPrincipal
from chalicelib.kernel.permissions.roles import Role, scopes_allow
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.transactions.unique_items import guard_key, referenced_id


def maintains(ctx: Context) -> bool:
    """Return whether the caller may change the navigation of the platform at hand."""
    if ctx.scopes is not None:
        return scopes_allow(ctx.scopes, "platforms:write", Role.EDITOR)
    return ctx.role is not None and ctx.role.includes(Role.EDITOR)


@dataclass(frozen=True)
class Sight:
    """What a caller sees of the spaces, pages and sites that a platform's navigation and home lead to."""

    ctx: Context
    platform: Platform

    def keys(self) -> list[ItemKey]:
        """Return where the records stand that decide what is shown, as far as they are known; to be read with others.

        Which space a slug names and where a page is, a process remembers; what is read says whether that holds still.
        """
        guards = [self._guard(slug) for slug in self._slugs]
        pointers = [ancestor_cache.pointer_key(page_id) for page_id in self._page_ids]
        known = [ancestor_cache.cached_ids(key) for key in (*guards, *pointers)]
        spaces = self._space_ids | {ids[Space.parameter] for ids in known if Space.parameter in ids}
        pages = [*zip(self._page_ids, known[len(guards) :], strict=True)]
        return [*guards, *pointers, *self._keys_of_spaces(spaces), *_keys_of_pages(pages), *self._keys_of_home()]

    def parts(self, found: Records) -> dict[str, Any]:
        """Return the navigation and the home as the caller is shown them. `found`: what stood at `keys`, at least.

        What is met for the first time takes another read.
        """
        found = self._completed(found)
        home = {**self.platform.home}
        if home.get("space_id") and not self._opens(home["space_id"], found):
            home["space_id"] = None
        if home.get("site_id") and not self._sees_site(home["site_id"], found):
            home["site_id"] = None
        items = [*self._shown(self.platform.navigation.get("items", ()), found)]
        return {"navigation": {**self.platform.navigation, "items": items}, "home": home}

    @cached_property
    def _sees_all(self) -> bool:
        return sees_all(self.ctx)

    @cached_property
    def _sees_drafts(self) -> bool:
        """Whether the caller sees pages and sites of the organization that are not published."""
        if isinstance(self.ctx.principal, ApiKeyPrincipal):
            return self.ctx.role is not None
        return Organization in self.ctx.access.memberships.roles or maintains(self.ctx)

    @cached_property
    def _items(self) -> list[Mapping[str, Any]]:
        return [item for _, item in placed(self.platform.navigation.get("items", ()), "")]

    @cached_property
    def _named_spaces(self) -> list[str]:
        names = [] if self._sees_all else [space_named_by(item) for item in self._items]
        return [*dict.fromkeys(name for name in names if name)]

    @cached_property
    def _slugs(self) -> list[str]:
        return [name for name in self._named_spaces if not re.fullmatch(UUID_PATTERN, name)]

    @cached_property
    def _space_ids(self) -> set[str]:
        opened = [] if self._sees_all else [self.platform.home.get("space_id")]
        return {name for name in (*self._named_spaces, *opened) if name and re.fullmatch(UUID_PATTERN, name)}

    @cached_property
    def _page_ids(self) -> list[str]:
        named = [] if self._sees_drafts else [page_id for item in self._items if (page_id := _page_of(item))]
        return [*dict.fromkeys(named)]

    def _guard(self, slug: str) -> ItemKey:
        return guard_key(Space.by_slug, {Platform.parameter: self.platform.id, "slug": slug})

    def _keys_of_spaces(self, ids: Iterable[str]) -> Iterator[ItemKey]:
        for space_id in sorted(ids):
            yield from keys_of(self.ctx, self.platform, space_id)

    def _keys_of_home(self) -> list[ItemKey]:
        site_id = self.platform.home.get("site_id")
        return [Site.make_item_key(id=site_id)] if site_id and not self._sees_drafts else []

    def _completed(self, found: Records) -> Records:
        """Return what was found with the spaces and pages that it led to for the first time."""
        spaces = {self._id_of(slug, found) for slug in self._slugs} - {None}
        pages = [(each, found.read.get(ancestor_cache.pointer_key(each), {})) for each in self._page_ids]
        for slug in self._slugs:
            if space_id := self._id_of(slug, found):
                ancestor_cache.store(self._guard(slug), {Space.parameter: space_id})
        for _, pointer in pages:
            ancestor_cache.store_pointer(pointer)
        wanted = [*self._keys_of_spaces(each for each in spaces if each), *_keys_of_pages(pages)]
        missing = [key for key in wanted if key not in found.asked and key not in self.ctx.access.prefetched]
        return found.merged_with(self.ctx.load(keys=missing)) if missing else found

    def _id_of(self, slug: str, found: Records) -> str | None:
        return referenced_id(found.read.get(self._guard(slug)))

    def _opens(self, space_id: str, found: Records) -> bool:
        return self._sees_all or seen(self.ctx, self.platform, space_id, found) is not None

    def _sees_site(self, site_id: str, found: Records) -> bool:
        return self._sees_drafts or any(site.id == site_id and site.is_published for site in found.instances_of(Site))

    def _shown(self, items: Iterable[Mapping[str, Any]], found: Records) -> Iterator[dict[str, Any]]:
        """Yield the items that lead to what the caller sees, each with those below it that do."""
        for item in items:
            if self._leads_to_a_seen_space(item, found) and self._leads_to_a_seen_page(item, found):
                yield {**item, "children": [*self._shown(item.get("children", ()), found)]}

    def _leads_to_a_seen_space(self, item: Mapping[str, Any], found: Records) -> bool:
        name = space_named_by(item)
        if name is None or self._sees_all:
            return True
        space_id = name if re.fullmatch(UUID_PATTERN, name) else self._id_of(name, found)
        if space_id and self._opens(space_id, found):
            return True
        # A path that names no space is one to something else; an item of type space then leads nowhere.
        own = {space.id for space in found.instances_of(Space) if space.platform_id == self.platform.id}
        return item["type"] != "space" and space_id not in own

    def _leads_to_a_seen_page(self, item: Mapping[str, Any], found: Records) -> bool:
        page_id = _page_of(item)
        page = next((page for page in found.instances_of(Page) if page.id == page_id), None)
        if page is None or self._sees_drafts or page.organization_id != self.platform.organization_id:
            return True
        over = page.unpublish_at is not None and page.unpublish_at <= self.ctx.now
        return page.published_revision_id is not None and not over and self._sees_site(page.site_id, found)


def _page_of(item: Mapping[str, Any]) -> str | None:
    """Return the id of the page that an item leads to, if it names it by that."""
    target = ascii_lower(str(item.get("target") or ""))
    return target if item["type"] == "page" and re.fullmatch(UUID_PATTERN, target) else None


def _keys_of_pages(pages: Iterable[tuple[str, Mapping[str, str]]]) -> Iterator[ItemKey]:
    for page_id, ids in pages:
        if site_id := ids.get(Site.parameter):
            yield from (Page.make_item_key(site_id=site_id, id=page_id), Site.make_item_key(id=site_id))
