"""Redirects of a site."""

from dataclasses import dataclass
from typing import Any

from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Caller
from tests.harness.record_clients import CreatedRecord
from tests.harness.sites import CreatedSite


@dataclass(frozen=True)
class CreatedRedirect(CreatedRecord):
    site: CreatedSite

    collection_path = "{site.path}/redirects"


def post_redirect(
    api: ApiClient,
    site: CreatedSite,
    from_path: str,
    to_path: str | None = None,
    *,
    caller: Caller | None = None,
    **fields: Any,
) -> ApiResponse:
    body = {"fromPath": from_path, **({} if to_path is None else {"toPath": to_path}), **fields}
    return api.post(f"{site.path}/redirects", caller=caller or site.owner, json=body)


def create_redirect(
    api: ApiClient, site: CreatedSite, from_path: str, to_path: str | None = None, **fields: Any
) -> CreatedRedirect:
    return CreatedRedirect(post_redirect(api, site, from_path, to_path, **fields).expect(201).json, site)


def list_redirects(api: ApiClient, site: CreatedSite) -> list[Json]:
    return api.get_items(f"{site.path}/redirects", caller=site.owner)


def get_page_redirect(api: ApiClient, site: CreatedSite, from_path: str) -> CreatedRedirect:
    """Return the redirect from the former path of a page."""
    (record,) = (record for record in list_redirects(api, site) if record["fromPath"] == from_path)
    assert record["origin"] == "page"
    return CreatedRedirect(record, site)


def patch_redirect(api: ApiClient, redirect: CreatedRedirect, **fields: Any) -> ApiResponse:
    return api.patch(redirect.path, caller=redirect.site.owner, json=fields)


def delete_redirect(api: ApiClient, redirect: CreatedRedirect) -> ApiResponse:
    return api.delete(redirect.path, caller=redirect.site.owner)


def resolve_visit(api: ApiClient, site: CreatedSite, path: str) -> str | tuple[int, str] | None:
    """Return what a path of a site resolves to: the title of a page, a status code and a location, or None."""
    answer = api.get("/sites/resolve", query={"host": site.record["host"], "path": path}).expect(200)
    if target := answer.json["redirect"]:
        return target["statusCode"], target["location"]
    return answer.json["page"]["title"] if answer.json["page"] else None
