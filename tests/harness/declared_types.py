"""Event types that are declared without the operation that validates them."""

from typing import Any

from chalicelib.features.events.types.entities import EventType
from chalicelib.features.events.types.logic.declarations import build_schema_fields
from chalicelib.kernel.core.clock import now
from tests.harness import memory_aws
from tests.harness.stored_records import new_id_and_time_fields


def declare_event_type(name: str, sentence: str, schema: dict[str, Any] | None = None) -> None:
    """Store the first version of an event type."""
    declared = EventType(
        **new_id_and_time_fields(now()),
        type=name,
        description="Something happened.",
        sentence=sentence,
        deprecated=False,
        schema_created_at=[now()],
        **build_schema_fields(schema or {}),
    )
    for item in (declared.item(), *declared.derived_items):
        memory_aws.put_item(item)
