import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.organizations import Founded, created_key, found


class TestETags:
    def test_every_response_with_one_record_has_a_strong_etag(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        key = created_key(api, organization)
        responses = [
            key,
            api.get(key.location, as_=ada),
            api.get(organization.path, as_=ada),
            api.get(f"{organization.path}/members/{ada.id}", as_=ada),
            api.patch(organization.path, as_=ada, json={"name": "New"}),
            api.post(f"{key.location}/rotate", as_=ada),
        ]
        for response in responses:
            assert re.fullmatch(r'"[\x21\x23-\x7e]+"', response.etag)

    def test_lists_and_deletions_have_no_etag(self, api: Api, organization: Founded, ada: Person, mary: Person) -> None:
        assert "ETag" not in api.get(f"{organization.path}/members", as_=ada).headers
        assert "ETag" not in api.delete(f"{organization.path}/members/{mary.id}", as_=ada).headers

    def test_the_etag_changes_only_with_the_record(self, api: Api, ada: Person) -> None:
        organization = found(api, ada)
        etags = [api.get(organization.path, as_=ada).etag for _ in range(2)]
        changed = api.patch(organization.path, as_=ada, json={"name": "New"})
        etags += [changed.etag, api.get(organization.path, as_=ada).etag]
        assert etags[0] == etags[1] != etags[2] == etags[3]

    def test_callers_who_see_different_fields_get_different_etags(
        self, api: Api, organization: Founded, ada: Person, mary: Person
    ) -> None:
        path = f"{organization.path}/members/{ada.id}"
        assert api.get(path, as_=ada).etag != api.get(path, as_=mary).etag

    def test_memberships_in_different_organizations_have_different_etags(
        self, api: Api, organization: Founded, ada: Person, grace: Person
    ) -> None:
        first = api.get(f"{organization.path}/members/{grace.id}", as_=ada).etag
        second = api.get(f"{found(api, ada).path}/members/{ada.id}", as_=ada).etag
        assert first != second


class TestIfNoneMatch:
    def test_a_matching_etag_returns_304(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        etag = api.get(path, as_=ada).etag
        for sent in (etag, f"W/{etag}", f'"x", {etag}', f'"x",{etag} , "y"', "*"):
            response = api.get(path, as_=ada, headers={"If-None-Match": sent})
            assert (response.status, response.text, response.etag) == (304, "", etag)

    def test_a_stale_etag_returns_the_record(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        etag = api.get(path, as_=ada).etag
        api.patch(path, as_=ada, json={"name": "New"})
        assert api.get(path, as_=ada, headers={"If-None-Match": etag}).json["name"] == "New"

    def test_etags_may_contain_commas(self, api: Api, ada: Person) -> None:
        organization = found(api, ada)
        etag = api.get(organization.path, as_=ada).etag
        for sent, status in ((f'"a,b" , W/"", {etag}', 304), ('"a,b","c"', 200)):
            assert api.get(organization.path, as_=ada, headers={"If-None-Match": sent}).status == status

    def test_a_conditional_request_needs_access_too(self, api: Api, ada: Person, stranger: Person) -> None:
        path = found(api, ada).path
        assert api.get(path, as_=stranger, headers={"If-None-Match": "*"}).code == "404 not_found"

    def test_a_malformed_if_none_match_is_an_invalid_header(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        response = api.get(path, as_=ada, headers={"If-None-Match": "unquoted"})
        assert response.code == "400 invalid_header"
        assert set(response.faults) == {"header/If-None-Match"}

    def test_mutations_ignore_if_none_match(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        etag = api.get(path, as_=ada).etag
        assert api.patch(path, as_=ada, json={"name": "New"}, headers={"If-None-Match": etag}).status == 200


class TestIfMatch:
    def test_a_matching_etag_allows_the_change(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        for sent in ("{}", '"x", {}', "*", '{},"y"'):
            etag = api.get(path, as_=ada).etag
            response = api.patch(
                path, as_=ada, json={"name": f"For {len(sent)}"}, headers={"If-Match": sent.format(etag)}
            )
            assert response.status == 200, response.text

    def test_a_stale_etag_changes_nothing(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        stale = api.get(path, as_=ada).etag
        current = api.patch(path, as_=ada, json={"name": "Present"})
        for sent in (stale, f'{stale}, "x"', '"nothing"', '""'):
            response = api.patch(path, as_=ada, json={"name": "Lost"}, headers={"If-Match": sent})
            assert response.code == "412 precondition_failed"
            assert set(response.faults) == {"header/If-Match"}
        assert api.get(path, as_=ada).json == current.json

    def test_a_weak_etag_never_matches(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        weak = f"W/{api.get(path, as_=ada).etag}"
        response = api.patch(path, as_=ada, json={"name": "x"}, headers={"If-Match": weak})
        assert response.code == "412 precondition_failed"

    @pytest.mark.parametrize("sent", ["unquoted", "", '"a" "b"', '"open', "*,", "* , *", '"a",,"b"', "W/x"])
    def test_a_malformed_if_match_is_an_invalid_header(self, api: Api, ada: Person, sent: str) -> None:
        response = api.patch(found(api, ada).path, as_=ada, json={"name": "x"}, headers={"If-Match": sent})
        assert response.code == "400 invalid_header"
        assert set(response.faults) == {"header/If-Match"}

    def test_the_etag_of_another_record_does_not_match(self, api: Api, ada: Person) -> None:
        etag_of_other = api.get(found(api, ada).path, as_=ada).etag
        response = api.patch(found(api, ada).path, as_=ada, json={"name": "x"}, headers={"If-Match": etag_of_other})
        assert response.code == "412 precondition_failed"

    def test_deletions_and_actions_compare_if_match(
        self, api: Api, organization: Founded, ada: Person, mary: Person
    ) -> None:
        key = created_key(api, organization)
        stale = {"If-Match": '"stale"'}
        rejected = [
            api.delete(organization.path, as_=ada, headers=stale),
            api.delete(f"{organization.path}/members/{mary.id}", as_=ada, headers=stale),
            api.delete(key.location, as_=ada, headers=stale),
            api.patch(f"{organization.path}/members/{mary.id}", as_=ada, json={"role": "editor"}, headers=stale),
            api.post(f"{key.location}/rotate", as_=ada, headers=stale),
            api.post(f"{organization.path}/transfer-ownership", as_=ada, json={"newOwnerId": mary.id}, headers=stale),
        ]
        assert {response.code for response in rejected} == {"412 precondition_failed"}
        assert api.get(f"{organization.path}/members/{mary.id}", as_=ada).json["version"] == 1
        for path in (f"{organization.path}/members/{mary.id}", key.location, organization.path):
            current = {"If-Match": api.get(path, as_=ada).etag}
            assert api.delete(path, as_=ada, headers=current).status == 204

    def test_a_caller_may_send_the_etag_that_another_caller_got(
        self, api: Api, organization: Founded, ada: Person, edith: Person, mary: Person
    ) -> None:
        etag = api.get(f"{organization.path}/members/{edith.id}", as_=mary).etag
        response = api.patch(
            f"{organization.path}/members/{edith.id}", as_=ada, json={"role": "member"}, headers={"If-Match": etag}
        )
        assert response.status == 200

    def test_an_empty_patch_compares_if_match_too(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        assert api.patch(path, as_=ada, json={}, headers={"If-Match": '"stale"'}).code == "412 precondition_failed"
        assert api.patch(path, as_=ada, json={}, headers={"If-Match": "*"}).status == 200

    def test_one_of_several_concurrent_requests_with_the_same_etag_succeeds(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        etag = api.get(path, as_=ada).etag

        def change(n: int) -> int:
            return api.patch(path, as_=ada, json={"name": f"Name {n}"}, headers={"If-Match": etag}).status

        with ThreadPoolExecutor(5) as threads:
            assert sorted(threads.map(change, range(5))) == [200, 412, 412, 412, 412]
        assert api.get(path, as_=ada).json["version"] == 2

    def test_concurrent_patches_without_if_match_are_all_applied(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        fields = ["name", "companyName", "companyId", "companyLegalName", "companyAddress"]

        def change(field: str) -> int:
            return api.patch(path, as_=ada, json={field: "set"}).status

        with ThreadPoolExecutor(5) as threads:
            assert list(threads.map(change, fields)) == [200] * 5
        record = api.get(path, as_=ada).json
        assert [record[field] for field in fields] == ["set"] * 5
        assert record["version"] == 6
