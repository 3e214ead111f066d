"""Examples of the operations on organizations, their members, invitations and API keys."""

from typing import Final

from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.email_suppressions.entities import EmailSuppression
from chalicelib.features.tenancy.email_suppressions.logic import create_unsubscribe_token
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.entities import Invitation, closing_fields
from chalicelib.features.tenancy.invitations.logic.invitation_rules import build_send_fields
from chalicelib.features.tenancy.logic.email_hashes import email_hmac_bytes
from chalicelib.kernel.permissions.roles import Role
from tests.catalogue.examples.example import ExampleFactories, Neighbours, example, new_fields
from tests.catalogue.tenant_fixture import TenantFixture

_EMAIL_ADDRESS: Final = "sophie@example.org"
_INVITATION: Final = {"email": _EMAIL_ADDRESS, "role": "editor", "message": "Come and join us.", "expiresInDays": 3}


def _unsubscribe_query() -> dict[str, str]:
    return {"token": create_unsubscribe_token(email_hmac_bytes(_EMAIL_ADDRESS).hex())}


EXAMPLES: Final[ExampleFactories] = {
    "create_organization": lambda _: example({"name": "Difference Engines", "slug": "difference-engines"}),
    "update_organization": lambda _: example(
        {"name": "Difference Engines", "slug": "difference-engines", "companyCountry": "GB"}
    ),
    "delete_organization": lambda _: example(revokes_own_access=True),
    "create_api_key": lambda _: example(
        {"name": "Nightly export", "scopes": ["api-keys:read"], "allowedIps": ["192.0.2.0/24"]}
    ),
    "rotate_api_key": lambda _: example({"graceHours": 1}),
    "describe_subscription": lambda _: example(query=_unsubscribe_query()),
    "unsubscribe": lambda _: example({"List-Unsubscribe": "One-Click"}, query=_unsubscribe_query()),
    "accept_invitation": lambda tenant: example(
        query={"token": tenant.invitation.token, "decision": "accept"},
        only_caller=tenant.people.invited,
        subject_path=tenant.invitation.path,
    ),
    "respond_to_invitation": lambda tenant: example(
        {"token": tenant.invitation.token}, only_caller=tenant.people.invited, subject_path=tenant.invitation.path
    ),
    "respond_to_my_invitation": lambda tenant: example(
        {"decision": "accept"},
        only_caller=tenant.people.invited,
        subject_path=tenant.invitation.path,
        invitation_id=tenant.invitation.id,
    ),
    "invite_to_organization": lambda _: example(_INVITATION),
    "get_organization_member": lambda tenant: example(user_id=tenant.people.editor.id),
    "update_organization_member": lambda tenant: example({"role": "editor"}, user_id=tenant.people.member.id),
    "remove_organization_member": lambda tenant: example(user_id=tenant.people.editor.id),
    "leave_organization": lambda tenant: example(
        subject_path=f"{tenant.organization.path}/members/{tenant.people.member.id}", revokes_own_access=True
    ),
    "transfer_ownership": lambda tenant: example({"newOwnerId": tenant.people.editor.id}, revokes_own_access=True),
}


def build_tenancy(tenant: TenantFixture, n: int) -> Neighbours:
    """Yield an organization of the owner."""
    fields, owner = new_fields(), tenant.people.owner
    yield Member.create_for_organization(fields, fields["id"], owner.to_user(), Role.OWNER)
    yield Organization(**fields, name=f"Neighbour {n}", slug=f"neighbour-{n}", owner_id=owner.id)


def build_api_keys(tenant: TenantFixture, _n: int) -> Neighbours:
    fields = new_fields()
    yield ApiKey(
        **fields,
        name="Former",
        organization_id=tenant.id,
        created_by=tenant.people.owner.id,
        scopes=["read"],
        digests={},
        hint="atr_…0000",
        revoked_at=fields["created_at"],
        is_live=False,
    )


def build_email_suppressions(_tenant: TenantFixture, n: int) -> Neighbours:
    yield EmailSuppression(**new_fields(), address_hash=email_hmac_bytes(f"{n}@example.org").hex())


def build_invitations(tenant: TenantFixture, n: int) -> Neighbours:
    fields = new_fields()
    yield Invitation(
        **fields,
        **build_send_fields(tenant.id, fields["id"], 1, 7, fields["created_at"]),
        **closing_fields("declined"),
        organization_id=tenant.id,
        email=f"{n}@example.org",
        role="member",
        expires_in_days=7,
        invited_by=tenant.people.owner.id,
    )


def build_me(tenant: TenantFixture, _n: int) -> Neighbours:
    """Yield an invitation to the owner, by an API key, with the item that finds it."""
    fields = new_fields()
    invitation = Invitation(
        **fields,
        **build_send_fields(tenant.id, fields["id"], 1, 7, fields["created_at"]),
        organization_id=tenant.id,
        email=tenant.people.owner.email,
        role="member",
        expires_in_days=7,
    )
    yield invitation
    yield from invitation.derived_items


def build_members(tenant: TenantFixture, n: int) -> Neighbours:
    user = tenant.people.issuer.create_person(f"member-{n}", f"Member {n}").to_user()
    yield Member.create_for_organization(new_fields(), tenant.id, user, Role.MEMBER)
