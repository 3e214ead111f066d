"""Test nodes of a taxonomy: creating, reading, updating, moving and deleting them."""

from tests.harness.api import Json
from tests.harness.audit_logs import list_entries
from tests.harness.platforms import create_platform
from tests.harness.taxonomy import create_node

UNKNOWN_ID = "01939d3c-0000-7000-8000-00000000000a"
LEVELS = [f"level-{n}" for n in range(1, 11)]


class TestCreateTaxonomyNode:
    def test_defaults_to_a_root_term(self, nodes, platform):
        record = nodes.create("Looms").record
        generated = {name: record[name] for name in ("id", "createdAt", "updatedAt")}
        names = {"name": "Looms", "slug": "looms", "path": "looms", "description": None}
        position = {"parentId": None, "position": 0, "depth": 1}
        state: Json = {"altLabels": [], "kind": "term", "version": 1}
        assert record == {**generated, **names, **position, **state, "platformId": platform.id}

    def test_path_and_depth_follow_from_the_parent_to_at_most_ten_levels(self, nodes):
        for depth, node in enumerate(nodes.create_chain(*LEVELS), 1):
            parent_id = nodes[LEVELS[depth - 2]].id if depth > 1 else None
            record = [node.record[name] for name in ("depth", "path", "parentId")]
            assert record == [depth, "/".join(LEVELS[:depth]), parent_id]
        answer = nodes.post("Too deep", LEVELS[9])
        assert (answer.status_and_code, answer.errors) == ("422 validation_failed", {"/parentId": "too_deep"})

    def test_is_placed_last_among_its_siblings(self, nodes):
        nodes.create("Root")
        positions = [nodes.create(f"Root/{name}").record["position"] for name in ("A", "B")]
        positions += [nodes.create("Root/C", position=7).record["position"]]
        positions += [nodes.create(f"Root/{name}", position=None).record["position"] for name in ("D", "E")]
        assert positions == [0, 1, 7, 8, 9]
        assert nodes.create("Other root").record["position"] == 1

    def test_slugs_are_unique_among_siblings_only(self, nodes):
        nodes.create("Machines", "Mills")
        nodes.create("Machines/Parts", slug="parts")
        answer = nodes.post("Other parts", "Machines", slug="parts")
        assert (answer.status_and_code, answer.errors) == ("409 slug_taken", {"/slug": "slug_taken"})
        assert nodes.create("Mills/Parts", slug="parts").record["path"] == "mills/parts"
        assert nodes.create("Machines/Parts").record["slug"].startswith("parts-")
        assert nodes.create("Machines/部品").record["slug"].startswith("taxonomy-")

    def test_rejects_a_parent_that_does_not_exist(self, api, organization, nodes):
        deleted_node = nodes.create("Gone")
        nodes.delete("Gone")
        other = create_node(api, create_platform(api, organization), "Other")
        for parent_id in (UNKNOWN_ID, other.id, deleted_node.id):
            answer = nodes.post("Looms", parentId=parent_id)
            assert (answer.status_and_code, answer.errors) == ("422 validation_failed", {"/parentId": "unknown"})

    def test_labels_differ_in_more_than_case_and_accents(self, nodes):
        labels = ["Webstühle", "Métiers à tisser"]
        assert nodes.create("Looms", altLabels=labels).record["altLabels"] == labels
        for invalid_labels, code in (
            (["Métier", "METIER"], "malformed"),
            ([f"Label {n}" for n in range(21)], "too_many"),
        ):
            assert nodes.post("Looms", altLabels=invalid_labels).errors == {"/altLabels": code}

    def test_the_largest_node_fits_into_one_transaction(self, nodes):
        nodes.create_chain(*LEVELS[:9])
        labels = [f"Label {n} {'x' * 180}" for n in range(20)]
        nodes.create(f"{LEVELS[8]}/Tenth", altLabels=labels, description="y" * 4000)
        answer = nodes.move("Tenth", None, altLabels=[f"Other {n}" for n in range(20)], name="Other", slug="other")
        assert (answer.status, answer.json["path"]) == (200, "other")


class TestGetTaxonomyNode:
    def test_a_new_path_changes_the_etag_but_not_the_version(self, api, platform, nodes, mary):
        _, looms = nodes.create_chain("Machines", "Looms")
        before = api.get(looms.path, caller=mary)
        assert before.json == looms.record
        nodes.create("Things")
        nodes.move("Machines", "Things")
        after = api.get(looms.path, caller=mary, headers={"If-None-Match": before.etag})
        assert (after.status, after.json["path"], after.json["version"]) == (200, "things/machines/looms", 1)
        headers = {"If-Match": before.etag}
        assert api.patch(looms.path, caller=platform.owner, json={"name": "X"}, headers=headers).status == 200

    def test_takes_at_most_three_reads_after_moves_of_ancestors(self, api, platform, nodes):
        *_, jacquard = nodes.create_chain("Machines", "Looms", "Jacquard")
        nodes.create_chain("Things", "Old things")
        nodes.read("Jacquard")
        for parent in ("Things", "Old things", None, "Old things"):
            assert nodes.move("Machines", parent).status == 200
            answer = api.get(jacquard.path, caller=platform.owner)
            assert answer.json["path"].endswith("machines/looms/jacquard")
            assert len(answer.calls.names_of_service("dynamodb")) <= 3


class TestUpdateTaxonomyNode:
    def test_changes_the_given_fields(self, nodes):
        looms = nodes.create("Looms", altLabels=["Weavers"])
        body = {"description": "What grinds.", "altLabels": ["Grinders"], "position": 5}
        answer = nodes.patch("Looms", name="Mills", **body)
        changed = {**body, "name": "Mills", "updatedAt": answer.json["updatedAt"], "version": 2}
        assert answer.json == {**looms.record, **changed} == nodes.read("Looms")

    def test_null_restores_the_default(self, nodes):
        nodes.create("Root")
        nodes.create("Root/Looms", description="What weaves.", altLabels=["Weavers"])
        nodes.create("Root/Mills", position=4)
        body = {"description": None, "altLabels": None, "position": None}
        record = nodes.patch("Looms", **body).json
        assert [record[field] for field in body] == [None, [], 5]
        assert nodes.patch("Looms", name=None).errors == {"/name": "required"}

    def test_no_change_writes_nothing(self, nodes):
        machines, looms = nodes.create_chain("Machines", "Looms")
        for body in ({}, {"parentId": machines.id, "path": "machines/looms", "depth": 2, "kind": "term"}):
            answer = nodes.patch("Looms", **body)
            assert (answer.status, answer.json) == (200, looms.record)
            assert "dynamodb:TransactWriteItems" not in answer.calls.call_names
        answer = nodes.patch("Looms", path="looms", platformId=UNKNOWN_ID)
        assert answer.errors == {"/path": "read_only", "/platformId": "read_only"}

    def test_a_new_slug_changes_the_path_of_all_descendants(self, nodes):
        nodes.create_chain("Machines", "Looms", "Jacquard")
        assert nodes.patch("Machines", slug="engines").json["path"] == "engines"
        assert nodes.list_paths() == ["engines", "engines/looms", "engines/looms/jacquard"]
        assert nodes.read("Looms")["version"] == 1

    def test_a_new_parent_moves_all_descendants(self, api, nodes, organization):
        machines, *_ = nodes.create_chain("Machines", "Looms", "Jacquard")
        nodes.create_chain("Things", "Old")
        record = nodes.move("Looms", "Old").json
        assert (record["path"], record["depth"], record["version"]) == ("things/old/looms", 3, 2)
        assert nodes.read("Jacquard")["path"] == "things/old/looms/jacquard"
        assert nodes.list_paths(parentId=machines.id) == []
        record = nodes.move("Looms", None).json
        assert (record["path"], nodes.read("Jacquard")["depth"]) == ("looms", 2)
        entry = list_entries(api, organization)[0]
        assert [entry["type"], entry["target"]["name"], entry["data"]] == ["taxonomy.node.updated", "Looms", record]
        changes = {change["field"]: change["to"] for change in entry["changes"]}
        assert changes == {"parentId": None, "path": "looms", "depth": 1}

    def test_cannot_move_below_itself_or_a_descendant(self, nodes):
        nodes.create_chain("Machines", "Looms", "Jacquard")
        for parent in ("Machines", "Looms", "Jacquard"):
            answer = nodes.move("Machines", parent)
            assert (answer.status_and_code, answer.errors) == ("409 cycle", {"/parentId": "cycle"})
        assert nodes.list_paths() == ["machines", "machines/looms", "machines/looms/jacquard"]

    def test_cannot_move_next_to_a_sibling_with_the_same_slug(self, nodes):
        nodes.create_chain("Machines", "Looms")
        nodes.create("Other", slug="looms")
        assert nodes.move("Other", "Machines").status_and_code == "409 slug_taken"
        assert nodes.patch("Other", slug="machines").status_and_code == "409 slug_taken"
        assert nodes.move("Other", "Machines", slug="more-looms").json["path"] == "machines/more-looms"
        assert nodes.move("Looms", None).json["path"] == "looms"  # This slug is free again.

    def test_cannot_move_where_descendants_would_be_too_deep(self, nodes):
        nodes.create_chain(*LEVELS[:7])
        nodes.create_chain("Branch", "Twig", "Bud", "Leaf")
        answer = nodes.move("Branch", LEVELS[6])
        assert (answer.status_and_code, answer.errors) == ("422 validation_failed", {"/parentId": "too_deep"})
        assert "3 levels below" in answer.json["errors"][0]["detail"]
        assert nodes.move("Branch", LEVELS[5]).json["depth"] == 7
        assert nodes.post("Too deep", "Leaf").status_and_code == "422 validation_failed"

    def test_former_descendants_do_not_limit_a_move(self, nodes):
        nodes.create_chain(*LEVELS[:8])
        nodes.create_chain("Branch", "Twig", "Bud", "Leaf")
        assert nodes.delete("Leaf").status == 204
        assert nodes.move("Bud", None).status == 200
        assert nodes.move("Branch", LEVELS[7]).json["depth"] == 9
        assert nodes.read("Twig")["depth"] == 10
        assert nodes.post("Too deep", "Twig").status_and_code == "422 validation_failed"

    def test_is_placed_and_counted_among_its_new_siblings(self, nodes):
        nodes.create_chain("Machines", "Looms")
        nodes.create("Mills", position=9)
        assert nodes.move("Mills", "Machines").json["position"] == 9
        assert nodes.create("Machines/New").record["position"] == 10
        assert nodes.move("Looms", None, position=None).json["position"] == 10  # After the former position of Mills.
        assert nodes.delete("Machines").status_and_code == "409 not_empty"


class TestDeleteTaxonomyNode:
    def test_without_children_is_removed_at_once(self, api, platform, nodes):
        _, looms = nodes.create_chain("Machines", "Looms")
        assert nodes.delete("Looms").status == 204
        assert api.get(looms.path, caller=platform.owner).status_and_code == "404 not_found"
        assert nodes.resolve("machines/looms") is None
        assert nodes.resolve(slug="looms") is None
        assert nodes.list_paths(q="loo") == []
        assert nodes.create("Machines/Looms").record["path"] == "machines/looms"

    def test_with_children_is_rejected_and_they_are_counted(self, api, platform, nodes):
        nodes.create_chain("Machines", "Looms")
        attachments = [nodes.attach("Machines") for _ in range(2)]
        answer = nodes.delete("Machines")
        assert (answer.status_and_code, answer.errors) == ("409 not_empty", {"query/strategy": "not_empty"})
        assert "1 child and 2 attachments" in answer.json["detail"]
        assert nodes.delete("Machines", "burn").errors == {"query/strategy": "not_one_of"}
        headers = {"If-Match": '"000000000000.9.0"'}  # A stale tag takes precedence over children.
        stale = api.delete(nodes["Machines"].path, caller=platform.owner, headers=headers)
        assert stale.status_and_code == "412 precondition_failed"
        for attachment in attachments:
            assert api.delete(attachment.path, caller=platform.owner).status == 204
        assert nodes.move("Looms", None).status == 200
        assert nodes.delete("Machines").status == 204
