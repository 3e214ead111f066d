from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.harness.api import STAGE_PATH, ApiClient
from tests.harness.callers import Caller, Person
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization, post_api_key


@pytest.fixture
def key_ids(api: ApiClient, organization: CreatedOrganization) -> list[str]:
    """The ids of seven API keys of the organization, in order of creation."""
    return [post_api_key(api, organization).json["id"] for _ in range(7)]


class TestLimits:
    @pytest.mark.parametrize(("limit", "sizes"), [(1, [1] * 7), (2, [2, 2, 2, 1]), (6, [6, 1]), (100, [7])])
    def test_every_item_is_listed_once_and_in_order(self, api, organization, ada, key_ids, limit, sizes):
        pages = api.get_pages(organization.api_keys_path, caller=ada, query={"limit": limit})
        assert [key["id"] for page in pages for key in page["items"]] == key_ids
        assert [len(page["items"]) for page in pages if page["items"]] == sizes
        assert all(len(page["items"]) <= limit for page in pages)

    def test_the_default_limit_is_25(self, api, organization, ada):
        for _ in range(26):
            post_api_key(api, organization)
        page = api.get(organization.api_keys_path, caller=ada).json
        assert len(page["items"]) == 25
        assert page["nextCursor"] is not None

    @pytest.mark.parametrize("limit", ["0", "101", "-1", "x", "", "1.5", "1e1", "999999999999999999999"])
    def test_an_invalid_limit_is_rejected(self, api, organization, ada, limit):
        answer = api.get(organization.api_keys_path, caller=ada, query={"limit": limit})
        assert answer.status_and_code == "422 validation_failed"
        assert set(answer.errors) == {"query/limit"}

    def test_the_limit_can_change_between_pages(self, api, organization, ada, key_ids):
        first = api.get(organization.api_keys_path, caller=ada, query={"limit": 2}).json
        remaining_page = api.get(
            organization.api_keys_path, caller=ada, query={"limit": 50, "cursor": first["nextCursor"]}
        ).json
        assert [key["id"] for key in first["items"] + remaining_page["items"]] == key_ids
        assert remaining_page["nextCursor"] is None

    @pytest.mark.parametrize("path", ["/organizations", "{}/members", "{}/api-keys", "{}/audit-log"])
    def test_every_list_has_items_and_a_next_cursor(self, api, organization, ada, path):
        answer = api.get(path.format(organization.path), caller=ada)
        assert set(answer.json) == {"items", "nextCursor"}


class TestLinks:
    def test_the_link_leads_to_the_next_page_with_the_same_filters(self, api, organization, ada):
        query = {"limit": 1, "type": "organization.*", "actorId": ada.id}
        for _ in range(2):
            api.patch(organization.path, caller=ada, json={"name": f"Name {_}"})
        answer = api.get(f"{organization.path}/audit-log", caller=ada, query=query)
        target, _, rel = answer.headers["Link"].partition("; ")
        assert rel == 'rel="next"'
        url = urlsplit(target.strip("<>"))
        assert url.path == f"{STAGE_PATH}{organization.path}/audit-log"
        next_query = dict(parse_qsl(url.query))
        assert next_query == {
            "limit": "1",
            "type": "organization.*",
            "actorId": ada.id,
            "cursor": answer.json["nextCursor"],
        }
        next_page = api.get(f"{organization.path}/audit-log", caller=ada, query=next_query)
        assert next_page.json["items"] != answer.json["items"]

    def test_the_last_page_has_no_link(self, api, organization, ada):
        answer = api.get(f"{organization.path}/members", caller=ada)
        assert answer.json["nextCursor"] is None
        assert "Link" not in answer.headers


class TestCursors:
    @pytest.fixture
    def cursor(self, api: ApiClient, organization: CreatedOrganization, ada: Person) -> str:
        return str(api.get(f"{organization.path}/members", caller=ada, query={"limit": 1}).json["nextCursor"])

    def assert_rejected(self, api: ApiClient, path: str, caller: Caller, cursor: str, **query: str) -> None:
        answer = api.get(path, caller=caller, query={"cursor": cursor, **query})
        assert answer.status_and_code == "400 invalid_cursor"
        assert set(answer.errors) == {"query/cursor"}

    def test_a_cursor_is_opaque_and_needs_no_escaping_in_a_url(self, cursor, organization):
        assert cursor.replace("-", "").replace("_", "").isalnum()
        assert organization.id not in cursor

    def test_an_altered_cursor_is_rejected(self, api, organization, ada, cursor):
        path = f"{organization.path}/members"
        for position in range(0, len(cursor), 7):
            altered_cursor = cursor[:position] + ("A" if cursor[position] != "A" else "B") + cursor[position + 1 :]
            self.assert_rejected(api, path, ada, altered_cursor)
        for altered_cursor in (
            cursor[:-1],
            cursor + "A",
            cursor + "=",
            cursor[4:],
            "x",
            "é",
            cursor.lower(),
            "AAAA",
            "%",
        ):
            self.assert_rejected(api, path, ada, altered_cursor)

    def test_a_cursor_of_another_list_is_rejected(self, api, organization, ada, cursor):
        for path in (f"{organization.path}/audit-log", organization.api_keys_path, "/organizations"):
            self.assert_rejected(api, path, ada, cursor)

    def test_a_cursor_of_another_tenant_is_rejected(self, api, ada, cursor):
        self.assert_rejected(api, f"{create_organization(api, ada).path}/members", ada, cursor)

    def test_a_cursor_of_other_filters_is_rejected(self, api, organization, ada):
        path, query = f"{organization.path}/audit-log", {"type": "organization.*", "limit": 1}
        cursor = str(api.get(path, caller=ada, query=query).json["nextCursor"])
        assert api.get(path, caller=ada, query={**query, "cursor": cursor}).status == 200
        self.assert_rejected(api, path, ada, cursor)
        self.assert_rejected(api, path, ada, cursor, type="organization.member.*")
        self.assert_rejected(api, path, ada, cursor, type="organization.*", actorId=ada.id)

    def test_a_cursor_of_another_callers_list_is_rejected(self, api, ada, stranger):
        for person in (ada, stranger):
            for _ in range(2):
                create_organization(api, person)
        cursor = str(api.get("/organizations", caller=ada, query={"limit": 1}).json["nextCursor"])
        self.assert_rejected(api, "/organizations", stranger, cursor)

    def test_a_list_of_one_item_checks_its_cursor_too(self, api, organization, cursor):
        self.assert_rejected(api, "/organizations", create_api_key(api, organization), cursor)

    def test_a_cursor_is_valid_for_every_member(self, api, organization, ada, mary, cursor):
        path = f"{organization.path}/members"
        ada_page = api.get(path, caller=ada, query={"cursor": cursor}).json
        mary_page = api.get(path, caller=mary, query={"cursor": cursor}).json
        assert [m["id"] for m in ada_page["items"]] == [m["id"] for m in mary_page["items"]]

    def test_a_cursor_is_valid_after_its_item_was_removed(self, api, organization, ada, grace, mary):
        path = f"{organization.path}/members"
        first = api.get(path, caller=ada, query={"limit": 2}).json
        api.delete(f"{path}/{grace.id}", caller=ada)
        remaining_page = api.get(path, caller=ada, query={"cursor": first["nextCursor"]}).json
        assert [m["username"] for m in remaining_page["items"]] == ["edith", "mary"]
        assert remaining_page["items"][-1]["userId"] == mary.id

    def test_access_is_checked_before_the_cursor(self, api, organization, stranger, mary):
        assert api.get(f"{organization.path}/members", query={"cursor": "x"}).status_and_code == "401 unauthenticated"
        assert (
            api.get(f"{organization.path}/members", caller=stranger, query={"cursor": "x"}).status_and_code
            == "404 not_found"
        )
        assert (
            api.get(organization.api_keys_path, caller=mary, query={"cursor": "x"}).status_and_code
            == "403 insufficient_role"
        )
