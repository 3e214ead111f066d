"""The operation that lists the event types of webhooks and integration channels, as the OpenAPI document has them."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import Field
from pydantic_core import to_json

from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery, Output
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup

routes: Final = RouteGroup("documentation")

_DOCUMENT: Final = Path(__file__).parent / "docs" / "openapi.json"
_COMPONENTS: Final = "#/components/schemas/"
_REFERENCE: Final = re.compile(f'"{_COMPONENTS}(\\w+)"')


class EventTypeOut(Output):
    """A kind of event that webhooks and channels can subscribe to.

    The schema and the example describe the `data` of its messages.
    """

    type: str = Field(examples=["organization.updated"])
    description: str = Field(description="When the event occurs.", examples=["The organization was changed."])
    schema_: dict[str, Any] = Field(
        serialization_alias="schema",
        description="JSON Schema (2020-12) of the event's `data`.",
        examples=[{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}],
    )
    example: dict[str, Any] = Field(
        description="An example of the event's `data`.", examples=[{"name": "Analytical Engines"}]
    )


@routes.get("/event-types", access=Caller.PUBLIC, scope=None, emits=None)
def list_event_types(ctx: Context, query: ListQuery) -> ListPage[EventTypeOut]:
    """List all event types, in the order of their names.

    Use it to choose the events for a webhook or a channel, and to generate types for their data. Each type has a JSON
    Schema and an example. There are more of them than a page has: follow `nextCursor`, with `limit=100`.
    """
    last_name = (ctx.decode_cursor(query) or {}).get("type", "")
    remaining = {name: item for name, item in _event_type_json_bytes_by_name().items() if name > last_name}
    page_names = list(remaining)[: query.limit]
    position = {"type": page_names[-1]} if len(page_names) < len(remaining) else None
    return ctx.build_page([remaining[name] for name in page_names], position, query)


@cache
def _event_type_json_bytes_by_name() -> Mapping[str, bytes]:
    """Return the JSON of each event type by name, in order."""
    document = json.loads(_DOCUMENT.read_text(encoding="utf-8"))
    components = document["components"]["schemas"]
    return {
        name: _event_type_to_json_bytes(name, path["post"], components)
        for name, path in sorted(document["webhooks"].items())
    }


def _event_type_to_json_bytes(name: str, message_operation: Mapping[str, Any], components: Mapping[str, Any]) -> bytes:
    content = message_operation["requestBody"]["content"]["application/json"]
    return to_json(
        {
            "type": name,
            "description": message_operation["description"],
            "schema": _schema_with_definitions(content["schema"]["properties"]["data"], components),
            "example": content["example"]["data"],
        }
    )


def _schema_with_definitions(schema: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with all schemas to which it refers, in `$defs`."""
    definitions: dict[str, Any] = {}
    names = _REFERENCE.findall(json.dumps(schema))
    while names:
        name = names.pop()
        if name not in definitions:
            # The event type has an example of its own.
            definitions[name] = {key: value for key, value in components[name].items() if key != "examples"}
            names += _REFERENCE.findall(json.dumps(definitions[name]))
    dialect, definitions = "https://json-schema.org/draft/2020-12/schema", dict(sorted(definitions.items()))
    text = json.dumps({"$schema": dialect, **schema, "$defs": definitions})
    bundled: dict[str, Any] = json.loads(text.replace(f'"{_COMPONENTS}', '"#/$defs/'))
    return bundled
