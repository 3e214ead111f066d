"""Taxonomy attachments of sites and pages."""

import pytest

from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.organizations import Founded, found, make_key
from tests.harness.platforms import Running, run_platform, takes_part
from tests.harness.sites import Leaf, Published, make_site, page_of, write_page
from tests.harness.taxonomy import Node, attach, plant, put_on
from tests.harness.workers import Workers


@pytest.fixture
def node(api: Api, platform: Running) -> Node:
    """A node of a taxonomy."""
    return plant(api, platform, "Looms")


def attached_types(api: Api, node: Node) -> list[str]:
    """Return the entity types that a node is attached to."""
    return [attachment["entityType"] for attachment in api.items(f"{node.path}/attachments", as_=node.platform.owner)]


def has_no_attachments(node: Node) -> bool:
    """Return whether the table holds no item of an attachment of a node, nor a count."""
    items = [item for item in cloud.stored() if item["pk"] == f"P#{node.platform.id}#T"]
    attachment_items = [i for i in items if i["sk"].startswith("A#") or (i["sk"].startswith("E#") and i.get("nodes"))]
    counts = [item["attachment_count"] for item in items if item["sk"] == f"N#{node.id}"]
    return (attachment_items, counts) == ([], [0])


class TestAttach:
    def test_a_site_or_page_of_the_organization_is_attached(
        self, api: Api, node: Node, site: Published, home: Leaf
    ) -> None:
        draft = write_page(api, site, "Soon")
        for kind, entity in (("site", site), ("page", home), ("page", draft)):
            assert put_on(api, node, kind, entity.id).status == 201
        assert attached_types(api, node) == ["site", "page", "page"]

    def test_an_entity_of_another_organization_or_type_is_unknown(
        self, api: Api, node: Node, site: Published, home: Leaf, stranger: Person
    ) -> None:
        foreign = make_site(api, found(api, stranger, name="Foreign"))
        foreign_page = page_of(api, foreign, "Theirs")
        missing = [
            ("site", foreign.id),
            ("page", foreign_page.id),
            ("site", home.id),
            ("page", site.id),
            ("page", node.id),
            ("page", home.draft_revision_id),
            ("space", site.id),
            ("platform", site.id),
        ]
        for kind, entity_id in missing:
            rejected = put_on(api, node, kind, entity_id)
            assert (rejected.code, rejected.faults) == ("422 validation_failed", {"/entityId": "unknown"}), kind

    def test_only_members_of_the_organization_see_an_attached_site(
        self, api: Api, organization: Founded, node: Node, home: Leaf, stranger: Person, mary: Person
    ) -> None:
        bound = make_site(api, organization, platformId=node.platform.id)
        attached = attach(api, node, "site", bound.id)
        takes_part(node.platform, stranger, "editor")
        assert put_on(api, node, "site", bound.id, as_=stranger).faults == {"/entityId": "unknown"}
        assert put_on(api, node, "page", home.id, as_=stranger).faults == {"/entityId": "unknown"}
        assert api.get(attached.path, as_=stranger).code == "404 not_found"
        assert api.items(f"{node.path}/attachments", as_=stranger) == []
        for member in (mary, make_key(api, organization, "taxonomy:read")):
            assert api.get(attached.path, as_=member).status == 200


class TestDeleteAttachedEntity:
    def test_a_deleted_page_and_its_subtree_are_detached(
        self, api: Api, node: Node, site: Published, home: Leaf, workers: Workers
    ) -> None:
        parent = page_of(api, site, "Machines")
        child = page_of(api, site, "Engines", below=parent)
        for page in (parent, child):
            attach(api, node, "page", page.id)
        attach(api, node, "lesson", child.id)
        deleted = api.delete(parent.path, as_=site.owner, query={"strategy": "cascade"})
        assert deleted.status == 204
        assert put_on(api, node, "page", parent.id).faults == {"/entityId": "unknown"}
        workers.settle()
        assert attached_types(api, node) == ["lesson"]
        attach(api, node, "page", home.id)
        assert attached_types(api, node) == ["lesson", "page"]

    def test_a_deleted_site_and_its_pages_are_detached(
        self, api: Api, node: Node, site: Published, home: Leaf, workers: Workers
    ) -> None:
        attach(api, node, "site", site.id)
        attach(api, node, "page", home.id)
        assert api.delete(site.path, as_=site.owner).status == 204
        assert put_on(api, node, "site", site.id).faults == {"/entityId": "unknown"}
        workers.settle()
        assert put_on(api, node, "page", home.id).faults == {"/entityId": "unknown"}
        assert has_no_attachments(node)


class TestPlatformHome:
    def test_the_home_shows_a_site_of_the_organization(
        self, api: Api, organization: Founded, platform: Running, site: Published, stranger: Person
    ) -> None:
        foreign = make_site(api, found(api, stranger, name="Foreign"))
        path, owner = f"{platform.path}/home", platform.owner
        for unknown_id in (foreign.id, platform.id, run_platform(api, organization).id):
            rejected = api.patch(path, as_=owner, json={"siteId": unknown_id})
            assert (rejected.code, rejected.faults) == ("422 validation_failed", {"/siteId": "unknown"})
        assert api.patch(path, as_=owner, json={"siteId": site.id}).json["home"]["siteId"] == site.id
        assert api.delete(site.path, as_=owner).status == 204
        updated = api.patch(path, as_=owner, json={"siteId": site.id, "layout": "wide"})
        assert updated.json["home"]["siteId"] == site.id
        assert api.patch(path, as_=owner, json={"siteId": None}).json["home"]["siteId"] is None
