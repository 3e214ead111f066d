"""Cases of pagination beyond those that `tests/catalogue/test_conventions.py` tests for every list."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.harness.api import STAGE_PATH
from tests.harness.organizations import create_api_key, create_organization, post_api_key


def test_a_page_has_25_items_by_default_and_the_limit_can_change_between_pages(api, organization, ada):
    key_ids = [post_api_key(api, organization).json["id"] for _ in range(26)]
    first = api.get(organization.api_keys_path, caller=ada).json
    assert (set(first), len(first["items"])) == ({"items", "nextCursor"}, 25)
    first = api.get(organization.api_keys_path, caller=ada, query={"limit": 2}).json
    query = {"limit": 50, "cursor": first["nextCursor"]}
    second = api.get(organization.api_keys_path, caller=ada, query=query).json
    assert [key["id"] for key in first["items"] + second["items"]] == key_ids
    assert second["nextCursor"] is None


def test_the_link_leads_to_the_next_page_with_the_same_filters(api, organization, ada):
    path, query = f"{organization.path}/audit-log", {"limit": "1", "type": "organization.*", "actorId": ada.id}
    for n in range(2):
        api.patch(organization.path, caller=ada, json={"name": f"Name {n}"})
    answer = api.get(path, caller=ada, query=query)
    target, _, rel = answer.headers["Link"].partition("; ")
    url = urlsplit(target.strip("<>"))
    assert (url.path, rel) == (f"{STAGE_PATH}{path}", 'rel="next"')
    next_query = dict(parse_qsl(url.query))
    assert next_query == {**query, "cursor": answer.json["nextCursor"]}
    assert api.get(path, caller=ada, query=next_query).json["items"] != answer.json["items"]
    last = api.get(f"{organization.path}/members", caller=ada)
    assert (last.json["nextCursor"], "Link" in last.headers) == (None, False)


class TestCursors:
    @pytest.fixture
    def path(self, organization):
        return f"{organization.path}/members"

    @pytest.fixture
    def cursor(self, api, path, ada):
        return api.get(path, caller=ada, query={"limit": 1}).json["nextCursor"]

    def assert_rejected(self, api, path, caller, cursor, filters=()):
        answer = api.get(path, caller=caller, query={"cursor": cursor, **dict(filters)})
        assert (answer.status_and_code, set(answer.errors)) == ("400 invalid_cursor", {"query/cursor"})

    def test_a_cursor_of_another_list_tenant_or_caller_is_rejected(self, api, organization, ada, stranger, cursor):
        other = create_organization(api, ada)
        for path in (f"{organization.path}/audit-log", organization.api_keys_path, f"{other.path}/members"):
            self.assert_rejected(api, path, ada, cursor)
        for caller in (ada, create_api_key(api, organization)):  # The list of the key has one item.
            self.assert_rejected(api, "/organizations", caller, cursor)
        for _ in range(2):
            create_organization(api, stranger)
        own_cursor = api.get("/organizations", caller=ada, query={"limit": 1}).json["nextCursor"]
        self.assert_rejected(api, "/organizations", stranger, own_cursor)

    def test_a_cursor_of_other_filters_is_rejected(self, api, organization, ada):
        path, query = f"{organization.path}/audit-log", {"type": "organization.*", "limit": 1}
        cursor = api.get(path, caller=ada, query=query).json["nextCursor"]
        assert api.get(path, caller=ada, query={**query, "cursor": cursor}).status == 200
        for filters in ({}, {"type": "organization.member.*"}, {"type": "organization.*", "actorId": ada.id}):
            self.assert_rejected(api, path, ada, cursor, filters)

    def test_a_cursor_is_valid_for_every_member_and_after_its_item_was_removed(self, api, path, ada, grace, mary):
        cursor = api.get(path, caller=ada, query={"limit": 2}).json["nextCursor"]
        before = [api.get(path, caller=caller, query={"cursor": cursor}).json["items"] for caller in (ada, mary)]
        assert [item["id"] for item in before[0]] == [item["id"] for item in before[1]]
        api.delete(f"{path}/{grace.id}", caller=ada)
        remaining = api.get(path, caller=ada, query={"cursor": cursor}).json["items"]
        assert [member["username"] for member in remaining] == ["edith", "mary"]

    def test_access_is_checked_before_the_cursor(self, api, path, organization, stranger, mary):
        for url, caller, problem in [
            (path, None, "401 unauthenticated"),
            (path, stranger, "404 not_found"),
            (organization.api_keys_path, mary, "403 insufficient_role"),
        ]:
            assert api.get(url, caller=caller, query={"cursor": "x"}).status_and_code == problem
