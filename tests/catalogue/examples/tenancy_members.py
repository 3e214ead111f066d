"""Examples of the operations on an organization's members."""

from typing import Final

from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.kernel.permissions.roles import Role
from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World, new, put

EXAMPLES: Final[Examples] = {
    "list_organization_members": lambda world: example(organization_id=world.id),
    "get_organization_member": lambda world: example(organization_id=world.id, user_id=world.people.editor.id),
    "update_organization_member": lambda world: example(
        {"role": "editor"}, organization_id=world.id, user_id=world.people.member.id
    ),
    "remove_organization_member": lambda world: example(organization_id=world.id, user_id=world.people.editor.id),
    "leave_organization": lambda world: example(
        about=f"{world.organization.path}/members/{world.people.member.id}", parts=True, organization_id=world.id
    ),
    "transfer_ownership": lambda world: example(
        {"newOwnerId": world.people.editor.id}, parts=True, organization_id=world.id
    ),
}


def add_neighbours(world: World, count: int) -> None:
    """Add members to the organization."""
    people = [world.people.issuer.person(f"member-{n}", f"Member {n}").user() for n in range(count)]
    put(
        Member.create_for_organization(common_fields, world.id, user, Role.MEMBER)
        for common_fields, user in zip(new(count), people, strict=True)
    )
