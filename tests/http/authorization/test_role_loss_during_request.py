"""A caller who loses a role during a request grants nothing with that role."""

import pytest

from tests.harness.audit_logs import get_last_entry
from tests.harness.invitations import create_invitation, post_invitation, run_before_next_transaction
from tests.harness.organizations import create_api_key, post_api_key, remove_member, rotate_api_key, set_role


@pytest.fixture(params=["make a key", "rotate a key", "invite", "invite again", "promote"])
def send(request, api, organization, grace, mary, clock):
    """A function that sends a request of an admin that grants something: a secret, a link or a role."""
    key, invitation = create_api_key(api, organization), create_invitation(api, organization, "emmy@example.org")
    clock.shift(minutes=2)
    requests = {
        "make a key": lambda: post_api_key(api, organization, "admin", caller=grace),
        "rotate a key": lambda: rotate_api_key(api, organization, key, caller=grace),
        "invite": lambda: post_invitation(api, organization, "sophie@example.org", caller=grace),
        "invite again": lambda: api.post(f"{invitation.path}/resend", caller=grace),
        "promote": lambda: set_role(api, organization, mary, "editor", caller=grace),
    }
    return requests[request.param]


def test_a_member_removed_during_the_request_grants_nothing(api, organization, grace, send, monkeypatch):
    run_before_next_transaction(monkeypatch, lambda: remove_member(api, organization, grace))
    assert send().status_and_code == "404 not_found"
    assert get_last_entry(api, organization)["type"] == "organization.member.removed"


def test_a_member_demoted_during_the_request_grants_nothing(api, organization, grace, send, monkeypatch):
    run_before_next_transaction(monkeypatch, lambda: set_role(api, organization, grace, "editor"))
    assert send().status_and_code == "403 insufficient_role"
    set_role(api, organization, grace, "admin")
    assert send().status in (200, 201)
