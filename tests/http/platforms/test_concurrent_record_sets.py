"""Test concurrent changes of a record set of a space or platform: the result is that of a serial execution."""

from collections.abc import Callable

import pytest

from tests.harness.api import ApiClient, ApiResponse
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Person
from tests.harness.invitations import run_before_next_transaction
from tests.harness.platforms import CreatedSpace

Request = Callable[[], ApiResponse]


@pytest.fixture
def capabilities_path(api: ApiClient, space: CreatedSpace, ada: Person) -> str:
    """Return the path of the capabilities of a space that has two of them."""
    path = f"{space.path}/capabilities"
    api.put(path, caller=ada, json={"capabilities": [{"capabilityKey": "chat"}, {"capabilityKey": "polls"}]})
    return path


def list_keys(api: ApiClient, path: str, caller: Person) -> set[str]:
    return {item["capabilityKey"] for item in api.get(path, caller=caller).json["items"]}


@pytest.fixture
def requests_by_name(api: ApiClient, capabilities_path: str, ada: Person) -> dict[str, Request]:
    """Return the requests that the tests combine."""

    def put_capabilities(*capability_keys: str) -> ApiResponse:
        return api.put(
            capabilities_path,
            caller=ada,
            json={"capabilities": [{"capabilityKey": capability_key} for capability_key in capability_keys]},
        )

    return {
        "put maps": lambda: put_capabilities("maps"),
        "put chat": lambda: put_capabilities("chat"),
        "put none": put_capabilities,
        "add maps": lambda: api.post(capabilities_path, caller=ada, json={"capabilityKey": "maps"}),
        "remove chat": lambda: api.delete(f"{capabilities_path}/chat", caller=ada),
    }


@pytest.mark.parametrize(
    ("first", "second", "expected_keys"),
    [
        ("put maps", "put chat", {"chat"}),
        ("put none", "put maps", {"maps"}),
        ("add maps", "put chat", {"chat"}),
        ("put chat", "add maps", {"chat", "maps"}),
        ("remove chat", "put chat", {"chat"}),
        ("remove chat", "add maps", {"polls", "maps"}),
    ],
)
def test_the_second_request_is_retried_on_the_result_of_the_first(
    api, organization, capabilities_path, requests_by_name, first, second, expected_keys, monkeypatch
):
    run_before_next_transaction(monkeypatch, requests_by_name[first])
    assert requests_by_name[second]().status in (200, 201)
    assert list_keys(api, capabilities_path, organization.owner) == expected_keys
    later, earlier = (entry for entry in list_entries(api, organization)[:2])
    if earlier["type"] == later["type"]:
        first_result = [item["capabilityKey"] for item in earlier["data"]["items"]]
        assert later["changes"][0]["from"] == first_result


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [("add maps", "add maps", "409 already_exists"), ("put none", "remove chat", "404 not_found")],
)
def test_the_second_request_fails_if_the_first_makes_it_invalid(
    api, organization, capabilities_path, requests_by_name, first, second, code, monkeypatch
):
    run_before_next_transaction(monkeypatch, requests_by_name[first])
    assert requests_by_name[second]().status_and_code == code
    assert (
        list_keys(api, capabilities_path, organization.owner)
        == {"add maps": {"chat", "polls", "maps"}, "put none": set()}[first]
    )


def test_changes_of_different_modules_both_succeed(api, space, ada, monkeypatch):
    path = f"{space.platform.path}/modules"

    def disable(module_id: str) -> ApiResponse:
        return api.patch(path, caller=ada, json={"modules": [{"moduleId": module_id, "enabled": False}]})

    run_before_next_transaction(monkeypatch, lambda: disable("feed"))
    assert disable("jobs").status == 200
    modules = api.get(path, caller=ada).json["items"]
    assert [module["moduleId"] for module in modules if not module["enabled"]] == ["feed", "jobs"]


def test_changes_of_settings_of_one_module_both_succeed(api, space, ada, monkeypatch):
    path = f"{space.platform.path}/modules"

    def update_setting(name: str) -> ApiResponse:
        return api.patch(path, caller=ada, json={"modules": [{"moduleId": "feed", "settings": {name: 1}}]})

    run_before_next_transaction(monkeypatch, lambda: update_setting("a"))
    (feed,) = (module for module in update_setting("b").json["items"] if module["moduleId"] == "feed")
    assert feed["settings"] == {"a": 1, "b": 1}
