"""Redirects of a site, made over HTTP, and where they send whoever comes."""

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
        """Where the record is found."""
        return f"{self.site.path}/redirects/{self.id}"


def asked_to_redirect(
    api: Api, site: Published, from_path: str, to_path: str | None = None, *, as_: Caller | None = None, **fields: Any
) -> Answer:
    """Ask for a redirect; in the name of the site's owner, unless it is said who asks."""
    body = {"fromPath": from_path, **({} if to_path is None else {"toPath": to_path}), **fields}
    return api.post(f"{site.path}/redirects", as_=as_ or site.owner, json=body)


def redirect(api: Api, site: Published, from_path: str, to_path: str | None = None, **fields: Any) -> Signpost:
    """Let there be a redirect."""
    answer = asked_to_redirect(api, site, from_path, to_path, **fields)
    assert answer.status == 201, answer.text
    return Signpost(answer.json, site)


def redirects_of(api: Api, site: Published) -> list[Json]:
    """Return the redirects of a site as they are listed."""
    return api.items(f"{site.path}/redirects", as_=site.owner)


def left_behind(api: Api, site: Published, from_path: str) -> Signpost:
    """Return the redirect that a page left behind where it was."""
    (record,) = (each for each in redirects_of(api, site) if each["fromPath"] == from_path)
    assert record["origin"] == "page"
    return Signpost(record, site)


def altered(api: Api, signpost: Signpost, **fields: Any) -> Answer:
    """Ask for a redirect to be changed."""
    return api.patch(signpost.path, as_=signpost.site.owner, json=fields)


def removed(api: Api, signpost: Signpost) -> Answer:
    """Ask for a redirect to be deleted."""
    return api.delete(signpost.path, as_=signpost.site.owner)


def comes_to(api: Api, site: Published, path: str) -> str | tuple[int, str] | None:
    """Return what a visitor finds at a path: the title of a page, where they are sent and how, or nothing."""
    answer = api.get("/sites/resolve", query={"host": site.record["host"], "path": path})
    assert answer.status == 200, answer.text
    if sent := answer.json["redirect"]:
        return sent["statusCode"], sent["location"]
    return answer.json["page"]["title"] if answer.json["page"] else None
