"""Spaces: create, list, get, change, delete; and who sees private ones."""

from tests.harness.api import Api
from tests.harness.callers import Caller, Issuer, Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, make_key
from tests.harness.platforms import Running, comes_in, make_space, run_platform, takes_part


def seen(api: Api, platform: Running, caller: Caller, limit: int = 100) -> list[str]:
    """The names of the spaces that somebody is shown."""
    listed = api.items(f"{platform.path}/spaces", as_=caller, query={"limit": limit})
    return [item["name"] for item in listed]


class TestCreateSpace:
    def test_with_what_it_has_to_have_it_is_open_and_comes_last(self, api: Api, platform: Running) -> None:
        made = [make_space(api, platform, name=name).record for name in ("Looms", "Mills")]
        told = {n: v for n, v in made[1].items() if n not in ("id", "createdAt", "updatedAt")}
        assert told == {
            "version": 1,
            "platformId": platform.id,
            "name": "Mills",
            "slug": "mills",
            "description": None,
            "visibility": "open",
            "position": 1,
        }
        assert made[0]["position"] == 0

    def test_editors_may_and_become_its_admin(self, api: Api, platform: Running, edith: Person, mary: Person) -> None:
        takes_part(platform, edith, "editor")
        space = make_space(api, platform, as_=edith, visibility="private")
        assert api.patch(space.path, as_=edith, json={"name": "Edith's"}).status == 200
        body = {"platformId": platform.id, "name": "Looms"}
        assert api.post("/spaces", as_=mary, json=body).code == "403 insufficient_role"

    def test_a_key_makes_no_private_one_that_it_would_not_see(
        self, api: Api, organization: Founded, platform: Running
    ) -> None:
        body = {"platformId": platform.id, "name": "Office", "visibility": "private"}
        refused = api.post("/spaces", as_=make_key(api, organization, "write"), json=body)
        assert (refused.code, set(refused.faults)) == ("403 insufficient_scope", {"/visibility"})
        key = make_key(api, organization, "spaces:write")
        made = api.post("/spaces", as_=key, json=body)
        assert api.get(made.location, as_=key).json == made.json

    def test_a_slug_is_unique_in_its_platform(self, api: Api, organization: Founded, platform: Running) -> None:
        make_space(api, platform, slug="looms")
        body = {"platformId": platform.id, "name": "Looms", "slug": "looms"}
        assert api.post("/spaces", as_=platform.owner, json=body).code == "409 slug_taken"
        assert make_space(api, platform, name="Looms").record["slug"].startswith("looms-")
        assert make_space(api, run_platform(api, organization), slug="looms").record["slug"] == "looms"

    def test_of_a_platform_that_is_not_there_for_the_caller(
        self, api: Api, platform: Running, stranger: Person
    ) -> None:
        for body in ({"platformId": platform.id, "name": "X"}, {"platformId": platform.id.upper(), "name": "X"}):
            assert api.post("/spaces", as_=stranger, json=body).code == "404 not_found"
        nameless = api.post("/spaces", as_=platform.owner, json={"name": "X"})
        assert nameless.faults == {"/platformId": "required"}


class TestListPlatformSpaces:
    def test_is_by_position(self, api: Api, platform: Running, mary: Person) -> None:
        for name, position in (("C", 5), ("A", 1), ("B", 1)):
            make_space(api, platform, name=name, position=position)
        for caller in (platform.owner, mary):
            for limit in (1, 2, 100):
                assert seen(api, platform, caller, limit) == ["A", "B", "C"]

    def test_private_ones_show_to_their_members_and_to_admins(
        self, api: Api, organization: Founded, platform: Running, grace: Person, mary: Person, edith: Person
    ) -> None:
        for n in range(6):
            space = make_space(api, platform, name=str(n), visibility="private" if n % 2 else "open")
            if n in (2, 3):
                comes_in(space, mary)
        everything, some = list("012345"), make_key(api, organization, "read")
        for limit in (1, 2, 100):
            assert seen(api, platform, grace, limit) == everything
            assert seen(api, platform, make_key(api, organization, "spaces:read"), limit) == everything
            assert seen(api, platform, mary, limit) == ["0", "2", "3", "4"]
            assert seen(api, platform, edith, limit) == seen(api, platform, some, limit) == ["0", "2", "4"]

    def test_goes_on_where_it_was_for_who_sees_more_or_less_by_then(
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
    def test_an_open_one_is_there_for_every_member_of_its_platform(
        self, api: Api, platform: Running, mary: Person, stranger: Person, issuer: Issuer
    ) -> None:
        space, guest = make_space(api, platform), issuer.person("guest", "Guest")
        takes_part(platform, guest)
        for person in (mary, guest):
            assert api.get(space.path, as_=person).json == space.record
        assert api.get(space.path, as_=stranger).code == "404 not_found"

    def test_a_private_one_is_not_there_for_others(
        self, api: Api, organization: Founded, platform: Running, edith: Person, mary: Person, grace: Person
    ) -> None:
        space = make_space(api, platform, visibility="private")
        comes_in(space, mary)
        takes_part(platform, edith, "editor")
        for caller in (mary, grace, make_key(api, organization, "admin"), make_key(api, organization, "spaces:read")):
            assert api.get(space.path, as_=caller).status == 200
        for outside in (edith, make_key(api, organization, "write")):
            for method, path, body in (
                ("GET", "", None),
                ("PATCH", "", {"name": "X"}),
                ("DELETE", "", None),
            ):
                answer = api.request(method, f"{space.path}{path}", as_=outside, json=body)
                nowhere = api.request(method, f"/spaces/{platform.id}{path}", as_=outside, json=body)
                assert answer.refusal == nowhere.refusal
                assert answer.code == "404 not_found"


class TestUpdateSpace:
    def test_what_is_sent_changes_and_what_is_left_out_stays(self, api: Api, platform: Running) -> None:
        space = make_space(api, platform, description="Old")
        change = {"name": "Mills", "slug": "mills", "visibility": "private", "position": 9}
        answer = api.patch(space.path, as_=platform.owner, json=change)
        assert answer.json == {**space.record, **change, "version": 2, "updatedAt": answer.json["updatedAt"]}

    def test_without_a_position_it_is_listed_last(self, api: Api, platform: Running) -> None:
        first, second = make_space(api, platform), make_space(api, platform, name="Mills")
        assert api.patch(first.path, as_=platform.owner, json={"position": None}).json["position"] == 2
        assert seen(api, platform, platform.owner) == [second.record["name"], first.record["name"]]

    def test_closing_it_shuts_out_at_once_who_is_no_member(self, api: Api, platform: Running, mary: Person) -> None:
        space = make_space(api, platform)
        assert api.get(space.path, as_=mary).status == 200
        api.patch(space.path, as_=platform.owner, json={"visibility": "private"})
        assert api.get(space.path, as_=mary).code == "404 not_found"

    def test_members_may_not(self, api: Api, platform: Running, mary: Person) -> None:
        space = make_space(api, platform)
        comes_in(space, mary, "editor")
        assert api.patch(space.path, as_=mary, json={"name": "X"}).code == "403 insufficient_role"


class TestDeleteSpace:
    def test_is_for_admins_of_its_platform(
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
