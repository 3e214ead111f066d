"""What the nodes of a taxonomy are put on of sites: a site, and its pages."""

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


def put_there(api: Api, node: Node) -> list[str]:
    """What a node is put on, of the service's own."""
    return [one["entityType"] for one in api.items(f"{node.path}/attachments", as_=node.platform.owner)]


def nothing_is_left(node: Node) -> bool:
    """Whether no item tells of an attachment, nor does the node count one."""
    items = [item for item in cloud.stored() if item["pk"] == f"P#{node.platform.id}#T"]
    left = [i for i in items if i["sk"].startswith("A#") or (i["sk"].startswith("E#") and i.get("nodes"))]
    counts = [item["attachment_count"] for item in items if item["sk"] == f"N#{node.id}"]
    return (left, counts) == ([], [0])


class TestASiteOrPage:
    def test_of_the_organization_is_there(self, api: Api, node: Node, site: Published, home: Leaf) -> None:
        draft = write_page(api, site, "Soon")
        for kind, entity in (("site", site), ("page", home), ("page", draft)):
            assert put_on(api, node, kind, entity.id).status == 201
        assert put_there(api, node) == ["site", "page", "page"]

    def test_of_another_organization_or_type_is_not(
        self, api: Api, node: Node, site: Published, home: Leaf, stranger: Person
    ) -> None:
        foreign = make_site(api, found(api, stranger, name="Foreign"))
        theirs = page_of(api, foreign, "Theirs")
        missing = [
            ("site", foreign.id),
            ("page", theirs.id),
            ("site", home.id),
            ("page", site.id),
            ("page", node.id),
            ("page", home.draft_revision_id),
            ("space", site.id),
            ("platform", site.id),
        ]
        for kind, entity_id in missing:
            refused = put_on(api, node, kind, entity_id)
            assert (refused.code, refused.faults) == ("422 validation_failed", {"/entityId": "unknown"}), kind

    def test_is_there_for_who_belongs_to_the_organization_only(
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


class TestADeletedOne:
    def test_leaves_nothing_attached(self, api: Api, node: Node, site: Published, home: Leaf, workers: Workers) -> None:
        above = page_of(api, site, "Machines")
        below = page_of(api, site, "Engines", below=above)
        for each in (above, below):
            attach(api, node, "page", each.id)
        attach(api, node, "lesson", below.id)
        gone = api.delete(above.path, as_=site.owner, query={"strategy": "cascade"})
        assert gone.status == 204
        assert put_on(api, node, "page", above.id).faults == {"/entityId": "unknown"}
        workers.settle()
        assert put_there(api, node) == ["lesson"]
        attach(api, node, "page", home.id)
        assert put_there(api, node) == ["lesson", "page"]

    def test_site_leaves_nothing_attached_to_it_or_its_pages(
        self, api: Api, node: Node, site: Published, home: Leaf, workers: Workers
    ) -> None:
        attach(api, node, "site", site.id)
        attach(api, node, "page", home.id)
        assert api.delete(site.path, as_=site.owner).status == 204
        assert put_on(api, node, "site", site.id).faults == {"/entityId": "unknown"}
        workers.settle()
        assert put_on(api, node, "page", home.id).faults == {"/entityId": "unknown"}
        assert nothing_is_left(node)


class TestHomeOfAPlatform:
    def test_opens_a_site_of_the_organization(
        self, api: Api, organization: Founded, platform: Running, site: Published, stranger: Person
    ) -> None:
        foreign = make_site(api, found(api, stranger, name="Foreign"))
        path, owner = f"{platform.path}/home", platform.owner
        for unknown in (foreign.id, platform.id, run_platform(api, organization).id):
            refused = api.patch(path, as_=owner, json={"siteId": unknown})
            assert (refused.code, refused.faults) == ("422 validation_failed", {"/siteId": "unknown"})
        assert api.patch(path, as_=owner, json={"siteId": site.id}).json["home"]["siteId"] == site.id
        assert api.delete(site.path, as_=owner).status == 204
        kept = api.patch(path, as_=owner, json={"siteId": site.id, "layout": "wide"})
        assert kept.json["home"]["siteId"] == site.id
        assert api.patch(path, as_=owner, json={"siteId": None}).json["home"]["siteId"] is None
