"""Test concurrent changes of a record set of a space or platform: the result is that of a serial execution."""

import pytest

from tests.harness.api import ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.invitations import run_before_next_transaction
from tests.harness.platforms import SpaceClient

PATH = "/capabilities"


def send_request(space: SpaceClient, name: str) -> ApiResponse:
    """Send a request such as `put chat polls`, `add maps` or `remove chat`, and return the response."""
    method, *keys = name.split()
    capabilities = [{"capabilityKey": key} for key in keys]
    match method:
        case "put":
            return space.put(PATH, {"capabilities": capabilities})
        case "add":
            return space.post(PATH, capabilities[0])
        case _:
            return space.delete(f"{PATH}/{keys[0]}")


@pytest.fixture
def send_second(space, monkeypatch):
    """A function that sends a request while another changes the same capabilities, and returns the keys after it."""

    def send_second(first: str, second: str) -> tuple[ApiResponse, set[str]]:
        send_request(space, "put chat polls")
        run_before_next_transaction(monkeypatch, lambda: send_request(space, first))
        answer = send_request(space, second)
        return answer, {item["capabilityKey"] for item in space.get(PATH).json["items"]}

    return send_second


@pytest.mark.parametrize(
    ("first", "second", "expected_keys"),
    [
        ("put maps", "put chat", {"chat"}),
        ("put", "put maps", {"maps"}),
        ("add maps", "put chat", {"chat"}),
        ("put chat", "add maps", {"chat", "maps"}),
        ("remove chat", "put chat", {"chat"}),
        ("remove chat", "add maps", {"polls", "maps"}),
    ],
)
def test_the_second_request_is_retried_on_the_result_of_the_first(
    api, organization, send_second, first, second, expected_keys
):
    answer, keys = send_second(first, second)
    assert answer.status in (200, 201)
    assert keys == expected_keys
    later, earlier = list_entries(api, organization)[:2]
    if earlier["type"] == later["type"]:
        first_result = [item["capabilityKey"] for item in earlier["data"]["items"]]
        assert later["changes"][0]["from"] == first_result


@pytest.mark.parametrize(
    ("first", "second", "code", "expected_keys"),
    [
        ("add maps", "add maps", "409 already_exists", {"chat", "polls", "maps"}),
        ("put", "remove chat", "404 not_found", set()),
    ],
)
def test_the_second_request_fails_if_the_first_makes_it_invalid(send_second, first, second, code, expected_keys):
    answer, keys = send_second(first, second)
    assert (answer.status_and_code, keys) == (code, expected_keys)


def test_changes_of_different_modules_and_of_different_settings_both_succeed(platform, monkeypatch):
    def change(**module: object) -> dict[str, Json]:
        answer = platform.patch("/modules", {"modules": [module]})
        assert answer.status == 200, answer.text
        return {module["moduleId"]: module for module in answer.json["items"]}

    run_before_next_transaction(monkeypatch, lambda: change(moduleId="feed", enabled=False))
    modules = change(moduleId="jobs", enabled=False)
    assert [name for name, module in modules.items() if not module["enabled"]] == ["feed", "jobs"]
    run_before_next_transaction(monkeypatch, lambda: change(moduleId="feed", settings={"a": 1}))
    assert change(moduleId="feed", settings={"b": 1})["feed"]["settings"] == {"a": 1, "b": 1}
