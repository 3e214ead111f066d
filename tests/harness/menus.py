"""Menus of a site."""

from typing import Any

from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Caller
from tests.harness.sites import CreatedPage, CreatedSite


def page_item(page: CreatedPage, label: str | None = None, *children: Json) -> Json:
    label = label or page.record["title"]
    return {"id": f"to-{page.id}", "label": label, "type": "page", "pageId": page.id, "children": [*children]}


def url_item(url: str, label: str = "Elsewhere", *children: Json) -> Json:
    return {"id": f"to-{label.lower()}", "label": label, "type": "url", "url": url, "children": [*children]}


def group_item(label: str, *children: Json) -> Json:
    """Return a menu item that only has children."""
    return {"id": label.lower(), "label": label, "type": "group", "children": [*children]}


def send_menu(
    api: ApiClient,
    site: CreatedSite,
    *items: Json,
    navigation_id: str = "main",
    caller: Caller | None = None,
    **options: Any,
) -> ApiResponse:
    body = {"name": options.pop("name", "Main menu"), "items": [*items]}
    return api.put(f"{site.path}/navigation/{navigation_id}", caller=caller or site.owner, json=body, **options)


def put_menu(api: ApiClient, site: CreatedSite, *items: Json, navigation_id: str = "main", **options: Any) -> Json:
    return send_menu(api, site, *items, navigation_id=navigation_id, **options).expect(200).json


def get_menu_targets(
    api: ApiClient, site: CreatedSite, *, caller: Caller | None = None, navigation_id: str = "main"
) -> dict[str, Any]:
    """Return the targets of a menu's items by label, with those of their children, as a caller sees them."""
    return _targets(api.get(f"{site.path}/navigation/{navigation_id}", caller=caller).expect(200).json["items"])


def _targets(items: list[Json]) -> dict[str, Any]:
    targets: dict[str, Any] = {}
    for item in items:
        target = "gone" if item["dangling"] else item["path"] or item["url"]
        targets[item["label"]] = (target, _targets(item["children"])) if item["children"] else target
    return targets
