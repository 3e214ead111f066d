"""Responses to invitations by POST, which do the same as the link."""

import pytest

from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.invitations import ACCEPTANCE, Invited, accepts, history, invite
from tests.harness.organizations import Founded

MISMATCH, USED = "403 email_mismatch", "410 invitation_used"


@pytest.fixture
def invitation(api: Api, organization: Founded, stranger: Person) -> Invited:
    """Sophie's invitation to the organization as an editor."""
    return invite(api, organization, stranger, role="editor")


class TestRespondToInvitation:
    def respond(self, api: Api, invitation: Invited, person: Person | None, **body: str) -> str:
        response = api.post(ACCEPTANCE, as_=person, json={"token": invitation.token, **body})
        return response.code if response.status >= 400 else str(response.json["status"])

    def test_post_accepts_with_the_same_response_as_the_link(
        self, api: Api, organization: Founded, invitation: Invited, stranger: Person
    ) -> None:
        response = api.post(ACCEPTANCE, as_=stranger, json={"token": invitation.token})
        assert (response.status, response.headers["Cache-Control"]) == (200, "no-store")
        assert response.json == accepts(api, invitation, stranger)
        assert self.respond(api, invitation, stranger, decision="accept") == "accepted"
        assert self.respond(api, invitation, stranger, decision="decline") == USED
        assert history(api, organization, invitation) == ["created", "accepted"]

    def test_post_declines(self, api: Api, organization: Founded, invitation: Invited, stranger: Person) -> None:
        for _ in range(2):
            assert self.respond(api, invitation, stranger, decision="decline") == "declined"
        assert self.respond(api, invitation, stranger) == USED
        assert history(api, organization, invitation) == ["created", "declined"]

    def test_post_requires_a_credential(self, api: Api, invitation: Invited) -> None:
        assert self.respond(api, invitation, None) == "401 unauthenticated"

    def test_post_rejects_other_users(self, api: Api, invitation: Invited, ada: Person) -> None:
        assert self.respond(api, invitation, ada) == MISMATCH

    def test_a_repeated_idempotency_key_replays_the_stored_response(
        self, api: Api, invitation: Invited, stranger: Person
    ) -> None:
        headers, body = {"Idempotency-Key": "once"}, {"token": invitation.token}
        first, repeated = (api.post(ACCEPTANCE, as_=stranger, json=body, headers=headers) for _ in range(2))
        assert repeated.said == first.said
        assert repeated.headers["Idempotency-Replayed"] == "true"

    @pytest.mark.parametrize(
        "body",
        [{"token": 3}, {"token": None}, {"token": ["x"]}, {"token": "x", "role": "owner"}, {"decision": "accept"}],
    )
    def test_an_invalid_body_is_rejected(self, api: Api, ada: Person, body: dict[str, object]) -> None:
        assert api.post(ACCEPTANCE, as_=ada, json=body).code == "422 validation_failed"
