"""Requests and responses of the operations on event types."""

from typing import Annotated, Any, Final, Self

from pydantic import Field, PrivateAttr, StringConstraints

from chalicelib.kernel.http.fields import SEVERAL_LINES, JsonObject, Name, Timestamp, Uuid
from chalicelib.kernel.http.models import Input, Output, Query
from chalicelib.kernel.storage.entity import Entity

MAX_VERSIONS: Final = 50
"""Versions of the schema of an event type."""

_MAX_DESCRIPTION_CHARACTERS: Final = 1000
"""Length of the description of an event type."""
_SENTENCE_EXAMPLE: Final = "{actor} approved {target} over {data.amount} euros."
_SCHEMA_EXAMPLE: Final = {
    "type": "object",
    "properties": {"amount": {"type": "integer", "minimum": 0, "maximum": 1000000}},
    "required": ["amount"],
}


def _present_if_set(description: str, *, example: Any = None, **options: Any) -> Any:
    """Return a field that is absent in the response if it is None. `options`: further arguments of the field."""
    return Field(None, description=description, exclude_if=lambda value: value is None, examples=[example], **options)


Description = Annotated[str, StringConstraints(min_length=1, max_length=_MAX_DESCRIPTION_CHARACTERS), *SEVERAL_LINES]


class EventTypePut(Input):
    """The definition of something that happens in your own application, such as the approval of an invoice.

    It replaces all fields, also those that it omits. Only a change of the schema makes a new version.
    """

    description: Description = Field(
        description="When the event occurs.", examples=["An invoice was approved for payment."]
    )
    sentence: Name = Field(
        description="The text of chat messages, up to 200 characters. `{actor}` and `{target}` stand for names, and"
        " `{data.amount}` for the property `amount` of the data, which `properties` of the schema must contain.",
        examples=[_SENTENCE_EXAMPLE],
    )
    data_schema: JsonObject = Field(
        alias="schema",
        description="JSON Schema (2020-12) of the event's `data`, up to 32 KiB.",
        examples=[_SCHEMA_EXAMPLE],
    )
    deprecated: bool = Field(
        default=False, description="Whether programs should stop writing such events. They are still accepted."
    )


class EventTypeQuery(Query):
    """The version of the schema to show."""

    version: int | None = Field(
        None, ge=1, le=MAX_VERSIONS, description="A version of the schema. If omitted, the latest one.", examples=[None]
    )


class SchemaVersionOut(Output):
    """The number of a schema that an operator declared, and when.

    Events that name the number are validated with this schema. It never changes.
    """

    version: int = Field(ge=1, examples=[1])
    created_at: Timestamp


class EventTypeOut(Output):
    """A kind of event that webhooks, channels and log streams can subscribe to.

    The schema and the example describe the `data` of its events. `version` and `versions` are present for the types of
    your own application. A built-in type has the schema of the release.
    """

    id_field = ""
    content_etag = True

    id: Uuid | None = _present_if_set("The id of the type in the log.")
    type: str = Field(examples=["organization.updated"])
    description: str = Field(description="When the event occurs.", examples=["The organization was changed."])
    sentence: str | None = _present_if_set(
        "The text of chat messages, with placeholders.", example="{actor} paid {target}."
    )
    deprecated: bool | None = _present_if_set("Whether programs should stop writing such events.", example=False)
    version: int | None = _present_if_set(
        "The version of the schema that is shown.", example=1, validation_alias="latest_version"
    )
    versions: list[SchemaVersionOut] | None = _present_if_set(
        "All versions of the schema, the first one first. Events can name any of them."
    )
    data_schema: dict[str, Any] = Field(
        serialization_alias="schema",
        description="JSON Schema (2020-12) of the event's `data`.",
        examples=[{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}],
    )
    example: dict[str, Any] | None = Field(
        description="An example of the event's `data`. Null if the schema has none.",
        examples=[{"name": "Analytical Engines"}],
    )
    created_at: Timestamp | None = _present_if_set("When an operator declared the type.")
    updated_at: Timestamp | None = _present_if_set("When an operator changed the type.")
    _record_identity: tuple[str, int] | None = PrivateAttr(None)

    @classmethod
    def of(cls, record: object, **overrides: Any) -> Self:
        """Return the response for the record of a type."""
        output = super().of(record, **overrides)
        if isinstance(record, Entity):
            output._record_identity = record.id, record.version  # noqa: SLF001 - an object of this class
        return output

    @property
    def record_identity(self) -> tuple[str, int] | None:
        """The id and version of the record of the type; None for a built-in type."""
        return self._record_identity
