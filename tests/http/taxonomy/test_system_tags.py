"""Test the system tags of a platform's taxonomy."""

from tests.harness.api import ApiClient, ApiResponse
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Person
from tests.harness.platforms import CreatedPlatform, add_platform_member
from tests.harness.taxonomy import (
    CreatedNode,
    create_attachment,
    create_node,
    delete_node,
    list_node_paths,
    move_node,
    post_node,
    resolve_node,
)

DEFAULT_TAGS = ["featured", "pinned", "official", "archived"]


def create_tags(api: ApiClient, platform: CreatedPlatform, *tags: str, caller: Person | None = None) -> ApiResponse:
    """Create system tags, by default the standard ones."""
    body = {"tags": list(tags)} if tags else {}
    return api.post(f"{platform.path}/taxonomy-system-tags", caller=caller or platform.owner, json=body)


def nodes_of(answer: ApiResponse, platform: CreatedPlatform) -> list[CreatedNode]:
    return [CreatedNode(record, platform) for record in answer.json["items"]]


class TestCreateSystemTags:
    def test_standard_tags_are_root_nodes_of_kind_system(self, api, platform):
        create_node(api, platform, "Term")
        answer = create_tags(api, platform)
        assert (answer.status, answer.json["created"], answer.json["nextCursor"]) == (200, 4, None)
        fields = [
            (tag["slug"], tag["name"], tag["kind"], tag["parentId"], tag["position"]) for tag in answer.json["items"]
        ]
        assert fields == [(slug, slug.title(), "system", None, n) for n, slug in enumerate(DEFAULT_TAGS, 1)]
        assert list_node_paths(api, platform, kind="system") == DEFAULT_TAGS
        assert resolve_node(api, platform, "featured").json["node"] == answer.json["items"][0]

    def test_a_repeated_request_creates_only_missing_tags(self, api, platform):
        first = create_tags(api, platform, "pinned", "hot")
        second = create_tags(api, platform, "featured", "hot", "pinned")
        assert (first.json["created"], second.json["created"]) == (2, 1)
        assert [tag["slug"] for tag in second.json["items"]] == ["featured", "hot", "pinned"]
        assert second.json["items"][2] == first.json["items"][0]

    def test_writes_nothing_if_all_exist(self, api, platform):
        first = create_tags(api, platform)
        second = create_tags(api, platform)
        assert second.json == {**first.json, "created": 0}
        assert "dynamodb:TransactWriteItems" not in second.calls.call_names

    def test_rejects_slugs_of_root_terms(self, api, platform):
        for slug in ("pinned", "archived"):
            create_node(api, platform, "Term", slug=slug)
        answer = create_tags(api, platform)
        assert (answer.status_and_code, answer.errors) == (
            "409 slug_taken",
            {"/tags/1": "slug_taken", "/tags/3": "slug_taken"},
        )
        assert list_node_paths(api, platform, kind="system") == []
        assert post_node(api, platform, slug="featured").status == 201

    def test_accepts_slugs_of_terms_below_roots(self, api, platform):
        create_node(api, platform, "Pinned", create_node(api, platform, "Root"), slug="pinned")
        assert create_tags(api, platform).json["created"] == 4

    def test_tags_are_distinct_slugs(self, api, platform):
        assert create_tags(api, platform, "Not a slug").errors == {"/tags/0": "malformed"}
        assert create_tags(api, platform, "hot", "hot").errors == {"/tags": "malformed"}
        assert create_tags(api, platform, *(f"tag-{n}" for n in range(16))).errors == {"/tags": "too_many"}

    def test_limits_tags_per_request_and_in_total(self, api, platform):
        for begin in (0, 15):
            assert create_tags(api, platform, *(f"tag-{n}" for n in range(begin, begin + 15))).json["created"] == 15
        assert create_tags(api, platform, *(f"tag-{n}" for n in range(20, 35))).json["created"] == 5
        assert create_tags(api, platform, *(f"tag-{n}" for n in range(35, 41))).status_and_code == "409 limit_exceeded"

    def test_requires_an_admin(self, api, platform, edith):
        add_platform_member(platform, edith, "editor")
        assert create_tags(api, platform, caller=edith).status_and_code == "403 insufficient_role"
        assert create_tags(api, platform, caller=platform.owner).status == 200

    def test_the_entry_lists_all_current_tags(self, api, platform, organization):
        create_tags(api, platform, "hot")
        create_tags(api, platform, "fresh")
        (entry, *_) = list_entries(api, organization)
        assert (entry["type"], entry["target"]["type"]) == ("taxonomy.system_tags.created", "taxonomy.system_tags")
        assert (entry["target"]["id"], entry["data"]["id"]) == (platform.id, platform.id)
        assert [tag["slug"] for tag in entry["data"]["items"]] == ["hot", "fresh"]
        assert [change["field"] for change in entry["changes"]] == ["items", "items.fresh"]


class TestSystemTag:
    def test_keeps_its_slug_and_stays_a_root(self, api, platform):
        term = create_node(api, platform, "Term")
        (tag,) = nodes_of(create_tags(api, platform, "featured"), platform)
        for body in ({"slug": "other"}, {"parentId": term.id}):
            assert api.patch(tag.path, caller=platform.owner, json=body).status_and_code == "403 forbidden"
        changes = {"slug": "featured", "parentId": None, "name": "Empfohlen", "altLabels": ["Top"], "position": 9}
        answer = api.patch(tag.path, caller=platform.owner, json=changes)
        assert (answer.status, answer.json["name"], answer.json["kind"]) == (200, "Empfohlen", "system")
        assert list_node_paths(api, platform, kind="system") == ["featured"]

    def test_cannot_be_deleted(self, api, platform):
        (tag,) = nodes_of(create_tags(api, platform, "featured"), platform)
        for strategy in (None, "cascade", "reparent"):
            assert delete_node(api, tag, strategy).status_and_code == "403 forbidden"

    def test_has_attachments_and_child_terms_like_others(self, api, platform):
        (tag,) = nodes_of(create_tags(api, platform, "featured"), platform)
        create_attachment(api, tag)
        child = create_node(api, platform, "This week", tag)
        assert child.record["path"] == "featured/this-week"
        assert move_node(api, child, None).status == 200
