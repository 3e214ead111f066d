"""Test spaces: creating, listing, reading, updating and deleting them, and who sees private ones."""

from tests.harness.api import Api
from tests.harness.callers import Caller, Issuer, Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, make_key
from tests.harness.platforms import Running, comes_in, make_space, run_platform, takes_part


def list_names(api: Api, platform: Running, caller: Caller, limit: int = 100) -> list[str]:
    """Return the names of the spaces that a caller sees."""
    spaces = api.items(f"{platform.path}/spaces", as_=caller, query={"limit": limit})
    return [space["name"] for space in spaces]


class TestCreateSpace:
    def test_defaults_to_an_open_space_in_last_position(self, api: Api, platform: Running) -> None:
        records = [make_space(api, platform, name=name).record for name in ("Looms", "Mills")]
        fields = {field: value for field, value in records[1].items() if field not in ("id", "createdAt", "updatedAt")}
        assert fields == {
            "version": 1,
            "platformId": platform.id,
            "name": "Mills",
            "slug": "mills",
            "description": None,
            "visibility": "open",
            "position": 1,
        }
        assert records[0]["position"] == 0

    def test_editors_create_spaces_and_become_their_admins(
        self, api: Api, platform: Running, edith: Person, mary: Person
    ) -> None:
        takes_part(platform, edith, "editor")
        space = make_space(api, platform, as_=edith, visibility="private")
        assert api.patch(space.path, as_=edith, json={"name": "Edith's"}).status == 200
        body = {"platformId": platform.id, "name": "Looms"}
        assert api.post("/spaces", as_=mary, json=body).code == "403 insufficient_role"

    def test_a_key_cannot_create_a_private_space_that_it_would_not_see(
        self, api: Api, organization: Founded, platform: Running
    ) -> None:
        body = {"platformId": platform.id, "name": "Office", "visibility": "private"}
        forbidden = api.post("/spaces", as_=make_key(api, organization, "write"), json=body)
        assert (forbidden.code, set(forbidden.faults)) == ("403 insufficient_scope", {"/visibility"})
        key = make_key(api, organization, "spaces:write")
        creation = api.post("/spaces", as_=key, json=body)
        assert api.get(creation.location, as_=key).json == creation.json

    def test_a_slug_is_unique_in_its_platform(self, api: Api, organization: Founded, platform: Running) -> None:
        make_space(api, platform, slug="looms")
        body = {"platformId": platform.id, "name": "Looms", "slug": "looms"}
        assert api.post("/spaces", as_=platform.owner, json=body).code == "409 slug_taken"
        assert make_space(api, platform, name="Looms").record["slug"].startswith("looms-")
        assert make_space(api, run_platform(api, organization), slug="looms").record["slug"] == "looms"

    def test_rejects_an_inaccessible_or_missing_platform(self, api: Api, platform: Running, stranger: Person) -> None:
        for body in ({"platformId": platform.id, "name": "X"}, {"platformId": platform.id.upper(), "name": "X"}):
            assert api.post("/spaces", as_=stranger, json=body).code == "404 not_found"
        without_platform = api.post("/spaces", as_=platform.owner, json={"name": "X"})
        assert without_platform.faults == {"/platformId": "required"}


class TestListPlatformSpaces:
    def test_spaces_are_ordered_by_position(self, api: Api, platform: Running, mary: Person) -> None:
        for name, position in (("C", 5), ("A", 1), ("B", 1)):
            make_space(api, platform, name=name, position=position)
        for caller in (platform.owner, mary):
            for limit in (1, 2, 100):
                assert list_names(api, platform, caller, limit) == ["A", "B", "C"]

    def test_private_spaces_are_listed_for_their_members_and_for_admins(
        self, api: Api, organization: Founded, platform: Running, grace: Person, mary: Person, edith: Person
    ) -> None:
        for n in range(6):
            space = make_space(api, platform, name=str(n), visibility="private" if n % 2 else "open")
            if n in (2, 3):
                comes_in(space, mary)
        all_names, key_without_scope = list("012345"), make_key(api, organization, "read")
        for limit in (1, 2, 100):
            assert list_names(api, platform, grace, limit) == all_names
            assert list_names(api, platform, make_key(api, organization, "spaces:read"), limit) == all_names
            assert list_names(api, platform, mary, limit) == ["0", "2", "3", "4"]
            assert (
                list_names(api, platform, edith, limit)
                == list_names(api, platform, key_without_scope, limit)
                == ["0", "2", "4"]
            )

    def test_a_cursor_continues_after_a_change_of_role(
        self, api: Api, platform: Running, mary: Person, grace: Person
    ) -> None:
        for n in range(4):
            make_space(api, platform, name=str(n), visibility="private" if n % 2 else "open")
        path, spaces = f"{platform.path}/spaces", {}
        for person in (mary, grace):
            takes_part(platform, person, "admin")
            cursor = api.get(path, as_=person, query={"limit": 1}).json["nextCursor"]
            change = {"role": "member"} if person is mary else {"role": "editor"}
            api.patch(f"{platform.path}/members/{person.id}", as_=platform.owner, json=change)
            spaces[person] = [
                item["name"] for item in api.get(path, as_=person, query={"cursor": cursor}).json["items"]
            ]
        assert spaces == {mary: ["2"], grace: ["1", "2", "3"]}


class TestGetSpace:
    def test_an_open_space_is_visible_to_all_members_of_its_platform(
        self, api: Api, platform: Running, mary: Person, stranger: Person, issuer: Issuer
    ) -> None:
        space, guest = make_space(api, platform), issuer.person("guest", "Guest")
        takes_part(platform, guest)
        for person in (mary, guest):
            assert api.get(space.path, as_=person).json == space.record
        assert api.get(space.path, as_=stranger).code == "404 not_found"

    def test_a_private_space_is_invisible_to_others(
        self, api: Api, organization: Founded, platform: Running, edith: Person, mary: Person, grace: Person
    ) -> None:
        space = make_space(api, platform, visibility="private")
        comes_in(space, mary)
        takes_part(platform, edith, "editor")
        for caller in (mary, grace, make_key(api, organization, "admin"), make_key(api, organization, "spaces:read")):
            assert api.get(space.path, as_=caller).status == 200
        for caller in (edith, make_key(api, organization, "write")):
            for method, path, body in (
                ("GET", "", None),
                ("PATCH", "", {"name": "X"}),
                ("DELETE", "", None),
            ):
                answer = api.request(method, f"{space.path}{path}", as_=caller, json=body)
                missing_space_answer = api.request(method, f"/spaces/{platform.id}{path}", as_=caller, json=body)
                assert answer.refusal == missing_space_answer.refusal
                assert answer.code == "404 not_found"


class TestUpdateSpace:
    def test_changes_only_the_given_fields(self, api: Api, platform: Running) -> None:
        space = make_space(api, platform, description="Old")
        change = {"name": "Mills", "slug": "mills", "visibility": "private", "position": 9}
        answer = api.patch(space.path, as_=platform.owner, json=change)
        assert answer.json == {**space.record, **change, "version": 2, "updatedAt": answer.json["updatedAt"]}

    def test_null_position_moves_it_to_the_end(self, api: Api, platform: Running) -> None:
        first, second = make_space(api, platform), make_space(api, platform, name="Mills")
        assert api.patch(first.path, as_=platform.owner, json={"position": None}).json["position"] == 2
        assert list_names(api, platform, platform.owner) == [second.record["name"], first.record["name"]]

    def test_making_it_private_excludes_non_members_at_once(self, api: Api, platform: Running, mary: Person) -> None:
        space = make_space(api, platform)
        assert api.get(space.path, as_=mary).status == 200
        api.patch(space.path, as_=platform.owner, json={"visibility": "private"})
        assert api.get(space.path, as_=mary).code == "404 not_found"

    def test_members_and_editors_may_not_update(self, api: Api, platform: Running, mary: Person) -> None:
        space = make_space(api, platform)
        comes_in(space, mary, "editor")
        assert api.patch(space.path, as_=mary, json={"name": "X"}).code == "403 insufficient_role"


class TestDeleteSpace:
    def test_requires_an_admin_of_its_platform(
        self, api: Api, organization: Founded, platform: Running, edith: Person, mary: Person
    ) -> None:
        space = make_space(api, platform)
        comes_in(space, edith, "admin")
        assert api.delete(space.path, as_=edith).code == "403 insufficient_role"
        takes_part(platform, mary, "admin")
        assert api.delete(space.path, as_=mary).status == 204
        assert api.get(space.path, as_=mary).code == "404 not_found"
        assert log_of(api, organization)[0]["type"] == "space.deleted"
        assert make_space(api, platform, slug=space.record["slug"]).id != space.id
