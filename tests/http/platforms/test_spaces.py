"""Test spaces: creating, listing, reading, updating and deleting them, and who sees private ones."""

from tests.harness.api import ApiClient
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Caller
from tests.harness.organizations import create_api_key
from tests.harness.platforms import (
    CreatedPlatform,
    add_platform_member,
    add_space_member,
    create_platform,
    create_space,
)


def list_names(api: ApiClient, platform: CreatedPlatform, caller: Caller, limit: int = 100) -> list[str]:
    """Return the names of the spaces that a caller sees."""
    spaces = api.get_items(f"{platform.path}/spaces", caller=caller, query={"limit": limit})
    return [space["name"] for space in spaces]


class TestCreateSpace:
    def test_defaults_to_an_open_space_in_last_position(self, api, platform):
        records = [create_space(api, platform, name=name).record for name in ("Looms", "Mills")]
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

    def test_editors_create_spaces_and_become_their_admins(self, api, platform, edith, mary):
        add_platform_member(platform, edith, "editor")
        space = create_space(api, platform, caller=edith, visibility="private")
        assert api.patch(space.path, caller=edith, json={"name": "Edith's"}).status == 200
        body = {"platformId": platform.id, "name": "Looms"}
        assert api.post("/spaces", caller=mary, json=body).status_and_code == "403 insufficient_role"

    def test_a_key_cannot_create_a_private_space_that_it_would_not_see(self, api, organization, platform):
        body = {"platformId": platform.id, "name": "Office", "visibility": "private"}
        forbidden = api.post("/spaces", caller=create_api_key(api, organization, "write"), json=body)
        assert (forbidden.status_and_code, set(forbidden.errors)) == ("403 insufficient_scope", {"/visibility"})
        key = create_api_key(api, organization, "spaces:write")
        creation = api.post("/spaces", caller=key, json=body)
        assert api.get(creation.location, caller=key).json == creation.json

    def test_a_slug_is_unique_in_its_platform(self, api, organization, platform):
        create_space(api, platform, slug="looms")
        body = {"platformId": platform.id, "name": "Looms", "slug": "looms"}
        assert api.post("/spaces", caller=platform.owner, json=body).status_and_code == "409 slug_taken"
        assert create_space(api, platform, name="Looms").record["slug"].startswith("looms-")
        assert create_space(api, create_platform(api, organization), slug="looms").record["slug"] == "looms"

    def test_rejects_an_inaccessible_or_missing_platform(self, api, platform, stranger):
        for body in ({"platformId": platform.id, "name": "X"}, {"platformId": platform.id.upper(), "name": "X"}):
            assert api.post("/spaces", caller=stranger, json=body).status_and_code == "404 not_found"
        without_platform = api.post("/spaces", caller=platform.owner, json={"name": "X"})
        assert without_platform.errors == {"/platformId": "required"}


class TestListPlatformSpaces:
    def test_spaces_are_ordered_by_position(self, api, platform, mary):
        for name, position in (("C", 5), ("A", 1), ("B", 1)):
            create_space(api, platform, name=name, position=position)
        for caller in (platform.owner, mary):
            for limit in (1, 2, 100):
                assert list_names(api, platform, caller, limit) == ["A", "B", "C"]

    def test_private_spaces_are_listed_for_their_members_and_for_admins(
        self, api, organization, platform, grace, mary, edith
    ):
        for n in range(6):
            space = create_space(api, platform, name=str(n), visibility="private" if n % 2 else "open")
            if n in (2, 3):
                add_space_member(space, mary)
        all_names, key_without_scope = list("012345"), create_api_key(api, organization, "read")
        for limit in (1, 2, 100):
            assert list_names(api, platform, grace, limit) == all_names
            assert list_names(api, platform, create_api_key(api, organization, "spaces:read"), limit) == all_names
            assert list_names(api, platform, mary, limit) == ["0", "2", "3", "4"]
            assert (
                list_names(api, platform, edith, limit)
                == list_names(api, platform, key_without_scope, limit)
                == ["0", "2", "4"]
            )

    def test_a_cursor_continues_after_a_change_of_role(self, api, platform, mary, grace):
        for n in range(4):
            create_space(api, platform, name=str(n), visibility="private" if n % 2 else "open")
        path, spaces = f"{platform.path}/spaces", {}
        for person in (mary, grace):
            add_platform_member(platform, person, "admin")
            cursor = api.get(path, caller=person, query={"limit": 1}).json["nextCursor"]
            change = {"role": "member"} if person is mary else {"role": "editor"}
            api.patch(f"{platform.path}/members/{person.id}", caller=platform.owner, json=change)
            spaces[person] = [
                item["name"] for item in api.get(path, caller=person, query={"cursor": cursor}).json["items"]
            ]
        assert spaces == {mary: ["2"], grace: ["1", "2", "3"]}


class TestGetSpace:
    def test_an_open_space_is_visible_to_all_members_of_its_platform(self, api, platform, mary, stranger, issuer):
        space, guest = create_space(api, platform), issuer.create_person("guest", "Guest")
        add_platform_member(platform, guest)
        for person in (mary, guest):
            assert api.get(space.path, caller=person).json == space.record
        assert api.get(space.path, caller=stranger).status_and_code == "404 not_found"

    def test_a_private_space_is_invisible_to_others(self, api, organization, platform, edith, mary, grace):
        space = create_space(api, platform, visibility="private")
        add_space_member(space, mary)
        add_platform_member(platform, edith, "editor")
        for caller in (
            mary,
            grace,
            create_api_key(api, organization, "admin"),
            create_api_key(api, organization, "spaces:read"),
        ):
            assert api.get(space.path, caller=caller).status == 200
        for caller in (edith, create_api_key(api, organization, "write")):
            for method, path, body in (
                ("GET", "", None),
                ("PATCH", "", {"name": "X"}),
                ("DELETE", "", None),
            ):
                answer = api.request(method, f"{space.path}{path}", caller=caller, json=body)
                missing_space_answer = api.request(method, f"/spaces/{platform.id}{path}", caller=caller, json=body)
                assert answer.comparable_problem == missing_space_answer.comparable_problem
                assert answer.status_and_code == "404 not_found"


class TestUpdateSpace:
    def test_changes_only_the_given_fields(self, api, platform):
        space = create_space(api, platform, description="Old")
        change = {"name": "Mills", "slug": "mills", "visibility": "private", "position": 9}
        answer = api.patch(space.path, caller=platform.owner, json=change)
        assert answer.json == {**space.record, **change, "version": 2, "updatedAt": answer.json["updatedAt"]}

    def test_null_position_moves_it_to_the_end(self, api, platform):
        first, second = create_space(api, platform), create_space(api, platform, name="Mills")
        assert api.patch(first.path, caller=platform.owner, json={"position": None}).json["position"] == 2
        assert list_names(api, platform, platform.owner) == [second.record["name"], first.record["name"]]

    def test_making_it_private_excludes_non_members_at_once(self, api, platform, mary):
        space = create_space(api, platform)
        assert api.get(space.path, caller=mary).status == 200
        api.patch(space.path, caller=platform.owner, json={"visibility": "private"})
        assert api.get(space.path, caller=mary).status_and_code == "404 not_found"

    def test_members_and_editors_may_not_update(self, api, platform, mary):
        space = create_space(api, platform)
        add_space_member(space, mary, "editor")
        assert api.patch(space.path, caller=mary, json={"name": "X"}).status_and_code == "403 insufficient_role"


class TestDeleteSpace:
    def test_requires_an_admin_of_its_platform(self, api, organization, platform, edith, mary):
        space = create_space(api, platform)
        add_space_member(space, edith, "admin")
        assert api.delete(space.path, caller=edith).status_and_code == "403 insufficient_role"
        add_platform_member(platform, mary, "admin")
        assert api.delete(space.path, caller=mary).status == 204
        assert api.get(space.path, caller=mary).status_and_code == "404 not_found"
        assert list_entries(api, organization)[0]["type"] == "space.deleted"
        assert create_space(api, platform, slug=space.record["slug"]).id != space.id
