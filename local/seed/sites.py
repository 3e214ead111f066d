"""The site: its pages, most of them published, its menus and redirects."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from local.seed.callers import Caller, Json
from local.seed.content.site import MENUS, PAGES, REDIRECTS, SITE
from local.seed.organization import Company


@dataclass(frozen=True)
class Site:
    """The existing site. `pages` contains the ids of its pages by draft path."""

    record: Json
    page_ids_by_path: Mapping[str, str]


def ensure_site(company: Company, platform_id: str) -> Site:
    """Create the missing parts of a platform's site, publish it, and return it."""
    editor = company.caller_for("sunniva")
    record = company.owner.find_or_create(
        f"{company.path}/sites", {**SITE, "platformId": platform_id}, key_field="slug"
    )
    path = f"/sites/{record['id']}"
    pages = {page["path"]: page for page in editor.list_all(f"{path}/pages")}
    for content in PAGES:
        _ensure_page(editor, path, pages, content, None)
    if record["status"] == "draft":
        record = editor.patch(path, {"status": "published"})
    ids = {page_path: page["id"] for page_path, page in pages.items()}
    menus = {menu["id"] for menu in editor.list_all(f"{path}/navigation")}
    for name, menu in MENUS.items():
        if name not in menus:
            items = [_menu_item(item, ids) for item in menu["items"]]
            editor.put(f"{path}/navigation/{name}", {"name": menu["name"], "items": items})
    for redirect in REDIRECTS:
        editor.find_or_create(f"{path}/redirects", redirect, key_field="fromPath")
    return Site(record, ids)


def _ensure_page(editor: Caller, path: str, pages: dict[str, Json], content: Json, parent: Json | None) -> None:
    """Create a page and its descendants. Publish each one, unless its content says draft or scheduled."""
    fields = content["page"]
    slug = fields.get("slug") or fields["title"].lower().replace(" ", "-")
    page_path = "/" if fields.get("isHome") else f"{parent['path'] if parent else ''}/{slug}"
    if page_path not in pages:
        position = {"slug": slug, "parentId": parent["id"] if parent else None, "publishAt": _publication_time(content)}
        pages[page_path] = editor.post(f"{path}/pages", {**fields, **position})
    page = pages[page_path]
    if page["status"] == "draft" and not content.get("draft"):
        page = pages[page_path] = editor.post(f"{path}/pages/{page['id']}/publish")
    if "rework" in content and not page["hasUnpublishedChanges"]:
        editor.patch(f"{path}/pages/{page['id']}", content["rework"])
    for child in content.get("children", []):
        _ensure_page(editor, path, pages, child, page)


def _publication_time(content: Json) -> str | None:
    """Return the time at which a page is scheduled to be published, or None."""
    days = content.get("published_in_days")
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds") if days else None


def _menu_item(item: Mapping[str, Any], pages: Mapping[str, str]) -> Json:
    """Return a menu item in the format of the service."""
    children = [_menu_item(child, pages) for child in item.get("children", [])]
    target = {"type": "page", "pageId": pages[item["page"]]} if "page" in item else {"type": "url", "url": item["url"]}
    return {"id": item["id"], "label": item["label"], **target, "children": children}
