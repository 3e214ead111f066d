"""Cases of idempotency keys beyond those that `tests/catalogue/test_idempotency.py` tests for every operation."""

import base64
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Person
from tests.harness.organizations import (
    add_organization_member,
    create_api_key,
    create_organization,
    remove_member,
    set_role,
)

KEY = {"Idempotency-Key": "k"}
REUSED = "422 idempotency_key_reused"


def post_organization(api: ApiClient, caller: Person, key: str = "k-1", **fields: object) -> ApiResponse:
    body = {"name": "Engines", **fields}
    return api.post("/organizations", caller=caller, json=body, headers={"Idempotency-Key": key})


def is_replayed(response):
    return response.headers.get("Idempotency-Replayed") == "true"


def is_replay_of(response, first):
    return is_replayed(response) and response.comparable_content == first.comparable_content


class TestReplay:
    def test_a_repetition_takes_one_read_and_gets_the_first_response_despite_later_changes(self, api, ada):
        first = post_organization(api, ada)
        assert not is_replayed(first)
        api.patch(first.location, caller=ada, json={"name": "Changed"})
        for key in ("k-1", '"k-1"', " k-1 ", '"k-1" '):
            repeated = post_organization(api, ada, key)
            assert is_replay_of(repeated, first)
            assert repeated.calls.call_names == ["dynamodb:BatchGetItem"]
        assert len(api.get_items("/organizations", caller=ada)) == 1

    def test_different_keys_are_different_requests(self, api, ada):
        responses = [post_organization(api, ada, key) for key in ("a", "b", "A", "a b", "ä")]
        assert len({response.json["id"] for response in responses}) == 5

    def test_actions_without_a_body_are_replayed_too(self, api, organization, mary):
        path = f"{organization.path}/leave"
        first = api.post(path, caller=mary, headers=KEY)
        assert (first.status, first.text) == (204, "")
        assert api.post(path, caller=mary, headers=KEY).status_and_code == "404 not_found"
        add_organization_member(organization, mary, "member")
        assert is_replay_of(api.post(path, caller=mary, headers=KEY), first)

    def test_the_response_is_stored_for_a_day(self, api, ada, clock):
        post_organization(api, ada)
        clock.shift(hours=24, minutes=-1)
        assert is_replayed(post_organization(api, ada))
        clock.shift(minutes=2)
        later = post_organization(api, ada)
        assert not is_replayed(later)
        assert is_replay_of(post_organization(api, ada), later)

    def test_a_post_that_changes_nothing_is_replayed_too(self, api, organization, ada):
        path, body = f"{organization.path}/transfer-ownership", {"newOwnerId": ada.id}
        first = api.post(path, caller=ada, json=body, headers=KEY)
        api.patch(organization.path, caller=ada, json={"name": "Changed"})
        assert not is_replayed(first)
        assert is_replay_of(api.post(path, caller=ada, json=body, headers=KEY), first)

    def test_other_methods_ignore_the_key(self, api, organization, ada):
        for name in ("A", "B", "A"):
            assert api.patch(organization.path, caller=ada, json={"name": name}, headers=KEY).json["name"] == name
        assert api.delete(organization.path, caller=ada, headers={"Idempotency-Key": "x" * 999}).status == 204


class TestReuse:
    def test_another_path_or_query_is_rejected(self, api, organization, ada):
        path = organization.api_keys_path
        created = api.post(path, caller=ada, json={"name": "k"}, headers=KEY)
        for url in (f"{path}?x=1", f"{created.location}/rotate", f"{organization.path}/transfer-ownership"):
            assert api.post(url, caller=ada, json={"name": "k"}, headers=KEY).status_and_code == REUSED

    def test_the_same_body_in_other_bytes_is_another_body_except_for_whitespace_around_it(self, api, ada):
        first, *others = (
            api.post("/organizations", caller=ada, body=body, headers={**KEY, "Content-Type": "application/json"})
            for body in (b'{"name":"A"}', b'\n {"name":"A"}\r\n', b'{"name": "A"}')
        )
        assert is_replay_of(others[0], first)
        assert others[1].status_and_code == REUSED

    def test_no_body_and_an_empty_body_are_the_same_request(self, api, organization, ada):
        path = f"{organization.api_keys_path}/{create_api_key(api, organization, 'read').id}/rotate"
        first = api.post(path, caller=ada, headers=KEY)
        for body in (b"", b"{}", b" \r\n", b"\t{}\n"):
            assert is_replay_of(api.post(path, caller=ada, body=body, headers=KEY), first)
        for other_body in (b"{ }", b'{"graceHours": 24}'):
            assert api.post(path, caller=ada, body=other_body, headers=KEY).status_and_code == REUSED

    def test_a_rejected_request_does_not_use_the_key_which_is_checked_before_the_body(self, api, ada, stranger):
        create_organization(api, stranger, slug="taken")
        assert post_organization(api, ada, slug="taken").status == 409
        assert post_organization(api, ada, name="").status == 422
        assert post_organization(api, ada).status == 201
        assert post_organization(api, ada, name="").status_and_code == REUSED


class TestScope:
    def test_idempotency_keys_belong_to_an_api_key_across_rotations(self, api, organization, ada):
        path, body = organization.api_keys_path, {"name": "k"}
        key, other_key = (create_api_key(api, organization, "admin") for _ in range(2))
        first, second = (api.post(path, caller=each, json=body, headers=KEY) for each in (key, other_key))
        assert first.json["id"] != second.json["id"]
        rotated = api.post(f"{path}/{key.id}/rotate", caller=ada).json["key"]
        assert api.post(path, caller=rotated, json=body, headers=KEY).comparable_content == first.comparable_content

    def test_a_replay_requires_authorization(self, api, organization, grace):
        request = {"caller": grace, "json": {"name": "k"}, "headers": KEY}
        assert api.post(organization.api_keys_path, **request).status == 201
        set_role(api, organization, grace, "member")
        assert api.post(organization.api_keys_path, **request).status_and_code == "403 insufficient_role"
        remove_member(api, organization, grace)
        assert api.post(organization.api_keys_path, **request).status_and_code == "404 not_found"


class TestKeys:
    def test_up_to_255_characters_are_accepted_and_not_stored_in_plain_text(self, api, ada):
        for key in ("x" * 255, "0", "{}", '"a \\" b \\\\ c"', "a'b;c,d", "a-key-to-be-found"):
            assert post_organization(api, ada, key).status == 201
            assert is_replayed(post_organization(api, ada, key))
        assert is_replayed(post_organization(api, ada, f'"{"x" * 255}"'))
        assert "a-key-to-be-found" not in json.dumps(memory_aws.all_items(), default=repr)

    @pytest.mark.parametrize("key", ["", "   ", '""', "x" * 256, f'"{"x" * 256}"', "a\x00b", "a\tb"])
    def test_invalid_keys_are_an_invalid_header(self, api, ada, key):
        response = post_organization(api, ada, key)
        assert response.problem_and_pointers == ("400 invalid_header", ["header/Idempotency-Key"])


def test_responses_with_a_secret_are_stored_encrypted_for_their_caller(api, organization, ada, grace):
    def create_key(caller: Person) -> ApiResponse:
        return api.post(organization.api_keys_path, caller=caller, json={"name": "k"}, headers=KEY)

    first = create_key(ada)
    secret = first.json["key"]
    (item_of_ada,) = (item for item in memory_aws.all_items() if item["pk"].startswith("I#"))
    for text in (secret, secret[4:20], "Nightly"):
        assert text.encode() not in item_of_ada["body"]
        assert base64.b64encode(text.encode()) not in item_of_ada["body"]
    assert create_key(ada).comparable_content == first.comparable_content
    create_key(grace)
    (pk_of_grace,) = {i["pk"] for i in memory_aws.all_items() if i["pk"].startswith("I#")} - {item_of_ada["pk"]}
    memory_aws.put_item({**item_of_ada, "pk": pk_of_grace})
    with pytest.raises(AssertionError, match="500"):  # A moved response is not decrypted.
        create_key(grace)
    assert secret not in json.dumps(memory_aws.all_items(), default=repr)


class TestConcurrency:
    def test_concurrent_repetitions_have_one_effect_and_one_response(self, api, ada):
        with ThreadPoolExecutor(6) as threads:
            responses = list(threads.map(lambda _: post_organization(api, ada), range(6)))
        created = [response for response in responses if response.status == 201]
        problems = {response.status_and_code for response in responses if response.status != 201}
        assert problems <= {"409 idempotency_in_progress"}
        assert all(created[0].comparable_content == response.comparable_content for response in created)
        assert sum(not is_replayed(response) for response in created) == 1
        assert len(api.get_items("/organizations", caller=ada)) == 1

    def test_concurrent_requests_with_different_bodies_have_one_effect(self, api, ada):
        with ThreadPoolExecutor(4) as threads:
            responses = list(threads.map(lambda n: post_organization(api, ada, name=f"Name {n}"), range(4)))
        assert sorted(response.status for response in responses) == [201, 422, 422, 422]
        assert len(api.get_items("/organizations", caller=ada)) == 1
