import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness.organizations import create_organization, post_api_key


class TestETags:
    def test_every_response_with_one_record_has_a_strong_etag(self, api, organization, ada):
        key = post_api_key(api, organization)
        responses = [
            key,
            api.get(key.location, caller=ada),
            api.get(organization.path, caller=ada),
            api.get(f"{organization.path}/members/{ada.id}", caller=ada),
            api.patch(organization.path, caller=ada, json={"name": "New"}),
            api.post(f"{key.location}/rotate", caller=ada),
        ]
        for response in responses:
            assert re.fullmatch(r'"[\x21\x23-\x7e]+"', response.etag)

    def test_lists_and_deletions_have_no_etag(self, api, organization, ada, mary):
        assert "ETag" not in api.get(f"{organization.path}/members", caller=ada).headers
        assert "ETag" not in api.delete(f"{organization.path}/members/{mary.id}", caller=ada).headers

    def test_the_etag_changes_only_with_the_record(self, api, ada):
        organization = create_organization(api, ada)
        etags = [api.get(organization.path, caller=ada).etag for _ in range(2)]
        changed = api.patch(organization.path, caller=ada, json={"name": "New"})
        etags += [changed.etag, api.get(organization.path, caller=ada).etag]
        assert etags[0] == etags[1] != etags[2] == etags[3]

    def test_callers_who_see_different_fields_get_different_etags(self, api, organization, ada, mary):
        path = f"{organization.path}/members/{ada.id}"
        assert api.get(path, caller=ada).etag != api.get(path, caller=mary).etag

    def test_memberships_in_different_organizations_have_different_etags(self, api, organization, ada, grace):
        first = api.get(f"{organization.path}/members/{grace.id}", caller=ada).etag
        second = api.get(f"{create_organization(api, ada).path}/members/{ada.id}", caller=ada).etag
        assert first != second


class TestIfNoneMatch:
    def test_a_matching_etag_returns_304(self, api, ada):
        path = create_organization(api, ada).path
        etag = api.get(path, caller=ada).etag
        for sent in (etag, f"W/{etag}", f'"x", {etag}', f'"x",{etag} , "y"', "*"):
            response = api.get(path, caller=ada, headers={"If-None-Match": sent})
            assert (response.status, response.text, response.etag) == (304, "", etag)

    def test_a_stale_etag_returns_the_record(self, api, ada):
        path = create_organization(api, ada).path
        etag = api.get(path, caller=ada).etag
        api.patch(path, caller=ada, json={"name": "New"})
        assert api.get(path, caller=ada, headers={"If-None-Match": etag}).json["name"] == "New"

    def test_etags_may_contain_commas(self, api, ada):
        organization = create_organization(api, ada)
        etag = api.get(organization.path, caller=ada).etag
        for sent, status in ((f'"a,b" , W/"", {etag}', 304), ('"a,b","c"', 200)):
            assert api.get(organization.path, caller=ada, headers={"If-None-Match": sent}).status == status

    def test_a_conditional_request_needs_access_too(self, api, ada, stranger):
        path = create_organization(api, ada).path
        assert api.get(path, caller=stranger, headers={"If-None-Match": "*"}).status_and_code == "404 not_found"

    def test_a_malformed_if_none_match_is_an_invalid_header(self, api, ada):
        path = create_organization(api, ada).path
        response = api.get(path, caller=ada, headers={"If-None-Match": "unquoted"})
        assert response.status_and_code == "400 invalid_header"
        assert set(response.errors) == {"header/If-None-Match"}

    def test_mutations_ignore_if_none_match(self, api, ada):
        path = create_organization(api, ada).path
        etag = api.get(path, caller=ada).etag
        assert api.patch(path, caller=ada, json={"name": "New"}, headers={"If-None-Match": etag}).status == 200


class TestIfMatch:
    def test_a_matching_etag_allows_the_change(self, api, ada):
        path = create_organization(api, ada).path
        for sent in ("{}", '"x", {}', "*", '{},"y"'):
            etag = api.get(path, caller=ada).etag
            response = api.patch(
                path, caller=ada, json={"name": f"For {len(sent)}"}, headers={"If-Match": sent.format(etag)}
            )
            assert response.status == 200, response.text

    def test_a_stale_etag_changes_nothing(self, api, ada):
        path = create_organization(api, ada).path
        stale = api.get(path, caller=ada).etag
        current = api.patch(path, caller=ada, json={"name": "Present"})
        for sent in (stale, f'{stale}, "x"', '"nothing"', '""'):
            response = api.patch(path, caller=ada, json={"name": "Lost"}, headers={"If-Match": sent})
            assert response.status_and_code == "412 precondition_failed"
            assert set(response.errors) == {"header/If-Match"}
        assert api.get(path, caller=ada).json == current.json

    def test_a_weak_etag_never_matches(self, api, ada):
        path = create_organization(api, ada).path
        weak = f"W/{api.get(path, caller=ada).etag}"
        response = api.patch(path, caller=ada, json={"name": "x"}, headers={"If-Match": weak})
        assert response.status_and_code == "412 precondition_failed"

    @pytest.mark.parametrize("sent", ["unquoted", "", '"a" "b"', '"open', "*,", "* , *", '"a",,"b"', "W/x"])
    def test_a_malformed_if_match_is_an_invalid_header(self, api, ada, sent):
        response = api.patch(
            create_organization(api, ada).path, caller=ada, json={"name": "x"}, headers={"If-Match": sent}
        )
        assert response.status_and_code == "400 invalid_header"
        assert set(response.errors) == {"header/If-Match"}

    def test_the_etag_of_another_record_does_not_match(self, api, ada):
        etag_of_other = api.get(create_organization(api, ada).path, caller=ada).etag
        response = api.patch(
            create_organization(api, ada).path, caller=ada, json={"name": "x"}, headers={"If-Match": etag_of_other}
        )
        assert response.status_and_code == "412 precondition_failed"

    def test_deletions_and_actions_compare_if_match(self, api, organization, ada, mary):
        key = post_api_key(api, organization)
        stale = {"If-Match": '"stale"'}
        rejected = [
            api.delete(organization.path, caller=ada, headers=stale),
            api.delete(f"{organization.path}/members/{mary.id}", caller=ada, headers=stale),
            api.delete(key.location, caller=ada, headers=stale),
            api.patch(f"{organization.path}/members/{mary.id}", caller=ada, json={"role": "editor"}, headers=stale),
            api.post(f"{key.location}/rotate", caller=ada, headers=stale),
            api.post(
                f"{organization.path}/transfer-ownership", caller=ada, json={"newOwnerId": mary.id}, headers=stale
            ),
        ]
        assert {response.status_and_code for response in rejected} == {"412 precondition_failed"}
        assert api.get(f"{organization.path}/members/{mary.id}", caller=ada).json["version"] == 1
        for path in (f"{organization.path}/members/{mary.id}", key.location, organization.path):
            current = {"If-Match": api.get(path, caller=ada).etag}
            assert api.delete(path, caller=ada, headers=current).status == 204

    def test_a_caller_may_send_the_etag_that_another_caller_got(self, api, organization, ada, edith, mary):
        etag = api.get(f"{organization.path}/members/{edith.id}", caller=mary).etag
        response = api.patch(
            f"{organization.path}/members/{edith.id}", caller=ada, json={"role": "member"}, headers={"If-Match": etag}
        )
        assert response.status == 200

    def test_an_empty_patch_compares_if_match_too(self, api, ada):
        path = create_organization(api, ada).path
        assert (
            api.patch(path, caller=ada, json={}, headers={"If-Match": '"stale"'}).status_and_code
            == "412 precondition_failed"
        )
        assert api.patch(path, caller=ada, json={}, headers={"If-Match": "*"}).status == 200

    def test_one_of_several_concurrent_requests_with_the_same_etag_succeeds(self, api, ada):
        path = create_organization(api, ada).path
        etag = api.get(path, caller=ada).etag

        def change(n: int) -> int:
            return api.patch(path, caller=ada, json={"name": f"Name {n}"}, headers={"If-Match": etag}).status

        with ThreadPoolExecutor(5) as threads:
            assert sorted(threads.map(change, range(5))) == [200, 412, 412, 412, 412]
        assert api.get(path, caller=ada).json["version"] == 2

    def test_concurrent_patches_without_if_match_are_all_applied(self, api, ada):
        path = create_organization(api, ada).path
        fields = ["name", "companyName", "companyId", "companyLegalName", "companyAddress"]

        def change(field: str) -> int:
            return api.patch(path, caller=ada, json={field: "set"}).status

        with ThreadPoolExecutor(5) as threads:
            assert list(threads.map(change, fields)) == [200] * 5
        record = api.get(path, caller=ada).json
        assert [record[field] for field in fields] == ["set"] * 5
        assert record["version"] == 6
