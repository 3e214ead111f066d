"""The largest changes that one request can ask for: each is one transaction, which holds a hundred actions."""

import pytest

from chalicelib.kernel.storage import table
from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.organizations import Founded
from tests.harness.platforms import Room, Running
from tests.harness.taxonomy import attach, fell, plant, plant_line

ROOM = 2
"""Actions that stay free for what the kernel itself may come to write with each change."""

LONG = "y" * 4000
"""Makes an entry so long that its text is an item of its own."""


def largest(answer: Answer) -> int:
    """Return how many actions the largest transaction of a request held."""
    assert answer.status < 300, answer.text
    sizes = [len(c.parameters["TransactItems"]) for c in answer.calls.made if c.name == "dynamodb:TransactWriteItems"]
    return max(sizes)


def holds(answer: Answer, at_least: int) -> None:
    assert at_least <= largest(answer) <= table.MAX_TRANSACT_ITEMS - ROOM


def test_all_children_of_a_node_move_up(api: Api, platform: Running) -> None:
    _, looms = plant_line(api, platform, "Machines", "Looms")
    for n in range(25):
        plant(api, platform, f"Child {n}", looms)
    attach(api, looms)
    assert api.patch(looms.path, as_=platform.owner, json={"description": LONG}).status == 200
    holds(fell(api, looms, "reparent"), 80)


@pytest.mark.parametrize(
    ("path", "field", "name"),
    [("capabilities", "capabilities", "capabilityKey"), ("module-overrides", "overrides", "moduleId")],
)
def test_a_whole_set_is_replaced(api: Api, looms: Room, ada: Person, path: str, field: str, name: str) -> None:
    def put(word: str) -> Answer:
        rest = {"enabled": True} if name == "moduleId" else {}
        members = [{name: f"{word}-{n}", **rest} for n in range(40)]
        return api.put(f"{looms.path}/{path}", as_=ada, json={field: members})

    assert put("old").status == 200
    holds(put("new"), 80)


def test_all_project_blocks_are_replaced(api: Api, platform: Running) -> None:
    def patch(word: str) -> Answer:
        blocks = [{"projectBlockId": f"{word}-{n}", "title": LONG[:200]} for n in range(40)]
        return api.patch(f"{platform.path}/project-blocks", as_=platform.owner, json={"projectBlocks": blocks})

    assert patch("old").status == 200
    holds(patch("new"), 80)


def test_as_many_modules_as_may_be_are_changed(api: Api, platform: Running) -> None:
    modules = [{"moduleId": f"own-{n}", "enabled": True, "settings": {"text": LONG[:500]}} for n in range(40)]
    holds(api.patch(f"{platform.path}/modules", as_=platform.owner, json={"modules": modules}), 40)


def test_as_many_system_tags_as_may_be_are_made(api: Api, platform: Running) -> None:
    once = {"Idempotency-Key": "once"}
    tags = [f"tag-{n}" for n in range(15)]
    path = f"{platform.path}/taxonomy-system-tags"
    holds(api.post(path, as_=platform.owner, json={"tags": tags}, headers=once), 45)


@pytest.mark.parametrize("keys", [0, 35])
def test_a_member_goes_with_all_that_stands_on_them(api: Api, organization: Founded, grace: Person, keys: int) -> None:
    for n in range(45):
        body = {"email": f"person-{n}@example.org"}
        assert api.post(f"{organization.path}/invite", as_=grace, json=body).status == 201
    for n in range(keys):
        assert api.post(organization.keys, as_=grace, json={"name": f"Key {n}", "scopes": ["admin"]}).status == 201
    holds(api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner), 80)


def test_a_key_that_has_many_secrets_gets_another(api: Api, organization: Founded) -> None:
    key = api.post(organization.keys, as_=organization.owner, json={"name": "Often rotated"}).location
    for _ in range(4):
        assert api.post(f"{key}/rotate", as_=organization.owner).status == 200
    once = {"Idempotency-Key": "once"}
    holds(api.post(f"{key}/rotate", as_=organization.owner, json={"graceHours": 0}, headers=once), 8)
