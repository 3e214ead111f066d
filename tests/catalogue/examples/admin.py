"""Examples of the operations on the service itself."""

from typing import Any, Final

from chalicelib.features.admin.dead_letters.entities import DeadLetterRedrive
from chalicelib.features.admin.migrations.entities import MigrationRecord
from chalicelib.features.tenancy.entities.organizations import Organization
from tests.catalogue.examples.example import Example, ExampleFactories, Neighbours, example, new_fields
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.dead_letters import put_dead_letter
from tests.harness.sample_operations import build_notice_event

_DEAD_LETTER: Final = {"task": "erasures.run", "pk": "O#gone", "sk": "#"}


def _dead_letters_example(_tenant: TenantFixture) -> Example:
    for queue in ("events", "jobs", "deliveries", "deliveries-slow"):
        put_dead_letter(queue, _DEAD_LETTER)
    return example()


EXAMPLES: Final[ExampleFactories] = {
    "search_organizations": lambda _: example(query={"q": "n"}),
    "list_dead_letters": _dead_letters_example,
    "redrive_dead_letters": lambda _: example({"queue": "deliveries", "maxMessages": 1}),
}


def build_organizations(tenant: TenantFixture, n: int) -> Neighbours:
    """Yield an organization, and the items that find it."""
    fields: dict[str, Any] = {
        "name": f"Neighbour {n}",
        "slug": f"neighbour-{n}-{tenant.id}"[:60],
        "owner_id": tenant.people.owner.id,
    }
    organization = Organization(**new_fields(), **fields)
    yield organization
    yield from organization.derived_items


def build_dead_letters(_tenant: TenantFixture, _n: int) -> Neighbours:
    """Yield a completed redrive."""
    yield DeadLetterRedrive(**new_fields(), queue="jobs", max_messages=1, status="completed")


def build_migrations(_tenant: TenantFixture, n: int) -> Neighbours:
    """Yield an applied migration that this version does not know."""
    fields = new_fields() | {"id": f"9{n:03}-a-later-one"}
    applied_at = fields["created_at"]
    yield MigrationRecord(
        **fields, description="Do more.", checksum="0" * 64, state="applied", position=None, applied_at=applied_at
    )


def build_status(_tenant: TenantFixture, _n: int) -> Neighbours:
    """Yield an event of a log outside of organizations."""
    yield build_notice_event()
