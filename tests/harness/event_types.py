"""Event types of the application, which operators declare."""

from typing import Any, Final

from tests.harness.api import ApiClient, Json
from tests.harness.callers import Caller, Person

INVOICE_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"amount": {"type": "integer", "minimum": 1}, "note": {"type": "string"}},
    "required": ["amount"],
}
EVENT: Final[dict[str, Any]] = {"type": "invoice.approved", "data": {"amount": 120}}
"""A valid event of the declared type."""

CLERK: Final = {"type": "clerk", "id": "c-17", "name": "Ada Lovelace"}
"""An actor of such an event."""


def declare_event_type(
    api: ApiClient, operator: Person | Caller, name: str = "invoice.approved", schema: Any = None, **fields: Any
) -> Json:
    """Declare an event type, or replace its fields, and return it."""
    body = {"description": "It happened.", "sentence": "{actor} approved {target}.", "schema": schema or INVOICE_SCHEMA}
    response = api.put(f"/event-types/{name}", caller=operator, json=body | fields)
    assert response.status in (200, 201), response.text
    return response.json
