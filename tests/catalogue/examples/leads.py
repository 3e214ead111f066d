"""Examples of the operations on leads."""

from typing import Any, Final

from chalicelib.features.leads.entities import Lead
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

_BODY: Final = {"contactName": "Mary Shelley", "contactEmail": "mary@example.org", "message": "It lives."}

EXAMPLES: Final[ExampleFactories] = {
    "create_marketing_lead": lambda _: example(_BODY),
    "change_marketing_lead_status": lambda world: example(
        {"status": "withdrawn"}, subject_path=world.lead.operator_path
    ),
    "list_public_leads": lambda world: example(headers=world.lead.headers),
    # The address has a lead already. The new one is merged into it.
    "create_public_lead": lambda world: example(
        {**_BODY, "contactEmail": world.lead.record["contactEmail"]},
        subject_path=world.lead.operator_path,
        merges_into_subject=True,
    ),
    "get_public_lead": lambda world: example(headers=world.lead.headers),
    "change_public_lead_status": lambda world: example(
        {"status": "withdrawn"}, headers=world.lead.headers, subject_path=world.lead.operator_path
    ),
}


def add_neighbours(_world: TenantFixture, count: int) -> None:
    """Add leads with other e-mail addresses."""
    put_leads(count)


def put_leads(count: int) -> None:
    """Write leads into the table, each with another e-mail address."""
    put_records(
        _lead(common_fields, f"person-{n}@example.org") for n, common_fields in enumerate(new_records_fields(count))
    )


def _lead(common_fields: dict[str, Any], email: str) -> Lead:
    at = common_fields["created_at"]
    sent = {
        "id": common_fields["id"],
        "submitted_at": at,
        "contact_name": "Somebody",
        "company_name": None,
        "message": None,
        "source": None,
        "consent": None,
        "status": "new",
        "history": [{"status": "new", "at": at}],
    }
    history = [{"status": "new", "at": at, "by": None}]
    return Lead(**common_fields, contact_email=email, submissions=[sent], history=history)
