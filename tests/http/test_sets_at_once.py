"""Two who change a set of a space or a platform at the same moment: it ends as if one had come after the other."""

from collections.abc import Callable

import pytest

from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.invitations import before_the_next_write
from tests.harness.logs import log_of
from tests.harness.organizations import Founded
from tests.harness.platforms import Room

Ask = Callable[[], Answer]


@pytest.fixture
def path(api: Api, looms: Room, ada: Person) -> str:
    """Where the capabilities of a space are found that has two of them."""
    path = f"{looms.path}/capabilities"
    api.put(path, as_=ada, json={"capabilities": [{"capabilityKey": "chat"}, {"capabilityKey": "polls"}]})
    return path


def keys(api: Api, path: str, as_: Person) -> set[str]:
    return {item["capabilityKey"] for item in api.get(path, as_=as_).json["items"]}


@pytest.fixture
def asks(api: Api, path: str, ada: Person) -> dict[str, Ask]:
    """What the two may ask for."""

    def put(*wanted: str) -> Answer:
        return api.put(path, as_=ada, json={"capabilities": [{"capabilityKey": key} for key in wanted]})

    return {
        "put maps": lambda: put("maps"),
        "put chat": lambda: put("chat"),
        "put none": put,
        "add maps": lambda: api.post(path, as_=ada, json={"capabilityKey": "maps"}),
        "remove chat": lambda: api.delete(f"{path}/chat", as_=ada),
    }


@pytest.mark.parametrize(
    ("first", "then", "left"),
    [
        ("put maps", "put chat", {"chat"}),
        ("put none", "put maps", {"maps"}),
        ("add maps", "put chat", {"chat"}),
        ("put chat", "add maps", {"chat", "maps"}),
        ("remove chat", "put chat", {"chat"}),
        ("remove chat", "add maps", {"polls", "maps"}),
    ],
)
def test_whoever_is_late_does_it_again_on_what_the_other_left(
    api: Api,
    organization: Founded,
    path: str,
    asks: dict[str, Ask],
    first: str,
    then: str,
    left: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before_the_next_write(monkeypatch, asks[first])
    assert asks[then]().status in (200, 201)
    assert keys(api, path, organization.owner) == left
    later, earlier = (entry for entry in log_of(api, organization)[:2])
    if earlier["type"] == later["type"]:
        left_by_the_first = [item["capabilityKey"] for item in earlier["data"]["items"]]
        assert later["changes"][0]["from"] == left_by_the_first


@pytest.mark.parametrize(
    ("first", "then", "code"),
    [("add maps", "add maps", "409 already_exists"), ("put none", "remove chat", "404 not_found")],
)
def test_whoever_is_too_late_is_told(
    api: Api,
    organization: Founded,
    path: str,
    asks: dict[str, Ask],
    first: str,
    then: str,
    code: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before_the_next_write(monkeypatch, asks[first])
    assert asks[then]().code == code
    assert keys(api, path, organization.owner) == {"add maps": {"chat", "polls", "maps"}, "put none": set()}[first]


def test_two_who_change_different_modules_both_do(
    api: Api, looms: Room, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{looms.platform.path}/modules"

    def off(module: str) -> Answer:
        return api.patch(path, as_=ada, json={"modules": [{"moduleId": module, "enabled": False}]})

    before_the_next_write(monkeypatch, lambda: off("feed"))
    assert off("jobs").status == 200
    listed = api.get(path, as_=ada).json["items"]
    assert [module["moduleId"] for module in listed if not module["enabled"]] == ["feed", "jobs"]


def test_two_who_set_settings_of_one_module_both_do(
    api: Api, looms: Room, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{looms.platform.path}/modules"

    def set_(name: str) -> Answer:
        return api.patch(path, as_=ada, json={"modules": [{"moduleId": "feed", "settings": {name: 1}}]})

    before_the_next_write(monkeypatch, lambda: set_("a"))
    (feed,) = (module for module in set_("b").json["items"] if module["moduleId"] == "feed")
    assert feed["settings"] == {"a": 1, "b": 1}
