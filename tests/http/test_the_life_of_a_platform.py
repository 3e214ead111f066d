"""A platform from an empty organization to its own domain and its end, told as its people live it."""

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.entrypoints.catalogue import operation_of, operations
from chalicelib.kernel.operations.operation import Operation
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.domains import claim, holds, verify
from tests.harness.invitations import decides, token_of
from tests.harness.nameserver import Nameserver
from tests.harness.organizations import found
from tests.harness.platforms import Room, Running, make_space, publish, run_platform
from tests.harness.workers import Workers

GROUPS = ("platforms", "spaces", "taxonomy")


@pytest.fixture(autouse=True)
def _every_operation_has_its_part(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    asked: set[str] = set()

    def remembering(target: str) -> Operation:
        operation = operation_of(target)
        asked.add(operation.id)
        return operation

    monkeypatch.setattr("chalicelib.entrypoints.http.operation_of", remembering)
    yield
    left = {operation.id for operation in operations() if operation.group in GROUPS} - asked
    assert left == set()


def test_the_life_of_a_platform(
    api: Api,
    workers: Workers,
    clock: Clock,
    nameserver: Nameserver,
    ada: Person,
    grace: Person,
    edith: Person,
    mary: Person,
) -> None:
    mill = _is_made(api, ada)
    _gets_its_looks(api, mill, ada)
    _gathers_its_people(api, mill, ada, grace, edith)
    looms, office = _is_divided_into_spaces(api, mill, edith, grace)
    _decides_what_its_spaces_can(api, mill, looms, ada, edith)
    _sorts_what_it_has(api, mill, looms, ada, edith)
    _is_shown_to_the_world(api, mill, looms, office)
    _gets_its_own_domain(api, mill, nameserver, ada)
    _lets_in_who_comes_by(api, mill, looms, office, ada, mary)
    _ends(api, mill, looms, workers, clock, ada, grace)


def _done(answer: Any, status: int = 200) -> Json:
    assert answer.status == status, answer.text
    return answer.json if answer.text else {}


def _is_made(api: Api, ada: Person) -> Running:
    """Ada has an organization with nothing in it, and lets it run a platform; its slug was a slip of the pen."""
    mills = found(api, ada, name="Mills")
    assert api.items("/platforms", as_=ada) == []
    mill = run_platform(api, mills, name="The Mill", slug="the-mlil")
    changed = _done(api.patch(mill.path, as_=ada, json={"slug": "the-mill", "description": "All about weaving."}))
    assert [each["slug"] for each in api.items("/platforms", as_=ada)] == ["the-mill"]
    assert _done(api.get(mill.path, as_=ada)) == changed
    (entry,) = api.items(f"{mills.path}/domains/inventory", as_=ada)
    assert (entry["platformSlug"], entry["verificationStatus"]) == ("the-mill", "none")
    return mill


def _gets_its_looks(api: Api, mill: Running, ada: Person) -> None:
    """The first theme is hard to read, and the service says so; home and navigation follow."""
    pale = _done(
        api.patch(f"{mill.path}/theme", as_=ada, json={"colors": {"text": "#bbbbbb", "background": "#ffffff"}})
    )
    assert [warning["code"] for warning in pale["warnings"]] == ["low_contrast"]
    dark = _done(api.patch(f"{mill.path}/theme", as_=ada, json={"colors": {"text": "#222222"}}))
    assert dark["warnings"] == []
    blocks = [{"id": "hello", "type": "hero", "settings": {"title": "Welcome"}}]
    _done(api.patch(f"{mill.path}/home", as_=ada, json={"blocks": blocks}))
    items = [{"id": "looms", "label": "Looms", "type": "url", "target": "/spaces/looms"}]
    assert _done(api.patch(f"{mill.path}/navigation", as_=ada, json={"items": items}))["home"]["blocks"] == blocks
    switched = _done(
        api.patch(f"{mill.path}/modules", as_=ada, json={"modules": [{"moduleId": "jobs", "enabled": False}]})
    )
    assert switched["items"] == _done(api.get(f"{mill.path}/modules", as_=ada))["items"]
    wanted = {"projectBlocks": [{"projectBlockId": "looms-of-the-year", "title": "Looms of the year"}]}
    put = _done(api.patch(f"{mill.path}/project-blocks", as_=ada, json=wanted))
    assert put["items"] == _done(api.get(f"{mill.path}/project-blocks", as_=ada))["items"]
    assert [p["id"] for p in api.items("/project-blocks/looms-of-the-year/platforms", as_=ada)] == [mill.id]


def _gathers_its_people(api: Api, mill: Running, ada: Person, grace: Person, edith: Person) -> None:
    """Grace and Edith are invited to the platform alone; the one follows her link, the other just joins."""
    first = _done(api.post(f"{mill.path}/invite", as_=ada, json={"email": grace.email, "role": "admin"}), 201)
    assert decides(api, token_of(first["acceptUrl"]), grace).json["membership"]["role"] == "admin"
    assert api.post(f"{mill.path}/join", as_=edith).code == "404 not_found"
    _done(api.post(f"{mill.path}/invite", as_=grace, json={"email": edith.email}), 201)
    assert _done(api.post(f"{mill.path}/join", as_=edith))["role"] == "member"
    promoted = _done(api.patch(f"{mill.path}/members/{edith.id}", as_=grace, json={"role": "editor"}))
    assert _done(api.get(f"{mill.path}/members/by-user/{edith.id}", as_=grace)) == promoted
    assert _done(api.get(f"{mill.path}/members/by-username/EDITH", as_=grace)) == promoted
    assert _done(api.get(f"{mill.path}/members/{edith.id}", as_=grace)) == promoted
    assert [m["username"] for m in api.items(f"{mill.path}/members", as_=edith)] == ["grace", "edith"]


def _is_divided_into_spaces(api: Api, mill: Running, edith: Person, grace: Person) -> tuple[Room, Room]:
    """Edith opens a space for everybody, Grace keeps one for herself and Ada."""
    looms = make_space(api, mill, as_=edith, name="Looms")
    office = make_space(api, mill, as_=grace, name="Office", visibility="private")
    assert [s["name"] for s in api.items(f"{mill.path}/spaces", as_=grace)] == ["Looms", "Office"]
    assert [s["name"] for s in api.items(f"{mill.path}/spaces", as_=edith)] == ["Looms"]
    assert api.get(office.path, as_=edith).code == "404 not_found"
    assert _done(api.get(looms.path, as_=grace)) == looms.record
    _done(api.patch(looms.path, as_=edith, json={"description": "Power looms, hand looms."}))
    return looms, office


def _decides_what_its_spaces_can(api: Api, mill: Running, looms: Room, ada: Person, edith: Person) -> None:
    """Edith switches modules in her space, but what the platform has locked stays as it is."""
    overrides = f"{looms.path}/module-overrides"
    _done(api.post(overrides, as_=edith, json={"moduleId": "jobs"}), 201)
    _done(api.post(overrides, as_=edith, json={"moduleId": "feed", "enabled": False}), 201)
    assert _modules(api, looms, edith) >= {("jobs", True, "space"), ("feed", False, "space")}
    locked = {"modules": [{"moduleId": "feed", "locked": True}]}
    _done(api.patch(f"{mill.path}/modules", as_=ada, json=locked))
    assert ("feed", True, "platform") in _modules(api, looms, edith)
    _done(api.put(overrides, as_=edith, json={"overrides": [{"moduleId": "events", "enabled": False}]}))
    assert [o["moduleId"] for o in api.items(overrides, as_=edith)] == ["events"]
    assert _done(api.get(f"{overrides}/events", as_=edith))["enabled"] is False
    _done(api.delete(f"{overrides}/events", as_=edith), 204)
    assert ("events", True, "system") in _modules(api, looms, edith)

    capabilities = f"{looms.path}/capabilities"
    _done(api.post(capabilities, as_=edith, json={"capabilityKey": "video"}), 201)
    _done(
        api.put(capabilities, as_=edith, json={"capabilities": [{"capabilityKey": "chat"}, {"capabilityKey": "polls"}]})
    )
    assert _done(api.get(f"{capabilities}/polls", as_=edith))["capabilityKey"] == "polls"
    _done(api.delete(f"{capabilities}/polls", as_=edith), 204)
    assert [c["capabilityKey"] for c in api.items(capabilities, as_=edith)] == ["chat"]


def _modules(api: Api, space: Room, caller: Person) -> set[tuple[str, bool, str]]:
    items = _done(api.get(f"{space.path}/effective-modules", as_=caller))["items"]
    return {(item["moduleId"], item["enabled"], item["source"]) for item in items}


def _sorts_what_it_has(api: Api, mill: Running, looms: Room, ada: Person, edith: Person) -> None:
    """Edith sorts the mill's world into terms, moves one, and what leads to it by its former path still does."""
    tags = _done(api.post(f"{mill.path}/taxonomy-system-tags", as_=ada))
    assert tags["created"] == len(tags["items"]) == 4
    crafts, weaving, machines = (
        _done(api.post("/taxonomy-nodes", as_=edith, json={"platformId": mill.id, "name": name}), 201)
        for name in ("Crafts", "Weaving", "Machines")
    )
    moved = _done(api.patch(f"/taxonomy-nodes/{weaving['id']}", as_=edith, json={"parentId": crafts["id"]}))
    assert (moved["path"], moved["depth"]) == ("crafts/weaving", 2)
    resolve = f"{mill.path}/taxonomy-resolve"
    assert _done(api.get(resolve, as_=edith, query={"path": "crafts/weaving"}))["matchedBy"] == "path"
    former = _done(api.get(resolve, as_=edith, query={"path": "weaving"}))
    assert (former["node"]["id"], former["matchedBy"]) == (weaving["id"], "formerPath")

    attachments = f"/taxonomy-nodes/{weaving['id']}/attachments"
    attachment = _done(api.post(attachments, as_=edith, json={"entityType": "space", "entityId": looms.id}), 201)
    assert api.items(attachments, as_=edith) == [attachment]
    assert _done(api.get(f"{attachments}/{attachment['id']}", as_=edith)) == attachment
    assert api.items(f"{mill.path}/taxonomy-attachments", as_=edith, query={"entityId": looms.id}) == [attachment]
    assert api.delete(f"/taxonomy-nodes/{weaving['id']}", as_=edith).code == "409 not_empty"
    _done(api.delete(f"{attachments}/{attachment['id']}", as_=edith), 204)
    _done(api.delete(f"/taxonomy-nodes/{machines['id']}", as_=edith), 204)
    assert _done(api.get(f"/taxonomy-nodes/{weaving['id']}", as_=edith))["path"] == "crafts/weaving"
    tree = _done(api.get(f"{mill.path}/taxonomy-tree", as_=edith))["items"]
    assert {node["slug"]: [child["slug"] for child in node["children"]] for node in tree} == {
        "featured": [],
        "pinned": [],
        "official": [],
        "archived": [],
        "crafts": ["weaving"],
    }
    listed = api.items(f"{mill.path}/taxonomy-nodes", as_=edith, query={"kind": "term"})
    assert {node["slug"] for node in listed} == {"crafts", "weaving"}


def _is_shown_to_the_world(api: Api, mill: Running, looms: Room, office: Room) -> None:
    """A draft is there for nobody; published it is there for everybody, but for what is private."""
    assert api.get(f"{mill.path}/config").code == "404 not_found"
    publish(api, mill)
    config = _done(api.get(f"{mill.path}/config"))
    assert config["platform"]["name"] == "The Mill"
    assert config["customDomain"] is None
    resolved = _done(api.post(f"{mill.path}/resolve-config", json={"path": "/spaces/looms/today"}))
    assert resolved["matched"]["space"]["id"] == looms.id
    assert [capability["capabilityKey"] for capability in resolved["capabilities"]] == ["chat"]
    hidden = api.post(f"{mill.path}/resolve-config", json={"spaceId": office.id})
    nothing = api.post(f"{mill.path}/resolve-config", json={"spaceId": mill.id})
    assert hidden.code == "404 not_found"
    assert hidden.refusal == nothing.refusal


def _gets_its_own_domain(api: Api, mill: Running, nameserver: Nameserver, ada: Person) -> None:
    """Ada claims a domain by mistake, gives it up, claims the right one, and its DNS is set."""
    claim(api, mill, "mill.example.net")
    _done(api.delete(f"{mill.path}/custom-domain", as_=ada), 204)
    claimed = claim(api, mill, "the-mill.example.com")
    assert verify(api, mill).json["lastError"] == "TXT_NOT_FOUND"
    holds(nameserver, claimed)
    assert verify(api, mill).json["status"] == "verified"
    assert _done(api.get(f"{mill.path}/custom-domain", as_=ada))["lastError"] is None
    (entry,) = api.items(f"/organizations/{mill.organization_id}/domains/inventory", as_=ada)
    assert (entry["customDomain"], entry["verificationStatus"]) == ("the-mill.example.com", "verified")
    resolved = _done(api.post(f"{mill.path}/resolve-config", json={"host": "The-Mill.example.com:443"}))
    assert resolved["matched"]["host"] == "customDomain"
    assert resolved["customDomain"] == {"domain": "the-mill.example.com", "status": "verified"}


def _lets_in_who_comes_by(api: Api, mill: Running, looms: Room, office: Room, ada: Person, mary: Person) -> None:
    """Mary comes by: once the mill is open to everybody she joins it, works in the office for a day, and goes."""
    assert api.post(f"{mill.path}/join", as_=mary).code == "403 forbidden"
    _done(api.patch(mill.path, as_=ada, json={"joinPolicy": "open"}))
    assert _done(api.post(f"{mill.path}/join", as_=mary))["role"] == "member"
    assert _done(api.post(f"{looms.path}/join", as_=mary))["role"] == "member"
    assert api.post(f"{office.path}/join", as_=mary).code == "404 not_found"
    _done(api.patch(f"{office.path}/members/{mary.id}", as_=ada, json={"role": "editor"}))
    assert mary.id in {m["userId"] for m in api.items(f"{office.path}/members", as_=mary)}
    assert _done(api.get(f"{office.path}/members/{mary.id}", as_=mary))["role"] == "editor"
    _done(api.delete(f"{office.path}/members/{mary.id}", as_=ada), 204)
    assert api.get(office.path, as_=mary).code == "404 not_found"
    _done(api.post(f"{looms.path}/leave", as_=mary), 204)
    _done(api.post(f"{mill.path}/leave", as_=mary), 204)
    assert api.get(mill.path, as_=mary).code == "404 not_found"


def _ends(api: Api, mill: Running, looms: Room, workers: Workers, clock: Clock, ada: Person, grace: Person) -> None:
    """Grace has to go, a space is closed, and then the mill with all in it; its log tells of it all."""
    _done(api.delete(f"{mill.path}/members/{grace.id}", as_=ada), 204)
    assert api.get(mill.path, as_=grace).code == "404 not_found"
    _done(api.delete(looms.path, as_=ada), 204)
    _done(api.delete(mill.path, as_=ada), 204)
    assert api.get(f"{mill.path}/config").code == "404 not_found"
    workers.settle()
    clock.shift(minutes=2)
    workers.settle()
    organization = found(api, ada, name="Another")
    again = {"organizationId": organization.id, "name": "The Mill", "slug": "the-mill"}
    assert api.post("/platforms", as_=ada, json=again).code == "409 slug_taken"  # It is held for 90 days.
    assert run_platform(api, organization, slug="the-new-mill").record["slug"] == "the-new-mill"
    (entry, *_) = api.get(f"/organizations/{mill.organization_id}/audit-log", as_=ada).json["items"]
    assert entry["type"] == "platform.deleted"
