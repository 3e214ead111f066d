"""Responses to invitations by POST, which do the same as the link."""

import pytest

from tests.harness.api import ApiClient
from tests.harness.callers import Person
from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    CreatedInvitation,
    accept_invitation,
    invitation_events,
)

MISMATCH, USED = "403 email_mismatch", "410 invitation_used"


class TestRespondToInvitation:
    def respond(self, api: ApiClient, invitation: CreatedInvitation, person: Person | None, **body: str) -> str:
        response = api.post(ACCEPTANCE_PATH, caller=person, json={"token": invitation.token, **body})
        return response.status_and_code if response.status >= 400 else str(response.json["status"])

    def test_post_accepts_with_the_same_response_as_the_link(self, api, organization, invitation, stranger):
        response = api.post(ACCEPTANCE_PATH, caller=stranger, json={"token": invitation.token})
        assert (response.status, response.headers["Cache-Control"]) == (200, "no-store")
        assert response.json == accept_invitation(api, invitation, stranger)
        assert self.respond(api, invitation, stranger, decision="accept") == "accepted"
        assert self.respond(api, invitation, stranger, decision="decline") == USED
        assert invitation_events(api, organization, invitation) == ["created", "accepted"]

    def test_post_declines(self, api, organization, invitation, stranger):
        for _ in range(2):
            assert self.respond(api, invitation, stranger, decision="decline") == "declined"
        assert self.respond(api, invitation, stranger) == USED
        assert invitation_events(api, organization, invitation) == ["created", "declined"]

    def test_post_requires_a_credential(self, api, invitation):
        assert self.respond(api, invitation, None) == "401 unauthenticated"

    def test_post_rejects_other_users(self, api, invitation, ada):
        assert self.respond(api, invitation, ada) == MISMATCH

    def test_a_repeated_idempotency_key_replays_the_stored_response(self, api, invitation, stranger):
        headers, body = {"Idempotency-Key": "once"}, {"token": invitation.token}
        first, repeated = (api.post(ACCEPTANCE_PATH, caller=stranger, json=body, headers=headers) for _ in range(2))
        assert repeated.comparable_content == first.comparable_content
        assert repeated.headers["Idempotency-Replayed"] == "true"

    @pytest.mark.parametrize(
        "body",
        [{"token": 3}, {"token": None}, {"token": ["x"]}, {"token": "x", "role": "owner"}, {"decision": "accept"}],
    )
    def test_an_invalid_body_is_rejected(self, api, ada, body):
        assert api.post(ACCEPTANCE_PATH, caller=ada, json=body).status_and_code == "422 validation_failed"
