"""Test spaces: creating, listing, reading, updating and deleting them, and who sees private ones."""

from tests.harness.audit_logs import list_entries
from tests.harness.callers import Caller
from tests.harness.organizations import create_api_key
from tests.harness.platforms import PlatformClient, add_platform_member, add_space_member


def list_names(platform: PlatformClient, caller: Caller, limit: int = 100) -> list[str]:
    """Return the names of the spaces that a caller sees."""
    return [space["name"] for space in platform.get_items("/spaces", caller=caller, query={"limit": limit})]


class TestCreateSpace:
    def test_defaults_to_an_open_space_in_last_position(self, platform, new_space):
        records = [new_space(platform, name=name).record for name in ("Looms", "Mills")]
        fields = {field: value for field, value in records[1].items() if field not in ("id", "createdAt", "updatedAt")}
        names = {"name": "Mills", "slug": "mills", "description": None}
        expected = {"version": 1, "platformId": platform.id, **names, "visibility": "open", "position": 1}
        assert fields == expected
        assert records[0]["position"] == 0

    def test_editors_create_spaces_and_become_their_admins(self, platform, new_space, edith):
        add_platform_member(platform, edith, "editor")
        assert new_space(platform, caller=edith, visibility="private").patch("", {"name": "Edith's"}).status == 200

    def test_a_key_cannot_create_a_private_space_that_it_would_not_see(self, api, organization, platform):
        body = {"platformId": platform.id, "name": "Office", "visibility": "private"}
        forbidden = api.post("/spaces", caller=create_api_key(api, organization, "write"), json=body)
        assert (forbidden.status_and_code, set(forbidden.errors)) == ("403 insufficient_scope", {"/visibility"})
        key = create_api_key(api, organization, "spaces:write")
        creation = api.post("/spaces", caller=key, json=body)
        assert api.get(creation.location, caller=key).json == creation.json

    def test_a_slug_is_unique_in_its_platform(self, api, platform, other_platform, new_space):
        new_space(platform, slug="looms")
        body = {"platformId": platform.id, "name": "Looms", "slug": "looms"}
        assert api.post("/spaces", caller=platform.owner, json=body).status_and_code == "409 slug_taken"
        assert new_space(platform, name="Looms").record["slug"].startswith("looms-")
        assert new_space(other_platform, slug="looms").record["slug"] == "looms"

    def test_rejects_an_inaccessible_or_missing_platform(self, api, platform, stranger):
        for platform_id in (platform.id, platform.id.upper()):
            answer = api.post("/spaces", caller=stranger, json={"platformId": platform_id, "name": "X"})
            assert answer.status_and_code == "404 not_found"
        without_platform = api.post("/spaces", caller=platform.owner, json={"name": "X"})
        assert without_platform.errors == {"/platformId": "required"}


class TestListPlatformSpaces:
    def test_spaces_are_ordered_by_position(self, platform, new_space, mary):
        for name, position in (("C", 5), ("A", 1), ("B", 1)):
            new_space(platform, name=name, position=position)
        for caller in (platform.owner, mary):
            for limit in (1, 2, 100):
                assert list_names(platform, caller, limit) == ["A", "B", "C"]

    def test_private_spaces_are_listed_for_their_members_and_for_admins(
        self, api, organization, platform, new_space, grace, mary, edith
    ):
        for n in range(6):
            space = new_space(platform, name=str(n), visibility="private" if n % 2 else "open")
            if n in (2, 3):
                add_space_member(space, mary)
        keys = {scope: create_api_key(api, organization, scope) for scope in ("read", "spaces:read")}
        for caller, names in (
            (grace, "012345"),
            (keys["spaces:read"], "012345"),
            (mary, "0234"),
            (edith, "024"),
            (keys["read"], "024"),
        ):
            for limit in (1, 2, 100):
                assert list_names(platform, caller, limit) == list(names)

    def test_a_cursor_continues_after_a_change_of_role(self, platform, new_space, mary, grace):
        for n in range(4):
            new_space(platform, name=str(n), visibility="private" if n % 2 else "open")
        for person, role, names in ((mary, "member", ["2"]), (grace, "editor", ["1", "2", "3"])):
            add_platform_member(platform, person, "admin")
            cursor = platform.get("/spaces", caller=person, query={"limit": 1}).json["nextCursor"]
            platform.patch(f"/members/{person.id}", {"role": role})
            items = platform.get("/spaces", caller=person, query={"cursor": cursor}).json["items"]
            assert [item["name"] for item in items] == names


class TestGetSpace:
    def test_a_private_space_is_invisible_to_others(self, api, organization, platform, new_space, edith, mary, grace):
        space = new_space(platform, visibility="private")
        add_space_member(space, mary)
        add_platform_member(platform, edith, "editor")
        keys = {scope: create_api_key(api, organization, scope) for scope in ("admin", "spaces:read", "write")}
        for caller in (mary, grace, keys["admin"], keys["spaces:read"]):
            assert space.get(caller=caller).status == 200
        for caller in (edith, keys["write"]):
            for method, body in (("GET", None), ("PATCH", {"name": "X"}), ("DELETE", None)):
                answer = space.request(method, "", body, caller=caller)
                missing_space_answer = api.request(method, f"/spaces/{platform.id}", caller=caller, json=body)
                assert answer.comparable_problem == missing_space_answer.comparable_problem
                assert answer.status_and_code == "404 not_found"


class TestUpdateSpace:
    def test_changes_only_the_given_fields_and_excludes_non_members_at_once(self, platform, new_space, mary):
        space = new_space(platform, description="Old")
        assert space.get(caller=mary).status == 200
        change = {"name": "Mills", "slug": "mills", "visibility": "private", "position": 9}
        record = space.update(**change)
        assert record == {**space.record, **change, "version": 2, "updatedAt": record["updatedAt"]}
        assert space.get(caller=mary).status_and_code == "404 not_found"

    def test_null_position_moves_it_to_the_end(self, platform, space, new_space):
        new_space(platform, name="Mills")
        assert space.update(position=None)["position"] == 2
        assert list_names(platform, platform.owner) == ["Mills", "Looms"]


def test_deleting_a_space_requires_an_admin_of_its_platform(api, organization, platform, space, new_space, edith, mary):
    add_space_member(space, edith, "admin")
    assert space.delete(caller=edith).status_and_code == "403 insufficient_role"
    add_platform_member(platform, mary, "admin")
    assert space.delete(caller=mary).status == 204
    assert space.get(caller=mary).status_and_code == "404 not_found"
    assert list_entries(api, organization)[0]["type"] == "space.deleted"
    assert new_space(platform, slug=space.record["slug"]).id != space.id
