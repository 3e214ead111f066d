"""Test the system tags of a platform's taxonomy."""

import pytest

from tests.harness.audit_logs import list_entries
from tests.harness.taxonomy import CreatedNode, create_attachment, create_node, delete_node, move_node, resolve_node

DEFAULT_TAGS = ["featured", "pinned", "official", "archived"]


def numbered_tags(begin, end):
    return [f"tag-{n}" for n in range(begin, end)]


@pytest.fixture
def create_tags(api, platform):
    """A function that creates system tags, by default the standard ones."""
    path, owner = f"{platform.path}/taxonomy-system-tags", platform.owner
    return lambda *tags: api.post(path, caller=owner, json={"tags": [*tags]} if tags else {})


class TestCreateSystemTags:
    def test_standard_tags_are_root_nodes_of_kind_system(self, api, platform, nodes, create_tags):
        nodes.create("Term")
        answer = create_tags()
        assert (answer.json["created"], [tag["slug"] for tag in answer.json["items"]]) == (4, DEFAULT_TAGS)
        assert nodes.list_paths(kind="system") == DEFAULT_TAGS
        assert resolve_node(api, platform, "featured").json["node"] == answer.json["items"][0]
        repeated = create_tags()
        assert repeated.json == {**answer.json, "created": 0}
        assert "dynamodb:TransactWriteItems" not in repeated.calls.call_names

    def test_a_repeated_request_creates_only_missing_tags(self, create_tags):
        first, second = create_tags("pinned", "hot"), create_tags("featured", "hot", "pinned")
        assert (first.json["created"], second.json["created"]) == (2, 1)
        assert [tag["slug"] for tag in second.json["items"]] == ["featured", "hot", "pinned"]
        assert second.json["items"][2] == first.json["items"][0]

    def test_rejects_slugs_of_root_terms_but_not_of_terms_below_roots(self, nodes, create_tags):
        nodes.create("Root")
        nodes.create("Root/Featured", slug="featured")
        for slug in ("pinned", "archived"):
            nodes.create("Term", slug=slug)
        answer = create_tags()
        errors = {"/tags/1": "slug_taken", "/tags/3": "slug_taken"}
        assert answer.problem_and_errors == ("409 slug_taken", errors)
        assert nodes.list_paths(kind="system") == []
        assert create_tags("featured").json["created"] == 1

    def test_tags_are_distinct_slugs(self, create_tags):
        assert create_tags("Not a slug").errors == {"/tags/0": "malformed"}
        assert create_tags("hot", "hot").errors == {"/tags": "malformed"}
        assert create_tags(*numbered_tags(0, 16)).errors == {"/tags": "too_many"}

    def test_limits_tags_per_request_and_in_total(self, create_tags):
        for begin, end, created in ((0, 15, 15), (15, 30, 15), (20, 35, 5)):
            assert create_tags(*numbered_tags(begin, end)).json["created"] == created
        assert create_tags(*numbered_tags(35, 41)).status_and_code == "409 limit_exceeded"

    def test_the_entry_lists_all_current_tags(self, api, organization, create_tags):
        create_tags("hot")
        create_tags("fresh")
        (entry, *_) = list_entries(api, organization)
        assert [tag["slug"] for tag in entry["data"]["items"]] == ["hot", "fresh"]
        assert [change["field"] for change in entry["changes"]] == ["items", "items.fresh"]


class TestSystemTag:
    @pytest.fixture
    def tag(self, platform, create_tags):
        (record,) = create_tags("featured").json["items"]
        return CreatedNode(record, platform)

    def test_keeps_its_slug_and_stays_a_root(self, api, nodes, tag):
        for body in ({"slug": "other"}, {"parentId": nodes.create("Term").id}):
            assert api.patch(tag.path, caller=tag.platform.owner, json=body).status_and_code == "403 forbidden"
        changes = {"slug": "featured", "parentId": None, "name": "Empfohlen", "altLabels": ["Top"], "position": 9}
        answer = api.patch(tag.path, caller=tag.platform.owner, json=changes)
        assert (answer.status, answer.json["name"], answer.json["kind"]) == (200, "Empfohlen", "system")
        assert nodes.list_paths(kind="system") == ["featured"]
        for strategy in (None, "cascade", "reparent"):
            assert delete_node(api, tag, strategy).status_and_code == "403 forbidden"

    def test_has_attachments_and_child_terms_like_others(self, api, platform, tag):
        create_attachment(api, tag)
        child = create_node(api, platform, "This week", tag)
        assert child.record["path"] == "featured/this-week"
        assert move_node(api, child, None).status == 200
