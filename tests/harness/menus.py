"""Menus of a site."""

from typing import Any

from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Caller
from tests.harness.sites import Leaf, Published


def to_page(page: Leaf, label: str | None = None, *below: Json) -> Json:
    """Return a menu item for a page."""
    label = label or page.record["title"]
    return {"id": f"to-{page.id}", "label": label, "type": "page", "pageId": page.id, "children": [*below]}


def to_url(url: str, label: str = "Elsewhere", *below: Json) -> Json:
    """Return a menu item for a URL."""
    return {"id": f"to-{label.lower()}", "label": label, "type": "url", "url": url, "children": [*below]}


def group(label: str, *below: Json) -> Json:
    """Return a menu item that only has children."""
    return {"id": label.lower(), "label": label, "type": "group", "children": [*below]}


def asked_to_put(
    api: Api, site: Published, *items: Json, menu: str = "main", as_: Caller | None = None, **options: Any
) -> Answer:
    """Request a menu, by default as the owner of the site, and return the response."""
    body = {"name": options.pop("name", "Main menu"), "items": [*items]}
    return api.put(f"{site.path}/navigation/{menu}", as_=as_ or site.owner, json=body, **options)


def put_menu(api: Api, site: Published, *items: Json, menu: str = "main", **options: Any) -> Json:
    """Create or replace a menu, and return it."""
    answer = asked_to_put(api, site, *items, menu=menu, **options)
    assert answer.status == 200, answer.text
    return answer.json


def seen(api: Api, site: Published, *, as_: Caller | None = None, menu: str = "main") -> dict[str, Any]:
    """Return the targets of a menu's items by label, with those of their children, as a caller sees them."""
    answer = api.get(f"{site.path}/navigation/{menu}", as_=as_)
    assert answer.status == 200, answer.text
    return _targets(answer.json["items"])


def _targets(items: list[Json]) -> dict[str, Any]:
    targets: dict[str, Any] = {}
    for item in items:
        target = "gone" if item["dangling"] else item["path"] or item["url"]
        targets[item["label"]] = (target, _targets(item["children"])) if item["children"] else target
    return targets
