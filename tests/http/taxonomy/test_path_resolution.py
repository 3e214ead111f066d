"""Test which node a path, a former path, a slug or a label of a taxonomy resolves to."""

from itertools import pairwise

import pytest

from chalicelib.features.taxonomy.entities import slug_index
from tests.harness.api import ApiClient
from tests.harness.platforms import CreatedPlatform
from tests.harness.taxonomy import CreatedNode, create_node, create_node_chain, delete_node, move_node, resolve_node

LEVELS = [f"level-{n}" for n in range(1, 11)]


def resolve_path(api: ApiClient, platform: CreatedPlatform, path: str) -> tuple[str, str] | None:
    """Return the id of the node that a path resolves to and how it was matched, or None."""
    answer = resolve_node(api, platform, path)
    return (answer.json["node"]["id"], answer.json["matchedBy"]) if answer.status == 200 else None


def rename(api: ApiClient, node: CreatedNode, slug: str) -> None:
    assert api.patch(node.path, caller=node.platform.owner, json={"slug": slug}).status == 200


class TestByPath:
    def test_returns_the_node_and_its_ancestors(self, api, platform):
        machines, looms, jacquard = create_node_chain(api, platform, "Machines", "Looms", "Jacquard")
        assert resolve_node(api, platform, "machines/looms/jacquard").json == {
            "node": jacquard.record,
            "ancestors": [machines.record, looms.record],
            "matchedBy": "path",
        }

    @pytest.mark.parametrize("path", ["machines/looms", "/machines/looms/", " Machines/LOOMS "])
    def test_ignores_case_and_surrounding_slashes(self, api, platform, path):
        _, looms = create_node_chain(api, platform, "Machines", "Looms")
        assert resolve_path(api, platform, path) == (looms.id, "path")

    @pytest.mark.parametrize(
        "path",
        [
            "looms",
            "machines/mills",
            "machines/looms/jacquard",
            "machines//looms",
            "machines/Ünder",
            "a" * 1000,
            "/".join("a" for _ in range(11)),
            "looms/machines",
        ],
    )
    def test_an_unknown_path_is_not_found(self, api, platform, path):
        create_node_chain(api, platform, "Machines", "Looms")
        assert resolve_node(api, platform, path).status_and_code == "404 not_found"

    def test_requires_a_path_or_a_slug(self, api, platform):
        for query in ({}, {"path": ""}, {"path": " ", "slug": ""}):
            answer = resolve_node(api, platform, **query)
            assert (answer.status_and_code, [*answer.errors]) == ("422 validation_failed", ["query/path", "query/slug"])

    def test_a_path_of_ten_segments_takes_two_reads(self, api, platform):
        *_, last = create_node_chain(api, platform, *LEVELS)
        resolve_node(api, platform, "met")
        answer = resolve_node(api, platform, "/".join(LEVELS))
        assert (answer.json["node"], len(answer.json["ancestors"])) == (last.record, 9)
        assert answer.calls.call_names == ["dynamodb:BatchGetItem"] * 2

    def test_a_path_through_a_slug_of_many_nodes_is_resolved(self, api, platform, monkeypatch):
        monkeypatch.setattr(slug_index, "MAX_NODES_PER_SLUG", 2)
        roots = [create_node(api, platform, f"Root {n}") for n in range(4)]
        parts = [create_node(api, platform, "Parts", root) for root in roots]
        bolts = [create_node(api, platform, "Bolts", part) for part in parts]
        heads = create_node(api, platform, "Heads", bolts[3])
        for n, part in enumerate(parts):
            assert resolve_path(api, platform, f"root-{n}/parts") == (part.id, "path")
            assert resolve_path(api, platform, f"root-{n}/parts/bolts") == (bolts[n].id, "path")
        assert resolve_path(api, platform, "root-3/parts/bolts/heads") == (heads.id, "path")
        assert resolve_path(api, platform, "root-2/parts/bolts/heads") is None
        assert resolve_path(api, platform, "parts") is None
        move_node(api, parts[0], None)
        assert resolve_path(api, platform, "parts/bolts") == (bolts[0].id, "path")
        assert resolve_path(api, platform, "root-0/parts/bolts") == (bolts[0].id, "formerPath")


class TestByFormerPath:
    def test_a_moved_or_renamed_node_is_found(self, api, platform):
        machines, looms = create_node_chain(api, platform, "Machines", "Looms")
        things = create_node(api, platform, "Things")
        move_node(api, looms, things)
        rename(api, looms, "weavers")
        assert resolve_path(api, platform, "machines/looms") == (looms.id, "formerPath")
        assert resolve_path(api, platform, "things/looms") == (looms.id, "formerPath")
        assert resolve_path(api, platform, "things/weavers") == (looms.id, "path")
        assert resolve_node(api, platform, "machines/looms").json["ancestors"] == [things.record]
        assert resolve_path(api, platform, "machines") == (machines.id, "path")

    def test_its_descendants_are_found(self, api, platform):
        machines, looms, jacquard = create_node_chain(api, platform, "Machines", "Looms", "Jacquard")
        rename(api, machines, "engines")
        assert resolve_path(api, platform, "machines/looms/jacquard") == (jacquard.id, "formerPath")
        cards = create_node(api, platform, "Cards", jacquard)
        assert resolve_path(api, platform, "machines/looms/jacquard/cards") == (cards.id, "formerPath")
        assert resolve_path(api, platform, "machines/looms/mills") is None
        assert looms.record["path"] == "machines/looms"

    def test_descendants_that_moved_too_are_found(self, api, platform):
        machines, looms, jacquard = create_node_chain(api, platform, "Machines", "Looms", "Jacquard")
        rename(api, machines, "engines")
        rename(api, looms, "weavers")
        rename(api, machines, "motors")
        move_node(api, jacquard, machines)
        former_paths = [
            "machines/looms/jacquard",
            "engines/looms/jacquard",
            "engines/weavers/jacquard",
            "motors/weavers/jacquard",
        ]
        assert {resolve_path(api, platform, path) for path in former_paths} == {(jacquard.id, "formerPath")}

    def test_the_current_owner_of_a_path_takes_precedence(self, api, platform):
        first = create_node(api, platform, "Looms", slug="looms")
        rename(api, first, "old-looms")
        second = create_node(api, platform, "Looms", slug="looms")
        assert resolve_path(api, platform, "looms") == (second.id, "path")
        rename(api, second, "newer-looms")
        assert resolve_path(api, platform, "looms") == (second.id, "formerPath")
        delete_node(api, second)
        assert resolve_path(api, platform, "looms") is None

    def test_a_slug_that_is_used_again_is_the_current_path(self, api, platform):
        looms = create_node(api, platform, "Looms")
        for slug in ("weavers", "looms", "weavers"):
            rename(api, looms, slug)
        assert resolve_path(api, platform, "weavers") == (looms.id, "path")
        assert resolve_path(api, platform, "looms") == (looms.id, "formerPath")

    def test_two_nodes_that_exchanged_slugs_are_found(self, api, platform):
        one, other = create_node(api, platform, "One"), create_node(api, platform, "Other")
        children = [create_node(api, platform, "Below", node) for node in (one, other)]
        for slug_of_one, slug_of_other in pairwise([("x", None), (None, "one"), ("other", None)]):
            for node, slug in ((one, slug_of_one[0]), (other, slug_of_other[1])):
                if slug:
                    rename(api, node, slug)
        rename(api, one, "other")
        assert resolve_path(api, platform, "one/below") == (children[1].id, "path")
        assert resolve_path(api, platform, "other/below") == (children[0].id, "path")
        assert resolve_path(api, platform, "x/below") == (children[0].id, "formerPath")


class TestBySlugOrLabel:
    def test_a_slug_finds_the_oldest_node(self, api, platform):
        roots = [create_node(api, platform, f"Root {n}") for n in range(3)]
        parts = [create_node(api, platform, "Parts", root) for root in roots[::-1]]
        answer = resolve_node(api, platform, slug="parts")
        assert (answer.json["node"]["id"], answer.json["matchedBy"]) == (parts[0].id, "slug")
        assert [ancestor["id"] for ancestor in answer.json["ancestors"]] == [roots[2].id]
        delete_node(api, parts[0])
        assert resolve_node(api, platform, slug="Parts").json["node"]["id"] == parts[1].id

    @pytest.mark.parametrize(
        "label", ["Métiers à tisser", "metiers a tisser", "MÉTIERS  À  TISSER", "\uff4détiers à tisser"]
    )
    def test_a_label_is_found_whatever_its_case_and_accents(self, api, platform, label):
        _, looms = create_node_chain(api, platform, "Machines", "Looms")
        body = {"altLabels": ["C#", "Métiers à tisser"]}
        assert api.patch(looms.path, caller=platform.owner, json=body).status == 200
        answer = resolve_node(api, platform, slug=label)
        assert (answer.json["node"]["path"], answer.json["matchedBy"]) == ("machines/looms", "altLabel")

    def test_a_slug_takes_precedence_over_a_label_and_labels_match_entirely(self, api, platform):
        labelled_node = create_node(api, platform, "Alpha", altLabels=["looms", "C#", "C", "C#1"])
        slugged_node = create_node(api, platform, "Looms")
        assert resolve_node(api, platform, slug="looms").json["node"]["id"] == slugged_node.id
        for label in ("c", "c#", "C#1"):
            assert resolve_node(api, platform, slug=label).json["node"]["id"] == labelled_node.id
        for word in ("c#2", "loom", "alpha beta", "#"):
            assert resolve_node(api, platform, slug=word).status_and_code == "404 not_found"

    def test_former_slugs_and_labels_find_nothing(self, api, platform):
        looms = create_node(api, platform, "Looms", altLabels=["Weavers"])
        body = {"slug": "mills", "altLabels": ["Grinders"]}
        assert api.patch(looms.path, caller=platform.owner, json=body).status == 200
        for word, status in (("looms", 404), ("weavers", 404), ("mills", 200), ("grinders", 200)):
            assert resolve_node(api, platform, slug=word).status == status

    def test_a_path_takes_precedence_over_a_slug(self, api, platform):
        _, looms = create_node_chain(api, platform, "Machines", "Looms")
        assert resolve_node(api, platform, "machines/looms", slug="machines").json["node"]["id"] == looms.id
        assert resolve_node(api, platform, "mills", slug="machines").status_and_code == "404 not_found"
