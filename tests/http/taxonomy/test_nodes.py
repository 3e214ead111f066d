"""Nodes of a taxonomy: creating, reading, changing, moving and deleting them, and what happens to their subtrees."""

from chalicelib.kernel.work import jobs
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.platforms import create_platform
from tests.harness.taxonomy import create_node, post_attachment, resolve_node

UNKNOWN_ID = "01939d3c-0000-7000-8000-00000000000a"
EMPTY = {"PCOUNT", "PN~"}
CHAIN = ("Machines", "Looms", "Jacquard")
LEVELS = [f"level-{n}" for n in range(1, 11)]


class TestCreateTaxonomyNode:
    def test_path_and_depth_follow_from_the_parent_to_at_most_ten_levels(self, nodes):
        parent_id = None
        for depth, node in enumerate(nodes.create_chain(*LEVELS), 1):
            expected = {"depth": depth, "path": "/".join(LEVELS[:depth]), "parentId": parent_id}
            assert node.record | expected == node.record
            parent_id = node.id
        assert nodes.post("Too deep", LEVELS[9]).validation_errors == {"/parentId": "too_deep"}

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
        assert answer.problem_and_errors == ("409 slug_taken", {"/slug": "slug_taken"})
        assert nodes.create("Mills/Parts", slug="parts").record["path"] == "mills/parts"
        assert nodes.create("Machines/Parts").record["slug"].startswith("parts-")
        assert nodes.create("Machines/部品").record["slug"].startswith("taxonomy-")

    def test_rejects_a_parent_that_does_not_exist(self, api, organization, nodes):
        deleted_node = nodes.create("Gone")
        nodes.delete("Gone")
        other = create_node(api, create_platform(api, organization), "Other")
        for parent_id in (UNKNOWN_ID, other.id, deleted_node.id):
            assert nodes.post("Looms", parentId=parent_id).validation_errors == {"/parentId": "unknown"}

    def test_labels_differ_in_more_than_case_and_accents(self, nodes):
        labels = ["Webstühle", "Métiers à tisser"]
        assert nodes.create("Looms", altLabels=labels).record["altLabels"] == labels
        assert nodes.post("Looms", altLabels=["Métier", "METIER"]).errors == {"/altLabels": "malformed"}
        assert nodes.post("Looms", altLabels=[f"Label {n}" for n in range(21)]).errors == {"/altLabels": "too_many"}

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

    def test_a_new_parent_or_slug_changes_the_path_of_all_descendants(self, api, nodes, organization):
        machines, *_ = nodes.create_chain("Machines", "Looms", "Jacquard")
        nodes.create_chain("Things", "Old")
        record = nodes.move("Looms", "Old").json
        assert (record["path"], record["depth"], record["version"]) == ("things/old/looms", 3, 2)
        assert nodes.read("Jacquard")["path"] == "things/old/looms/jacquard"
        assert nodes.list_paths(parentId=machines.id) == []
        record = nodes.move("Looms", None).json
        assert (record["path"], nodes.read("Jacquard")["depth"]) == ("looms", 2)
        changes = {change["field"]: change["to"] for change in list_entries(api, organization)[0]["changes"]}
        assert changes == {"parentId": None, "path": "looms", "depth": 1}
        assert nodes.patch("Looms", slug="weavers").json["path"] == "weavers"
        assert (nodes.read("Jacquard")["path"], nodes.read("Jacquard")["version"]) == ("weavers/jacquard", 1)

    def test_cannot_move_below_itself_or_a_descendant(self, nodes):
        nodes.create_chain("Machines", "Looms", "Jacquard")
        for parent in ("Machines", "Looms", "Jacquard"):
            assert nodes.move("Machines", parent).problem_and_errors == ("409 cycle", {"/parentId": "cycle"})
        assert nodes.list_paths() == ["machines", "machines/looms", "machines/looms/jacquard"]

    def test_cannot_move_next_to_a_sibling_with_the_same_slug(self, nodes):
        nodes.create_chain("Machines", "Looms")
        nodes.create("Other", slug="looms")
        assert nodes.move("Other", "Machines").status_and_code == "409 slug_taken"
        assert nodes.patch("Other", slug="machines").status_and_code == "409 slug_taken"
        assert nodes.move("Other", "Machines", slug="more-looms").json["path"] == "machines/more-looms"
        assert nodes.move("Looms", None).json["path"] == "looms"  # This slug is free again.

    def test_cannot_move_where_descendants_would_be_too_deep_but_former_ones_do_not_count(self, nodes):
        nodes.create_chain(*LEVELS[:8])
        nodes.create_chain("Branch", "Twig", "Bud", "Leaf")
        answer = nodes.move("Branch", LEVELS[6])
        assert answer.validation_errors == {"/parentId": "too_deep"}
        assert "3 levels below" in answer.json["errors"][0]["detail"]
        assert nodes.move("Branch", LEVELS[5]).json["depth"] == 7
        assert nodes.post("Too deep", "Leaf").status_and_code == "422 validation_failed"
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
        found = (nodes.resolve("machines/looms"), nodes.resolve(slug="looms"), nodes.list_paths(q="loo"))
        assert found == (None, None, [])
        assert nodes.create("Machines/Looms").record["path"] == "machines/looms"

    def test_with_children_is_rejected_and_they_are_counted(self, api, platform, nodes):
        nodes.create_chain("Machines", "Looms")
        attachments = [nodes.attach("Machines") for _ in range(2)]
        answer = nodes.delete("Machines").expect_problem("409 not_empty", "1 child and 2 attachments")
        assert answer.errors == {"query/strategy": "not_empty"}
        assert nodes.delete("Machines", "burn").errors == {"query/strategy": "not_one_of"}
        headers = {"If-Match": '"000000000000.9.0"'}  # A stale tag takes precedence over children.
        stale = api.delete(nodes["Machines"].path, caller=platform.owner, headers=headers)
        assert stale.status_and_code == "412 precondition_failed"
        for attachment in attachments:
            assert api.delete(attachment.path, caller=platform.owner).status == 204
        assert nodes.move("Looms", None).status == 200
        assert nodes.delete("Machines").status == 204


def remaining_key_prefixes(platform):
    """Return the key prefixes of the stored items of a platform's taxonomy."""
    items = [item for item in memory_aws.all_items() if platform.id in (item["pk"] + item.get("platform_id", ""))]
    taxonomy_items = [item for item in items if item["pk"].startswith((f"P#{platform.id}#T", "H#", "U#taxonomy"))]
    return {item["pk"][:1] + item["sk"].partition("#")[0] for item in taxonomy_items if len(item) > 2}


def stored_node_count():
    """Return how many nodes count against the quota."""
    (count,) = [item["n"] for item in memory_aws.all_items() if item["sk"] == "COUNT#taxonomy nodes"]
    return count


def assert_not_visible(api, nodes, names):
    """Assert that no operation shows any of some nodes."""
    platform, owner, ids = nodes.platform, nodes.platform.owner, {nodes[name].id for name in names}
    for name in names:
        node = nodes[name]
        for path in (node.path, f"{node.path}/attachments"):
            assert api.get(path, caller=owner).status_and_code == "404 not_found"
        assert post_attachment(api, node).status_and_code == "404 not_found"
        assert nodes.post("New", name).errors == {"/parentId": "unknown"}
        assert nodes.resolve(node.record["path"]) is nodes.resolve(slug=node.record["slug"]) is None
    for query in ({}, {"q": names[0]}, *({"parentId": node_id} for node_id in ids)):
        listed = api.get_items(f"{platform.path}/taxonomy-nodes", caller=owner, query=query)
        assert not ids & {node["id"] for node in listed}
    for query in ({}, {"entityType": "lesson"}, *({"nodeId": node_id} for node_id in ids)):
        attached = api.get_items(f"{platform.path}/taxonomy-attachments", caller=owner, query=query)
        assert not ids & {attachment["nodeId"] for attachment in attached}
    tree = api.get(f"{platform.path}/taxonomy-tree", caller=owner).text
    assert not any(node_id in tree for node_id in ids)


class TestCascade:
    def test_cascade_hides_the_subtree_at_once_and_removes_it_later(self, api, platform, nodes, workers):
        nodes.create("Stays")
        nodes.create_chain(*CHAIN)
        nodes.attach("Stays", "lesson", nodes.attach("Jacquard").record["entityId"])
        assert nodes.delete("Machines", "cascade").status == 204
        for _ in range(2):
            assert_not_visible(api, nodes, CHAIN)
            assert nodes.list_paths() == ["stays"]
            workers.run_until_idle()
        assert remaining_key_prefixes(platform) == {"PA", "PCOUNT", "PE", "PN", "PN~", "PQ", "PS", "PW", "H", "U"}
        assert stored_node_count() == 1

    def test_cascade_frees_the_slug_at_once(self, api, platform, nodes, workers):
        nodes.create_chain("Machines", "Looms")
        assert nodes.delete("Machines", "cascade").status == 204
        machines, looms = nodes.create_chain("Machines", "Looms")
        assert machines.record["slug"] == "machines"
        workers.run_until_idle()
        assert resolve_node(api, platform, "machines/looms").json["node"] == looms.record
        assert stored_node_count() == 2

    def test_a_parent_can_be_deleted_once_its_subtree_which_is_removed_in_slices_is_deleted(
        self, platform, nodes, workers, monkeypatch
    ):
        nodes.create("Machines", "Machines/Root")
        for n in range(4):
            nodes.create(f"Root/Child {n}")
            nodes.attach(f"Child {n}")
        assert nodes.delete("Root", "cascade").status == 204
        assert nodes.delete("Machines").status == 204  # It has no children any more.
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", 0)
        workers.run_until_idle()
        assert remaining_key_prefixes(platform) == EMPTY

    def test_cascade_deletes_a_node_without_children(self, platform, nodes):
        nodes.create("Looms")
        assert nodes.delete("Looms", "cascade").status == 204
        assert remaining_key_prefixes(platform) == EMPTY


class TestReparent:
    def test_children_move_up_and_their_former_paths_redirect(self, api, platform, nodes, workers):
        nodes.create_chain(*CHAIN, "Cards")
        attachment = nodes.attach("Looms")
        assert nodes.delete("Looms", "reparent").status == 204
        for _ in range(2):
            assert nodes.list_paths() == ["machines", "machines/jacquard", "machines/jacquard/cards"]
            assert nodes.read("Cards")["depth"] == 3
            for path, name in {"": "Machines", "/jacquard": "Jacquard", "/jacquard/cards": "Cards"}.items():
                assert nodes.resolve(f"machines/looms{path}") == (name, "formerPath")
            assert api.get(attachment.path, caller=platform.owner).status_and_code == "404 not_found"
            assert api.get(nodes["Looms"].path, caller=platform.owner).status_and_code == "404 not_found"
            assert api.get_items(f"{platform.path}/taxonomy-attachments", caller=platform.owner) == []
            workers.run_until_idle()
        nodes.delete("Machines").expect_problem("409 not_empty", "1 child and 0 attachments")
        assert stored_node_count() == 3

    def test_children_of_a_root_become_roots(self, nodes, workers):
        nodes.create_chain(*CHAIN)
        assert nodes.delete("Machines", "reparent").status == 204
        workers.run_until_idle()
        assert nodes.list_paths() == ["looms", "looms/jacquard"]
        assert nodes.resolve("machines/looms/jacquard") == ("Jacquard", "formerPath")
        assert nodes.resolve("machines") is None
        assert nodes.delete("Looms").status_and_code == "409 not_empty"

    def test_former_paths_of_a_child_resolve_and_it_may_take_the_slug_of_the_deleted_parent(self, nodes):
        nodes.create_chain(*CHAIN)
        nodes.rename(Jacquard="cards")
        nodes.rename(Jacquard="looms")
        assert nodes.delete("Looms", "reparent").status == 204
        for path in ("jacquard", "cards"):
            assert nodes.resolve(f"machines/looms/{path}") == ("Jacquard", "formerPath")
        assert nodes.resolve("machines/looms") == ("Jacquard", "path")
        assert nodes.post("Looms", "Machines", slug="looms").status_and_code == "409 slug_taken"

    def test_a_child_whose_slug_is_taken_prevents_the_deletion(self, nodes):
        nodes.create_chain(*CHAIN)
        nodes.create("Machines/Other", slug="jacquard")
        nodes.delete("Looms", "reparent").expect_problem("409 slug_taken", "'jacquard'")

    def test_at_most_25_children_are_reparented(self, nodes, workers):
        machines, _ = nodes.create_chain("Machines", "Looms")
        nodes.create(*(f"Looms/Child {n}" for n in range(26)), description="x" * 4000)
        nodes.attach("Looms")
        assert nodes.patch("Looms", description="y" * 4000).status == 200
        answer = nodes.delete("Looms", "reparent")
        assert answer.problem_and_errors == ("409 limit_exceeded", {"query/strategy": "limit_exceeded"})
        assert nodes.move("Child 0", None).status == 200
        assert nodes.delete("Looms", "reparent").status == 204
        workers.run_until_idle()
        assert len(nodes.list_paths(parentId=machines.id)) == 25
        assert stored_node_count() == 27

    def test_reparent_leaves_only_the_former_path_of_a_node_without_children(self, platform, nodes, workers):
        nodes.create_chain("Machines", "Looms")
        nodes.attach("Looms")
        assert nodes.delete("Looms", "reparent").status == 204
        workers.run_until_idle()
        assert nodes.delete("Machines").status == 204
        assert remaining_key_prefixes(platform) == {*EMPTY, "PF"}
