"""Taxonomy attachments of sites and pages."""

import pytest

from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.platforms import CreatedPlatform, add_platform_member, create_platform
from tests.harness.sites import create_draft_page, create_published_page, create_site
from tests.harness.taxonomy import CreatedNode, create_attachment, create_node, post_attachment


@pytest.fixture
def node(api: ApiClient, platform: CreatedPlatform) -> CreatedNode:
    """A node of a taxonomy."""
    return create_node(api, platform, "Looms")


def attached_types(api: ApiClient, node: CreatedNode) -> list[str]:
    """Return the entity types that a node is attached to."""
    return [
        attachment["entityType"] for attachment in api.get_items(f"{node.path}/attachments", caller=node.platform.owner)
    ]


def has_no_attachments(node: CreatedNode) -> bool:
    """Return whether the table holds no item of an attachment of a node, nor a count."""
    items = [item for item in memory_aws.all_items() if item["pk"] == f"P#{node.platform.id}#T"]
    attachment_items = [i for i in items if i["sk"].startswith("A#") or (i["sk"].startswith("E#") and i.get("nodes"))]
    counts = [item["attachment_count"] for item in items if item["sk"] == f"N#{node.id}"]
    return (attachment_items, counts) == ([], [0])


class TestAttach:
    def test_a_site_or_page_of_the_organization_is_attached(self, api, node, site, home_page):
        draft = create_draft_page(api, site, "Soon")
        for kind, entity in (("site", site), ("page", home_page), ("page", draft)):
            assert post_attachment(api, node, kind, entity.id).status == 201
        assert attached_types(api, node) == ["site", "page", "page"]

    def test_an_entity_of_another_organization_or_type_is_unknown(self, api, node, site, home_page, stranger):
        foreign = create_site(api, create_organization(api, stranger, name="Foreign"))
        foreign_page = create_published_page(api, foreign, "Theirs")
        missing = [
            ("site", foreign.id),
            ("page", foreign_page.id),
            ("site", home_page.id),
            ("page", site.id),
            ("page", node.id),
            ("page", home_page.draft_revision_id),
            ("space", site.id),
            ("platform", site.id),
        ]
        for kind, entity_id in missing:
            rejected = post_attachment(api, node, kind, entity_id)
            assert (rejected.status_and_code, rejected.errors) == ("422 validation_failed", {"/entityId": "unknown"}), (
                kind
            )

    def test_only_members_of_the_organization_see_an_attached_site(
        self, api, organization, node, home_page, stranger, mary
    ):
        bound = create_site(api, organization, platformId=node.platform.id)
        attached = create_attachment(api, node, "site", bound.id)
        add_platform_member(node.platform, stranger, "editor")
        assert post_attachment(api, node, "site", bound.id, caller=stranger).errors == {"/entityId": "unknown"}
        assert post_attachment(api, node, "page", home_page.id, caller=stranger).errors == {"/entityId": "unknown"}
        assert api.get(attached.path, caller=stranger).status_and_code == "404 not_found"
        assert api.get_items(f"{node.path}/attachments", caller=stranger) == []
        for member in (mary, create_api_key(api, organization, "taxonomy:read")):
            assert api.get(attached.path, caller=member).status == 200


class TestDeleteAttachedEntity:
    def test_a_deleted_page_and_its_subtree_are_detached(self, api, node, site, home_page, workers):
        parent = create_published_page(api, site, "Machines")
        child = create_published_page(api, site, "Engines", parent=parent)
        for page in (parent, child):
            create_attachment(api, node, "page", page.id)
        create_attachment(api, node, "lesson", child.id)
        deleted = api.delete(parent.path, caller=site.owner, query={"strategy": "cascade"})
        assert deleted.status == 204
        assert post_attachment(api, node, "page", parent.id).errors == {"/entityId": "unknown"}
        workers.run_until_idle()
        assert attached_types(api, node) == ["lesson"]
        create_attachment(api, node, "page", home_page.id)
        assert attached_types(api, node) == ["lesson", "page"]

    def test_a_deleted_site_and_its_pages_are_detached(self, api, node, site, home_page, workers):
        create_attachment(api, node, "site", site.id)
        create_attachment(api, node, "page", home_page.id)
        assert api.delete(site.path, caller=site.owner).status == 204
        assert post_attachment(api, node, "site", site.id).errors == {"/entityId": "unknown"}
        workers.run_until_idle()
        assert post_attachment(api, node, "page", home_page.id).errors == {"/entityId": "unknown"}
        assert has_no_attachments(node)


class TestPlatformHome:
    def test_the_home_shows_a_site_of_the_organization(self, api, organization, platform, site, stranger):
        foreign = create_site(api, create_organization(api, stranger, name="Foreign"))
        path, owner = f"{platform.path}/home", platform.owner
        for unknown_id in (foreign.id, platform.id, create_platform(api, organization).id):
            rejected = api.patch(path, caller=owner, json={"siteId": unknown_id})
            assert (rejected.status_and_code, rejected.errors) == ("422 validation_failed", {"/siteId": "unknown"})
        assert api.patch(path, caller=owner, json={"siteId": site.id}).json["home"]["siteId"] == site.id
        assert api.delete(site.path, caller=owner).status == 204
        updated = api.patch(path, caller=owner, json={"siteId": site.id, "layout": "wide"})
        assert updated.json["home"]["siteId"] == site.id
        assert api.patch(path, caller=owner, json={"siteId": None}).json["home"]["siteId"] is None
