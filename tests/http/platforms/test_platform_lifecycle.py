"""Test the lifecycle of a platform: from an empty organization to its own domain and its deletion."""

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.entrypoints.catalogue import all_operations, load_operation
from chalicelib.kernel.operations.operation import Operation
from tests.harness.api import ApiClient, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.domains import claim_domain, publish_dns_records, verify_domain
from tests.harness.invitations import decide_on_invitation, token_from_link
from tests.harness.nameserver import Nameserver
from tests.harness.organizations import create_organization
from tests.harness.platforms import CreatedPlatform, CreatedSpace, create_platform, create_space, publish_platform
from tests.harness.workers import Workers

GROUPS = ("platforms", "spaces", "taxonomy")


@pytest.fixture(autouse=True)
def _every_operation_is_called(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    called_operation_ids: set[str] = set()

    def record_operation(target: str) -> Operation:
        operation = load_operation(target)
        called_operation_ids.add(operation.id)
        return operation

    monkeypatch.setattr("chalicelib.entrypoints.http.load_operation", record_operation)
    yield
    missing_operation_ids = {
        operation.id for operation in all_operations() if operation.group in GROUPS
    } - called_operation_ids
    assert missing_operation_ids == set()


def test_lifecycle_of_a_platform(api, workers, clock, nameserver, ada, grace, edith, mary):
    platform = _create_platform(api, ada)
    _design(api, platform, ada)
    _invite_members(api, platform, ada, grace, edith)
    looms, office = _create_spaces(api, platform, edith, grace)
    _configure_spaces(api, platform, looms, ada, edith)
    _build_taxonomy(api, platform, looms, ada, edith)
    _publish(api, platform, looms, office)
    _set_up_custom_domain(api, platform, nameserver, ada)
    _admit_visitor(api, platform, looms, office, ada, mary)
    _delete(api, platform, looms, workers, clock, ada, grace)


def _expect(answer: Any, status: int = 200) -> Json:
    assert answer.status == status, answer.text
    return answer.json if answer.text else {}


def _create_platform(api: ApiClient, ada: Person) -> CreatedPlatform:
    """Create an organization and a platform, and correct a typo in its slug."""
    organization = create_organization(api, ada, name="Mills")
    assert api.get_items("/platforms", caller=ada) == []
    platform = create_platform(api, organization, name="The Mill", slug="the-mlil")
    updated_platform = _expect(
        api.patch(platform.path, caller=ada, json={"slug": "the-mill", "description": "All about weaving."})
    )
    assert [listed_platform["slug"] for listed_platform in api.get_items("/platforms", caller=ada)] == ["the-mill"]
    assert _expect(api.get(platform.path, caller=ada)) == updated_platform
    (entry,) = api.get_items(f"{organization.path}/domains/inventory", caller=ada)
    assert (entry["platformSlug"], entry["verificationStatus"]) == ("the-mill", "none")
    return platform


def _design(api: ApiClient, platform: CreatedPlatform, ada: Person) -> None:
    """Set a theme, which first causes a contrast warning, then home page, navigation, modules and project blocks."""
    low_contrast_theme = _expect(
        api.patch(f"{platform.path}/theme", caller=ada, json={"colors": {"text": "#bbbbbb", "background": "#ffffff"}})
    )
    assert [warning["code"] for warning in low_contrast_theme["warnings"]] == ["low_contrast"]
    readable_theme = _expect(api.patch(f"{platform.path}/theme", caller=ada, json={"colors": {"text": "#222222"}}))
    assert readable_theme["warnings"] == []
    blocks = [{"id": "hello", "type": "hero", "settings": {"title": "Welcome"}}]
    _expect(api.patch(f"{platform.path}/home", caller=ada, json={"blocks": blocks}))
    items = [{"id": "looms", "label": "Looms", "type": "url", "target": "/spaces/looms"}]
    assert (
        _expect(api.patch(f"{platform.path}/navigation", caller=ada, json={"items": items}))["home"]["blocks"] == blocks
    )
    modules = _expect(
        api.patch(f"{platform.path}/modules", caller=ada, json={"modules": [{"moduleId": "jobs", "enabled": False}]})
    )
    assert modules["items"] == _expect(api.get(f"{platform.path}/modules", caller=ada))["items"]
    body = {"projectBlocks": [{"projectBlockId": "looms-of-the-year", "title": "Looms of the year"}]}
    project_blocks = _expect(api.patch(f"{platform.path}/project-blocks", caller=ada, json=body))
    assert project_blocks["items"] == _expect(api.get(f"{platform.path}/project-blocks", caller=ada))["items"]
    assert [
        listed_platform["id"]
        for listed_platform in api.get_items("/project-blocks/looms-of-the-year/platforms", caller=ada)
    ] == [platform.id]


def _invite_members(api: ApiClient, platform: CreatedPlatform, ada: Person, grace: Person, edith: Person) -> None:
    """Invite Grace and Edith to the platform only: Grace follows the link, Edith just joins."""
    first = _expect(api.post(f"{platform.path}/invite", caller=ada, json={"email": grace.email, "role": "admin"}), 201)
    assert decide_on_invitation(api, token_from_link(first["acceptUrl"]), grace).json["membership"]["role"] == "admin"
    assert api.post(f"{platform.path}/join", caller=edith).status_and_code == "404 not_found"
    _expect(api.post(f"{platform.path}/invite", caller=grace, json={"email": edith.email}), 201)
    assert _expect(api.post(f"{platform.path}/join", caller=edith))["role"] == "member"
    promoted_member = _expect(api.patch(f"{platform.path}/members/{edith.id}", caller=grace, json={"role": "editor"}))
    assert _expect(api.get(f"{platform.path}/members/by-user/{edith.id}", caller=grace)) == promoted_member
    assert _expect(api.get(f"{platform.path}/members/by-username/EDITH", caller=grace)) == promoted_member
    assert _expect(api.get(f"{platform.path}/members/{edith.id}", caller=grace)) == promoted_member
    assert [member["username"] for member in api.get_items(f"{platform.path}/members", caller=edith)] == [
        "grace",
        "edith",
    ]


def _create_spaces(
    api: ApiClient, platform: CreatedPlatform, edith: Person, grace: Person
) -> tuple[CreatedSpace, CreatedSpace]:
    """Create an open space as Edith, and a private one as Grace."""
    looms = create_space(api, platform, caller=edith, name="Looms")
    office = create_space(api, platform, caller=grace, name="Office", visibility="private")
    assert [space["name"] for space in api.get_items(f"{platform.path}/spaces", caller=grace)] == ["Looms", "Office"]
    assert [space["name"] for space in api.get_items(f"{platform.path}/spaces", caller=edith)] == ["Looms"]
    assert api.get(office.path, caller=edith).status_and_code == "404 not_found"
    assert _expect(api.get(looms.path, caller=grace)) == looms.record
    _expect(api.patch(looms.path, caller=edith, json={"description": "Power looms, hand looms."}))
    return looms, office


def _configure_spaces(
    api: ApiClient, platform: CreatedPlatform, looms: CreatedSpace, ada: Person, edith: Person
) -> None:
    """Override modules in Edith's space, except those that the platform locks, and set its capabilities."""
    overrides = f"{looms.path}/module-overrides"
    _expect(api.post(overrides, caller=edith, json={"moduleId": "jobs"}), 201)
    _expect(api.post(overrides, caller=edith, json={"moduleId": "feed", "enabled": False}), 201)
    assert _list_modules(api, looms, edith) >= {("jobs", True, "space"), ("feed", False, "space")}
    locked_modules = {"modules": [{"moduleId": "feed", "locked": True}]}
    _expect(api.patch(f"{platform.path}/modules", caller=ada, json=locked_modules))
    assert ("feed", True, "platform") in _list_modules(api, looms, edith)
    _expect(api.put(overrides, caller=edith, json={"overrides": [{"moduleId": "events", "enabled": False}]}))
    assert [override["moduleId"] for override in api.get_items(overrides, caller=edith)] == ["events"]
    assert _expect(api.get(f"{overrides}/events", caller=edith))["enabled"] is False
    _expect(api.delete(f"{overrides}/events", caller=edith), 204)
    assert ("events", True, "system") in _list_modules(api, looms, edith)

    capabilities = f"{looms.path}/capabilities"
    _expect(api.post(capabilities, caller=edith, json={"capabilityKey": "video"}), 201)
    _expect(
        api.put(
            capabilities, caller=edith, json={"capabilities": [{"capabilityKey": "chat"}, {"capabilityKey": "polls"}]}
        )
    )
    assert _expect(api.get(f"{capabilities}/polls", caller=edith))["capabilityKey"] == "polls"
    _expect(api.delete(f"{capabilities}/polls", caller=edith), 204)
    assert [capability["capabilityKey"] for capability in api.get_items(capabilities, caller=edith)] == ["chat"]


def _list_modules(api: ApiClient, space: CreatedSpace, caller: Person) -> set[tuple[str, bool, str]]:
    items = _expect(api.get(f"{space.path}/effective-modules", caller=caller))["items"]
    return {(item["moduleId"], item["enabled"], item["source"]) for item in items}


def _build_taxonomy(api: ApiClient, platform: CreatedPlatform, looms: CreatedSpace, ada: Person, edith: Person) -> None:
    """Create, move and attach terms, and resolve one by its former path."""
    tags = _expect(api.post(f"{platform.path}/taxonomy-system-tags", caller=ada))
    assert tags["created"] == len(tags["items"]) == 4
    crafts, weaving, machines = (
        _expect(api.post("/taxonomy-nodes", caller=edith, json={"platformId": platform.id, "name": name}), 201)
        for name in ("Crafts", "Weaving", "Machines")
    )
    moved_node = _expect(api.patch(f"/taxonomy-nodes/{weaving['id']}", caller=edith, json={"parentId": crafts["id"]}))
    assert (moved_node["path"], moved_node["depth"]) == ("crafts/weaving", 2)
    resolve = f"{platform.path}/taxonomy-resolve"
    assert _expect(api.get(resolve, caller=edith, query={"path": "crafts/weaving"}))["matchedBy"] == "path"
    former_match = _expect(api.get(resolve, caller=edith, query={"path": "weaving"}))
    assert (former_match["node"]["id"], former_match["matchedBy"]) == (weaving["id"], "formerPath")

    attachments = f"/taxonomy-nodes/{weaving['id']}/attachments"
    attachment = _expect(api.post(attachments, caller=edith, json={"entityType": "space", "entityId": looms.id}), 201)
    assert api.get_items(attachments, caller=edith) == [attachment]
    assert _expect(api.get(f"{attachments}/{attachment['id']}", caller=edith)) == attachment
    assert api.get_items(f"{platform.path}/taxonomy-attachments", caller=edith, query={"entityId": looms.id}) == [
        attachment
    ]
    assert api.delete(f"/taxonomy-nodes/{weaving['id']}", caller=edith).status_and_code == "409 not_empty"
    _expect(api.delete(f"{attachments}/{attachment['id']}", caller=edith), 204)
    _expect(api.delete(f"/taxonomy-nodes/{machines['id']}", caller=edith), 204)
    assert _expect(api.get(f"/taxonomy-nodes/{weaving['id']}", caller=edith))["path"] == "crafts/weaving"
    tree = _expect(api.get(f"{platform.path}/taxonomy-tree", caller=edith))["items"]
    assert {node["slug"]: [child["slug"] for child in node["children"]] for node in tree} == {
        "featured": [],
        "pinned": [],
        "official": [],
        "archived": [],
        "crafts": ["weaving"],
    }
    terms = api.get_items(f"{platform.path}/taxonomy-nodes", caller=edith, query={"kind": "term"})
    assert {node["slug"] for node in terms} == {"crafts", "weaving"}


def _publish(api: ApiClient, platform: CreatedPlatform, looms: CreatedSpace, office: CreatedSpace) -> None:
    """Publish the platform: everyone sees it, except its private space."""
    assert api.get(f"{platform.path}/config").status_and_code == "404 not_found"
    publish_platform(api, platform)
    config = _expect(api.get(f"{platform.path}/config"))
    assert config["platform"]["name"] == "The Mill"
    assert config["customDomain"] is None
    resolved_config = _expect(api.post(f"{platform.path}/resolve-config", json={"path": "/spaces/looms/today"}))
    assert resolved_config["matched"]["space"]["id"] == looms.id
    assert [capability["capabilityKey"] for capability in resolved_config["capabilities"]] == ["chat"]
    private_space_answer = api.post(f"{platform.path}/resolve-config", json={"spaceId": office.id})
    missing_space_answer = api.post(f"{platform.path}/resolve-config", json={"spaceId": platform.id})
    assert private_space_answer.status_and_code == "404 not_found"
    assert private_space_answer.comparable_problem == missing_space_answer.comparable_problem


def _set_up_custom_domain(api: ApiClient, platform: CreatedPlatform, nameserver: Nameserver, ada: Person) -> None:
    """Claim a wrong domain and release it, then claim and verify the right one."""
    claim_domain(api, platform, "mill.example.net")
    _expect(api.delete(f"{platform.path}/custom-domain", caller=ada), 204)
    custom_domain = claim_domain(api, platform, "the-mill.example.com")
    assert verify_domain(api, platform).json["lastError"] == "TXT_NOT_FOUND"
    publish_dns_records(nameserver, custom_domain)
    assert verify_domain(api, platform).json["status"] == "verified"
    assert _expect(api.get(f"{platform.path}/custom-domain", caller=ada))["lastError"] is None
    (entry,) = api.get_items(f"/organizations/{platform.organization_id}/domains/inventory", caller=ada)
    assert (entry["customDomain"], entry["verificationStatus"]) == ("the-mill.example.com", "verified")
    resolved_config = _expect(api.post(f"{platform.path}/resolve-config", json={"host": "The-Mill.example.com:443"}))
    assert resolved_config["matched"]["host"] == "customDomain"
    assert resolved_config["customDomain"] == {"domain": "the-mill.example.com", "status": "verified"}


def _admit_visitor(
    api: ApiClient, platform: CreatedPlatform, looms: CreatedSpace, office: CreatedSpace, ada: Person, mary: Person
) -> None:
    """Open the platform to everyone: Mary joins it, becomes an editor of the office for a day, and leaves."""
    assert api.post(f"{platform.path}/join", caller=mary).status_and_code == "403 forbidden"
    _expect(api.patch(platform.path, caller=ada, json={"joinPolicy": "open"}))
    assert _expect(api.post(f"{platform.path}/join", caller=mary))["role"] == "member"
    assert _expect(api.post(f"{looms.path}/join", caller=mary))["role"] == "member"
    assert api.post(f"{office.path}/join", caller=mary).status_and_code == "404 not_found"
    _expect(api.patch(f"{office.path}/members/{mary.id}", caller=ada, json={"role": "editor"}))
    assert mary.id in {member["userId"] for member in api.get_items(f"{office.path}/members", caller=mary)}
    assert _expect(api.get(f"{office.path}/members/{mary.id}", caller=mary))["role"] == "editor"
    _expect(api.delete(f"{office.path}/members/{mary.id}", caller=ada), 204)
    assert api.get(office.path, caller=mary).status_and_code == "404 not_found"
    _expect(api.post(f"{looms.path}/leave", caller=mary), 204)
    _expect(api.post(f"{platform.path}/leave", caller=mary), 204)
    assert api.get(platform.path, caller=mary).status_and_code == "404 not_found"


def _delete(
    api: ApiClient,
    platform: CreatedPlatform,
    looms: CreatedSpace,
    workers: Workers,
    clock: Clock,
    ada: Person,
    grace: Person,
) -> None:
    """Remove Grace, delete a space, and then the platform with everything in it."""
    _expect(api.delete(f"{platform.path}/members/{grace.id}", caller=ada), 204)
    assert api.get(platform.path, caller=grace).status_and_code == "404 not_found"
    _expect(api.delete(looms.path, caller=ada), 204)
    _expect(api.delete(platform.path, caller=ada), 204)
    assert api.get(f"{platform.path}/config").status_and_code == "404 not_found"
    workers.run_until_idle()
    clock.shift(minutes=2)
    workers.run_until_idle()
    organization = create_organization(api, ada, name="Another")
    body = {"organizationId": organization.id, "name": "The Mill", "slug": "the-mill"}
    assert (
        api.post("/platforms", caller=ada, json=body).status_and_code == "409 slug_taken"
    )  # The slug is reserved for 90 days.
    assert create_platform(api, organization, slug="the-new-mill").record["slug"] == "the-new-mill"
    (entry, *_) = api.get(f"/organizations/{platform.organization_id}/audit-log", caller=ada).json["items"]
    assert entry["type"] == "platform.deleted"
