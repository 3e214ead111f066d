"""The platforms: their looks, people, modules, spaces and taxonomies."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from local.seed.callers import Caller, Json
from local.seed.organization import Company, user_id


@dataclass(frozen=True)
class Platform:
    """A platform, once it is there. `spaces`: the ids of its spaces, by their slugs."""

    record: Json
    path: str
    spaces: Mapping[str, str]


def platform(company: Company, content: Json) -> Platform:
    """Return a platform as its content says, but for what it has to do with a site."""
    owner = company.owner
    listed = owner.items("/platforms", organizationId=company.id)
    body = {"organizationId": company.id, **content["platform"]}
    there = owner.there("/platforms", body, by="slug", listed=listed)
    path = f"/platforms/{there['id']}"
    _furnish(owner, path, content)
    _give_roles(owner, path, content.get("members", {}))
    _invite(company, there["id"], content.get("invited"))
    if content.get("joins") and there["status"] == "draft":
        owner.patch(f"{path}/publish", {})
    _join(company, path, content.get("joins", []))
    spaces = {space["slug"]: space["id"] for space in _spaces(company, path, there["id"], content["spaces"])}
    _claim(owner, path, content.get("domain"))
    return Platform(there, path, spaces)


def open_with(company: Company, platform: Platform, content: Json, site_id: str | None) -> None:
    """Let the home of a platform have blocks, and open one of its spaces and a site."""
    if not company.owner.get(platform.path)["home"]["blocks"]:
        home = {**content["home"], "spaceId": platform.spaces[content["opens"]], "siteId": site_id}
        company.owner.patch(f"{platform.path}/home", home)


def _furnish(owner: Caller, path: str, content: Json) -> None:
    """Give a platform theme, navigation, project blocks and modules, each unless it has some already."""
    there = owner.get(path)
    if not there["theme"]["colors"]:
        owner.patch(f"{path}/theme", content["theme"])
    if not there["navigation"]["items"]:
        owner.patch(f"{path}/navigation", {"items": content["navigation"]})
    if not owner.items(f"{path}/project-blocks"):
        owner.patch(f"{path}/project-blocks", {"projectBlocks": content["project_blocks"]})
    if all(module["source"] == "system" for module in owner.items(f"{path}/modules")):
        owner.patch(f"{path}/modules", {"modules": content["modules"]})


def _give_roles(owner: Caller, path: str, roles: Mapping[str, str]) -> None:
    """Let people be members of a platform or a space in a role, unless they are members already."""
    members = {member["userId"] for member in owner.items(f"{path}/members")}
    for username, role in roles.items():
        if user_id(username) not in members:
            owner.patch(f"{path}/members/{user_id(username)}", {"role": role})


def _join(company: Company, path: str, usernames: list[str]) -> None:
    """Let people join a platform or a space by themselves; who is a member already stays what they are."""
    members = {member["userId"] for member in company.owner.items(f"{path}/members")}
    for username in usernames:
        if user_id(username) not in members:
            company.person(username).post(f"{path}/join")


def _invite(company: Company, platform_id: str, invitation: Json | None) -> None:
    if invitation:
        listed = company.owner.items(f"{company.path}/invitations", platformId=platform_id)
        company.owner.there(f"/platforms/{platform_id}/invite", invitation, by="email", listed=listed)


def _claim(owner: Caller, path: str, domain: str | None) -> None:
    if domain and owner.get(f"{path}/custom-domain")["status"] == "none":
        owner.post(f"{path}/custom-domain", {"domain": domain})


def _spaces(company: Company, path: str, platform_id: str, contents: list[Json]) -> Iterator[Json]:
    owner, listed = company.owner, company.owner.items(f"{path}/spaces")
    for content in contents:
        space = owner.there("/spaces", {"platformId": platform_id, **content["space"]}, by="slug", listed=listed)
        at = f"/spaces/{space['id']}"
        _let_have(owner, f"{at}/capabilities", "capabilities", content["capabilities"])
        _let_have(owner, f"{at}/module-overrides", "overrides", content["overrides"])
        _give_roles(owner, at, content.get("members", {}))
        _join(company, at, content.get("joins", []))
        yield space


def _let_have(owner: Caller, path: str, name: str, wanted: list[Any]) -> None:
    """Let a set hold what is wanted, unless it holds something."""
    if wanted and not owner.items(path):
        owner.put(path, {name: wanted})
