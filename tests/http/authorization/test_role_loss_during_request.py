"""A caller who loses a role during a request grants nothing with that role."""

from collections.abc import Callable

import pytest

from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.invitations import create_invitation, post_invitation, run_before_next_transaction
from tests.harness.organizations import CreatedOrganization, create_api_key, post_api_key

Send = Callable[[], ApiResponse]


@pytest.fixture(params=["make a key", "rotate a key", "invite", "invite again", "promote"])
def send(
    request: pytest.FixtureRequest,
    api: ApiClient,
    organization: CreatedOrganization,
    grace: Person,
    mary: Person,
    clock: Clock,
) -> Send:
    """A request of an admin that grants something: a secret, a link or a role."""
    rotate_path = f"{organization.api_keys_path}/{create_api_key(api, organization).id}/rotate"
    resend_path = f"{create_invitation(api, organization, 'emmy@example.org').path}/resend"
    member_path = f"{organization.path}/members/{mary.id}"
    clock.shift(minutes=2)
    requests: dict[str, Send] = {
        "make a key": lambda: post_api_key(api, organization, "admin", caller=grace),
        "rotate a key": lambda: api.post(rotate_path, caller=grace),
        "invite": lambda: post_invitation(api, organization, "sophie@example.org", caller=grace),
        "invite again": lambda: api.post(resend_path, caller=grace),
        "promote": lambda: api.patch(member_path, caller=grace, json={"role": "editor"}),
    }
    return requests[request.param]


def test_a_member_removed_during_the_request_grants_nothing(api, organization, grace, send, monkeypatch):
    path = f"{organization.path}/members/{grace.id}"
    run_before_next_transaction(monkeypatch, lambda: api.delete(path, caller=organization.owner))
    assert send().status_and_code == "404 not_found"
    last_entry = api.get_items(f"{organization.path}/audit-log", caller=organization.owner)[0]
    assert last_entry["type"] == "organization.member.removed"


def test_a_member_demoted_during_the_request_grants_nothing(api, organization, grace, send, monkeypatch):
    path = f"{organization.path}/members/{grace.id}"
    run_before_next_transaction(
        monkeypatch, lambda: api.patch(path, caller=organization.owner, json={"role": "editor"})
    )
    assert send().status_and_code == "403 insufficient_role"


def test_a_member_with_the_role_grants_it(send):
    assert send().status in (200, 201)
