"""Base models of requests and responses."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticUseDefault

from chalicelib.kernel.http.fields import DateTime, Timestamp, Uuid, fold_case_accents_and_spaces, out_of_range_error

T = TypeVar("T")

VARIANTS_BY_TYPE: Final = "x-variants-by-type"
"""A key of `json_schema_extra`: the models of a union by the value of the field `type`, for the OpenAPI document."""


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


class SortedListQuery(ListQuery):
    """Query parameters of lists that can be read from both ends."""

    sort: Literal["createdAt", "-createdAt"] | None = Field(
        None,
        description="`createdAt` for the oldest first, `-createdAt` for the newest first. If omitted, the usual order.",
        examples=[None],
    )

    def is_newest_first(self, *, by_default: bool = False) -> bool:
        """Return whether the list starts with the newest record."""
        return self.sort == "-createdAt" if self.sort else by_default


class NamedListQuery(SortedListQuery):
    """Query parameters of lists that can also be searched by name, or read in alphabetical order."""

    sort: Literal["createdAt", "-createdAt", "name", "-name"] | None = Field(  # type: ignore[assignment]  # queries are never changed
        None,
        description=(
            "`createdAt` for the oldest first, `-createdAt` for the newest first, `name` for alphabetical order, "
            "`-name` for the reverse. If omitted, the usual order or, with `q`, alphabetical order."
        ),
        examples=[None],
    )
    q: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description=(
            "Only records with a name, or a word of one, that begins with this text. Words are separated by spaces and "
            "hyphens. A long name is found by its first words only. Case, accents and repeated spaces do not matter. "
            "The result is in alphabetical order, so `sort` can only be `name` or `-name`."
        ),
        examples=[None],
    )

    @field_validator("q")
    @classmethod
    def _require_searchable_text(cls, value: str | None) -> str | None:
        if value is not None and not fold_case_accents_and_spaces(value):
            raise out_of_range_error("must contain more than accents and spaces")
        return value

    @model_validator(mode="after")
    def _require_alphabetical_order_of_search(self) -> Self:
        if self.q is not None and self.sort in ("createdAt", "-createdAt"):
            error = out_of_range_error(
                "must be `name` or `-name` with `q`, or omitted: a search is in alphabetical order"
            )
            details = InitErrorDetails(type=error, loc=("sort",), input=self.sort)
            raise ValidationError.from_exception_data(type(self).__name__, [details])
        return self

    @property
    def is_by_name(self) -> bool:
        """Return whether the query reads names: it searches, or asks for alphabetical order."""
        return self.q is not None or self.sort in ("name", "-name")

    @property
    def is_descending(self) -> bool:
        """Return whether the alphabetical order is reversed."""
        return self.sort == "-name"


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
