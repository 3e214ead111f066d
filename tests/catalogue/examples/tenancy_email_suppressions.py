"""Examples of the operations on suppressions."""

from chalicelib.features.tenancy.email_suppressions.entities import EmailSuppression
from chalicelib.features.tenancy.email_suppressions.logic import create_unsubscribe_token
from chalicelib.kernel.identity.email_hashes import hash_email
from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World, new, put

_ADDRESS = "sophie@example.org"


def _query() -> dict[str, str]:
    return {"token": create_unsubscribe_token(hash_email(_ADDRESS).hex())}


EXAMPLES: Examples = {
    "describe_subscription": lambda _: example(query=_query()),
    "unsubscribe": lambda _: example({"List-Unsubscribe": "One-Click"}, query=_query()),
}


def crowd(_world: World, number: int) -> None:
    """Let so many other addresses be unsubscribed."""
    put(
        EmailSuppression(**begun, address_hash=hash_email(f"{n}@example.org").hex())
        for n, begun in enumerate(new(number))
    )
