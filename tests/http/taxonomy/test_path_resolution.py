"""Test which node a path, a former path, a slug or a label of a taxonomy resolves to."""

import pytest

from chalicelib.features.taxonomy.entities import slug_index
from tests.harness.taxonomy import resolve_node

LEVELS = [f"level-{n}" for n in range(1, 11)]


class TestByPath:
    def test_returns_the_node_and_its_ancestors(self, api, platform, nodes):
        machines, looms, jacquard = nodes.create_chain("Machines", "Looms", "Jacquard")
        assert resolve_node(api, platform, "machines/looms/jacquard").json == {
            "node": jacquard.record,
            "ancestors": [machines.record, looms.record],
            "matchedBy": "path",
        }

    def test_ignores_case_and_surrounding_slashes_and_finds_nothing_else(self, nodes):
        nodes.create_chain("Machines", "Looms")
        for path in ("machines/looms", "/machines/looms/", " Machines/LOOMS "):
            assert nodes.resolve(path) == ("Looms", "path")
        unknown_paths = ["looms", "machines/mills", "machines/looms/jacquard", "machines//looms", "machines/Ünder"]
        for path in (*unknown_paths, "a" * 1000, "/".join("a" * 11), "looms/machines"):
            assert nodes.resolve(path) is None, path

    def test_requires_a_path_or_a_slug(self, api, platform):
        for query in ({}, {"path": ""}, {"path": " ", "slug": ""}):
            answer = resolve_node(api, platform, **query)
            assert (answer.status_and_code, [*answer.errors]) == ("422 validation_failed", ["query/path", "query/slug"])

    def test_a_path_of_ten_segments_takes_two_reads(self, api, platform, nodes):
        *_, last = nodes.create_chain(*LEVELS)
        resolve_node(api, platform, "met")
        answer = resolve_node(api, platform, "/".join(LEVELS))
        assert (answer.json["node"], len(answer.json["ancestors"])) == (last.record, 9)
        assert answer.calls.call_names == ["dynamodb:BatchGetItem"] * 2

    def test_a_path_through_a_slug_of_many_nodes_is_resolved(self, nodes, monkeypatch):
        monkeypatch.setattr(slug_index, "MAX_NODES_PER_SLUG", 2)
        for n in range(4):
            nodes.create(f"Root {n}")
            nodes.create(f"Root {n}/Parts {n}", slug="parts")
        for n in range(4):
            nodes.create(f"Parts {n}/Bolts {n}", slug="bolts")
        nodes.create("Bolts 3/Heads")
        for n in range(4):
            assert nodes.resolve(f"root-{n}/parts") == (f"Parts {n}", "path")
            assert nodes.resolve(f"root-{n}/parts/bolts") == (f"Bolts {n}", "path")
        assert nodes.resolve("root-3/parts/bolts/heads") == ("Heads", "path")
        assert nodes.resolve("root-2/parts/bolts/heads") is None
        assert nodes.resolve("parts") is None
        nodes.move("Parts 0", None)
        assert nodes.resolve("parts/bolts") == ("Bolts 0", "path")
        assert nodes.resolve("root-0/parts/bolts") == ("Bolts 0", "formerPath")


class TestByFormerPath:
    def test_a_moved_or_renamed_node_is_found(self, api, platform, nodes):
        nodes.create_chain("Machines", "Looms")
        things = nodes.create("Things")
        nodes.move("Looms", "Things")
        nodes.rename(Looms="weavers")
        assert nodes.resolve("machines/looms") == nodes.resolve("things/looms") == ("Looms", "formerPath")
        assert nodes.resolve("things/weavers") == ("Looms", "path")
        assert resolve_node(api, platform, "machines/looms").json["ancestors"] == [things.record]
        assert nodes.resolve("machines") == ("Machines", "path")

    def test_its_descendants_are_found(self, nodes):
        nodes.create_chain("Machines", "Looms", "Jacquard")
        nodes.rename(Machines="engines")
        assert nodes.resolve("machines/looms/jacquard") == ("Jacquard", "formerPath")
        nodes.create("Jacquard/Cards")
        assert nodes.resolve("machines/looms/jacquard/cards") == ("Cards", "formerPath")
        assert nodes.resolve("machines/looms/mills") is None

    def test_descendants_that_moved_too_are_found(self, nodes):
        nodes.create_chain("Machines", "Looms", "Jacquard")
        nodes.rename(Machines="engines", Looms="weavers")
        nodes.rename(Machines="motors")
        nodes.move("Jacquard", "Machines")
        for path in ("machines/looms", "engines/looms", "engines/weavers", "motors/weavers"):
            assert nodes.resolve(f"{path}/jacquard") == ("Jacquard", "formerPath"), path

    def test_the_current_owner_of_a_path_takes_precedence(self, nodes):
        nodes.create("First", slug="looms")
        nodes.rename(First="old-looms")
        nodes.create("Second", slug="looms")
        assert nodes.resolve("looms") == ("Second", "path")
        nodes.rename(Second="newer-looms")
        assert nodes.resolve("looms") == ("Second", "formerPath")
        nodes.delete("Second")
        assert nodes.resolve("looms") is None
        nodes.create("Mills")
        for slug in ("grinders", "mills", "grinders"):  # The second time, the slug is the current one again.
            nodes.rename(Mills=slug)
        assert [nodes.resolve(slug) for slug in ("grinders", "mills")] == [("Mills", "path"), ("Mills", "formerPath")]

    def test_two_nodes_that_exchanged_slugs_are_found(self, nodes):
        nodes.create("One", "Other")
        nodes.create("One/Below one", "Other/Below other", slug="below")
        nodes.rename(One="x", Other="one")
        nodes.rename(One="other")
        assert nodes.resolve("one/below") == ("Below other", "path")
        assert nodes.resolve("other/below") == ("Below one", "path")
        assert nodes.resolve("x/below") == ("Below one", "formerPath")


class TestBySlugOrLabel:
    def test_a_slug_finds_the_oldest_node(self, api, platform, nodes):
        roots = [nodes.create(f"Root {n}") for n in range(3)]
        for n in (2, 1, 0):
            nodes.create(f"Root {n}/Parts {n}", slug="parts")
        assert nodes.resolve(slug="parts") == ("Parts 2", "slug")
        ancestors = resolve_node(api, platform, slug="parts").json["ancestors"]
        assert [ancestor["id"] for ancestor in ancestors] == [roots[2].id]
        nodes.delete("Parts 2")
        assert nodes.resolve(slug="Parts") == ("Parts 1", "slug")

    @pytest.mark.parametrize(
        "label", ["Métiers à tisser", "metiers a tisser", "MÉTIERS  À  TISSER", "\uff4détiers à tisser"]
    )
    def test_a_label_is_found_whatever_its_case_and_accents(self, nodes, label):
        nodes.create_chain("Machines", "Looms")
        assert nodes.patch("Looms", altLabels=["C#", "Métiers à tisser"]).status == 200
        assert nodes.resolve(slug=label) == ("Looms", "altLabel")

    def test_a_slug_takes_precedence_over_a_label_and_labels_match_entirely(self, nodes):
        nodes.create("Alpha", altLabels=["looms", "C#", "C", "C#1"])
        nodes.create("Looms")
        assert nodes.resolve(slug="looms") == ("Looms", "slug")
        for label in ("c", "c#", "C#1"):
            assert nodes.resolve(slug=label) == ("Alpha", "altLabel")
        for word in ("c#2", "loom", "alpha beta", "#"):
            assert nodes.resolve(slug=word) is None

    def test_former_slugs_and_labels_find_nothing(self, nodes):
        nodes.create("Looms", altLabels=["Weavers"])
        assert nodes.patch("Looms", slug="mills", altLabels=["Grinders"]).status == 200
        assert [bool(nodes.resolve(slug=word)) for word in ("looms", "weavers", "mills", "grinders")] == [0, 0, 1, 1]

    def test_a_path_takes_precedence_over_a_slug(self, nodes):
        nodes.create_chain("Machines", "Looms")
        assert nodes.resolve("machines/looms", slug="machines") == ("Looms", "path")
        assert nodes.resolve("mills", slug="machines") is None
