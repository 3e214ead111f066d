"""Test taxonomy attachments: what nodes are attached to, who sees them, and how they are listed and removed."""

from typing import Any
from uuid import uuid4

import pytest

from tests.harness import memory_aws
from tests.harness.api import ApiClient, Json
from tests.harness.callers import Caller
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.platforms import (
    CreatedPlatform,
    CreatedSpace,
    add_platform_member,
    add_space_member,
    create_platform,
    create_space,
)
from tests.harness.taxonomy import (
    CreatedAttachment,
    CreatedNode,
    create_attachment,
    create_node,
    delete_node,
    post_attachment,
)

ENTITY_ID = "01939d3c-0000-7000-8000-0000000000aa"
RESEARCH_TYPES = ("research-output", "research-artefact")


@pytest.fixture
def looms_node(api: ApiClient, platform: CreatedPlatform) -> CreatedNode:
    """Return a node of the platform's taxonomy."""
    return create_node(api, platform, "Looms")


def list_ids(api: ApiClient, platform: CreatedPlatform, caller: Caller | None = None, **query: Any) -> list[str]:
    """Return the ids of a platform's attachments, in list order."""
    attachments = api.get_items(f"{platform.path}/taxonomy-attachments", caller=caller or platform.owner, query=query)
    return [attachment["id"] for attachment in attachments]


def list_of_node(api: ApiClient, node: CreatedNode, caller: Caller | None = None, **query: Any) -> list[Json]:
    return api.get_items(f"{node.path}/attachments", caller=caller or node.platform.owner, query=query)


class TestAttachTaxonomyNode:
    def test_attaches_a_node_to_any_type_of_the_caller(self, api, looms_node):
        answer = post_attachment(api, looms_node, "acme:lesson", ENTITY_ID.upper())
        fields = {field: value for field, value in answer.json.items() if field not in ("id", "createdAt", "updatedAt")}
        assert fields == {
            "version": 1,
            "platformId": looms_node.platform.id,
            "nodeId": looms_node.id,
            "entityType": "acme:lesson",
            "entityId": ENTITY_ID,
        }
        assert answer.status == 201
        assert api.get(answer.location, caller=looms_node.platform.owner).json == answer.json

    def test_repeated_request_returns_the_existing_attachment(self, api, looms_node, organization):
        first = post_attachment(api, looms_node, "lesson", ENTITY_ID)
        second = post_attachment(api, looms_node, "lesson", ENTITY_ID)
        assert (second.status, second.json, second.etag) == (200, first.json, first.etag)
        assert "Location" not in second.headers
        assert post_attachment(api, looms_node, "course", ENTITY_ID).status == 201
        log = api.get_items(f"{organization.path}/audit-log", caller=organization.owner)
        assert [entry["type"] for entry in log].count("taxonomy.attachment.created") == 2

    def test_an_entity_has_at_most_fifty_nodes(self, api, platform, looms_node):
        nodes = [create_node(api, platform, f"Node {n}", looms_node) for n in range(51)]
        first_fifty = [create_attachment(api, node, "lesson", ENTITY_ID) for node in nodes[:50]]
        assert post_attachment(api, nodes[50], "lesson", ENTITY_ID).status_and_code == "409 limit_exceeded"
        assert post_attachment(api, nodes[0], "lesson", ENTITY_ID).status == 200
        assert post_attachment(api, nodes[50], "lesson").status == 201
        assert api.delete(first_fifty[7].path, caller=platform.owner).status == 204
        assert post_attachment(api, nodes[50], "lesson", ENTITY_ID).status == 201

    @pytest.mark.parametrize(
        ("body", "expected_errors"),
        [
            ({}, {"/entityType": "required", "/entityId": "required"}),
            ({"entityType": "9 lives", "entityId": "x"}, {"/entityType": "malformed", "/entityId": "malformed"}),
            ({"entityType": 7, "entityId": None}, {"/entityType": "wrong_type", "/entityId": "required"}),
        ],
    )
    def test_rejects_invalid_entities(self, api, looms_node, body, expected_errors):
        assert (
            api.post(f"{looms_node.path}/attachments", caller=looms_node.platform.owner, json=body).errors
            == expected_errors
        )

    def test_editors_attach_nodes_and_members_do_not(self, api, looms_node, edith, mary):
        add_platform_member(looms_node.platform, edith, "editor")
        assert post_attachment(api, looms_node, caller=edith).status == 201
        assert post_attachment(api, looms_node, caller=mary).status_and_code == "403 insufficient_role"


class TestEntitiesOfTheService:
    def test_platforms_and_spaces_of_the_organization_are_accepted(self, api, organization, platform, looms_node):
        other = create_platform(api, organization)
        entities: list[CreatedPlatform | CreatedSpace] = [
            platform,
            create_space(api, platform),
            other,
            create_space(api, other),
        ]
        for entity, entity_type in zip(entities, ["platform", "space"] * 2, strict=True):
            assert post_attachment(api, looms_node, entity_type, entity.id).status == 201
        assert len(list_of_node(api, looms_node)) == len(list_ids(api, platform)) == 4

    def test_entities_of_another_organization_or_type_are_rejected(self, api, looms_node, stranger):
        foreign_platform = create_platform(api, create_organization(api, stranger, name="Foreign"))
        own_space = create_space(api, looms_node.platform)
        invalid = [
            ("platform", foreign_platform.id),
            ("space", create_space(api, foreign_platform).id),
            ("platform", own_space.id),
            ("space", looms_node.platform.id),
            ("space", ENTITY_ID),
            *((entity_type, ENTITY_ID) for entity_type in RESEARCH_TYPES),
        ]
        for entity_type, entity_id in invalid:
            answer = post_attachment(api, looms_node, entity_type, entity_id)
            assert (answer.status_and_code, answer.errors) == ("422 validation_failed", {"/entityId": "unknown"})
            assert answer.json["errors"][0]["detail"] == f"There is no {entity_type} with this id in the organization."

    def test_platform_guests_do_not_see_the_rest_of_the_organization(
        self, api, organization, looms_node, stranger, mary
    ):
        other_platform = create_platform(api, organization)
        hidden_attachment = create_attachment(api, looms_node, "space", create_space(api, other_platform).id)
        visible_attachment = create_attachment(api, looms_node, "space", create_space(api, looms_node.platform).id)
        add_platform_member(looms_node.platform, stranger, "editor")
        assert list_ids(api, looms_node.platform, stranger) == [visible_attachment.id]
        assert list_ids(api, looms_node.platform, mary) == [hidden_attachment.id, visible_attachment.id]
        assert post_attachment(api, looms_node, "platform", other_platform.id, caller=stranger).errors == {
            "/entityId": "unknown"
        }
        assert post_attachment(api, looms_node, "platform", looms_node.platform.id, caller=stranger).status == 201

    def test_a_private_space_is_visible_to_those_with_access(self, api, organization, looms_node, edith, mary, grace):
        private_space = create_space(api, looms_node.platform, visibility="private")
        attachment = create_attachment(api, looms_node, "space", private_space.id)
        add_platform_member(looms_node.platform, edith, "editor")
        without_access: list[Caller] = [edith, mary, create_api_key(api, organization, "taxonomy:read")]
        with_access: list[Caller] = [grace, create_api_key(api, organization, "taxonomy:read", "spaces:read")]
        for caller in [*without_access, *with_access]:
            expected_ids = [attachment.id] if caller in with_access else []
            assert list_ids(api, looms_node.platform, caller) == expected_ids
            assert list_ids(api, looms_node.platform, caller, entityId=private_space.id) == expected_ids
            assert [each["id"] for each in list_of_node(api, looms_node, caller)] == expected_ids
            assert api.get(attachment.path, caller=caller).status == (200 if expected_ids else 404)
        assert post_attachment(api, looms_node, "space", private_space.id, caller=edith).errors == {
            "/entityId": "unknown"
        }
        assert api.delete(attachment.path, caller=edith).status_and_code == "404 not_found"
        add_space_member(private_space, edith)
        assert list_ids(api, looms_node.platform, edith) == [attachment.id]
        assert post_attachment(api, looms_node, "space", private_space.id, caller=edith).json["id"] == attachment.id

    def test_invisible_attachments_are_neither_counted_nor_prevent_deletion(self, api, looms_node, ada, edith):
        add_platform_member(looms_node.platform, edith, "editor")
        create_attachment(api, looms_node, "space", create_space(api, looms_node.platform, visibility="private").id)
        assert "1 attachment" in api.delete(looms_node.path, caller=ada).json["detail"]
        visible_attachment = create_attachment(api, looms_node, "note", looms_node.id)
        assert "1 attachment" in api.delete(looms_node.path, caller=edith).json["detail"]
        api.delete(visible_attachment.path, caller=edith)
        assert api.delete(looms_node.path, caller=edith).status == 204
        assert api.get(looms_node.path, caller=ada).status_and_code == "404 not_found"

    def test_private_spaces_of_another_platform_are_visible_to_organization_admins(
        self, api, organization, looms_node, mary, grace
    ):
        create_attachment(
            api, looms_node, "space", create_space(api, create_platform(api, organization), visibility="private").id
        )
        add_platform_member(looms_node.platform, mary, "admin")
        assert (len(list_ids(api, looms_node.platform, mary)), len(list_ids(api, looms_node.platform, grace))) == (0, 1)

    @pytest.mark.parametrize("entity_type", ["space", "platform"])
    def test_attachments_of_deleted_entities_are_hidden_and_removed(
        self, api, organization, looms_node, workers, entity_type
    ):
        other = create_platform(api, organization)
        entity: CreatedPlatform | CreatedSpace = create_space(api, other) if entity_type == "space" else other
        create_attachment(api, looms_node, entity_type, entity.id)
        assert api.delete(entity.path, caller=looms_node.platform.owner).status == 204
        assert (list_of_node(api, looms_node), list_ids(api, looms_node.platform)) == ([], [])
        assert delete_node(api, looms_node).status_and_code == "409 not_empty"
        workers.run_until_idle()
        assert delete_node(api, looms_node).status == 204

    def test_all_attachments_are_deleted_with_the_platform(self, api, looms_node, workers, mary):
        labels = [f"Label {n}" for n in range(20)]
        for n in range(12):
            create_attachment(
                api,
                create_node(api, looms_node.platform, f"Node {n}", looms_node, altLabels=labels),
                "platform",
                looms_node.platform.id,
            )
        assert api.delete(looms_node.platform.path, caller=looms_node.platform.owner).status == 204
        assert api.get(looms_node.path, caller=mary).status_and_code == "404 not_found"
        workers.run_until_idle()
        remaining = [
            item
            for item in memory_aws.all_items()
            if item["pk"].startswith((f"P#{looms_node.platform.id}", "U#taxonomy", "H#"))
        ]
        assert remaining == []


class TestLists:
    @pytest.fixture
    def attachments(
        self, api: ApiClient, platform: CreatedPlatform, looms_node: CreatedNode
    ) -> dict[str, CreatedAttachment]:
        """Return attachments of two nodes to entities of two types, by description."""
        mills = create_node(api, platform, "Mills")
        other = str(uuid4())
        return {
            "looms on lesson": create_attachment(api, looms_node, "lesson", ENTITY_ID),
            "mills on lesson": create_attachment(api, mills, "lesson", ENTITY_ID),
            "looms on course": create_attachment(api, looms_node, "course", other),
            "mills on course": create_attachment(api, mills, "course", other),
            "looms on other lesson": create_attachment(api, looms_node, "lesson", other),
        }

    @pytest.mark.parametrize("limit", [1, 2, 100])
    def test_filters_apply_together_and_on_every_page(self, api, platform, looms_node, attachments, limit):
        other = attachments["looms on course"].record["entityId"]
        expected: list[tuple[dict[str, Any], list[str]]] = [
            ({}, list(attachments)),
            ({"nodeId": looms_node.id}, ["looms on lesson", "looms on course", "looms on other lesson"]),
            ({"entityType": "lesson"}, ["looms on lesson", "mills on lesson", "looms on other lesson"]),
            ({"entityId": ENTITY_ID}, ["looms on lesson", "mills on lesson"]),
            ({"entityId": other}, ["looms on course", "mills on course", "looms on other lesson"]),
            ({"entityId": other, "entityType": "course"}, ["looms on course", "mills on course"]),
            ({"entityId": other, "nodeId": looms_node.id}, ["looms on course", "looms on other lesson"]),
            ({"nodeId": looms_node.id, "entityType": "lesson"}, ["looms on lesson", "looms on other lesson"]),
            ({"nodeId": looms_node.id, "entityType": "lesson", "entityId": ENTITY_ID}, ["looms on lesson"]),
            ({"nodeId": ENTITY_ID}, []),
            ({"entityType": "Lesson"}, []),
        ]
        for query, names in expected:
            assert list_ids(api, platform, limit=limit, **query) == [attachments[name].id for name in names], query
        of_looms = [attachments[name].record for name in expected[1][1]]
        assert list_of_node(api, looms_node, limit=limit) == of_looms

    def test_of_another_platform_are_empty(self, api, organization, looms_node, attachments):
        other = create_platform(api, organization)
        assert attachments
        queries: list[dict[str, Any]] = [
            {},
            {"nodeId": looms_node.id},
            {"entityType": "lesson"},
            {"entityId": ENTITY_ID},
        ]
        for query in queries:
            assert list_ids(api, other, **query) == []


class TestDetachTaxonomyNode:
    def test_removes_the_attachment_which_can_be_created_again(self, api, looms_node):
        attachment = create_attachment(api, looms_node, "lesson", ENTITY_ID)
        assert api.delete(attachment.path, caller=looms_node.platform.owner).status == 204
        assert api.delete(attachment.path, caller=looms_node.platform.owner).status_and_code == "404 not_found"
        assert (list_of_node(api, looms_node), list_ids(api, looms_node.platform, entityId=ENTITY_ID)) == ([], [])
        assert create_attachment(api, looms_node, "lesson", ENTITY_ID).id != attachment.id

    def test_is_addressed_below_its_own_node_only(self, api, platform, looms_node):
        attachment = create_attachment(api, looms_node)
        path = f"{create_node(api, platform, 'Mills').path}/attachments/{attachment.id}"
        for answer in (api.get(path, caller=platform.owner), api.delete(path, caller=platform.owner)):
            assert answer.status_and_code == "404 not_found"

    def test_checks_the_precondition(self, api, looms_node):
        attachment = create_attachment(api, looms_node)
        stale = api.delete(
            attachment.path, caller=looms_node.platform.owner, headers={"If-Match": '"000000000000.9.0"'}
        )
        assert stale.status_and_code == "412 precondition_failed"
        etag = api.get(attachment.path, caller=looms_node.platform.owner).etag
        assert api.delete(attachment.path, caller=looms_node.platform.owner, headers={"If-Match": etag}).status == 204
