"""What the nodes of a taxonomy are put on."""

from typing import Any
from uuid import uuid4

import pytest

from tests.harness import cloud
from tests.harness.api import Api, Json
from tests.harness.callers import Caller, Person
from tests.harness.organizations import Founded, found, make_key
from tests.harness.platforms import Room, Running, comes_in, make_space, run_platform, takes_part
from tests.harness.taxonomy import Attached, Node, attach, fell, plant, put_on
from tests.harness.workers import Workers

ENTITY = "01939d3c-0000-7000-8000-0000000000aa"
NOT_YET = ("research-output", "research-artefact")


@pytest.fixture
def looms(api: Api, platform: Running) -> Node:
    """A node of its taxonomy."""
    return plant(api, platform, "Looms")


def listed(api: Api, platform: Running, as_: Caller | None = None, **query: Any) -> list[str]:
    """The ids of a platform's attachments, as they are listed."""
    found = api.items(f"{platform.path}/taxonomy-attachments", as_=as_ or platform.owner, query=query)
    return [attachment["id"] for attachment in found]


def of_node(api: Api, node: Node, as_: Caller | None = None, **query: Any) -> list[Json]:
    return api.items(f"{node.path}/attachments", as_=as_ or node.platform.owner, query=query)


class TestAttachTaxonomyNode:
    def test_a_node_is_put_on_whatever_the_caller_has(self, api: Api, looms: Node) -> None:
        answer = put_on(api, looms, "acme:lesson", ENTITY.upper())
        told = {n: v for n, v in answer.json.items() if n not in ("id", "createdAt", "updatedAt")}
        assert told == {
            "version": 1,
            "platformId": looms.platform.id,
            "nodeId": looms.id,
            "entityType": "acme:lesson",
            "entityId": ENTITY,
        }
        assert answer.status == 201
        assert api.get(answer.location, as_=looms.platform.owner).json == answer.json

    def test_where_it_is_already_that_answers(self, api: Api, looms: Node, organization: Founded) -> None:
        first = put_on(api, looms, "lesson", ENTITY)
        again = put_on(api, looms, "lesson", ENTITY)
        assert (again.status, again.json, again.etag) == (200, first.json, first.etag)
        assert "Location" not in again.headers
        assert put_on(api, looms, "course", ENTITY).status == 201
        log = api.items(f"{organization.path}/audit-log", as_=organization.owner)
        assert [entry["type"] for entry in log].count("taxonomy.attachment.created") == 2

    def test_an_entity_has_at_most_fifty_nodes(self, api: Api, platform: Running, looms: Node) -> None:
        nodes = [plant(api, platform, f"Node {n}", looms) for n in range(51)]
        attached = [attach(api, node, "lesson", ENTITY) for node in nodes[:50]]
        assert put_on(api, nodes[50], "lesson", ENTITY).code == "409 limit_exceeded"
        assert put_on(api, nodes[0], "lesson", ENTITY).status == 200
        assert put_on(api, nodes[50], "lesson").status == 201
        assert api.delete(attached[7].path, as_=platform.owner).status == 204
        assert put_on(api, nodes[50], "lesson", ENTITY).status == 201

    @pytest.mark.parametrize(
        ("body", "faults"),
        [
            ({}, {"/entityType": "required", "/entityId": "required"}),
            ({"entityType": "9 lives", "entityId": "x"}, {"/entityType": "malformed", "/entityId": "malformed"}),
            ({"entityType": 7, "entityId": None}, {"/entityType": "wrong_type", "/entityId": "required"}),
        ],
    )
    def test_what_names_nothing_is_refused(self, api: Api, looms: Node, body: Json, faults: dict[str, str]) -> None:
        assert api.post(f"{looms.path}/attachments", as_=looms.platform.owner, json=body).faults == faults

    def test_editors_may_and_members_may_not(self, api: Api, looms: Node, edith: Person, mary: Person) -> None:
        takes_part(looms.platform, edith, "editor")
        assert put_on(api, looms, as_=edith).status == 201
        assert put_on(api, looms, as_=mary).code == "403 insufficient_role"


class TestWhatIsTheServicesOwn:
    def test_a_platform_or_space_of_the_organization_is_there(
        self, api: Api, organization: Founded, platform: Running, looms: Node
    ) -> None:
        other = run_platform(api, organization)
        entities: list[Running | Room] = [platform, make_space(api, platform), other, make_space(api, other)]
        for entity, kind in zip(entities, ["platform", "space"] * 2, strict=True):
            assert put_on(api, looms, kind, entity.id).status == 201
        assert len(of_node(api, looms)) == len(listed(api, platform)) == 4

    def test_of_another_organization_or_type_is_not(self, api: Api, looms: Node, stranger: Person) -> None:
        foreign = run_platform(api, found(api, stranger, name="Foreign"))
        own = make_space(api, looms.platform)
        missing = [
            ("platform", foreign.id),
            ("space", make_space(api, foreign).id),
            ("platform", own.id),
            ("space", looms.platform.id),
            ("space", ENTITY),
            *((kind, ENTITY) for kind in NOT_YET),
        ]
        for kind, entity_id in missing:
            refused = put_on(api, looms, kind, entity_id)
            assert (refused.code, refused.faults) == ("422 validation_failed", {"/entityId": "unknown"})
            assert refused.json["errors"][0]["detail"] == f"There is no {kind} with this id in the organization."

    def test_to_a_guest_of_the_platform_the_rest_of_the_organization_is_not_there(
        self, api: Api, organization: Founded, looms: Node, stranger: Person, mary: Person
    ) -> None:
        other = run_platform(api, organization)
        attached = attach(api, looms, "space", make_space(api, other).id)
        here = attach(api, looms, "space", make_space(api, looms.platform).id)
        takes_part(looms.platform, stranger, "editor")
        assert listed(api, looms.platform, stranger) == [here.id]
        assert listed(api, looms.platform, mary) == [attached.id, here.id]
        assert put_on(api, looms, "platform", other.id, as_=stranger).faults == {"/entityId": "unknown"}
        assert put_on(api, looms, "platform", looms.platform.id, as_=stranger).status == 201

    def test_a_private_space_is_there_for_those_who_see_it(
        self, api: Api, organization: Founded, looms: Node, edith: Person, mary: Person, grace: Person
    ) -> None:
        private = make_space(api, looms.platform, visibility="private")
        attached = attach(api, looms, "space", private.id)
        takes_part(looms.platform, edith, "editor")
        hidden: list[Caller] = [edith, mary, make_key(api, organization, "taxonomy:read")]
        shown: list[Caller] = [grace, make_key(api, organization, "taxonomy:read", "spaces:read")]
        for caller in [*hidden, *shown]:
            expected = [attached.id] if caller in shown else []
            assert listed(api, looms.platform, caller) == expected
            assert listed(api, looms.platform, caller, entityId=private.id) == expected
            assert [one["id"] for one in of_node(api, looms, caller)] == expected
            assert api.get(attached.path, as_=caller).status == (200 if expected else 404)
        assert put_on(api, looms, "space", private.id, as_=edith).faults == {"/entityId": "unknown"}
        assert api.delete(attached.path, as_=edith).code == "404 not_found"
        comes_in(private, edith)
        assert listed(api, looms.platform, edith) == [attached.id]
        assert put_on(api, looms, "space", private.id, as_=edith).json["id"] == attached.id

    def test_what_is_private_does_not_count_for_who_does_not_see_it(
        self, api: Api, looms: Node, ada: Person, edith: Person
    ) -> None:
        takes_part(looms.platform, edith, "editor")
        attach(api, looms, "space", make_space(api, looms.platform, visibility="private").id)
        assert "1 attachment" in api.delete(looms.path, as_=ada).json["detail"]
        seen = attach(api, looms, "note", looms.id)
        assert "1 attachment" in api.delete(looms.path, as_=edith).json["detail"]
        api.delete(seen.path, as_=edith)
        assert api.delete(looms.path, as_=edith).status == 204
        assert api.get(looms.path, as_=ada).code == "404 not_found"

    def test_private_ones_of_another_platform_are_there_for_admins_of_the_organization(
        self, api: Api, organization: Founded, looms: Node, mary: Person, grace: Person
    ) -> None:
        attach(api, looms, "space", make_space(api, run_platform(api, organization), visibility="private").id)
        takes_part(looms.platform, mary, "admin")
        assert (len(listed(api, looms.platform, mary)), len(listed(api, looms.platform, grace))) == (0, 1)

    @pytest.mark.parametrize("kind", ["space", "platform"])
    def test_what_is_deleted_is_not_shown_any_more_and_nothing_keeps_it(
        self, api: Api, organization: Founded, looms: Node, workers: Workers, kind: str
    ) -> None:
        other = run_platform(api, organization)
        gone: Running | Room = make_space(api, other) if kind == "space" else other
        attach(api, looms, kind, gone.id)
        assert api.delete(gone.path, as_=looms.platform.owner).status == 204
        assert (of_node(api, looms), listed(api, looms.platform)) == ([], [])
        assert fell(api, looms).code == "409 not_empty"
        workers.settle()
        assert fell(api, looms).status == 204

    def test_all_goes_with_the_platform(self, api: Api, looms: Node, workers: Workers, mary: Person) -> None:
        labels = [f"Label {n}" for n in range(20)]
        for n in range(12):
            attach(api, plant(api, looms.platform, f"Node {n}", looms, altLabels=labels), "platform", looms.platform.id)
        assert api.delete(looms.platform.path, as_=looms.platform.owner).status == 204
        assert api.get(looms.path, as_=mary).code == "404 not_found"
        workers.settle()
        left = [
            item for item in cloud.stored() if item["pk"].startswith((f"P#{looms.platform.id}", "U#taxonomy", "H#"))
        ]
        assert left == []


class TestLists:
    @pytest.fixture
    def attached(self, api: Api, platform: Running, looms: Node) -> dict[str, Attached]:
        """Two nodes on two things of two types."""
        mills = plant(api, platform, "Mills")
        other = str(uuid4())
        return {
            "looms on lesson": attach(api, looms, "lesson", ENTITY),
            "mills on lesson": attach(api, mills, "lesson", ENTITY),
            "looms on course": attach(api, looms, "course", other),
            "mills on course": attach(api, mills, "course", other),
            "looms on other lesson": attach(api, looms, "lesson", other),
        }

    @pytest.mark.parametrize("limit", [1, 2, 100])
    def test_filters_hold_together_and_on_every_page(
        self, api: Api, platform: Running, looms: Node, attached: dict[str, Attached], limit: int
    ) -> None:
        other = attached["looms on course"].record["entityId"]
        expected: list[tuple[dict[str, Any], list[str]]] = [
            ({}, list(attached)),
            ({"nodeId": looms.id}, ["looms on lesson", "looms on course", "looms on other lesson"]),
            ({"entityType": "lesson"}, ["looms on lesson", "mills on lesson", "looms on other lesson"]),
            ({"entityId": ENTITY}, ["looms on lesson", "mills on lesson"]),
            ({"entityId": other}, ["looms on course", "mills on course", "looms on other lesson"]),
            ({"entityId": other, "entityType": "course"}, ["looms on course", "mills on course"]),
            ({"entityId": other, "nodeId": looms.id}, ["looms on course", "looms on other lesson"]),
            ({"nodeId": looms.id, "entityType": "lesson"}, ["looms on lesson", "looms on other lesson"]),
            ({"nodeId": looms.id, "entityType": "lesson", "entityId": ENTITY}, ["looms on lesson"]),
            ({"nodeId": ENTITY}, []),
            ({"entityType": "Lesson"}, []),
        ]
        for query, names in expected:
            assert listed(api, platform, limit=limit, **query) == [attached[name].id for name in names], query
        of_looms = [attached[name].record for name in expected[1][1]]
        assert of_node(api, looms, limit=limit) == of_looms

    def test_of_another_platform_there_are_none(
        self, api: Api, organization: Founded, looms: Node, attached: dict[str, Attached]
    ) -> None:
        other = run_platform(api, organization)
        assert attached
        queries: list[dict[str, Any]] = [{}, {"nodeId": looms.id}, {"entityType": "lesson"}, {"entityId": ENTITY}]
        for query in queries:
            assert listed(api, other, **query) == []


class TestDetachTaxonomyNode:
    def test_it_is_gone_and_may_be_put_there_again(self, api: Api, looms: Node) -> None:
        attached = attach(api, looms, "lesson", ENTITY)
        assert api.delete(attached.path, as_=looms.platform.owner).status == 204
        assert api.delete(attached.path, as_=looms.platform.owner).code == "404 not_found"
        assert (of_node(api, looms), listed(api, looms.platform, entityId=ENTITY)) == ([], [])
        assert attach(api, looms, "lesson", ENTITY).id != attached.id

    def test_it_is_named_below_its_own_node_only(self, api: Api, platform: Running, looms: Node) -> None:
        attached = attach(api, looms)
        path = f"{plant(api, platform, 'Mills').path}/attachments/{attached.id}"
        for answer in (api.get(path, as_=platform.owner), api.delete(path, as_=platform.owner)):
            assert answer.code == "404 not_found"

    def test_only_what_the_caller_has_seen(self, api: Api, looms: Node) -> None:
        attached = attach(api, looms)
        stale = api.delete(attached.path, as_=looms.platform.owner, headers={"If-Match": '"000000000000.9.0"'})
        assert stale.code == "412 precondition_failed"
        tag = api.get(attached.path, as_=looms.platform.owner).etag
        assert api.delete(attached.path, as_=looms.platform.owner, headers={"If-Match": tag}).status == 204
