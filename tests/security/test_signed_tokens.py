"""The service's own tokens and cursors: each grants only its purpose, and altered ones are rejected."""

from collections.abc import Callable
from typing import Final

import pytest

from chalicelib.kernel.core.encoding import from_base64url, to_base64, to_base64url
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.api import ApiResponse
from tests.harness.invitations import create_invitation
from tests.harness.signed_links import create_link


def request_preview(tenant, token):
    return tenant.api.get(f"{tenant.page.path}/preview-public", query={"token": token})


def request_lead(tenant, token):
    return tenant.api.get(f"/public/leads/{tenant.lead.id}", headers={"Lead-Token": token})


def request_invitation(tenant, token):
    return tenant.api.get("/organizations/invitations/acceptance", query={"token": token})


def request_signed_link(tenant, token):
    return tenant.api.get("/signed-link", headers={"Link-Token": token})


def request_next_page(tenant, token):
    path = f"{tenant.organization.path}/members"
    return tenant.api.get(path, caller=tenant.people.owner, query={"limit": 1, "cursor": token})


REQUESTS_BY_KIND: Final[dict[str, tuple[Callable[[TenantFixture, str], ApiResponse], str]]] = {
    "preview": (request_preview, "404 not_found"),
    "lead": (request_lead, "401 unauthenticated"),
    "invitation": (request_invitation, "404 not_found"),
    "signed link": (request_signed_link, "401 unauthenticated"),
    "cursor": (request_next_page, "400 invalid_cursor"),
}
"""The request that uses each kind of token, and its response to an invalid token."""


def create_tokens(tenant):
    owner, path = tenant.people.owner, f"{tenant.organization.path}/members"
    link = create_invitation(tenant.api, tenant.organization, "kate@example.org").record["acceptUrl"]
    return {
        "preview": tenant.api.get(f"{tenant.page.path}/preview", caller=owner).json["token"],
        "lead": tenant.lead.token,
        "invitation": link.partition("token=")[2],
        "signed link": create_link(tenant.api, tenant.organization.webhook_path, owner)[0].credential,
        "cursor": tenant.api.get(path, caller=owner, query={"limit": 1}).json["nextCursor"],
    }


def flip_one_bit_each(data):
    """Return copies of the data with one bit flipped, in each byte once."""
    return [data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :] for at in range(len(data))]


@pytest.mark.parametrize("kind", REQUESTS_BY_KIND)
def test_a_token_grants_its_purpose_only_and_no_altered_token_does(kind, tenant, restore_tenant, configure):
    tokens_by_kind = restore_tenant(create_tokens)
    token, (request, rejection_code) = tokens_by_kind[kind], REQUESTS_BY_KIND[kind]
    assert request(tenant, token).status == 200
    altered_tokens = [to_base64url(altered) for altered in flip_one_bit_each(from_base64url(token))]
    assert {request(tenant, altered).status_and_code for altered in altered_tokens} == {rejection_code}
    malformed_tokens = [token[:end] for end in range(1, len(token), 3)]
    malformed_tokens += [f"{token}A", f"{token}=", f"{token}.", f" {token[1:]}", token * 20]
    malformed_tokens += [other for other_kind, other in tokens_by_kind.items() if other_kind != kind]
    codes = {request(tenant, malformed).status_and_code for malformed in malformed_tokens}
    assert codes <= {rejection_code, "422 validation_failed"}
    for path in ("/organizations", "/status", tenant.page.path):
        assert tenant.api.get(path, caller=token).status_and_code == "401 unauthenticated"
    if kind != "invitation":  # An invitation's token is found by its stored hash, not by a signature.
        configure(token_key=to_base64(b"another key of thirty-two bytes."))
        assert request(tenant, token).status_and_code == rejection_code


def test_tokens_of_another_tenant_are_rejected(tenant):
    other, query = tenant.rivals, {"limit": 1}
    assert request_preview(tenant, other.preview_token).status_and_code == "404 not_found"
    assert request_lead(tenant, other.lead.token).status_and_code == "404 not_found"
    query["cursor"] = tenant.api.get(f"{other.path}/audit-log", caller=other.owner, query=query).json["nextCursor"]
    response = tenant.api.get(f"{tenant.organization.path}/audit-log", caller=tenant.people.owner, query=query)
    assert response.status_and_code == "400 invalid_cursor"


def test_revoked_tokens_are_rejected(tenant, restore_tenant):
    tokens_by_kind, owner = restore_tenant(create_tokens), tenant.people.owner
    assert tenant.api.patch(tenant.page.path, caller=owner, json={"revokePreviews": True}).status == 200
    assert request_preview(tenant, tokens_by_kind["preview"]).status_and_code == "404 not_found"
    path = f"{tenant.organization.path}/invitations"
    (invitation,) = (i for i in tenant.api.get_items(path, caller=owner) if i["email"] == "kate@example.org")
    assert tenant.api.delete(f"{path}/{invitation['id']}", caller=owner).status == 204
    assert request_invitation(tenant, tokens_by_kind["invitation"]).status_and_code == "410 invitation_revoked"
