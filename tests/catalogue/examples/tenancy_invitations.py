"""Examples of the operations on invitations and their acceptance."""

from typing import Final

from chalicelib.features.tenancy.invitations.entities import Invitation, closing_fields
from chalicelib.features.tenancy.invitations.logic.invitation_rules import build_send_fields
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

_BODY: Final = {"email": "sophie@example.org", "role": "editor", "message": "Come and join us.", "expiresInDays": 3}

EXAMPLES: Final[ExampleFactories] = {
    "accept_invitation": lambda world: example(
        query={"token": world.invitation.token, "decision": "accept"},
        only_caller=world.people.invited,
        subject_path=world.invitation.path,
    ),
    "respond_to_invitation": lambda world: example(
        {"token": world.invitation.token}, only_caller=world.people.invited, subject_path=world.invitation.path
    ),
    "invite_to_organization": lambda _: example(_BODY),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add declined invitations."""
    put_records(
        Invitation(
            **common_fields,
            **build_send_fields(world.id, common_fields["id"], 1, 7, common_fields["created_at"]),
            **closing_fields("declined"),
            organization_id=world.id,
            email=f"{n}@example.org",
            role="member",
            expires_in_days=7,
            invited_by=world.people.owner.id,
        )
        for n, common_fields in enumerate(new_records_fields(count))
    )
