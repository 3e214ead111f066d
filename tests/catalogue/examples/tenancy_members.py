"""Examples of the operations on an organization's members."""

from typing import Final

from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.kernel.permissions.roles import Role
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

EXAMPLES: Final[ExampleFactories] = {
    "get_organization_member": lambda world: example(user_id=world.people.editor.id),
    "update_organization_member": lambda world: example({"role": "editor"}, user_id=world.people.member.id),
    "remove_organization_member": lambda world: example(user_id=world.people.editor.id),
    "leave_organization": lambda world: example(
        subject_path=f"{world.organization.path}/members/{world.people.member.id}", revokes_own_access=True
    ),
    "transfer_ownership": lambda world: example({"newOwnerId": world.people.editor.id}, revokes_own_access=True),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add members to the organization."""
    people = [world.people.issuer.create_person(f"member-{n}", f"Member {n}").to_user() for n in range(count)]
    put_records(
        Member.create_for_organization(common_fields, world.id, user, Role.MEMBER)
        for common_fields, user in zip(new_records_fields(count), people, strict=True)
    )
