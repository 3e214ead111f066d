"""What is stored of a menu."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Final, Self

from chalicelib.features.platforms.models.nested_items import placed
from chalicelib.features.sites.menus.models import MenuOut
from chalicelib.kernel.storage.entity import Collection, Entity, Quota
from chalicelib.kernel.storage.pii import PersonalData

ID_PATTERN: Final = r"^[a-z0-9][a-z0-9-]{0,63}$"
MOST_MENUS: Final = 100


class Menu(Entity):
    """A menu of a site. `outline`: its items as they were sent.

    `above` are the pages above those that it leads to, as of when it was put: where to look for their paths at once,
    and no more than that. `places` are the pages that there are, each with the path where it is published, or None;
    they are known once they were looked for.
    """

    kind, parameter, parameter_pattern = "site.navigation", "navigation_id", ID_PATTERN
    pk, sk = "W#{site_id}", "M#{id}"
    in_site = Collection("W#{site_id}#M", "{created_at}#{id}", index="index1")
    quota = Quota("menus", "W#{site_id}", MOST_MENUS, lambda _menu: True, advice="Put one that is there already.")
    output_model = MenuOut
    computed_fields = frozenset({"places"})
    fields_omitted_from_lists = frozenset({"outline", "above"})

    organization_id: str
    site_id: str
    name: str
    outline: list[dict[str, Any]] = field(default_factory=list)
    above: list[str] = field(default_factory=list)
    places: Mapping[str, str | None] = field(default_factory=dict, compare=False)

    @property
    def page_ids(self) -> list[str]:
        """The pages that it leads to, each once."""
        return sorted({part["page_id"] for _, part in placed(self.outline, "") if part["page_id"]})

    @property
    def items(self) -> list[dict[str, Any]]:
        """Its items, with where they lead."""
        return [*self._shown(self.outline)]

    def published(self) -> Self:
        """Return it as everybody sees it: without what leads to pages that are not published, and all below these.

        Groups that hold nothing then are left out too.
        """
        return self.replace(outline=[*self._published(self.outline)])

    def _shown(self, items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for item in items:
            page_id = item["page_id"]
            where = {"path": self.places.get(page_id), "dangling": page_id not in self.places} if page_id else {}
            yield {**item, **where, "children": [*self._shown(item["children"])]}

    def _published(self, items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for item in items:
            children = [*self._published(item["children"])]
            leads = {"page": bool(self.places.get(item["page_id"])), "group": bool(children), "url": True}
            if leads[item["type"]]:
                yield {**item, "children": children}

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets neither its name nor any of its items name the person."""
        return person.redact_all({"name": self.name, "outline": self.outline})
