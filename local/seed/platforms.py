"""The platforms: their themes, members, modules and spaces."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from local.seed.callers import Caller, Json
from local.seed.organization import Company, user_id


@dataclass(frozen=True)
class Platform:
    """An existing platform. `spaces` contains the ids of its spaces by slug."""

    record: Json
    path: str
    space_ids_by_slug: Mapping[str, str]


def ensure_platform(company: Company, content: Json) -> Platform:
    """Create the missing parts of a platform, except its home page, which needs a site, and return the platform."""
    owner = company.owner
    listed = owner.list_all("/platforms", organizationId=company.id)
    body = {"organizationId": company.id, **content["platform"]}
    record = owner.find_or_create("/platforms", body, key_field="slug", existing=listed)
    path = f"/platforms/{record['id']}"
    _configure(owner, path, content)
    _give_roles(owner, path, content.get("members", {}))
    _invite(company, record["id"], content.get("invited"))
    if content.get("joins") and record["status"] == "draft":
        owner.patch(f"{path}/publish", {})
    _join(company, path, content.get("joins", []))
    spaces = {space["slug"]: space["id"] for space in _ensure_spaces(company, path, record["id"], content["spaces"])}
    _claim_domain(owner, path, content.get("domain"))
    return Platform(record, path, spaces)


def ensure_home(company: Company, platform: Platform, content: Json, site_id: str | None) -> None:
    """Set the blocks, the space and the site of a platform's home page, unless it has blocks."""
    if not company.owner.get(platform.path)["home"]["blocks"]:
        home = {**content["home"], "spaceId": platform.space_ids_by_slug[content["opens"]], "siteId": site_id}
        company.owner.patch(f"{platform.path}/home", home)


def _configure(owner: Caller, path: str, content: Json) -> None:
    """Set the theme, navigation, project blocks and modules of a platform, each unless it is set already."""
    platform = owner.get(path)
    if not platform["theme"]["colors"]:
        owner.patch(f"{path}/theme", content["theme"])
    if not platform["navigation"]["items"]:
        owner.patch(f"{path}/navigation", {"items": content["navigation"]})
    if not owner.list_all(f"{path}/project-blocks"):
        owner.patch(f"{path}/project-blocks", {"projectBlocks": content["project_blocks"]})
    if all(module["source"] == "system" for module in owner.list_all(f"{path}/modules")):
        owner.patch(f"{path}/modules", {"modules": content["modules"]})


def _give_roles(owner: Caller, path: str, roles: Mapping[str, str]) -> None:
    """Make users members of a platform or a space with a role, unless they are members already."""
    members = {member["userId"] for member in owner.list_all(f"{path}/members")}
    for username, role in roles.items():
        if user_id(username) not in members:
            owner.patch(f"{path}/members/{user_id(username)}", {"role": role})


def _join(company: Company, path: str, usernames: list[str]) -> None:
    """Let users join a platform or a space themselves, unless they are members already."""
    members = {member["userId"] for member in company.owner.list_all(f"{path}/members")}
    for username in usernames:
        if user_id(username) not in members:
            company.caller_for(username).post(f"{path}/join")


def _invite(company: Company, platform_id: str, invitation: Json | None) -> None:
    if invitation:
        listed = company.owner.list_all(f"{company.path}/invitations", platformId=platform_id)
        company.owner.find_or_create(f"/platforms/{platform_id}/invite", invitation, key_field="email", existing=listed)


def _claim_domain(owner: Caller, path: str, domain: str | None) -> None:
    if domain and owner.get(f"{path}/custom-domain")["status"] == "none":
        owner.post(f"{path}/custom-domain", {"domain": domain})


def _ensure_spaces(company: Company, path: str, platform_id: str, contents: list[Json]) -> Iterator[Json]:
    owner, listed = company.owner, company.owner.list_all(f"{path}/spaces")
    for content in contents:
        space = owner.find_or_create(
            "/spaces", {"platformId": platform_id, **content["space"]}, key_field="slug", existing=listed
        )
        space_path = f"/spaces/{space['id']}"
        _ensure_set(owner, f"{space_path}/capabilities", "capabilities", content["capabilities"])
        _ensure_set(owner, f"{space_path}/module-overrides", "overrides", content["overrides"])
        _give_roles(owner, space_path, content.get("members", {}))
        _join(company, space_path, content.get("joins", []))
        yield space


def _ensure_set(owner: Caller, path: str, name: str, items: list[Any]) -> None:
    """Replace a set, unless it contains items already."""
    if items and not owner.list_all(path):
        owner.put(path, {name: items})
