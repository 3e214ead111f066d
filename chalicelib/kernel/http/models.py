"""Base models of requests and responses."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_args

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

from chalicelib.kernel.http.fields import DateTime, Timestamp, Uuid, out_of_range_error

T = TypeVar("T")


def _use_default_if_null(value: Any) -> Any:
    if value is None:
        raise PydanticUseDefault
    return value


def _reject_null(value: Any) -> Any:
    if value is None:
        raise PydanticCustomError("null", "must not be null")
    return value


def _whole_float_to_int(value: Any) -> Any:
    """Return a float without a fraction as an integer. In JSON, 27.0 and 27 are equal."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Input(BaseModel):
    """A request body in camelCase, without unknown fields and type conversions. Null means omitted.

    A field with a default accepts null, also in its schema. For a required field null is a missing value.
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
    def __pydantic_init_subclass__(cls, **_options: Any) -> None:
        """Let null stand for the default in all fields with a non-null default. Their other constraints stay.

        In a required field, null counts as a missing value.
        """
        for field in cls.model_fields.values():
            if field.annotation in (int, int | None):
                field.metadata = [*field.metadata, BeforeValidator(_whole_float_to_int)]
            if field.is_required():
                field.metadata = [*field.metadata, BeforeValidator(_reject_null)]
            elif field.default is not None:
                declared: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
                field.annotation = declared | None
                field.metadata = [AfterValidator(_use_default_if_null)]

    def to_stored_fields_with_defaults(self) -> dict[str, Any]:
        """Return the values as stored, by Python name."""
        return self.model_dump(mode="json")


class Patch(Input):
    """A JSON Merge Patch (RFC 7396): the fields that can change, with the defaults that null restores.

    `part`: the field of the record that the patch applies to, unless it is the whole record. `fixed_fields`: the paths
    of fields in objects that cannot change, with what to do instead.
    """

    part: ClassVar[str] = ""
    fixed_fields: ClassVar[Mapping[tuple[str, ...], str]] = {}


class Query(BaseModel):
    """The query parameters of an operation. Others are ignored."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        str_strip_whitespace=True,
        defer_build=True,
        hide_input_in_errors=True,
    )


class CursorQuery(Query):
    """Query parameters of continued lists."""

    cursor: str | None = Field(
        None, description="Continue a list: `nextCursor` of the previous response.", max_length=8192
    )


class ListQuery(CursorQuery):
    """Query parameters of all lists."""

    limit: int = Field(25, ge=1, le=100, description="Items per page.", examples=[25])


class SmallListQuery(CursorQuery):
    """Query parameters of lists that fit on one page."""

    limit: int | None = Field(None, ge=1, le=100, description="Items per page. If omitted, all.", examples=[25])


class TimeRange(BaseModel):
    """A time range with inclusive bounds."""

    until: DateTime | None = Field(
        None, alias="to", description="Latest time, RFC 3339 with an offset.", examples=[None]
    )
    # Declared last, so that its validator sees the other field.
    since: DateTime | None = Field(
        None, alias="from", description="Earliest time, RFC 3339 with an offset. Not after `to`.", examples=[None]
    )

    @field_validator("since")
    @classmethod
    def _not_after_until(cls, since: str | None, others: ValidationInfo) -> str | None:
        until = others.data.get("until")
        if since and until and since > until:
            raise out_of_range_error("must not be after `to`")
        return since


class Output(BaseModel):
    """A response with a record, created from the attributes of the stored record."""

    model_config = ConfigDict(
        alias_generator=AliasGenerator(serialization_alias=to_camel),
        from_attributes=True,
        defer_build=True,
        hide_input_in_errors=True,
    )

    secret_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields with a secret in the response that creates it, and null in all others."""
    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Examples of fields that differ between events and responses, by event."""
    no_store: ClassVar[bool] = False
    """Whether caches must not store the response."""
    id_field: ClassVar[str] = "id"
    """Field that identifies the record in paths. Empty for a singleton."""
    content_etag: ClassVar[bool] = False
    """Whether the response can be something other than a record, whose entity tag depends on the content."""

    @classmethod
    def of(cls, record: object, **overrides: Any) -> Self:
        """Return the response for a record. `overrides` sets fields that the record lacks, or hides fields."""
        output = cls.model_validate(record)
        return output.model_copy(update=overrides) if overrides else output

    @property
    def record_identity(self) -> tuple[str, int] | None:
        """The id and version of the record for its entity tag, or None if the response is not a record."""
        return None


class RecordOutput(Output):
    """Fields of all records."""

    id: Uuid
    created_at: Timestamp
    updated_at: Timestamp
    version: int = Field(ge=1, description="1 when created. Each change adds 1.", examples=[1])

    @property
    def record_identity(self) -> tuple[str, int] | None:
        """The id and version of the record for its entity tag."""
        return self.id, self.version


def class_in_annotation_or_none(annotation: Any, base: type[T]) -> type[T] | None:
    """Return the first class in an annotation, such as `Model | None`, that has a base; None if there is none."""
    types = (annotation, *get_args(annotation))
    return next((each for each in types if isinstance(each, type) and issubclass(each, base)), None)
