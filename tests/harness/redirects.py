"""Redirects of a site."""

from dataclasses import dataclass
from typing import Any

from tests.harness.api import Answer, Api, Json
from tests.harness.builders import Made
from tests.harness.callers import Caller
from tests.harness.sites import Published


@dataclass(frozen=True)
class Signpost(Made):
    """A redirect of a site."""

    site: Published

    @property
    def path(self) -> str:
        """The path of the record."""
        return f"{self.site.path}/redirects/{self.id}"


def asked_to_redirect(
    api: Api, site: Published, from_path: str, to_path: str | None = None, *, as_: Caller | None = None, **fields: Any
) -> Answer:
    """Request a redirect, by default as the owner of the site, and return the response."""
    body = {"fromPath": from_path, **({} if to_path is None else {"toPath": to_path}), **fields}
    return api.post(f"{site.path}/redirects", as_=as_ or site.owner, json=body)


def redirect(api: Api, site: Published, from_path: str, to_path: str | None = None, **fields: Any) -> Signpost:
    """Create a redirect."""
    answer = asked_to_redirect(api, site, from_path, to_path, **fields)
    assert answer.status == 201, answer.text
    return Signpost(answer.json, site)


def redirects_of(api: Api, site: Published) -> list[Json]:
    """List the redirects of a site."""
    return api.items(f"{site.path}/redirects", as_=site.owner)


def left_behind(api: Api, site: Published, from_path: str) -> Signpost:
    """Return the redirect from the former path of a page."""
    (record,) = (record for record in redirects_of(api, site) if record["fromPath"] == from_path)
    assert record["origin"] == "page"
    return Signpost(record, site)


def altered(api: Api, signpost: Signpost, **fields: Any) -> Answer:
    """Request a change of a redirect."""
    return api.patch(signpost.path, as_=signpost.site.owner, json=fields)


def removed(api: Api, signpost: Signpost) -> Answer:
    """Request the deletion of a redirect."""
    return api.delete(signpost.path, as_=signpost.site.owner)


def comes_to(api: Api, site: Published, path: str) -> str | tuple[int, str] | None:
    """Return what a path of a site resolves to: the title of a page, a status code and a location, or None."""
    answer = api.get("/sites/resolve", query={"host": site.record["host"], "path": path})
    assert answer.status == 200, answer.text
    if target := answer.json["redirect"]:
        return target["statusCode"], target["location"]
    return answer.json["page"]["title"] if answer.json["page"] else None
