import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.organizations import Founded, created_key, found


class TestETags:
    def test_every_answer_that_is_one_record_has_a_strong_one(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        key = created_key(api, organization)
        answers = [
            key,
            api.get(key.location, as_=ada),
            api.get(organization.path, as_=ada),
            api.get(f"{organization.path}/members/{ada.id}", as_=ada),
            api.patch(organization.path, as_=ada, json={"name": "New"}),
            api.post(f"{key.location}/rotate", as_=ada),
        ]
        for answer in answers:
            assert re.fullmatch(r'"[\x21\x23-\x7e]+"', answer.etag)

    def test_lists_and_deletions_have_none(self, api: Api, organization: Founded, ada: Person, mary: Person) -> None:
        assert "ETag" not in api.get(f"{organization.path}/members", as_=ada).headers
        assert "ETag" not in api.delete(f"{organization.path}/members/{mary.id}", as_=ada).headers

    def test_it_changes_with_the_record_and_only_then(self, api: Api, ada: Person) -> None:
        organization = found(api, ada)
        tags = [api.get(organization.path, as_=ada).etag for _ in range(2)]
        changed = api.patch(organization.path, as_=ada, json={"name": "New"})
        tags += [changed.etag, api.get(organization.path, as_=ada).etag]
        assert tags[0] == tags[1] != tags[2] == tags[3]

    def test_two_callers_who_see_different_things_have_different_ones(
        self, api: Api, organization: Founded, ada: Person, mary: Person
    ) -> None:
        path = f"{organization.path}/members/{ada.id}"
        assert api.get(path, as_=ada).etag != api.get(path, as_=mary).etag

    def test_a_member_who_joined_anew_has_another_one(
        self, api: Api, organization: Founded, ada: Person, grace: Person
    ) -> None:
        first = api.get(f"{organization.path}/members/{grace.id}", as_=ada).etag
        second = api.get(f"{found(api, ada).path}/members/{ada.id}", as_=ada).etag
        assert first != second


class TestIfNoneMatch:
    def test_what_has_not_changed_is_not_sent_again(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        tag = api.get(path, as_=ada).etag
        for sent in (tag, f"W/{tag}", f'"x", {tag}', f'"x",{tag} , "y"', "*"):
            answer = api.get(path, as_=ada, headers={"If-None-Match": sent})
            assert (answer.status, answer.text, answer.etag) == (304, "", tag)

    def test_what_has_changed_is(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        tag = api.get(path, as_=ada).etag
        api.patch(path, as_=ada, json={"name": "New"})
        assert api.get(path, as_=ada, headers={"If-None-Match": tag}).json["name"] == "New"

    def test_tags_of_others_may_hold_commas(self, api: Api, ada: Person) -> None:
        made = found(api, ada)
        tag = api.get(made.path, as_=ada).etag
        for sent, status in ((f'"a,b" , W/"", {tag}', 304), ('"a,b","c"', 200)):
            assert api.get(made.path, as_=ada, headers={"If-None-Match": sent}).status == status

    def test_permissions_are_looked_at_all_the_same(self, api: Api, ada: Person, stranger: Person) -> None:
        path = found(api, ada).path
        assert api.get(path, as_=stranger, headers={"If-None-Match": "*"}).code == "404 not_found"

    def test_a_malformed_one_is_an_invalid_header(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        answer = api.get(path, as_=ada, headers={"If-None-Match": "unquoted"})
        assert answer.code == "400 invalid_header"
        assert set(answer.faults) == {"header/If-None-Match"}

    def test_it_means_nothing_to_a_change(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        tag = api.get(path, as_=ada).etag
        assert api.patch(path, as_=ada, json={"name": "New"}, headers={"If-None-Match": tag}).status == 200


class TestIfMatch:
    def test_the_present_one_lets_a_change_pass(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        for sent in ("{}", '"x", {}', "*", '{},"y"'):
            tag = api.get(path, as_=ada).etag
            answer = api.patch(path, as_=ada, json={"name": f"For {len(sent)}"}, headers={"If-Match": sent.format(tag)})
            assert answer.status == 200, answer.text

    def test_a_stale_one_changes_nothing(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        stale = api.get(path, as_=ada).etag
        present = api.patch(path, as_=ada, json={"name": "Present"})
        for sent in (stale, f'{stale}, "x"', '"nothing"', '""'):
            answer = api.patch(path, as_=ada, json={"name": "Lost"}, headers={"If-Match": sent})
            assert answer.code == "412 precondition_failed"
            assert set(answer.faults) == {"header/If-Match"}
        assert api.get(path, as_=ada).json == present.json

    def test_a_weak_one_never_matches(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        weak = f"W/{api.get(path, as_=ada).etag}"
        answer = api.patch(path, as_=ada, json={"name": "x"}, headers={"If-Match": weak})
        assert answer.code == "412 precondition_failed"

    @pytest.mark.parametrize("sent", ["unquoted", "", '"a" "b"', '"open', "*,", "* , *", '"a",,"b"', "W/x"])
    def test_a_malformed_one_is_an_invalid_header(self, api: Api, ada: Person, sent: str) -> None:
        answer = api.patch(found(api, ada).path, as_=ada, json={"name": "x"}, headers={"If-Match": sent})
        assert answer.code == "400 invalid_header"
        assert set(answer.faults) == {"header/If-Match"}

    def test_the_tag_of_another_record_does_not_match(self, api: Api, ada: Person) -> None:
        other = api.get(found(api, ada).path, as_=ada).etag
        answer = api.patch(found(api, ada).path, as_=ada, json={"name": "x"}, headers={"If-Match": other})
        assert answer.code == "412 precondition_failed"

    def test_it_is_honoured_by_deletions_and_actions(
        self, api: Api, organization: Founded, ada: Person, mary: Person
    ) -> None:
        key = created_key(api, organization)
        stale = {"If-Match": '"stale"'}
        refused = [
            api.delete(organization.path, as_=ada, headers=stale),
            api.delete(f"{organization.path}/members/{mary.id}", as_=ada, headers=stale),
            api.delete(key.location, as_=ada, headers=stale),
            api.patch(f"{organization.path}/members/{mary.id}", as_=ada, json={"role": "editor"}, headers=stale),
            api.post(f"{key.location}/rotate", as_=ada, headers=stale),
            api.post(f"{organization.path}/transfer-ownership", as_=ada, json={"newOwnerId": mary.id}, headers=stale),
        ]
        assert {answer.code for answer in refused} == {"412 precondition_failed"}
        assert api.get(f"{organization.path}/members/{mary.id}", as_=ada).json["version"] == 1
        for path in (f"{organization.path}/members/{mary.id}", key.location, organization.path):
            present = {"If-Match": api.get(path, as_=ada).etag}
            assert api.delete(path, as_=ada, headers=present).status == 204

    def test_what_one_caller_read_another_may_send(
        self, api: Api, organization: Founded, ada: Person, edith: Person, mary: Person
    ) -> None:
        seen = api.get(f"{organization.path}/members/{edith.id}", as_=mary).etag
        answer = api.patch(
            f"{organization.path}/members/{edith.id}", as_=ada, json={"role": "member"}, headers={"If-Match": seen}
        )
        assert answer.status == 200

    def test_a_change_that_changes_nothing_is_held_to_it_too(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        assert api.patch(path, as_=ada, json={}, headers={"If-Match": '"stale"'}).code == "412 precondition_failed"
        assert api.patch(path, as_=ada, json={}, headers={"If-Match": "*"}).status == 200

    def test_of_many_with_the_same_tag_one_passes(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        tag = api.get(path, as_=ada).etag

        def change(n: int) -> int:
            return api.patch(path, as_=ada, json={"name": f"Name {n}"}, headers={"If-Match": tag}).status

        with ThreadPoolExecutor(5) as threads:
            assert sorted(threads.map(change, range(5))) == [200, 412, 412, 412, 412]
        assert api.get(path, as_=ada).json["version"] == 2

    def test_without_it_all_changes_pass_and_none_is_lost_half(self, api: Api, ada: Person) -> None:
        path = found(api, ada).path
        fields = ["name", "companyName", "companyId", "companyLegalName", "companyAddress"]

        def change(field: str) -> int:
            return api.patch(path, as_=ada, json={field: "set"}).status

        with ThreadPoolExecutor(5) as threads:
            assert list(threads.map(change, fields)) == [200] * 5
        record = api.get(path, as_=ada).json
        assert [record[field] for field in fields] == ["set"] * 5
        assert record["version"] == 6
