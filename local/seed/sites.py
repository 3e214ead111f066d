"""The site: its pages, published but for some, its menus and redirects."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from local.seed.callers import Caller, Json
from local.seed.content.site import MENUS, PAGES, REDIRECTS, SITE
from local.seed.organization import Company


@dataclass(frozen=True)
class Site:
    """The site, once it is there. `pages`: the ids of its pages, by the paths of their drafts."""

    record: Json
    pages: Mapping[str, str]


def site(company: Company, platform_id: str) -> Site:
    """Return the site of a platform, published."""
    editor = company.person("sunniva")
    there = company.owner.there(f"{company.path}/sites", {**SITE, "platformId": platform_id}, by="slug")
    path = f"/sites/{there['id']}"
    pages = {page["path"]: page for page in editor.items(f"{path}/pages")}
    for content in PAGES:
        _let_have_page(editor, path, pages, content, None)
    if there["status"] == "draft":
        there = editor.patch(path, {"status": "published"})
    ids = {where: page["id"] for where, page in pages.items()}
    menus = {menu["id"] for menu in editor.items(f"{path}/navigation")}
    for name, menu in MENUS.items():
        if name not in menus:
            items = [_leading(item, ids) for item in menu["items"]]
            editor.put(f"{path}/navigation/{name}", {"name": menu["name"], "items": items})
    for redirect in REDIRECTS:
        editor.there(f"{path}/redirects", redirect, by="fromPath")
    return Site(there, ids)


def _let_have_page(editor: Caller, path: str, pages: dict[str, Json], content: Json, parent: Json | None) -> None:
    """Let a page be there, and all below it; each published, unless it is to be a draft or to wait."""
    fields = content["page"]
    slug = fields.get("slug") or fields["title"].lower().replace(" ", "-")
    where = "/" if fields.get("isHome") else f"{parent['path'] if parent else ''}/{slug}"
    if where not in pages:
        place = {"slug": slug, "parentId": parent["id"] if parent else None, "publishAt": _publication_time(content)}
        pages[where] = editor.post(f"{path}/pages", {**fields, **place})
    page = pages[where]
    if page["status"] == "draft" and not content.get("draft"):
        page = pages[where] = editor.post(f"{path}/pages/{page['id']}/publish")
    if "rework" in content and not page["hasUnpublishedChanges"]:
        editor.patch(f"{path}/pages/{page['id']}", content["rework"])
    for child in content.get("children", []):
        _let_have_page(editor, path, pages, child, page)


def _publication_time(content: Json) -> str | None:
    """Return when a page is to be published by itself."""
    days = content.get("published_in_days")
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds") if days else None


def _leading(item: Mapping[str, Any], pages: Mapping[str, str]) -> Json:
    """Return an item of a menu as the service takes it."""
    below = [_leading(child, pages) for child in item.get("children", [])]
    leads = {"type": "page", "pageId": pages[item["page"]]} if "page" in item else {"type": "url", "url": item["url"]}
    return {"id": item["id"], "label": item["label"], **leads, "children": below}
