"""The types of events that webhooks and integration channels can be told of, as the OpenAPI document describes them."""

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
    """A type of event."""

    type: str = Field(examples=["organization.updated"])
    description: str = Field(description="What has happened.", examples=["The organization was changed."])
    schema_: dict[str, Any] = Field(
        serialization_alias="schema",
        description="JSON Schema (2020-12) of `data` of such an event.",
        examples=[{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}],
    )
    example: dict[str, Any] = Field(description="`data` of one.", examples=[{"name": "Analytical Engines"}])


@routes.get("/event-types", access=Caller.PUBLIC, scope=None, emits=None)
def list_event_types(ctx: Context, query: ListQuery) -> ListPage[EventTypeOut]:
    """List the types of events there are, in the order of their names."""
    last = (ctx.decode_cursor(query) or {}).get("type", "")
    left = {name: item for name, item in _event_types().items() if name > last}
    shown = list(left)[: query.limit]
    position = {"type": shown[-1]} if len(shown) < len(left) else None
    return ctx.build_page([left[name] for name in shown], position, query)


@cache
def _event_types() -> Mapping[str, bytes]:
    """Return each type as it is listed, by its name, in order."""
    document = json.loads(_DOCUMENT.read_text(encoding="utf-8"))
    components = document["components"]["schemas"]
    return {name: _listed(name, path["post"], components) for name, path in sorted(document["webhooks"].items())}


def _listed(name: str, message: Mapping[str, Any], components: Mapping[str, Any]) -> bytes:
    content = message["requestBody"]["content"]["application/json"]
    return to_json(
        {
            "type": name,
            "description": message["description"],
            "schema": _self_contained(content["schema"]["properties"]["data"], components),
            "example": content["example"]["data"],
        }
    )


def _self_contained(schema: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema together with all that it refers to."""
    held: dict[str, Any] = {}
    needed = _REFERENCE.findall(json.dumps(schema))
    while needed:
        name = needed.pop()
        if name not in held:
            held[name] = components[name]
            needed += _REFERENCE.findall(json.dumps(held[name]))
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "$defs": dict(sorted(held.items()))}
    moved: dict[str, Any] = json.loads(json.dumps(whole).replace(f'"{_COMPONENTS}', '"#/$defs/'))
    return moved
