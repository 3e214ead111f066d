"""Menus of a site, put over HTTP."""

from typing import Any

from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Caller
from tests.harness.sites import Leaf, Published


def to_page(page: Leaf, label: str | None = None, *below: Json) -> Json:
    """Return an item that leads to a page."""
    label = label or page.record["title"]
    return {"id": f"to-{page.id}", "label": label, "type": "page", "pageId": page.id, "children": [*below]}


def to_url(url: str, label: str = "Elsewhere", *below: Json) -> Json:
    """Return an item that leads to an address."""
    return {"id": f"to-{label.lower()}", "label": label, "type": "url", "url": url, "children": [*below]}


def group(label: str, *below: Json) -> Json:
    """Return an item that only holds others."""
    return {"id": label.lower(), "label": label, "type": "group", "children": [*below]}


def asked_to_put(
    api: Api, site: Published, *items: Json, menu: str = "main", as_: Caller | None = None, **words: Any
) -> Answer:
    """Ask for a menu; in the name of the site's owner, unless it is said who asks."""
    body = {"name": words.pop("name", "Main menu"), "items": [*items]}
    return api.put(f"{site.path}/navigation/{menu}", as_=as_ or site.owner, json=body, **words)


def put_menu(api: Api, site: Published, *items: Json, menu: str = "main", **words: Any) -> Json:
    """Let there be a menu; return it."""
    answer = asked_to_put(api, site, *items, menu=menu, **words)
    assert answer.status == 200, answer.text
    return answer.json


def seen(api: Api, site: Published, *, as_: Caller | None = None, menu: str = "main") -> dict[str, Any]:
    """Return where the items of a menu lead as somebody or anybody sees them, by their labels, and so those below."""
    answer = api.get(f"{site.path}/navigation/{menu}", as_=as_)
    assert answer.status == 200, answer.text
    return _led(answer.json["items"])


def _led(items: list[Json]) -> dict[str, Any]:
    led: dict[str, Any] = {}
    for item in items:
        where = "gone" if item["dangling"] else item["path"] or item["url"]
        led[item["label"]] = (where, _led(item["children"])) if item["children"] else where
    return led
