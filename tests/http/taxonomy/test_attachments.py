"""Test taxonomy attachments: what nodes are attached to, who sees them, and how they are listed and removed."""

from uuid import uuid4

import pytest

from chalicelib.features.taxonomy.attachments import entities, operations
from tests.harness import memory_aws
from tests.harness.api import ApiClient, Json
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Caller
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.platforms import (
    CreatedPlatform,
    add_platform_member,
    add_space_member,
    create_platform,
    create_space,
)
from tests.harness.sites import create_draft_page, create_published_page, create_site
from tests.harness.taxonomy import CreatedNode, create_attachment, post_attachment

ENTITY_ID = "01939d3c-0000-7000-8000-0000000000aa"


@pytest.fixture
def looms(nodes):
    return nodes.create("Looms")


def list_ids(api: ApiClient, platform: CreatedPlatform, caller: Caller | None = None, **query: object) -> list[str]:
    """Return the ids of a platform's attachments, in list order."""
    attachments = api.get_items(f"{platform.path}/taxonomy-attachments", caller=caller or platform.owner, query=query)
    return [attachment["id"] for attachment in attachments]


def list_of_node(api: ApiClient, node: CreatedNode, caller: Caller | None = None, **query: object) -> list[Json]:
    return api.get_items(f"{node.path}/attachments", caller=caller or node.platform.owner, query=query)


class TestAttachTaxonomyNode:
    def test_attaches_a_node_to_any_type_of_the_caller_once(self, api, looms, organization):
        first = post_attachment(api, looms, "acme:lesson", ENTITY_ID.upper())
        assert (first.json["entityType"], first.json["entityId"]) == ("acme:lesson", ENTITY_ID)
        second = post_attachment(api, looms, "acme:lesson", ENTITY_ID)
        assert (second.status, second.json, second.etag) == (200, first.json, first.etag)
        assert "Location" not in second.headers
        assert post_attachment(api, looms, "course", ENTITY_ID).status == 201
        assert len(list_entries(api, organization, type="taxonomy.attachment.created")) == 2

    def test_an_entity_has_a_maximum_number_of_nodes(self, api, platform, nodes, looms, monkeypatch):
        assert entities.MAX_ATTACHMENTS_PER_ENTITY == 50
        monkeypatch.setattr(operations, "MAX_ATTACHMENTS_PER_ENTITY", 3)
        last = nodes.create(*(f"Node {n}" for n in range(4)))
        attachments = [nodes.attach(f"Node {n}", "lesson", ENTITY_ID) for n in range(3)]
        assert post_attachment(api, last, "lesson", ENTITY_ID).status_and_code == "409 limit_exceeded"
        assert post_attachment(api, nodes["Node 0"], "lesson", ENTITY_ID).status == 200
        assert post_attachment(api, last, "lesson").status == 201
        assert api.delete(attachments[1].path, caller=platform.owner).status == 204
        assert post_attachment(api, last, "lesson", ENTITY_ID).status == 201

    def test_rejects_invalid_entities(self, api, looms):
        for values, codes in [(("9 lives", "x"), ("malformed", "malformed")), ((7, None), ("wrong_type", "required"))]:
            body = dict(zip(("entityType", "entityId"), values, strict=True))
            answer = api.post(f"{looms.path}/attachments", caller=looms.platform.owner, json=body)
            assert answer.errors == dict(zip(("/entityType", "/entityId"), codes, strict=True))


class TestEntitiesOfTheService:
    def test_entities_of_the_organization_are_accepted(self, api, organization, platform, looms):
        other, site = create_platform(api, organization), create_site(api, organization)
        records_by_type = {
            "platform": [platform, other],
            "space": [create_space(api, platform), create_space(api, other)],
            "site": [site],
            "page": [create_published_page(api, site, "Welcome"), create_draft_page(api, site, "Soon")],
        }
        for entity_type, records in records_by_type.items():
            for record in records:
                assert post_attachment(api, looms, entity_type, record.id).status == 201
        types = [attachment["entityType"] for attachment in list_of_node(api, looms)]
        assert types == ["platform"] * 2 + ["space"] * 2 + ["site"] + ["page"] * 2
        assert len(list_ids(api, platform)) == 7

    def test_entities_of_another_organization_or_type_are_rejected(self, api, organization, looms, stranger):
        rivals, platform = create_organization(api, stranger, name="Foreign"), looms.platform
        foreign_platform, foreign_site = create_platform(api, rivals), create_site(api, rivals)
        site = create_site(api, organization)
        page = create_published_page(api, site, "Welcome")
        foreign_page = create_published_page(api, foreign_site, "Theirs")
        invalid_ids = {
            "platform": [foreign_platform.id, create_space(api, platform).id, site.id],
            "space": [create_space(api, foreign_platform).id, platform.id, ENTITY_ID, site.id],
            "site": [foreign_site.id, page.id],
            "page": [foreign_page.id, site.id, looms.id, page.draft_revision_id],
            "research-output": [ENTITY_ID],
            "research-artefact": [ENTITY_ID],
        }
        for entity_type, ids in invalid_ids.items():
            for entity_id in ids:
                answer = post_attachment(api, looms, entity_type, entity_id)
                assert answer.validation_errors == {"/entityId": "unknown"}
                detail = f"There is no {entity_type} with this id in the organization."
                assert answer.json["errors"][0]["detail"] == detail

    def test_platform_guests_do_not_see_the_rest_of_the_organization(self, api, organization, looms, stranger, mary):
        platform, other = looms.platform, create_platform(api, organization)
        site = create_site(api, organization, platformId=platform.id)
        page = create_published_page(api, site, "Welcome")
        hidden = [create_attachment(api, looms, "space", create_space(api, other).id)]
        hidden.append(create_attachment(api, looms, "site", site.id))
        visible = create_attachment(api, looms, "space", create_space(api, platform).id)
        add_platform_member(platform, stranger, "editor")
        assert list_ids(api, platform, stranger) == [visible.id]
        assert [each["id"] for each in list_of_node(api, looms, stranger)] == [visible.id]
        for member in (mary, create_api_key(api, organization, "taxonomy:read", "spaces:read")):
            assert list_ids(api, platform, member) == [*(each.id for each in hidden), visible.id]
        assert api.get(hidden[1].path, caller=stranger).status_and_code == "404 not_found"
        assert api.get(hidden[1].path, caller=create_api_key(api, organization, "taxonomy:read")).status == 200
        for entity_type, entity in {"platform": other, "site": site, "page": page}.items():
            answer = post_attachment(api, looms, entity_type, entity.id, caller=stranger)
            assert answer.errors == {"/entityId": "unknown"}
        assert post_attachment(api, looms, "platform", platform.id, caller=stranger).status == 201

    def test_a_private_space_is_visible_to_those_with_access(self, api, organization, looms, edith, mary, grace):
        platform = looms.platform
        space = create_space(api, platform, visibility="private")
        attachment = create_attachment(api, looms, "space", space.id)
        add_platform_member(platform, edith, "editor")
        without_access = [edith, mary, create_api_key(api, organization, "taxonomy:read")]
        with_access = [grace, create_api_key(api, organization, "taxonomy:read", "spaces:read")]
        for caller in (*without_access, *with_access):
            expected_ids = [attachment.id] if caller in with_access else []
            assert list_ids(api, platform, caller) == expected_ids
            assert list_ids(api, platform, caller, entityId=space.id) == expected_ids
            assert [each["id"] for each in list_of_node(api, looms, caller)] == expected_ids
            assert api.get(attachment.path, caller=caller).status == (200 if expected_ids else 404)
        response = post_attachment(api, looms, "space", space.id, caller=edith)
        assert response.errors == {"/entityId": "unknown"}
        assert api.delete(attachment.path, caller=edith).status_and_code == "404 not_found"
        add_space_member(space, edith)
        assert list_ids(api, platform, edith) == [attachment.id]
        assert post_attachment(api, looms, "space", space.id, caller=edith).json["id"] == attachment.id

    def test_invisible_attachments_are_neither_counted_nor_prevent_deletion(self, api, looms, ada, edith):
        add_platform_member(looms.platform, edith, "editor")
        create_attachment(api, looms, "space", create_space(api, looms.platform, visibility="private").id)
        assert "1 attachment" in api.delete(looms.path, caller=ada).json["detail"]
        visible = create_attachment(api, looms, "note", looms.id)
        assert "1 attachment" in api.delete(looms.path, caller=edith).json["detail"]
        api.delete(visible.path, caller=edith)
        assert api.delete(looms.path, caller=edith).status == 204
        assert api.get(looms.path, caller=ada).status_and_code == "404 not_found"

    def test_private_spaces_of_another_platform_are_visible_to_organization_admins(
        self, api, organization, looms, mary, grace
    ):
        space = create_space(api, create_platform(api, organization), visibility="private")
        create_attachment(api, looms, "space", space.id)
        add_platform_member(looms.platform, mary, "admin")
        assert [len(list_ids(api, looms.platform, caller)) for caller in (mary, grace)] == [0, 1]


class TestDeletedEntities:
    @pytest.mark.parametrize("entity_type", ["space", "platform", "site"])
    def test_their_attachments_are_hidden_and_removed(self, api, organization, nodes, looms, workers, entity_type):
        other = create_platform(api, organization)
        create = {"space": lambda: create_space(api, other), "site": lambda: create_site(api, organization)}
        entity = create.get(entity_type, lambda: other)()
        create_attachment(api, looms, entity_type, entity.id)
        assert api.delete(entity.path, caller=looms.platform.owner).status == 204
        assert (list_of_node(api, looms), list_ids(api, looms.platform)) == ([], [])
        assert nodes.delete("Looms").status_and_code == "409 not_empty"
        assert post_attachment(api, looms, entity_type, entity.id).errors == {"/entityId": "unknown"}
        workers.run_until_idle()
        assert has_no_attachments(looms)
        assert nodes.delete("Looms").status == 204

    @pytest.mark.parametrize("deleted", ["page", "site"])
    def test_a_deleted_page_and_its_subtree_and_all_pages_of_a_deleted_site_are_detached(
        self, api, organization, looms, workers, deleted
    ):
        site = create_site(api, organization)
        home_page = create_published_page(api, site, "Welcome")
        parent = create_published_page(api, site, "Machines")
        child = create_published_page(api, site, "Engines", parent=parent)
        for page in (parent, child):
            create_attachment(api, looms, "page", page.id)
        lesson = create_attachment(api, looms, "lesson", child.id)
        path = parent.path if deleted == "page" else site.path
        assert api.delete(path, caller=site.owner, query={"strategy": "cascade"}).status == 204
        if deleted == "page":  # The pages of a deleted site are detached later.
            assert post_attachment(api, looms, "page", parent.id).errors == {"/entityId": "unknown"}
        workers.run_until_idle()
        assert post_attachment(api, looms, "page", parent.id).errors == {"/entityId": "unknown"}
        assert list_of_node(api, looms) == [lesson.record]
        assert api.delete(lesson.path, caller=site.owner).status == 204
        assert has_no_attachments(looms)
        assert post_attachment(api, looms, "page", home_page.id).status == (201 if deleted == "page" else 422)

    def test_all_attachments_are_deleted_with_the_platform(self, api, nodes, looms, workers, mary):
        platform = looms.platform
        for n in range(12):
            nodes.create(f"Looms/Node {n}", altLabels=[f"Label {n}" for n in range(20)])
            nodes.attach(f"Node {n}", "platform", platform.id)
        assert api.delete(platform.path, caller=platform.owner).status == 204
        assert api.get(looms.path, caller=mary).status_and_code == "404 not_found"
        workers.run_until_idle()
        prefixes = (f"P#{platform.id}", "U#taxonomy", "H#")
        assert [item for item in memory_aws.all_items() if item["pk"].startswith(prefixes)] == []


def has_no_attachments(node):
    """Return whether the table holds no item of an attachment of a node, nor a count."""
    items = [item for item in memory_aws.all_items() if item["pk"] == f"P#{node.platform.id}#T"]
    attachment_items = [i for i in items if i["sk"].startswith("A#") or (i["sk"].startswith("E#") and i.get("nodes"))]
    counts = [item["attachment_count"] for item in items if item["sk"] == f"N#{node.id}"]
    return (attachment_items, counts) == ([], [0])


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_filters_of_lists_apply_together_and_on_every_page(api, organization, platform, nodes, looms, limit):
    nodes.create("Mills")
    other = str(uuid4())
    targets = {"lesson": ("lesson", ENTITY_ID), "course": ("course", other), "other lesson": ("lesson", other)}
    names = ["looms on lesson", "mills on lesson", "looms on course", "mills on course", "looms on other lesson"]
    attachments = {name: nodes.attach(name[:5].title(), *targets[name[9:]]) for name in names}
    other_platform = create_platform(api, organization)
    of_looms = ["looms on lesson", "looms on course", "looms on other lesson"]
    for query, expected in [
        ({}, names),
        ({"nodeId": looms.id}, of_looms),
        ({"entityType": "lesson"}, ["looms on lesson", "mills on lesson", "looms on other lesson"]),
        ({"entityId": ENTITY_ID}, ["looms on lesson", "mills on lesson"]),
        ({"entityId": other}, ["looms on course", "mills on course", "looms on other lesson"]),
        ({"entityId": other, "entityType": "course"}, ["looms on course", "mills on course"]),
        ({"entityId": other, "nodeId": looms.id}, ["looms on course", "looms on other lesson"]),
        ({"nodeId": looms.id, "entityType": "lesson"}, ["looms on lesson", "looms on other lesson"]),
        ({"nodeId": looms.id, "entityType": "lesson", "entityId": ENTITY_ID}, ["looms on lesson"]),
        ({"nodeId": ENTITY_ID}, []),
        ({"entityType": "Lesson"}, []),
    ]:
        assert list_ids(api, platform, limit=limit, **query) == [attachments[name].id for name in expected], query
        assert list_ids(api, other_platform, limit=limit, **query) == []
    assert list_of_node(api, looms, limit=limit) == [attachments[name].record for name in of_looms]


class TestDetachTaxonomyNode:
    def test_removes_the_attachment_which_can_be_created_again(self, api, looms):
        attachment = create_attachment(api, looms, "lesson", ENTITY_ID)
        assert api.delete(attachment.path, caller=looms.platform.owner).status == 204
        assert api.delete(attachment.path, caller=looms.platform.owner).status_and_code == "404 not_found"
        assert (list_of_node(api, looms), list_ids(api, looms.platform, entityId=ENTITY_ID)) == ([], [])
        assert create_attachment(api, looms, "lesson", ENTITY_ID).id != attachment.id

    def test_is_addressed_below_its_own_node_only(self, api, platform, nodes, looms):
        path = f"{nodes.create('Mills').path}/attachments/{create_attachment(api, looms).id}"
        for method in ("GET", "DELETE"):
            assert api.request(method, path, caller=platform.owner).status_and_code == "404 not_found"


def test_the_home_of_a_platform_shows_a_site_of_the_organization(api, organization, platform, stranger):
    site = create_site(api, organization)
    foreign = create_site(api, create_organization(api, stranger, name="Foreign"))
    path, owner = f"{platform.path}/home", platform.owner
    for unknown_id in (foreign.id, platform.id, create_platform(api, organization).id):
        assert api.patch(path, caller=owner, json={"siteId": unknown_id}).validation_errors == {"/siteId": "unknown"}
    assert api.patch(path, caller=owner, json={"siteId": site.id}).json["home"]["siteId"] == site.id
    assert api.delete(site.path, caller=owner).status == 204
    updated = api.patch(path, caller=owner, json={"siteId": site.id, "layout": "wide"})
    assert updated.json["home"]["siteId"] == site.id
    assert api.patch(path, caller=owner, json={"siteId": None}).json["home"]["siteId"] is None
