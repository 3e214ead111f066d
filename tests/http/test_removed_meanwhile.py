"""A caller who loses a role during a request grants nothing with that role."""

from collections.abc import Callable

import pytest

from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.invitations import asked_to_invite, before_the_next_write, invite
from tests.harness.organizations import Founded, created_key, make_key

Send = Callable[[], Answer]


@pytest.fixture(params=["make a key", "rotate a key", "invite", "invite again", "promote"])
def send(
    request: pytest.FixtureRequest, api: Api, organization: Founded, grace: Person, mary: Person, clock: Clock
) -> Send:
    """A request of an admin that grants something: a secret, a link or a role."""
    rotate_path = f"{organization.keys}/{make_key(api, organization).id}/rotate"
    resend_path = f"{invite(api, organization, 'emmy@example.org').path}/resend"
    member_path = f"{organization.path}/members/{mary.id}"
    clock.shift(minutes=2)
    requests: dict[str, Send] = {
        "make a key": lambda: created_key(api, organization, "admin", as_=grace),
        "rotate a key": lambda: api.post(rotate_path, as_=grace),
        "invite": lambda: asked_to_invite(api, organization, "sophie@example.org", as_=grace),
        "invite again": lambda: api.post(resend_path, as_=grace),
        "promote": lambda: api.patch(member_path, as_=grace, json={"role": "editor"}),
    }
    return requests[request.param]


def test_a_member_removed_during_the_request_grants_nothing(
    api: Api, organization: Founded, grace: Person, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{organization.path}/members/{grace.id}"
    before_the_next_write(monkeypatch, lambda: api.delete(path, as_=organization.owner))
    assert send().code == "404 not_found"
    last_entry = api.items(f"{organization.path}/audit-log", as_=organization.owner)[0]
    assert last_entry["type"] == "organization.member.removed"


def test_a_member_demoted_during_the_request_grants_nothing(
    api: Api, organization: Founded, grace: Person, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{organization.path}/members/{grace.id}"
    before_the_next_write(monkeypatch, lambda: api.patch(path, as_=organization.owner, json={"role": "editor"}))
    assert send().code == "403 insufficient_role"


def test_a_member_with_the_role_grants_it(send: Send) -> None:
    assert send().status in (200, 201)
