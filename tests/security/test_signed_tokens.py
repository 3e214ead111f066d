"""The service's own tokens and cursors: each grants only its purpose, and altered ones are rejected."""

from collections.abc import Callable, Iterator
from typing import Final

import pytest

from chalicelib.kernel.core.encoding import from_base64url, to_base64, to_base64url
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.api import ApiResponse
from tests.harness.invitations import create_invitation

TokenRequest = Callable[[TenantFixture, str], ApiResponse]


def request_preview(world: TenantFixture, token: str) -> ApiResponse:
    return world.api.get(f"{world.page.path}/preview-public", query={"token": token})


def request_lead(world: TenantFixture, token: str) -> ApiResponse:
    return world.api.get(f"/public/leads/{world.lead.id}", headers={"Lead-Token": token})


def request_invitation(world: TenantFixture, token: str) -> ApiResponse:
    return world.api.get("/organizations/invitations/acceptance", query={"token": token})


def request_next_page(world: TenantFixture, token: str) -> ApiResponse:
    path = f"{world.organization.path}/members"
    return world.api.get(path, caller=world.people.owner, query={"limit": 1, "cursor": token})


REQUESTS_BY_KIND: Final[dict[str, tuple[TokenRequest, str]]] = {
    "preview": (request_preview, "404 not_found"),
    "lead": (request_lead, "401 unauthenticated"),
    "invitation": (request_invitation, "404 not_found"),
    "cursor": (request_next_page, "400 invalid_cursor"),
}
"""The request that uses each kind of token, and its response to an invalid token."""
MALFORMED: Final = "422 validation_failed"
for_each_kind = pytest.mark.parametrize("kind", REQUESTS_BY_KIND)


def create_tokens(world: TenantFixture) -> dict[str, str]:
    """Create a token of each kind."""
    owner, path = world.people.owner, f"{world.organization.path}/members"
    link = create_invitation(world.api, world.organization, "kate@example.org").record["acceptUrl"]
    return {
        "preview": world.api.get(f"{world.page.path}/preview", caller=owner).json["token"],
        "lead": world.lead.token,
        "invitation": link.partition("token=")[2],
        "cursor": world.api.get(path, caller=owner, query={"limit": 1}).json["nextCursor"],
    }


def flip_one_bit_each(data: bytes) -> Iterator[bytes]:
    """Yield copies of the data with one bit flipped, in each byte once."""
    for at in range(len(data)):
        yield data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]


@for_each_kind
class TestToken:
    def test_grants_access_to_its_record(self, kind, tenant, restore_tenant):
        token = restore_tenant(create_tokens)[kind]
        assert REQUESTS_BY_KIND[kind][0](tenant, token).status == 200

    def test_token_with_any_altered_byte_is_rejected(self, kind, tenant, restore_tenant):
        token = restore_tenant(create_tokens)[kind]
        request, rejection_code = REQUESTS_BY_KIND[kind]
        assert {
            request(tenant, to_base64url(each)).status_and_code for each in flip_one_bit_each(from_base64url(token))
        } == {rejection_code}

    def test_truncated_and_extended_tokens_are_rejected(self, kind, tenant, restore_tenant):
        token = restore_tenant(create_tokens)[kind]
        request, rejection_code = REQUESTS_BY_KIND[kind]
        altered_tokens = [token[:end] for end in range(1, len(token), 3)]
        altered_tokens += [f"{token}A", f"{token}=", f"{token}.", f" {token[1:]}", token * 20]
        assert {request(tenant, other).status_and_code for other in altered_tokens} <= {rejection_code, MALFORMED}

    def test_token_of_another_kind_is_rejected(self, kind, tenant, restore_tenant):
        tokens_by_kind = restore_tenant(create_tokens)
        request, rejection_code = REQUESTS_BY_KIND[kind]
        assert {request(tenant, token).status_and_code for other, token in tokens_by_kind.items() if other != kind} <= {
            rejection_code,
            MALFORMED,
        }

    def test_token_is_not_a_credential(self, kind, tenant, restore_tenant):
        token = restore_tenant(create_tokens)[kind]
        for path in ("/organizations", "/status", tenant.page.path):
            assert tenant.api.get(path, caller=token).status_and_code == "401 unauthenticated"


# An invitation's token is found by its stored hash, not by a signature.
@pytest.mark.parametrize("kind", ["preview", "lead", "cursor"])
def test_token_signed_with_another_key_is_rejected(kind, tenant, restore_tenant, configure):
    token = restore_tenant(create_tokens)[kind]
    configure(token_key=to_base64(b"another key of thirty-two bytes."))
    request, rejection_code = REQUESTS_BY_KIND[kind]
    assert request(tenant, token).status_and_code == rejection_code


class TestForeignToken:
    def test_token_of_another_tenant_is_rejected(self, tenant):
        other = tenant.rivals
        assert request_preview(tenant, other.preview_token).status_and_code == "404 not_found"
        assert request_lead(tenant, other.lead.token).status_and_code == "404 not_found"
        foreign_cursor = tenant.api.get(f"{other.path}/audit-log", caller=other.owner, query={"limit": 1}).json[
            "nextCursor"
        ]
        response = tenant.api.get(
            f"{tenant.organization.path}/audit-log", caller=tenant.people.owner, query={"cursor": foreign_cursor}
        )
        assert response.status_and_code == "400 invalid_cursor"

    def test_revoked_tokens_are_rejected(self, tenant, restore_tenant):
        tokens_by_kind = restore_tenant(create_tokens)
        owner = tenant.people.owner
        assert tenant.api.patch(tenant.page.path, caller=owner, json={"revokePreviews": True}).status == 200
        assert request_preview(tenant, tokens_by_kind["preview"]).status_and_code == "404 not_found"
        pending = tenant.api.get_items(f"{tenant.organization.path}/invitations", caller=owner)
        (invitation_id,) = [each["id"] for each in pending if each["email"] == "kate@example.org"]
        assert tenant.api.delete(f"{tenant.organization.path}/invitations/{invitation_id}", caller=owner).status == 204
        assert request_invitation(tenant, tokens_by_kind["invitation"]).status_and_code == "410 invitation_revoked"
