"""Examples of the operations on suppressions."""

from chalicelib.features.tenancy.email_suppressions.entities import EmailSuppression
from chalicelib.features.tenancy.email_suppressions.logic import create_unsubscribe_token
from chalicelib.features.tenancy.logic.email_hashes import email_hmac_bytes
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

_EMAIL_ADDRESS = "sophie@example.org"


def _query() -> dict[str, str]:
    return {"token": create_unsubscribe_token(email_hmac_bytes(_EMAIL_ADDRESS).hex())}


EXAMPLES: ExampleFactories = {
    "describe_subscription": lambda _: example(query=_query()),
    "unsubscribe": lambda _: example({"List-Unsubscribe": "One-Click"}, query=_query()),
}


def add_neighbours(_world: TenantFixture, count: int) -> None:
    """Add suppressions of other e-mail addresses."""
    put_records(
        EmailSuppression(**common_fields, address_hash=email_hmac_bytes(f"{n}@example.org").hex())
        for n, common_fields in enumerate(new_records_fields(count))
    )
