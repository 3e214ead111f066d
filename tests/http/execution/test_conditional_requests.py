"""Cases of conditional requests beyond those that the catalogue's suite tests for every operation."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness.organizations import create_organization


@pytest.fixture
def path(organization):
    return organization.path


@pytest.fixture
def patch(api, path, ada):
    """A function that changes the organization on a condition."""
    return lambda if_match, **body: api.patch(path, caller=ada, json=body, headers={"If-Match": if_match})


def test_callers_who_see_different_fields_and_members_of_different_organizations_have_different_etags(
    api, path, ada, grace, mary
):
    other = create_organization(api, ada).path
    etags = [api.get(f"{path}/members/{ada.id}", caller=caller).etag for caller in (ada, mary)]
    etags += [api.get(f"{path}/members/{grace.id}", caller=ada).etag]
    etags += [api.get(f"{other}/members/{ada.id}", caller=ada).etag]
    assert len(set(etags)) == 4


class TestIfNoneMatch:
    def test_a_matching_etag_returns_304_until_the_record_changes(self, api, path, ada):
        etag = api.get(path, caller=ada).etag
        for sent in (f'"x",{etag} , "y"', f'"a,b" , W/"", {etag}'):
            response = api.get(path, caller=ada, headers={"If-None-Match": sent})
            assert (response.status, response.text, response.etag) == (304, "", etag), sent
        # Mutations ignore the header.
        assert api.patch(path, caller=ada, json={"name": "New"}, headers={"If-None-Match": etag}).status == 200
        for sent in (etag, '"a,b","c"'):
            assert api.get(path, caller=ada, headers={"If-None-Match": sent}).json["name"] == "New"

    def test_a_conditional_request_needs_access_and_a_well_formed_header(self, api, path, ada, stranger):
        assert api.get(path, caller=stranger, headers={"If-None-Match": "*"}).status_and_code == "404 not_found"
        response = api.get(path, caller=ada, headers={"If-None-Match": "unquoted"})
        assert (response.status_and_code, set(response.errors)) == ("400 invalid_header", {"header/If-None-Match"})


class TestIfMatch:
    def test_only_a_strong_matching_etag_allows_the_change_even_if_it_is_empty(self, api, path, ada, patch):
        assert patch(f'{api.get(path, caller=ada).etag},"y"', name="Former").status == 200
        stale = api.get(path, caller=ada).etag
        current = patch("*", name="Present")
        other = api.get(create_organization(api, ada).path, caller=ada).etag
        for sent in (f'{stale}, "x"', '""', f"W/{current.etag}", other):
            for body in ({"name": "Lost"}, {}):
                response = patch(sent, **body)
                assert response.status_and_code == "412 precondition_failed", sent
                assert set(response.errors) == {"header/If-Match"}
        assert api.get(path, caller=ada).json == current.json

    @pytest.mark.parametrize("sent", ["", '"a" "b"', '"open', "*,", "* , *", '"a",,"b"', "W/x"])
    def test_a_malformed_if_match_is_an_invalid_header(self, patch, sent):
        response = patch(sent, name="x")
        assert (response.status_and_code, set(response.errors)) == ("400 invalid_header", {"header/If-Match"})

    def test_a_caller_may_send_the_etag_that_another_caller_got(self, api, path, ada, edith, mary):
        member = f"{path}/members/{edith.id}"
        headers = {"If-Match": api.get(member, caller=mary).etag}
        assert api.patch(member, caller=ada, json={"role": "member"}, headers=headers).status == 200

    def test_one_of_several_concurrent_requests_with_the_same_etag_succeeds(self, api, path, ada, patch):
        current = api.get(path, caller=ada)
        with ThreadPoolExecutor(5) as threads:
            statuses = sorted(threads.map(lambda n: patch(current.etag, name=f"Name {n}").status, range(5)))
        assert statuses == [200, 412, 412, 412, 412]
        assert api.get(path, caller=ada).json["version"] == current.json["version"] + 1

    def test_concurrent_patches_without_if_match_are_all_applied(self, api, ada):
        path = create_organization(api, ada).path
        fields = ["name", "companyName", "companyId", "companyLegalName", "companyAddress"]
        with ThreadPoolExecutor(5) as threads:
            statuses = [*threads.map(lambda name: api.patch(path, caller=ada, json={name: "set"}).status, fields)]
        record = api.get(path, caller=ada).json
        assert (statuses, record["version"]) == ([200] * 5, 6)
        assert [record[field] for field in fields] == ["set"] * 5
