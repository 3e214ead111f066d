"""Test nodes of a taxonomy: creating, reading, updating, moving and deleting them."""

import pytest

from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, make_key
from tests.harness.platforms import Running, run_platform, takes_part
from tests.harness.taxonomy import (
    asked_to_plant,
    attach,
    fell,
    move,
    paths,
    plant,
    plant_line,
    resolve,
)

UNKNOWN_ID = "01939d3c-0000-7000-8000-00000000000a"
LEVELS = [f"level-{n}" for n in range(1, 11)]


class TestCreateTaxonomyNode:
    def test_defaults_to_a_root_term(self, api: Api, platform: Running) -> None:
        record = plant(api, platform, "Looms").record
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

    def test_path_and_depth_follow_from_the_parent(self, api: Api, platform: Running) -> None:
        machines, looms, jacquard = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        positions = [(node.record["path"], node.record["depth"], node.record["parentId"]) for node in (looms, jacquard)]
        assert positions == [("machines/looms", 2, machines.id), ("machines/looms/jacquard", 3, looms.id)]

    def test_is_placed_last_among_its_siblings(self, api: Api, platform: Running) -> None:
        root = plant(api, platform, "Root")
        positions = [plant(api, platform, name, root).record["position"] for name in ("A", "B")]
        positions += [plant(api, platform, "C", root, position=7).record["position"]]
        positions += [plant(api, platform, name, root, position=None).record["position"] for name in ("D", "E")]
        assert positions == [0, 1, 7, 8, 9]
        assert plant(api, platform, "Other root").record["position"] == 1

    def test_slugs_are_unique_among_siblings_only(self, api: Api, platform: Running) -> None:
        machines, mills = plant(api, platform, "Machines"), plant(api, platform, "Mills")
        plant(api, platform, "Parts", machines, slug="parts")
        answer = asked_to_plant(api, platform, "Other parts", machines, slug="parts")
        assert (answer.code, answer.faults) == ("409 slug_taken", {"/slug": "slug_taken"})
        assert plant(api, platform, "Parts", mills, slug="parts").record["path"] == "mills/parts"
        assert plant(api, platform, "Parts", machines).record["slug"].startswith("parts-")
        assert plant(api, platform, "部品", machines).record["slug"].startswith("taxonomy-")

    def test_is_at_most_ten_levels_deep(self, api: Api, platform: Running) -> None:
        *_, last = plant_line(api, platform, *LEVELS)
        assert (last.record["depth"], last.record["path"]) == (10, "/".join(LEVELS))
        answer = asked_to_plant(api, platform, "Too deep", last)
        assert (answer.code, answer.faults) == ("422 validation_failed", {"/parentId": "too_deep"})

    @pytest.mark.parametrize("parent_state", ["missing", "in another platform", "deleted"])
    def test_rejects_a_parent_that_does_not_exist(
        self, api: Api, organization: Founded, platform: Running, parent_state: str
    ) -> None:
        deleted_node = plant(api, platform, "Gone")
        fell(api, deleted_node)
        other = plant(api, run_platform(api, organization), "Other")
        parent_id = {"missing": UNKNOWN_ID, "in another platform": other.id, "deleted": deleted_node.id}[parent_state]
        answer = asked_to_plant(api, platform, parentId=parent_id)
        assert (answer.code, answer.faults) == ("422 validation_failed", {"/parentId": "unknown"})

    def test_labels_differ_in_more_than_case_and_accents(self, api: Api, platform: Running) -> None:
        labels = ["Webstühle", "Métiers à tisser"]
        assert plant(api, platform, altLabels=labels).record["altLabels"] == labels
        duplicate_answer = asked_to_plant(api, platform, altLabels=["Métier", "METIER"])
        assert duplicate_answer.faults == {"/altLabels": "malformed"}
        too_many = asked_to_plant(api, platform, altLabels=[f"Label {n}" for n in range(21)])
        assert too_many.faults == {"/altLabels": "too_many"}

    def test_the_largest_node_fits_into_one_transaction(self, api: Api, platform: Running) -> None:
        *_, ninth = plant_line(api, platform, *LEVELS[:9])
        fields = {"altLabels": [f"Label {n} {'x' * 180}" for n in range(20)], "description": "y" * 4000}
        tenth = plant(api, platform, "Tenth", ninth, **fields)
        other_fields = {"altLabels": [f"Other {n}" for n in range(20)], "name": "Other", "slug": "other"}
        answer = move(api, tenth, None, **other_fields)
        assert (answer.status, answer.json["path"]) == (200, "other")

    def test_rejects_computed_fields(self, api: Api, platform: Running) -> None:
        answer = asked_to_plant(api, platform, kind="system", path="a/b", depth=2)
        assert answer.faults == dict.fromkeys(("/kind", "/path", "/depth"), "unknown_field")

    def test_editors_of_the_platform_create_nodes_and_members_do_not(
        self, api: Api, platform: Running, edith: Person, mary: Person
    ) -> None:
        takes_part(platform, edith, "editor")
        assert asked_to_plant(api, platform, "Edith's", as_=edith).status == 201
        assert asked_to_plant(api, platform, "Mary's", as_=mary).code == "403 insufficient_role"

    def test_requires_the_scope_of_a_key(self, api: Api, organization: Founded, platform: Running) -> None:
        assert asked_to_plant(api, platform, as_=make_key(api, organization, "taxonomy:write")).status == 201
        key = make_key(api, organization, "taxonomy:read")
        assert asked_to_plant(api, platform, as_=key).code == "403 insufficient_scope"


class TestGetTaxonomyNode:
    def test_is_readable_by_every_member_with_an_etag(self, api: Api, platform: Running, mary: Person) -> None:
        _, looms = plant_line(api, platform, "Machines", "Looms")
        answer = api.get(looms.path, as_=mary)
        assert answer.json == looms.record
        assert api.get(looms.path, as_=mary, headers={"If-None-Match": answer.etag}).status == 304

    def test_a_new_path_changes_the_etag_but_not_the_version(self, api: Api, platform: Running) -> None:
        machines, looms = plant_line(api, platform, "Machines", "Looms")
        answer_before = api.get(looms.path, as_=platform.owner)
        move(api, machines, plant(api, platform, "Things"))
        answer_after = api.get(looms.path, as_=platform.owner, headers={"If-None-Match": answer_before.etag})
        assert (answer_after.status, answer_after.json["path"], answer_after.json["version"]) == (
            200,
            "things/machines/looms",
            1,
        )
        rename_answer = api.patch(
            looms.path, as_=platform.owner, json={"name": "X"}, headers={"If-Match": answer_before.etag}
        )
        assert rename_answer.status == 200

    @pytest.mark.parametrize("node_id", [UNKNOWN_ID, "x", "%20", "looms"])
    def test_an_unknown_id_is_not_found(self, api: Api, platform: Running, node_id: str) -> None:
        assert api.get(f"/taxonomy-nodes/{node_id}", as_=platform.owner).code == "404 not_found"

    def test_takes_at_most_three_reads_after_moves_of_ancestors(self, api: Api, platform: Running) -> None:
        machines, looms, jacquard = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        things = plant_line(api, platform, "Things", "Old things")
        api.get(jacquard.path, as_=platform.owner)
        for parent in (things[0], things[1], None, things[1]):
            assert move(api, machines, parent).status == 200
            answer = api.get(jacquard.path, as_=platform.owner)
            assert answer.json["path"].endswith("machines/looms/jacquard")
            assert len(answer.calls.of("dynamodb")) <= 3
        assert looms.record["depth"] == 2


class TestUpdateTaxonomyNode:
    def test_changes_the_given_fields(self, api: Api, platform: Running) -> None:
        looms = plant(api, platform, altLabels=["Weavers"])
        body = {"name": "Mills", "description": "What grinds.", "altLabels": ["Grinders"], "position": 5}
        answer = api.patch(looms.path, as_=platform.owner, json=body)
        assert answer.json == {**looms.record, **body, "updatedAt": answer.json["updatedAt"], "version": 2}
        assert api.get(looms.path, as_=platform.owner).json == answer.json

    def test_null_restores_the_default(self, api: Api, platform: Running) -> None:
        root = plant(api, platform, "Root")
        looms = plant(api, platform, "Looms", root, description="What weaves.", altLabels=["Weavers"])
        plant(api, platform, "Mills", root, position=4)
        body = {"description": None, "altLabels": None, "position": None}
        updated_node = api.patch(looms.path, as_=platform.owner, json=body).json
        assert [updated_node[field] for field in body] == [None, [], 5]
        assert api.patch(looms.path, as_=platform.owner, json={"name": None}).faults == {"/name": "required"}

    def test_no_change_writes_nothing(self, api: Api, platform: Running) -> None:
        _, looms = plant_line(api, platform, "Machines", "Looms")
        for body in ({}, {"parentId": looms.record["parentId"], "path": "machines/looms", "depth": 2, "kind": "term"}):
            answer = api.patch(looms.path, as_=platform.owner, json=body)
            assert (answer.status, answer.json) == (200, looms.record)
            assert "dynamodb:TransactWriteItems" not in answer.calls.names
        answer = api.patch(looms.path, as_=platform.owner, json={"path": "looms", "platformId": UNKNOWN_ID})
        assert answer.faults == {"/path": "read_only", "/platformId": "read_only"}

    def test_a_new_slug_changes_the_path_of_all_descendants(self, api: Api, platform: Running) -> None:
        machines, looms, _ = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        answer = api.patch(machines.path, as_=platform.owner, json={"slug": "engines"})
        assert answer.json["path"] == "engines"
        assert paths(api, platform) == ["engines", "engines/looms", "engines/looms/jacquard"]
        assert api.get(looms.path, as_=platform.owner).json["version"] == 1

    def test_a_new_parent_moves_all_descendants(self, api: Api, platform: Running) -> None:
        machines, looms, jacquard = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        _, old = plant_line(api, platform, "Things", "Old")
        answer = move(api, looms, old)
        assert (answer.json["path"], answer.json["depth"], answer.json["version"]) == ("things/old/looms", 3, 2)
        assert api.get(jacquard.path, as_=platform.owner).json["path"] == "things/old/looms/jacquard"
        assert paths(api, platform, parentId=machines.id) == []
        assert move(api, looms, None).json["path"] == "looms"
        assert api.get(jacquard.path, as_=platform.owner).json["depth"] == 2

    def test_cannot_move_below_itself_or_a_descendant(self, api: Api, platform: Running) -> None:
        chain = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        for parent in chain:
            answer = move(api, chain[0], parent)
            assert (answer.code, answer.faults) == ("409 cycle", {"/parentId": "cycle"})
        assert paths(api, platform) == ["machines", "machines/looms", "machines/looms/jacquard"]

    def test_cannot_move_next_to_a_sibling_with_the_same_slug(self, api: Api, platform: Running) -> None:
        machines, looms = plant_line(api, platform, "Machines", "Looms")
        other = plant(api, platform, "Other", slug="looms")
        assert move(api, other, machines).code == "409 slug_taken"
        assert api.patch(other.path, as_=platform.owner, json={"slug": "machines"}).code == "409 slug_taken"
        assert move(api, other, machines, slug="more-looms").json["path"] == "machines/more-looms"
        assert move(api, looms, None).json["path"] == "looms"  # This slug is free again.

    def test_cannot_move_where_descendants_would_be_too_deep(self, api: Api, platform: Running) -> None:
        chain = plant_line(api, platform, *LEVELS[:7])
        branch = plant_line(api, platform, "Branch", "Twig", "Bud", "Leaf")
        answer = move(api, branch[0], chain[6])
        assert (answer.code, answer.faults) == ("422 validation_failed", {"/parentId": "too_deep"})
        assert "3 levels below" in answer.json["errors"][0]["detail"]
        assert move(api, branch[0], chain[5]).json["depth"] == 7
        assert asked_to_plant(api, platform, "Too deep", branch[3]).code == "422 validation_failed"

    def test_former_descendants_do_not_limit_a_move(self, api: Api, platform: Running) -> None:
        chain = plant_line(api, platform, *LEVELS[:8])
        root, twig, bud, leaf = plant_line(api, platform, "Branch", "Twig", "Bud", "Leaf")
        assert fell(api, leaf).status == 204
        assert move(api, bud, None).status == 200
        assert move(api, root, chain[7]).json["depth"] == 9
        assert api.get(twig.path, as_=platform.owner).json["depth"] == 10
        assert asked_to_plant(api, platform, "Too deep", twig).code == "422 validation_failed"

    def test_is_placed_and_counted_among_its_new_siblings(self, api: Api, platform: Running) -> None:
        machines, looms = plant_line(api, platform, "Machines", "Looms")
        mills = plant(api, platform, "Mills", position=9)
        assert move(api, mills, machines).json["position"] == 9
        assert plant(api, platform, "New", machines).record["position"] == 10
        assert move(api, looms, None, position=None).json["position"] == 10  # After the former position of Mills.
        assert fell(api, machines).code == "409 not_empty"

    def test_the_entry_contains_the_change_of_the_path(
        self, api: Api, platform: Running, organization: Founded
    ) -> None:
        _, looms = plant_line(api, platform, "Machines", "Looms")
        answer = move(api, looms, None)
        (entry, *_) = log_of(api, organization)
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
    def test_without_children_is_removed_at_once(self, api: Api, platform: Running) -> None:
        machines, looms = plant_line(api, platform, "Machines", "Looms")
        assert fell(api, looms).status == 204
        assert api.get(looms.path, as_=platform.owner).code == "404 not_found"
        assert resolve(api, platform, "machines/looms").code == "404 not_found"
        assert resolve(api, platform, slug="looms").code == "404 not_found"
        assert paths(api, platform, q="loo") == []
        assert plant(api, platform, "Looms", machines).record["path"] == "machines/looms"

    def test_with_children_is_rejected_and_they_are_counted(self, api: Api, platform: Running) -> None:
        machines, _ = plant_line(api, platform, "Machines", "Looms")
        for _ in range(2):
            attach(api, machines)
        answer = fell(api, machines)
        assert (answer.code, answer.faults) == ("409 not_empty", {"query/strategy": "not_empty"})
        assert "1 child and 2 attachments" in answer.json["detail"]
        assert fell(api, machines, "burn").faults == {"query/strategy": "not_one_of"}

    def test_succeeds_once_children_and_attachments_are_gone(self, api: Api, platform: Running) -> None:
        machines, looms = plant_line(api, platform, "Machines", "Looms")
        attachment = attach(api, machines)
        assert api.delete(attachment.path, as_=platform.owner).status == 204
        assert move(api, looms, None).status == 200
        assert fell(api, machines).status == 204

    def test_a_stale_etag_takes_precedence_over_children(self, api: Api, platform: Running) -> None:
        machines, _ = plant_line(api, platform, "Machines", "Looms")
        stale = api.delete(machines.path, as_=platform.owner, headers={"If-Match": '"000000000000.9.0"'})
        assert stale.code == "412 precondition_failed"
