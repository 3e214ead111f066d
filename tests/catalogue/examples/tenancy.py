"""Examples of the operations on organizations."""

from typing import Final

from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.permissions.roles import Role
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

EXAMPLES: Final[ExampleFactories] = {
    "create_organization": lambda _: example({"name": "Difference Engines", "slug": "difference-engines"}),
    "update_organization": lambda _: example(
        {"name": "Difference Engines", "slug": "difference-engines", "companyCountry": "GB"}
    ),
    "delete_organization": lambda _: example(revokes_own_access=True),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add organizations of the owner."""
    owner, beginnings = world.people.owner, new_records_fields(count)
    put_records(
        Member.create_for_organization(common_fields, common_fields["id"], owner.to_user(), Role.OWNER)
        for common_fields in beginnings
    )
    put_records(
        Organization(**common_fields, name=f"Neighbour {n}", slug=f"neighbour-{n}", owner_id=owner.id)
        for n, common_fields in enumerate(beginnings)
    )
