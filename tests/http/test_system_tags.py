"""The system tags of a platform's taxonomy."""

from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded
from tests.harness.platforms import Running, takes_part
from tests.harness.taxonomy import Node, asked_to_plant, attach, fell, move, paths, plant, resolve

DEFAULT = ["featured", "pinned", "official", "archived"]


def tagged(api: Api, platform: Running, *tags: str, as_: Person | None = None) -> Answer:
    """Ask for system tags; without any, for the usual ones."""
    body = {"tags": list(tags)} if tags else {}
    return api.post(f"{platform.path}/taxonomy-system-tags", as_=as_ or platform.owner, json=body)


def nodes(answer: Answer, platform: Running) -> list[Node]:
    return [Node(record, platform) for record in answer.json["items"]]


class TestCreateSystemTags:
    def test_the_usual_ones_are_roots_of_their_kind(self, api: Api, platform: Running) -> None:
        plant(api, platform, "Term")
        answer = tagged(api, platform)
        assert (answer.status, answer.json["created"], answer.json["nextCursor"]) == (200, 4, None)
        told = [
            (tag["slug"], tag["name"], tag["kind"], tag["parentId"], tag["position"]) for tag in answer.json["items"]
        ]
        assert told == [(slug, slug.title(), "system", None, n) for n, slug in enumerate(DEFAULT, 1)]
        assert paths(api, platform, kind="system") == DEFAULT
        assert resolve(api, platform, "featured").json["node"] == answer.json["items"][0]

    def test_again_creates_those_that_are_missing(self, api: Api, platform: Running) -> None:
        first = tagged(api, platform, "pinned", "hot")
        second = tagged(api, platform, "featured", "hot", "pinned")
        assert (first.json["created"], second.json["created"]) == (2, 1)
        assert [tag["slug"] for tag in second.json["items"]] == ["featured", "hot", "pinned"]
        assert second.json["items"][2] == first.json["items"][0]

    def test_nothing_missing_writes_nothing(self, api: Api, platform: Running) -> None:
        first = tagged(api, platform)
        again = tagged(api, platform)
        assert again.json == {**first.json, "created": 0}
        assert "dynamodb:TransactWriteItems" not in again.calls.names

    def test_a_term_in_their_place_is_named(self, api: Api, platform: Running) -> None:
        for slug in ("pinned", "archived"):
            plant(api, platform, "Term", slug=slug)
        refused = tagged(api, platform)
        assert (refused.code, refused.faults) == ("409 slug_taken", {"/tags/1": "slug_taken", "/tags/3": "slug_taken"})
        assert paths(api, platform, kind="system") == []
        assert asked_to_plant(api, platform, slug="featured").status == 201

    def test_a_term_elsewhere_is_in_nobodys_way(self, api: Api, platform: Running) -> None:
        plant(api, platform, "Pinned", plant(api, platform, "Root"), slug="pinned")
        assert tagged(api, platform).json["created"] == 4

    def test_tags_are_slugs_each_of_them_once(self, api: Api, platform: Running) -> None:
        assert tagged(api, platform, "Not a slug").faults == {"/tags/0": "malformed"}
        assert tagged(api, platform, "hot", "hot").faults == {"/tags": "malformed"}
        assert tagged(api, platform, *(f"tag-{n}" for n in range(16))).faults == {"/tags": "too_many"}

    def test_so_many_at_once_and_so_many_in_all(self, api: Api, platform: Running) -> None:
        for begin in (0, 15):
            assert tagged(api, platform, *(f"tag-{n}" for n in range(begin, begin + 15))).json["created"] == 15
        assert tagged(api, platform, *(f"tag-{n}" for n in range(20, 35))).json["created"] == 5
        assert tagged(api, platform, *(f"tag-{n}" for n in range(35, 41))).code == "409 limit_exceeded"

    def test_it_takes_an_admin(self, api: Api, platform: Running, edith: Person) -> None:
        takes_part(platform, edith, "editor")
        assert tagged(api, platform, as_=edith).code == "403 insufficient_role"
        assert tagged(api, platform, as_=platform.owner).status == 200

    def test_the_entry_says_which_there_are_now(self, api: Api, platform: Running, organization: Founded) -> None:
        tagged(api, platform, "hot")
        tagged(api, platform, "fresh")
        (entry, *_) = log_of(api, organization)
        assert (entry["type"], entry["target"]["type"]) == ("taxonomy.system_tags.created", "taxonomy.system_tags")
        assert (entry["target"]["id"], entry["data"]["id"]) == (platform.id, platform.id)
        assert [tag["slug"] for tag in entry["data"]["items"]] == ["hot", "fresh"]
        assert [change["field"] for change in entry["changes"]] == ["items", "items.fresh"]


class TestASystemTag:
    def test_keeps_its_slug_and_its_place_among_the_roots(self, api: Api, platform: Running) -> None:
        term = plant(api, platform, "Term")
        (tag,) = nodes(tagged(api, platform, "featured"), platform)
        for body in ({"slug": "other"}, {"parentId": term.id}):
            assert api.patch(tag.path, as_=platform.owner, json=body).code == "403 forbidden"
        changes = {"slug": "featured", "parentId": None, "name": "Empfohlen", "altLabels": ["Top"], "position": 9}
        changed = api.patch(tag.path, as_=platform.owner, json=changes)
        assert (changed.status, changed.json["name"], changed.json["kind"]) == (200, "Empfohlen", "system")
        assert paths(api, platform, kind="system") == ["featured"]

    def test_can_not_be_deleted(self, api: Api, platform: Running) -> None:
        (tag,) = nodes(tagged(api, platform, "featured"), platform)
        for strategy in (None, "cascade", "reparent"):
            assert fell(api, tag, strategy).code == "403 forbidden"

    def test_is_attached_and_has_terms_below_like_others(self, api: Api, platform: Running) -> None:
        (tag,) = nodes(tagged(api, platform, "featured"), platform)
        attach(api, tag)
        below = plant(api, platform, "This week", tag)
        assert below.record["path"] == "featured/this-week"
        assert move(api, below, None).status == 200
