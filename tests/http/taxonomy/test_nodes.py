"""Test nodes of a taxonomy: creating, reading, updating, moving and deleting them."""

import pytest

from tests.harness.audit_logs import list_entries
from tests.harness.organizations import create_api_key
from tests.harness.platforms import add_platform_member, create_platform
from tests.harness.taxonomy import (
    create_attachment,
    create_node,
    create_node_chain,
    delete_node,
    list_node_paths,
    move_node,
    post_node,
    resolve_node,
)

UNKNOWN_ID = "01939d3c-0000-7000-8000-00000000000a"
LEVELS = [f"level-{n}" for n in range(1, 11)]


class TestCreateTaxonomyNode:
    def test_defaults_to_a_root_term(self, api, platform):
        record = create_node(api, platform, "Looms").record
        fields = {field: value for field, value in record.items() if field not in ("id", "createdAt", "updatedAt")}
        assert fields == {
            "version": 1,
            "platformId": platform.id,
            "name": "Looms",
            "slug": "looms",
            "parentId": None,
            "description": None,
            "altLabels": [],
            "position": 0,
            "kind": "term",
            "path": "looms",
            "depth": 1,
        }

    def test_path_and_depth_follow_from_the_parent(self, api, platform):
        machines, looms, jacquard = create_node_chain(api, platform, "Machines", "Looms", "Jacquard")
        positions = [(node.record["path"], node.record["depth"], node.record["parentId"]) for node in (looms, jacquard)]
        assert positions == [("machines/looms", 2, machines.id), ("machines/looms/jacquard", 3, looms.id)]

    def test_is_placed_last_among_its_siblings(self, api, platform):
        root = create_node(api, platform, "Root")
        positions = [create_node(api, platform, name, root).record["position"] for name in ("A", "B")]
        positions += [create_node(api, platform, "C", root, position=7).record["position"]]
        positions += [create_node(api, platform, name, root, position=None).record["position"] for name in ("D", "E")]
        assert positions == [0, 1, 7, 8, 9]
        assert create_node(api, platform, "Other root").record["position"] == 1

    def test_slugs_are_unique_among_siblings_only(self, api, platform):
        machines, mills = create_node(api, platform, "Machines"), create_node(api, platform, "Mills")
        create_node(api, platform, "Parts", machines, slug="parts")
        answer = post_node(api, platform, "Other parts", machines, slug="parts")
        assert (answer.status_and_code, answer.errors) == ("409 slug_taken", {"/slug": "slug_taken"})
        assert create_node(api, platform, "Parts", mills, slug="parts").record["path"] == "mills/parts"
        assert create_node(api, platform, "Parts", machines).record["slug"].startswith("parts-")
        assert create_node(api, platform, "部品", machines).record["slug"].startswith("taxonomy-")

    def test_is_at_most_ten_levels_deep(self, api, platform):
        *_, last = create_node_chain(api, platform, *LEVELS)
        assert (last.record["depth"], last.record["path"]) == (10, "/".join(LEVELS))
        answer = post_node(api, platform, "Too deep", last)
        assert (answer.status_and_code, answer.errors) == ("422 validation_failed", {"/parentId": "too_deep"})

    @pytest.mark.parametrize("parent_state", ["missing", "in another platform", "deleted"])
    def test_rejects_a_parent_that_does_not_exist(self, api, organization, platform, parent_state):
        deleted_node = create_node(api, platform, "Gone")
        delete_node(api, deleted_node)
        other = create_node(api, create_platform(api, organization), "Other")
        parent_id = {"missing": UNKNOWN_ID, "in another platform": other.id, "deleted": deleted_node.id}[parent_state]
        answer = post_node(api, platform, parentId=parent_id)
        assert (answer.status_and_code, answer.errors) == ("422 validation_failed", {"/parentId": "unknown"})

    def test_labels_differ_in_more_than_case_and_accents(self, api, platform):
        labels = ["Webstühle", "Métiers à tisser"]
        assert create_node(api, platform, altLabels=labels).record["altLabels"] == labels
        duplicate_answer = post_node(api, platform, altLabels=["Métier", "METIER"])
        assert duplicate_answer.errors == {"/altLabels": "malformed"}
        too_many = post_node(api, platform, altLabels=[f"Label {n}" for n in range(21)])
        assert too_many.errors == {"/altLabels": "too_many"}

    def test_the_largest_node_fits_into_one_transaction(self, api, platform):
        *_, ninth = create_node_chain(api, platform, *LEVELS[:9])
        fields = {"altLabels": [f"Label {n} {'x' * 180}" for n in range(20)], "description": "y" * 4000}
        tenth = create_node(api, platform, "Tenth", ninth, **fields)
        other_fields = {"altLabels": [f"Other {n}" for n in range(20)], "name": "Other", "slug": "other"}
        answer = move_node(api, tenth, None, **other_fields)
        assert (answer.status, answer.json["path"]) == (200, "other")

    def test_rejects_computed_fields(self, api, platform):
        answer = post_node(api, platform, kind="system", path="a/b", depth=2)
        assert answer.errors == dict.fromkeys(("/kind", "/path", "/depth"), "unknown_field")

    def test_editors_of_the_platform_create_nodes_and_members_do_not(self, api, platform, edith, mary):
        add_platform_member(platform, edith, "editor")
        assert post_node(api, platform, "Edith's", caller=edith).status == 201
        assert post_node(api, platform, "Mary's", caller=mary).status_and_code == "403 insufficient_role"

    def test_requires_the_scope_of_a_key(self, api, organization, platform):
        assert post_node(api, platform, caller=create_api_key(api, organization, "taxonomy:write")).status == 201
        key = create_api_key(api, organization, "taxonomy:read")
        assert post_node(api, platform, caller=key).status_and_code == "403 insufficient_scope"


class TestGetTaxonomyNode:
    def test_is_readable_by_every_member_with_an_etag(self, api, platform, mary):
        _, looms = create_node_chain(api, platform, "Machines", "Looms")
        answer = api.get(looms.path, caller=mary)
        assert answer.json == looms.record
        assert api.get(looms.path, caller=mary, headers={"If-None-Match": answer.etag}).status == 304

    def test_a_new_path_changes_the_etag_but_not_the_version(self, api, platform):
        machines, looms = create_node_chain(api, platform, "Machines", "Looms")
        answer_before = api.get(looms.path, caller=platform.owner)
        move_node(api, machines, create_node(api, platform, "Things"))
        answer_after = api.get(looms.path, caller=platform.owner, headers={"If-None-Match": answer_before.etag})
        assert (answer_after.status, answer_after.json["path"], answer_after.json["version"]) == (
            200,
            "things/machines/looms",
            1,
        )
        rename_answer = api.patch(
            looms.path, caller=platform.owner, json={"name": "X"}, headers={"If-Match": answer_before.etag}
        )
        assert rename_answer.status == 200

    @pytest.mark.parametrize("node_id", [UNKNOWN_ID, "x", "%20", "looms"])
    def test_an_unknown_id_is_not_found(self, api, platform, node_id):
        assert api.get(f"/taxonomy-nodes/{node_id}", caller=platform.owner).status_and_code == "404 not_found"

    def test_takes_at_most_three_reads_after_moves_of_ancestors(self, api, platform):
        machines, looms, jacquard = create_node_chain(api, platform, "Machines", "Looms", "Jacquard")
        things = create_node_chain(api, platform, "Things", "Old things")
        api.get(jacquard.path, caller=platform.owner)
        for parent in (things[0], things[1], None, things[1]):
            assert move_node(api, machines, parent).status == 200
            answer = api.get(jacquard.path, caller=platform.owner)
            assert answer.json["path"].endswith("machines/looms/jacquard")
            assert len(answer.calls.names_of_service("dynamodb")) <= 3
        assert looms.record["depth"] == 2


class TestUpdateTaxonomyNode:
    def test_changes_the_given_fields(self, api, platform):
        looms = create_node(api, platform, altLabels=["Weavers"])
        body = {"name": "Mills", "description": "What grinds.", "altLabels": ["Grinders"], "position": 5}
        answer = api.patch(looms.path, caller=platform.owner, json=body)
        assert answer.json == {**looms.record, **body, "updatedAt": answer.json["updatedAt"], "version": 2}
        assert api.get(looms.path, caller=platform.owner).json == answer.json

    def test_null_restores_the_default(self, api, platform):
        root = create_node(api, platform, "Root")
        looms = create_node(api, platform, "Looms", root, description="What weaves.", altLabels=["Weavers"])
        create_node(api, platform, "Mills", root, position=4)
        body = {"description": None, "altLabels": None, "position": None}
        updated_node = api.patch(looms.path, caller=platform.owner, json=body).json
        assert [updated_node[field] for field in body] == [None, [], 5]
        assert api.patch(looms.path, caller=platform.owner, json={"name": None}).errors == {"/name": "required"}

    def test_no_change_writes_nothing(self, api, platform):
        _, looms = create_node_chain(api, platform, "Machines", "Looms")
        for body in ({}, {"parentId": looms.record["parentId"], "path": "machines/looms", "depth": 2, "kind": "term"}):
            answer = api.patch(looms.path, caller=platform.owner, json=body)
            assert (answer.status, answer.json) == (200, looms.record)
            assert "dynamodb:TransactWriteItems" not in answer.calls.call_names
        answer = api.patch(looms.path, caller=platform.owner, json={"path": "looms", "platformId": UNKNOWN_ID})
        assert answer.errors == {"/path": "read_only", "/platformId": "read_only"}

    def test_a_new_slug_changes_the_path_of_all_descendants(self, api, platform):
        machines, looms, _ = create_node_chain(api, platform, "Machines", "Looms", "Jacquard")
        answer = api.patch(machines.path, caller=platform.owner, json={"slug": "engines"})
        assert answer.json["path"] == "engines"
        assert list_node_paths(api, platform) == ["engines", "engines/looms", "engines/looms/jacquard"]
        assert api.get(looms.path, caller=platform.owner).json["version"] == 1

    def test_a_new_parent_moves_all_descendants(self, api, platform):
        machines, looms, jacquard = create_node_chain(api, platform, "Machines", "Looms", "Jacquard")
        _, old = create_node_chain(api, platform, "Things", "Old")
        answer = move_node(api, looms, old)
        assert (answer.json["path"], answer.json["depth"], answer.json["version"]) == ("things/old/looms", 3, 2)
        assert api.get(jacquard.path, caller=platform.owner).json["path"] == "things/old/looms/jacquard"
        assert list_node_paths(api, platform, parentId=machines.id) == []
        assert move_node(api, looms, None).json["path"] == "looms"
        assert api.get(jacquard.path, caller=platform.owner).json["depth"] == 2

    def test_cannot_move_below_itself_or_a_descendant(self, api, platform):
        chain = create_node_chain(api, platform, "Machines", "Looms", "Jacquard")
        for parent in chain:
            answer = move_node(api, chain[0], parent)
            assert (answer.status_and_code, answer.errors) == ("409 cycle", {"/parentId": "cycle"})
        assert list_node_paths(api, platform) == ["machines", "machines/looms", "machines/looms/jacquard"]

    def test_cannot_move_next_to_a_sibling_with_the_same_slug(self, api, platform):
        machines, looms = create_node_chain(api, platform, "Machines", "Looms")
        other = create_node(api, platform, "Other", slug="looms")
        assert move_node(api, other, machines).status_and_code == "409 slug_taken"
        assert (
            api.patch(other.path, caller=platform.owner, json={"slug": "machines"}).status_and_code == "409 slug_taken"
        )
        assert move_node(api, other, machines, slug="more-looms").json["path"] == "machines/more-looms"
        assert move_node(api, looms, None).json["path"] == "looms"  # This slug is free again.

    def test_cannot_move_where_descendants_would_be_too_deep(self, api, platform):
        chain = create_node_chain(api, platform, *LEVELS[:7])
        branch = create_node_chain(api, platform, "Branch", "Twig", "Bud", "Leaf")
        answer = move_node(api, branch[0], chain[6])
        assert (answer.status_and_code, answer.errors) == ("422 validation_failed", {"/parentId": "too_deep"})
        assert "3 levels below" in answer.json["errors"][0]["detail"]
        assert move_node(api, branch[0], chain[5]).json["depth"] == 7
        assert post_node(api, platform, "Too deep", branch[3]).status_and_code == "422 validation_failed"

    def test_former_descendants_do_not_limit_a_move(self, api, platform):
        chain = create_node_chain(api, platform, *LEVELS[:8])
        root, twig, bud, leaf = create_node_chain(api, platform, "Branch", "Twig", "Bud", "Leaf")
        assert delete_node(api, leaf).status == 204
        assert move_node(api, bud, None).status == 200
        assert move_node(api, root, chain[7]).json["depth"] == 9
        assert api.get(twig.path, caller=platform.owner).json["depth"] == 10
        assert post_node(api, platform, "Too deep", twig).status_and_code == "422 validation_failed"

    def test_is_placed_and_counted_among_its_new_siblings(self, api, platform):
        machines, looms = create_node_chain(api, platform, "Machines", "Looms")
        mills = create_node(api, platform, "Mills", position=9)
        assert move_node(api, mills, machines).json["position"] == 9
        assert create_node(api, platform, "New", machines).record["position"] == 10
        assert move_node(api, looms, None, position=None).json["position"] == 10  # After the former position of Mills.
        assert delete_node(api, machines).status_and_code == "409 not_empty"

    def test_the_entry_contains_the_change_of_the_path(self, api, platform, organization):
        _, looms = create_node_chain(api, platform, "Machines", "Looms")
        answer = move_node(api, looms, None)
        (entry, *_) = list_entries(api, organization)
        assert (entry["type"], entry["target"]["name"], entry["data"]) == (
            "taxonomy.node.updated",
            "Looms",
            answer.json,
        )
        assert {change["field"]: change["to"] for change in entry["changes"]} == {
            "parentId": None,
            "path": "looms",
            "depth": 1,
        }


class TestDeleteTaxonomyNode:
    def test_without_children_is_removed_at_once(self, api, platform):
        machines, looms = create_node_chain(api, platform, "Machines", "Looms")
        assert delete_node(api, looms).status == 204
        assert api.get(looms.path, caller=platform.owner).status_and_code == "404 not_found"
        assert resolve_node(api, platform, "machines/looms").status_and_code == "404 not_found"
        assert resolve_node(api, platform, slug="looms").status_and_code == "404 not_found"
        assert list_node_paths(api, platform, q="loo") == []
        assert create_node(api, platform, "Looms", machines).record["path"] == "machines/looms"

    def test_with_children_is_rejected_and_they_are_counted(self, api, platform):
        machines, _ = create_node_chain(api, platform, "Machines", "Looms")
        for _ in range(2):
            create_attachment(api, machines)
        answer = delete_node(api, machines)
        assert (answer.status_and_code, answer.errors) == ("409 not_empty", {"query/strategy": "not_empty"})
        assert "1 child and 2 attachments" in answer.json["detail"]
        assert delete_node(api, machines, "burn").errors == {"query/strategy": "not_one_of"}

    def test_succeeds_once_children_and_attachments_are_gone(self, api, platform):
        machines, looms = create_node_chain(api, platform, "Machines", "Looms")
        attachment = create_attachment(api, machines)
        assert api.delete(attachment.path, caller=platform.owner).status == 204
        assert move_node(api, looms, None).status == 200
        assert delete_node(api, machines).status == 204

    def test_a_stale_etag_takes_precedence_over_children(self, api, platform):
        machines, _ = create_node_chain(api, platform, "Machines", "Looms")
        stale = api.delete(machines.path, caller=platform.owner, headers={"If-Match": '"000000000000.9.0"'})
        assert stale.status_and_code == "412 precondition_failed"
