import base64
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest

from tests.harness import cloud
from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.faults import Died, Fault, failing
from tests.harness.organizations import Founded, found, joins, make_key


def create(api: Api, as_: Person, key: str = "k-1", **fields: object) -> Answer:
    body = {"name": "Engines", **fields}
    return api.post("/organizations", as_=as_, json=body, headers={"Idempotency-Key": key})


def replayed(answer: Answer) -> bool:
    return bool(answer.headers.get("Idempotency-Replayed") == "true")


class TestReplay:
    def test_a_repeated_request_has_one_effect_and_the_first_answer_byte_for_byte(self, api: Api, ada: Person) -> None:
        first = create(api, ada)
        assert not replayed(first)
        for _ in range(3):
            again = create(api, ada)
            assert replayed(again)
            assert again.said == first.said
        assert len(api.items("/organizations", as_=ada)) == 1
        assert len(api.items(f"/organizations/{first.json['id']}/audit-log", as_=ada)) == 1

    def test_it_is_told_at_the_first_read_and_nothing_is_written(self, api: Api, ada: Person) -> None:
        create(api, ada)
        assert create(api, ada).calls.names == ["dynamodb:BatchGetItem"]

    @pytest.mark.parametrize("key", ['"k-1"', " k-1 ", '"k-1" '])
    def test_bare_and_quoted_it_is_the_same_key(self, api: Api, ada: Person, key: str) -> None:
        first = create(api, ada, "k-1")
        assert create(api, ada, key).said == first.said

    def test_different_keys_are_different_requests(self, api: Api, ada: Person) -> None:
        answers = [create(api, ada, key) for key in ("a", "b", "A", "a b", "ä")]
        assert len({answer.json["id"] for answer in answers}) == 5

    def test_it_shows_what_was_then_although_it_changed_since(self, api: Api, ada: Person) -> None:
        first = create(api, ada)
        api.patch(first.location, as_=ada, json={"name": "Changed"})
        assert create(api, ada).said == first.said

    def test_of_actions_without_a_body_too(self, api: Api, organization: Founded, mary: Person) -> None:
        headers = {"Idempotency-Key": "k"}
        first = api.post(f"{organization.path}/leave", as_=mary, headers=headers)
        assert (first.status, first.text) == (204, "")
        assert api.post(f"{organization.path}/leave", as_=mary, headers=headers).code == "404 not_found"
        joins(organization, mary, "member")
        again = api.post(f"{organization.path}/leave", as_=mary, headers=headers)
        assert replayed(again)
        assert again.said == first.said

    def test_it_is_kept_for_a_day(self, api: Api, ada: Person, clock: Clock) -> None:
        first = create(api, ada)
        clock.shift(hours=24, minutes=-1)
        assert replayed(create(api, ada))
        clock.shift(minutes=2)
        later = create(api, ada)
        assert later.status == 201
        assert later.json["id"] != first.json["id"]
        assert create(api, ada).said == later.said

    def test_a_post_that_changes_nothing_is_repeated_too(self, api: Api, organization: Founded, ada: Person) -> None:
        path, headers = f"{organization.path}/transfer-ownership", {"Idempotency-Key": "k"}
        first = api.post(path, as_=ada, json={"newOwnerId": ada.id}, headers=headers)
        api.patch(organization.path, as_=ada, json={"name": "Changed"})
        assert api.post(path, as_=ada, json={"newOwnerId": ada.id}, headers=headers).said == first.said

    def test_other_methods_ignore_it(self, api: Api, ada: Person) -> None:
        organization, headers = found(api, ada), {"Idempotency-Key": "k"}
        for name in ("A", "B", "A"):
            answer = api.patch(organization.path, as_=ada, json={"name": name}, headers=headers)
            assert answer.json["name"] == name
        assert api.delete(organization.path, as_=ada, headers={"Idempotency-Key": "x" * 999}).status == 204


class TestReuse:
    def test_another_body_is_refused(self, api: Api, ada: Person) -> None:
        create(api, ada)
        answer = create(api, ada, name="Other")
        assert answer.code == "422 idempotency_key_reused"
        assert len(api.items("/organizations", as_=ada)) == 1

    def test_another_path_or_query_is_refused(self, api: Api, organization: Founded, ada: Person) -> None:
        path, headers = f"{organization.path}/api-keys", {"Idempotency-Key": "k"}
        made = api.post(path, as_=ada, json={"name": "k"}, headers=headers)
        for url in (f"{path}?x=1", f"{made.location}/rotate", f"{organization.path}/transfer-ownership"):
            answer = api.post(url, as_=ada, json={"name": "k"}, headers=headers)
            assert answer.code == "422 idempotency_key_reused"

    def test_the_same_body_in_other_bytes_is_another_body(self, api: Api, ada: Person) -> None:
        headers = {"Idempotency-Key": "k", "Content-Type": "application/json"}
        api.post("/organizations", as_=ada, body=b'{"name":"A"}', headers=headers)
        answer = api.post("/organizations", as_=ada, body=b'{"name": "A"}', headers=headers)
        assert answer.code == "422 idempotency_key_reused"

    @pytest.mark.parametrize("body", [b"", b"{}", b" \r\n", b"\t{}\n"])
    def test_no_body_and_an_empty_one_are_the_same_request(
        self, api: Api, organization: Founded, ada: Person, body: bytes
    ) -> None:
        key = make_key(api, organization, "read")
        path, headers = f"{organization.keys}/{key.id}/rotate", {"Idempotency-Key": "k"}
        first = api.post(path, as_=ada, headers=headers)
        again = api.post(path, as_=ada, body=body, headers=headers)
        assert replayed(again)
        assert again.said == first.said
        for other in (b"{ }", b'{"graceHours": 24}'):
            answer = api.post(path, as_=ada, body=other, headers=headers)
            assert answer.code == "422 idempotency_key_reused"

    def test_whitespace_around_a_body_makes_no_other(self, api: Api, ada: Person) -> None:
        headers = {"Idempotency-Key": "k"}
        first, again = (
            api.post("/organizations", as_=ada, body=body, headers=headers)
            for body in (b'{"name": "A"}', b'\n {"name": "A"}\r\n')
        )
        assert replayed(again)
        assert again.said == first.said

    def test_a_refused_request_does_not_use_it_up(self, api: Api, ada: Person, stranger: Person) -> None:
        found(api, stranger, slug="taken")
        assert create(api, ada, slug="taken").status == 409
        assert create(api, ada, name="").status == 422
        assert create(api, ada).status == 201

    def test_validation_comes_after_it(self, api: Api, ada: Person) -> None:
        create(api, ada)
        assert create(api, ada, name="").code == "422 idempotency_key_reused"


class TestScope:
    def test_each_caller_has_keys_of_their_own(self, api: Api, ada: Person, stranger: Person) -> None:
        first, second = create(api, ada), create(api, stranger)
        assert (first.status, second.status) == (201, 201)
        assert first.json["id"] != second.json["id"]

    def test_each_api_key_too_and_it_keeps_them_when_rotated(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        path, headers, body = f"{organization.path}/api-keys", {"Idempotency-Key": "k"}, {"name": "k"}
        one, other = make_key(api, organization, "admin"), make_key(api, organization, "admin")
        first, second = (api.post(path, as_=key, json=body, headers=headers) for key in (one, other))
        assert first.json["id"] != second.json["id"]
        rotated = api.post(f"{path}/{one.id}/rotate", as_=ada).json["key"]
        assert api.post(path, as_=rotated, json=body, headers=headers).said == first.said

    def test_it_is_looked_up_after_authorization(
        self, api: Api, organization: Founded, grace: Person, ada: Person
    ) -> None:
        path, headers, body = f"{organization.path}/api-keys", {"Idempotency-Key": "k"}, {"name": "k"}
        assert api.post(path, as_=grace, json=body, headers=headers).status == 201
        api.patch(f"{organization.path}/members/{grace.id}", as_=ada, json={"role": "member"})
        assert api.post(path, as_=grace, json=body, headers=headers).code == "403 insufficient_role"
        api.delete(f"{organization.path}/members/{grace.id}", as_=ada)
        assert api.post(path, as_=grace, json=body, headers=headers).code == "404 not_found"


class TestKeys:
    @pytest.mark.parametrize("key", ["x" * 255, f'"{"x" * 255}"', "0", "{}", '"a \\" b \\\\ c"', "a'b;c,d"])
    def test_up_to_255_characters_are_accepted(self, api: Api, ada: Person, key: str) -> None:
        assert create(api, ada, key).status == 201
        assert replayed(create(api, ada, key))

    @pytest.mark.parametrize("key", ["", "   ", '""', "x" * 256, f'"{"x" * 256}"', "a\x00b", "a\tb"])
    def test_others_are_an_invalid_header(self, api: Api, ada: Person, key: str) -> None:
        answer = create(api, ada, key)
        assert answer.code == "400 invalid_header"
        assert set(answer.faults) == {"header/Idempotency-Key"}

    def test_a_key_is_not_stored_as_it_is(self, api: Api, ada: Person) -> None:
        create(api, ada, "a-key-to-be-found")
        assert "a-key-to-be-found" not in json.dumps(cloud.stored(), default=repr)


class TestSecrets:
    def test_answers_with_a_secret_are_stored_encrypted(self, api: Api, organization: Founded, ada: Person) -> None:
        path, headers = f"{organization.path}/api-keys", {"Idempotency-Key": "k"}
        first = api.post(path, as_=ada, json={"name": "k"}, headers=headers)
        secret = first.json["key"]
        (record,) = [item for item in cloud.stored() if item["pk"].startswith("I#")]
        for text in (secret, secret[4:20], "Nightly"):
            assert text.encode() not in record["body"]
            assert base64.b64encode(text.encode()) not in record["body"]
        assert api.post(path, as_=ada, json={"name": "k"}, headers=headers).said == first.said

    def test_one_moved_to_another_callers_key_is_not_opened(
        self, api: Api, organization: Founded, ada: Person, grace: Person
    ) -> None:
        path, headers = f"{organization.path}/api-keys", {"Idempotency-Key": "k"}
        secret = api.post(path, as_=ada, json={"name": "k"}, headers=headers).json["key"]
        api.post(path, as_=grace, json={"name": "k"}, headers=headers)
        adas, graces = sorted(
            (item for item in cloud.stored() if item["pk"].startswith("I#")), key=lambda item: ada.id not in item["pk"]
        )
        cloud.put({**adas, "pk": graces["pk"]})
        with pytest.raises(AssertionError, match="500"):
            api.post(path, as_=grace, json={"name": "k"}, headers=headers)
        assert secret not in json.dumps(cloud.stored(), default=repr)


class TestRacesAndFaults:
    def test_several_at_once_have_one_effect_and_one_answer(self, api: Api, ada: Person) -> None:
        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(lambda _: create(api, ada), range(6)))
        done = [answer for answer in answers if answer.status == 201]
        assert done
        assert all(answer.code == "409 idempotency_in_progress" for answer in answers if answer.status != 201)
        assert all(done[0].said == answer.said for answer in done)
        assert sum(not replayed(answer) for answer in done) == 1
        assert len(api.items("/organizations", as_=ada)) == 1

    def test_several_at_once_with_different_bodies_have_one_effect(self, api: Api, ada: Person) -> None:
        with ThreadPoolExecutor(4) as threads:
            answers = list(threads.map(lambda n: create(api, ada, name=f"Name {n}"), range(4)))
        assert sorted(answer.status for answer in answers) == [201, 422, 422, 422]
        assert len(api.items("/organizations", as_=ada)) == 1

    @pytest.mark.parametrize(
        ("fault", "done"),
        [
            (Fault.UNANSWERED, True),
            (Fault.DIED_AFTER, True),
            (Fault.THROTTLED, False),
            (Fault.TIMED_OUT, False),
            (Fault.DIED_BEFORE, False),
        ],
    )
    def test_not_answered_the_repetition_is_answered_if_it_was_done_and_does_it_if_not(
        self, api: Api, ada: Person, fault: Fault, *, done: bool
    ) -> None:
        dies = fault in (Fault.DIED_BEFORE, Fault.DIED_AFTER)
        with failing(fault, name="dynamodb:TransactWriteItems"), pytest.raises(Died) if dies else nullcontext():
            assert create(api, ada).code == "503 unavailable"
        again = create(api, ada)
        assert (again.status, replayed(again)) == (201, done)
        assert [o["id"] for o in api.items("/organizations", as_=ada)] == [again.json["id"]]
