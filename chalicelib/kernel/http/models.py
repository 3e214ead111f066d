"""The base models of what operations accept and answer."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError, PydanticUseDefault

from chalicelib.kernel.http.fields import DateTime, Timestamp, Uuid, out_of_range


def _or_default(value: Any) -> Any:
    if value is None:
        raise PydanticUseDefault
    return value


def _missing_if_null(value: Any) -> Any:
    if value is None:
        raise PydanticCustomError("null", "must not be null")
    return value


def _whole(value: Any) -> Any:
    """Return a number without a fraction as a whole one: JSON knows no other difference between 27.0 and 27."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Input(BaseModel):
    """A request body: camelCase, nothing unknown, no type guessed from another; null is what was left out.

    So a field with a default takes null too, and says so in its schema; of a required one null is a missing value.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        strict=True,
        str_strip_whitespace=True,
        defer_build=True,
        hide_input_in_errors=True,
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **_words: Any) -> None:
        """Let fields with a default that is not null take null for it; all that is declared of them stays within.

        Required ones miss their value then.
        """
        for field in cls.model_fields.values():
            if field.annotation in (int, int | None):
                field.metadata = [*field.metadata, BeforeValidator(_whole)]
            if field.is_required():
                field.metadata = [*field.metadata, BeforeValidator(_missing_if_null)]
            elif field.default is not None:
                declared: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
                field.annotation = declared | None
                field.metadata = [AfterValidator(_or_default)]

    def fields(self) -> dict[str, Any]:
        """Return the values as stored, by the names of Python."""
        return self.model_dump(mode="json")


class Patch(Input):
    """A JSON Merge Patch (RFC 7396): the fields that can change, with the defaults that null returns them to.

    `part`: the field of the record that it is merged into, unless that is the whole of it.
    """

    part: ClassVar[str] = ""


class Query(BaseModel):
    """The query parameters an operation understands; others are ignored."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        str_strip_whitespace=True,
        defer_build=True,
        hide_input_in_errors=True,
    )


class CursorQuery(Query):
    """What goes on where the answer before ended."""

    cursor: str | None = Field(None, description="Where to go on: `nextCursor` of the answer before.", max_length=8192)


class ListQuery(CursorQuery):
    """What every list understands."""

    limit: int = Field(25, ge=1, le=100, description="Items a page.", examples=[25])


class SmallListQuery(CursorQuery):
    """What the list of a small set understands: it fits into one page."""

    limit: int | None = Field(None, ge=1, le=100, description="Items a page; left out, all of them.", examples=[25])


class TimeRange(BaseModel):
    """A time that a caller names by its ends, both of which are part of it."""

    until: DateTime | None = Field(
        None, alias="to", description="The latest, RFC 3339 with an offset.", examples=[None]
    )
    # Stands last, so that its validator sees the other.
    since: DateTime | None = Field(
        None, alias="from", description="The earliest, RFC 3339 with an offset; not after `to`.", examples=[None]
    )

    @field_validator("since")
    @classmethod
    def _not_after_until(cls, since: str | None, others: ValidationInfo) -> str | None:
        until = others.data.get("until")
        if since and until and since > until:
            raise out_of_range("must not be after `to`")
        return since


class Output(BaseModel):
    """A record as callers see it; made from the stored one by its names."""

    model_config = ConfigDict(
        alias_generator=AliasGenerator(serialization_alias=to_camel),
        from_attributes=True,
        defer_build=True,
        hide_input_in_errors=True,
    )

    secret_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields that hold a secret in the answer that makes it, and null everywhere else."""
    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Event → examples of fields that it shows otherwise than an answer."""
    no_store: ClassVar[bool] = False
    """Whether no cache may keep the answer, secret or not."""
    id_field: ClassVar[str] = "id"
    """The field by which paths name it; none of what is the only one of its kind where it is."""
    content_etag: ClassVar[bool] = False
    """Whether it is no record, and its entity tag tells one content from another."""

    @classmethod
    def of(cls, record: object, **shown: Any) -> Self:
        """Return what is shown of a record; `shown` sets fields that the record doesn't have, or hides them."""
        answer = cls.model_validate(record)
        return answer.model_copy(update=shown) if shown else answer


class RecordOutput(Output):
    """What every record carries."""

    id: Uuid
    created_at: Timestamp
    updated_at: Timestamp
    version: int = Field(ge=1, description="1 when created; each change adds one.", examples=[1])
