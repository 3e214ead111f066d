"""The operations that show event types: the built-in ones, as the OpenAPI document has them, and the declared ones."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic_core import from_json, to_json

from chalicelib.features.events.types.entities import EventType, version_key
from chalicelib.features.events.types.logic.definitions import (
    UnknownVersion,
    find_definition_of_type,
    list_declared_types,
)
from chalicelib.features.events.types.models import EventTypeOut, EventTypeQuery
from chalicelib.features.notifications.models.event_types import EVENT_TYPES
from chalicelib.kernel.core.problems import FieldError, ValidationProblem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.identity.auth import Anonymous
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.storage.entity import ItemKey

routes: Final = RouteGroup("documentation")

_DOCUMENT: Final = Path(__file__).parent / "docs" / "openapi.json"
_COMPONENTS: Final = "#/components/schemas/"
_REFERENCE: Final = re.compile(f'"{_COMPONENTS}(\\w+)"')


class NamedVersion(Prefetched):
    """The version of the schema in the query."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the key of the version, if the query has one."""
        version = values.query.version if values.query else None
        return [version_key(values.parameters["event_type"], version)] if version else []


@routes.get("/event-types", access=Caller.PUBLIC, scope=None, has_optional_credential=True, emits=None)
def list_event_types(ctx: Context, query: ListQuery) -> ListPage[EventTypeOut]:
    """List all event types, in the order of their names.

    Use it to choose the events for a webhook or a channel, and to generate types for their data. Each type has a JSON
    Schema and an example. Callers with a credential also see the types of your own application. There are more types
    than a page has: follow `nextCursor`, with `limit=100`.
    """
    last_name = (ctx.decode_cursor(query) or {}).get("type", "")
    remaining = {name: item for name, item in _built_in_json_bytes_by_name().items() if name > last_name}
    is_complete = True
    if not isinstance(ctx.principal_or_anonymous, Anonymous):
        declared, is_complete = list_declared_types(last_name, query.limit)
        last_read = declared[-1].type if declared else last_name
        items = remaining | {
            each.type: EventTypeOut.of(each).model_dump_json(by_alias=True).encode() for each in declared
        }
        remaining = {name: items[name] for name in sorted(items) if is_complete or name <= last_read}
    page_names = list(remaining)[: query.limit]
    is_last_page = is_complete and len(page_names) == len(remaining)
    position = None if is_last_page else {"type": page_names[-1]}
    return ctx.build_page([remaining[name] for name in page_names], position, query)


@routes.get("/event-types/{event_type}", access=Caller.PUBLIC, scope=None, has_optional_credential=True, emits=None)
def get_event_type(
    ctx: Context, event_type: EventType | None, query: EventTypeQuery, version: NamedVersion
) -> EventTypeOut:
    """Get an event type with the schema of its data, an example, and the versions of the schema.

    Use it to see what an event contains before you write or receive it. `version` shows an earlier schema. The types of
    your own application are only visible with a credential.
    """
    name = ctx.request.parameters["event_type"]
    if name in _built_in_json_bytes_by_name():
        if query.version:
            detail = "A built-in type has no versions. Omit the version."
            raise ValidationProblem([FieldError("query/version", "unknown", detail)])
        fields = from_json(_built_in_json_bytes_by_name()[name])
        return EventTypeOut.model_validate(fields | {"data_schema": fields["schema"]})
    if event_type is None or isinstance(ctx.principal_or_anonymous, Anonymous):
        raise not_found()
    try:
        definition = find_definition_of_type(event_type, version.items, query.version)
    except UnknownVersion as error:
        raise ValidationProblem([FieldError("query/version", "unknown", str(error))]) from None
    shown = {"version": definition.version, "data_schema": definition.schema, "example": definition.example}
    return EventTypeOut.of(event_type, **shown)


@cache
def _built_in_json_bytes_by_name() -> Mapping[str, bytes]:
    """Return the JSON of each built-in type by name, in order."""
    document = json.loads(_DOCUMENT.read_text(encoding="utf-8"))
    components = document["components"]["schemas"]
    return {
        name: _event_type_to_json_bytes(name, path["post"], components)
        for name, path in sorted(document["webhooks"].items())
    }


def _event_type_to_json_bytes(name: str, message_operation: Mapping[str, Any], components: Mapping[str, Any]) -> bytes:
    content = message_operation["requestBody"]["content"]["application/json"]
    # The generator puts an example that linters would misread beside the content.
    example = content.get("example") or message_operation["x-atrium-example"]
    return to_json(
        {
            "type": name,
            "description": message_operation["description"],
            "sentence": EVENT_TYPES[name].sentence,
            "schema": _schema_with_definitions(content["schema"]["properties"]["data"], components),
            "example": example["data"],
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
