import base64
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest

from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Person
from tests.harness.faults import Fault, ProcessDied, inject_fault
from tests.harness.organizations import (
    add_organization_member,
    create_api_key,
    create_organization,
)


def post_organization(api: ApiClient, caller: Person, key: str = "k-1", **fields: object) -> ApiResponse:
    body = {"name": "Engines", **fields}
    return api.post("/organizations", caller=caller, json=body, headers={"Idempotency-Key": key})


def is_replayed(response: ApiResponse) -> bool:
    return bool(response.headers.get("Idempotency-Replayed") == "true")


class TestReplay:
    def test_a_repeated_request_has_one_effect_and_gets_the_first_response_unchanged(self, api, ada):
        first = post_organization(api, ada)
        assert not is_replayed(first)
        for _ in range(3):
            repeated = post_organization(api, ada)
            assert is_replayed(repeated)
            assert repeated.comparable_content == first.comparable_content
        assert len(api.get_items("/organizations", caller=ada)) == 1
        assert len(api.get_items(f"/organizations/{first.json['id']}/audit-log", caller=ada)) == 1

    def test_a_repetition_takes_one_read_and_no_write(self, api, ada):
        post_organization(api, ada)
        assert post_organization(api, ada).calls.call_names == ["dynamodb:BatchGetItem"]

    @pytest.mark.parametrize("key", ['"k-1"', " k-1 ", '"k-1" '])
    def test_bare_and_quoted_keys_are_equal(self, api, ada, key):
        first = post_organization(api, ada, "k-1")
        assert post_organization(api, ada, key).comparable_content == first.comparable_content

    def test_different_keys_are_different_requests(self, api, ada):
        responses = [post_organization(api, ada, key) for key in ("a", "b", "A", "a b", "ä")]
        assert len({response.json["id"] for response in responses}) == 5

    def test_the_stored_response_does_not_follow_later_changes(self, api, ada):
        first = post_organization(api, ada)
        api.patch(first.location, caller=ada, json={"name": "Changed"})
        assert post_organization(api, ada).comparable_content == first.comparable_content

    def test_actions_without_a_body_are_replayed_too(self, api, organization, mary):
        headers = {"Idempotency-Key": "k"}
        first = api.post(f"{organization.path}/leave", caller=mary, headers=headers)
        assert (first.status, first.text) == (204, "")
        assert api.post(f"{organization.path}/leave", caller=mary, headers=headers).status_and_code == "404 not_found"
        add_organization_member(organization, mary, "member")
        repeated = api.post(f"{organization.path}/leave", caller=mary, headers=headers)
        assert is_replayed(repeated)
        assert repeated.comparable_content == first.comparable_content

    def test_the_response_is_stored_for_a_day(self, api, ada, clock):
        first = post_organization(api, ada)
        clock.shift(hours=24, minutes=-1)
        assert is_replayed(post_organization(api, ada))
        clock.shift(minutes=2)
        later = post_organization(api, ada)
        assert later.status == 201
        assert later.json["id"] != first.json["id"]
        assert post_organization(api, ada).comparable_content == later.comparable_content

    def test_a_post_that_changes_nothing_is_replayed_too(self, api, organization, ada):
        path, headers = f"{organization.path}/transfer-ownership", {"Idempotency-Key": "k"}
        first = api.post(path, caller=ada, json={"newOwnerId": ada.id}, headers=headers)
        api.patch(organization.path, caller=ada, json={"name": "Changed"})
        assert (
            api.post(path, caller=ada, json={"newOwnerId": ada.id}, headers=headers).comparable_content
            == first.comparable_content
        )

    def test_other_methods_ignore_the_key(self, api, ada):
        organization, headers = create_organization(api, ada), {"Idempotency-Key": "k"}
        for name in ("A", "B", "A"):
            response = api.patch(organization.path, caller=ada, json={"name": name}, headers=headers)
            assert response.json["name"] == name
        assert api.delete(organization.path, caller=ada, headers={"Idempotency-Key": "x" * 999}).status == 204


class TestReuse:
    def test_another_body_is_rejected(self, api, ada):
        post_organization(api, ada)
        response = post_organization(api, ada, name="Other")
        assert response.status_and_code == "422 idempotency_key_reused"
        assert len(api.get_items("/organizations", caller=ada)) == 1

    def test_another_path_or_query_is_rejected(self, api, organization, ada):
        path, headers = f"{organization.path}/api-keys", {"Idempotency-Key": "k"}
        created = api.post(path, caller=ada, json={"name": "k"}, headers=headers)
        for url in (f"{path}?x=1", f"{created.location}/rotate", f"{organization.path}/transfer-ownership"):
            response = api.post(url, caller=ada, json={"name": "k"}, headers=headers)
            assert response.status_and_code == "422 idempotency_key_reused"

    def test_the_same_body_in_other_bytes_is_another_body(self, api, ada):
        headers = {"Idempotency-Key": "k", "Content-Type": "application/json"}
        api.post("/organizations", caller=ada, body=b'{"name":"A"}', headers=headers)
        response = api.post("/organizations", caller=ada, body=b'{"name": "A"}', headers=headers)
        assert response.status_and_code == "422 idempotency_key_reused"

    @pytest.mark.parametrize("body", [b"", b"{}", b" \r\n", b"\t{}\n"])
    def test_no_body_and_an_empty_body_are_the_same_request(self, api, organization, ada, body):
        key = create_api_key(api, organization, "read")
        path, headers = f"{organization.api_keys_path}/{key.id}/rotate", {"Idempotency-Key": "k"}
        first = api.post(path, caller=ada, headers=headers)
        repeated = api.post(path, caller=ada, body=body, headers=headers)
        assert is_replayed(repeated)
        assert repeated.comparable_content == first.comparable_content
        for other_body in (b"{ }", b'{"graceHours": 24}'):
            response = api.post(path, caller=ada, body=other_body, headers=headers)
            assert response.status_and_code == "422 idempotency_key_reused"

    def test_whitespace_around_the_body_is_ignored(self, api, ada):
        headers = {"Idempotency-Key": "k"}
        first, repeated = (
            api.post("/organizations", caller=ada, body=body, headers=headers)
            for body in (b'{"name": "A"}', b'\n {"name": "A"}\r\n')
        )
        assert is_replayed(repeated)
        assert repeated.comparable_content == first.comparable_content

    def test_a_rejected_request_does_not_use_the_key(self, api, ada, stranger):
        create_organization(api, stranger, slug="taken")
        assert post_organization(api, ada, slug="taken").status == 409
        assert post_organization(api, ada, name="").status == 422
        assert post_organization(api, ada).status == 201

    def test_the_key_is_checked_before_the_body(self, api, ada):
        post_organization(api, ada)
        assert post_organization(api, ada, name="").status_and_code == "422 idempotency_key_reused"


class TestScope:
    def test_idempotency_keys_belong_to_a_caller(self, api, ada, stranger):
        first, second = post_organization(api, ada), post_organization(api, stranger)
        assert (first.status, second.status) == (201, 201)
        assert first.json["id"] != second.json["id"]

    def test_idempotency_keys_belong_to_an_api_key_across_rotations(self, api, organization, ada):
        path, headers, body = f"{organization.path}/api-keys", {"Idempotency-Key": "k"}, {"name": "k"}
        api_key, other_api_key = create_api_key(api, organization, "admin"), create_api_key(api, organization, "admin")
        first, second = (api.post(path, caller=each, json=body, headers=headers) for each in (api_key, other_api_key))
        assert first.json["id"] != second.json["id"]
        rotated = api.post(f"{path}/{api_key.id}/rotate", caller=ada).json["key"]
        assert api.post(path, caller=rotated, json=body, headers=headers).comparable_content == first.comparable_content

    def test_a_replay_requires_authorization(self, api, organization, grace, ada):
        path, headers, body = f"{organization.path}/api-keys", {"Idempotency-Key": "k"}, {"name": "k"}
        assert api.post(path, caller=grace, json=body, headers=headers).status == 201
        api.patch(f"{organization.path}/members/{grace.id}", caller=ada, json={"role": "member"})
        assert api.post(path, caller=grace, json=body, headers=headers).status_and_code == "403 insufficient_role"
        api.delete(f"{organization.path}/members/{grace.id}", caller=ada)
        assert api.post(path, caller=grace, json=body, headers=headers).status_and_code == "404 not_found"


class TestKeys:
    @pytest.mark.parametrize("key", ["x" * 255, f'"{"x" * 255}"', "0", "{}", '"a \\" b \\\\ c"', "a'b;c,d"])
    def test_up_to_255_characters_are_accepted(self, api, ada, key):
        assert post_organization(api, ada, key).status == 201
        assert is_replayed(post_organization(api, ada, key))

    @pytest.mark.parametrize("key", ["", "   ", '""', "x" * 256, f'"{"x" * 256}"', "a\x00b", "a\tb"])
    def test_invalid_keys_are_an_invalid_header(self, api, ada, key):
        response = post_organization(api, ada, key)
        assert response.status_and_code == "400 invalid_header"
        assert set(response.errors) == {"header/Idempotency-Key"}

    def test_the_key_is_not_stored_in_plain_text(self, api, ada):
        post_organization(api, ada, "a-key-to-be-found")
        assert "a-key-to-be-found" not in json.dumps(memory_aws.all_items(), default=repr)


class TestSecrets:
    def test_responses_with_a_secret_are_stored_encrypted(self, api, organization, ada):
        path, headers = f"{organization.path}/api-keys", {"Idempotency-Key": "k"}
        first = api.post(path, caller=ada, json={"name": "k"}, headers=headers)
        secret = first.json["key"]
        (record,) = [item for item in memory_aws.all_items() if item["pk"].startswith("I#")]
        for text in (secret, secret[4:20], "Nightly"):
            assert text.encode() not in record["body"]
            assert base64.b64encode(text.encode()) not in record["body"]
        assert (
            api.post(path, caller=ada, json={"name": "k"}, headers=headers).comparable_content
            == first.comparable_content
        )

    def test_a_response_moved_to_another_caller_is_not_decrypted(self, api, organization, ada, grace):
        path, headers = f"{organization.path}/api-keys", {"Idempotency-Key": "k"}
        secret = api.post(path, caller=ada, json={"name": "k"}, headers=headers).json["key"]
        api.post(path, caller=grace, json={"name": "k"}, headers=headers)
        item_of_ada, item_of_grace = sorted(
            (item for item in memory_aws.all_items() if item["pk"].startswith("I#")),
            key=lambda item: ada.id not in item["pk"],
        )
        memory_aws.put_item({**item_of_ada, "pk": item_of_grace["pk"]})
        with pytest.raises(AssertionError, match="500"):
            api.post(path, caller=grace, json={"name": "k"}, headers=headers)
        assert secret not in json.dumps(memory_aws.all_items(), default=repr)


class TestConcurrencyAndFaults:
    def test_concurrent_repetitions_have_one_effect_and_one_response(self, api, ada):
        with ThreadPoolExecutor(6) as threads:
            responses = list(threads.map(lambda _: post_organization(api, ada), range(6)))
        created = [response for response in responses if response.status == 201]
        assert created
        assert all(
            response.status_and_code == "409 idempotency_in_progress"
            for response in responses
            if response.status != 201
        )
        assert all(created[0].comparable_content == response.comparable_content for response in created)
        assert sum(not is_replayed(response) for response in created) == 1
        assert len(api.get_items("/organizations", caller=ada)) == 1

    def test_concurrent_requests_with_different_bodies_have_one_effect(self, api, ada):
        with ThreadPoolExecutor(4) as threads:
            responses = list(threads.map(lambda n: post_organization(api, ada, name=f"Name {n}"), range(4)))
        assert sorted(response.status for response in responses) == [201, 422, 422, 422]
        assert len(api.get_items("/organizations", caller=ada)) == 1

    @pytest.mark.parametrize(
        ("fault", "is_committed"),
        [
            (Fault.RESPONSE_LOST, True),
            (Fault.DIED_AFTER, True),
            (Fault.THROTTLED, False),
            (Fault.TIMED_OUT, False),
            (Fault.DIED_BEFORE, False),
        ],
    )
    def test_a_repetition_replays_a_committed_request_and_executes_a_failed_one(self, api, ada, fault, *, is_committed):
        dies = fault in (Fault.DIED_BEFORE, Fault.DIED_AFTER)
        with (
            inject_fault(fault, call_name="dynamodb:TransactWriteItems"),
            pytest.raises(ProcessDied) if dies else nullcontext(),
        ):
            assert post_organization(api, ada).status_and_code == "503 unavailable"
        repeated = post_organization(api, ada)
        assert (repeated.status, is_replayed(repeated)) == (201, is_committed)
        assert [o["id"] for o in api.get_items("/organizations", caller=ada)] == [repeated.json["id"]]
