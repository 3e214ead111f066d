"""The stored menus of a site."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, ClassVar, Final, Self

from chalicelib.features.platforms.models.nested_items import iter_pointers_and_items
from chalicelib.features.sites.menus.models import MenuOut
from chalicelib.kernel.storage.entity import Collection, Entity
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.quotas import Quota

MENU_ID_PATTERN: Final = r"^[a-z0-9][a-z0-9-]{0,63}$"
MAX_MENUS: Final = 100
"""Menus of a site."""


class Menu(Entity):
    """A menu of a site. `outline` holds its items as they were sent.

    `ancestor_page_ids` are the ancestors that the linked pages had when the menu was stored. They are a hint that saves
    a read. `page_paths` maps the ids of existing pages to their published paths or None. `load_with_page_paths` loads
    it.
    """

    kind, parameter, parameter_pattern = "site.navigation", "navigation_id", MENU_ID_PATTERN
    pk, sk = "W#{site_id}", "M#{id}"
    in_site = Collection("W#{site_id}#M", "{created_at}#{id}", index="index1")
    quota = Quota("menus", "W#{site_id}", MAX_MENUS, lambda _menu: True, advice="Replace an existing menu.")
    output_model = MenuOut
    attribute_names: ClassVar = {"ancestor_page_ids": "above"}
    computed_fields = frozenset({"page_paths"})
    fields_omitted_from_lists = frozenset({"outline", "ancestor_page_ids"})

    organization_id: str
    site_id: str
    name: str
    outline: list[dict[str, Any]] = field(default_factory=list)
    ancestor_page_ids: list[str] = field(default_factory=list)
    page_paths: Mapping[str, str | None] = field(default_factory=dict, compare=False)

    @property
    def page_ids(self) -> list[str]:
        """The distinct ids of the pages to which the menu links, sorted."""
        return sorted({item["page_id"] for _, item in iter_pointers_and_items(self.outline, "") if item["page_id"]})

    @property
    def items(self) -> list[dict[str, Any]]:
        """The items with the current paths of their pages."""
        return [*self._items_with_page_paths(self.outline)]

    def without_unpublished(self) -> Self:
        """Return the menu for the public, without items of unpublished pages, their children, and empty groups."""
        return self.replace(outline=[*self._published_items(self.outline)])

    def _items_with_page_paths(self, items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for item in items:
            page_id = item["page_id"]
            location = (
                {"path": self.page_paths.get(page_id), "dangling": page_id not in self.page_paths} if page_id else {}
            )
            yield {**item, **location, "children": [*self._items_with_page_paths(item["children"])]}

    def _published_items(self, items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for item in items:
            children = [*self._published_items(item["children"])]
            is_visible = {"page": bool(self.page_paths.get(item["page_id"])), "group": bool(children), "url": True}
            if is_visible[item["type"]]:
                yield {**item, "children": children}

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the name and items with the person's data redacted."""
        return person.redacted_field_changes({"name": self.name, "outline": self.outline})
