"""Examples of the operations on leads."""

from typing import Final

from chalicelib.features.leads.entities import Lead
from tests.catalogue.examples.example import ExampleFactories, Neighbours, example, new_fields
from tests.catalogue.tenant_fixture import TenantFixture, put_records

_BODY: Final = {"contactName": "Mary Shelley", "contactEmail": "mary@example.org", "message": "It lives."}
_WITHDRAWN: Final = {"status": "withdrawn"}

EXAMPLES: Final[ExampleFactories] = {
    "create_marketing_lead": lambda _: example(_BODY),
    "change_marketing_lead_status": lambda tenant: example(_WITHDRAWN, subject_path=tenant.lead.operator_path),
    "list_public_leads": lambda tenant: example(headers=tenant.lead.headers),
    # The address has a lead already. The new one is merged into it.
    "create_public_lead": lambda tenant: example(
        {**_BODY, "contactEmail": tenant.lead.record["contactEmail"]},
        subject_path=tenant.lead.operator_path,
        merges_into_subject=True,
    ),
    "get_public_lead": lambda tenant: example(headers=tenant.lead.headers),
    "change_public_lead_status": lambda tenant: example(
        _WITHDRAWN, headers=tenant.lead.headers, subject_path=tenant.lead.operator_path
    ),
}


def put_leads(count: int) -> None:
    """Write leads into the table, each with another e-mail address."""
    put_records(_lead(n) for n in range(count))


def build_leads(_tenant: TenantFixture, n: int) -> Neighbours:
    yield _lead(n)


def _lead(n: int) -> Lead:
    fields = new_fields()
    status = {"status": "new", "at": fields["created_at"]}
    unknown = dict.fromkeys(("company_name", "message", "source", "consent"))
    sent = {"id": fields["id"], "submitted_at": status["at"], "contact_name": "Somebody", **unknown}
    submission = {**sent, "status": "new", "history": [status]}
    email = f"person-{n}@example.org"
    return Lead(**fields, contact_email=email, submissions=[submission], history=[{**status, "by": None}])
