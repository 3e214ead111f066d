"""What operations accept and answer: the base models and the kinds of field they share."""

import re
import unicodedata
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import AfterValidator, AliasGenerator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from chalicelib.kernel.clock import milliseconds, timestamp

RESERVED_SLUGS: Final = frozenset({
    "about", "acceptance", "account", "admin", "api", "app", "assets", "atrium", "audit", "auth", "billing", "blog",
    "by-path", "by-slug", "by-user", "by-username", "cdn", "config", "console", "dashboard", "docs", "domains",
    "ftp", "health", "help", "home", "internal", "invitations", "invite", "join", "leave", "login", "logout",
    "mail", "me", "members", "new", "null", "openapi", "operator", "pages", "platforms", "public", "reference",
    "resolve", "root", "search", "security", "settings", "signin", "signup", "sites", "spaces", "static", "status",
    "support", "system", "taxonomy", "undefined", "www",
})  # fmt: skip
SLUG_PATTERN: Final = r"^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$"
UUID_PATTERN: Final = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
TIMESTAMP_PATTERN: Final = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"
_EMAIL: Final = re.compile(r"[^@\s\x00-\x1f]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}")


class Input(BaseModel):
    """A request body: camelCase, nothing unknown, no type guessed from another."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", strict=True, str_strip_whitespace=True,
        defer_build=True, hide_input_in_errors=True,
    )  # fmt: skip

    def fields(self) -> dict[str, Any]:
        """Return the values as stored, by the names of Python."""
        return self.model_dump(mode="json")


class Patch(Input):
    """A JSON Merge Patch (RFC 7396): the fields that can change, with the defaults that null returns them to."""


class Query(BaseModel):
    """The query parameters an operation understands; others are ignored."""

    model_config = ConfigDict(
        alias_generator=to_camel, str_strip_whitespace=True, defer_build=True,
        hide_input_in_errors=True,
    )  # fmt: skip


class Continued(Query):
    """What goes on where the answer before ended."""

    cursor: str | None = Field(None, description="Where to go on: `nextCursor` of the answer before.", max_length=8192)


class ListQuery(Continued):
    """What every list understands."""

    limit: int = Field(25, ge=1, le=100, description="Items a page.", examples=[25])


class Output(BaseModel):
    """A record as callers see it; made from the stored one by its names."""

    model_config = ConfigDict(
        alias_generator=AliasGenerator(serialization_alias=to_camel),
        from_attributes=True,
        defer_build=True,
        hide_input_in_errors=True,
    )

    one_time: ClassVar[frozenset[str]] = frozenset()
    """Fields that hold a secret in the answer that makes it, and null everywhere else."""

    @classmethod
    def of(cls, record: object, **shown: Any) -> Self:
        """Return what is shown of a record; `shown` sets fields that the record doesn't have, or hides them."""
        answer = cls.model_validate(record)
        return answer.model_copy(update=shown) if shown else answer


def _printable(text: str) -> str:
    if any(unicodedata.category(c) == "Cc" and c not in "\n\r\t" for c in text):
        raise ValueError("must not hold control characters")
    return text


def _one_line(text: str) -> str:
    if any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in text):
        raise ValueError("must be one line without control characters")
    return text


def _moment(text: str) -> str:
    return timestamp(milliseconds(text))


def _slug(text: str) -> str:
    if "--" in text:
        raise ValueError("must not hold two hyphens in a row")
    if text in RESERVED_SLUGS:
        raise ValueError("is a reserved word; choose another")
    return text


def _email(text: str) -> str:
    address = text.lower()
    if not _EMAIL.fullmatch(address):
        raise ValueError("must be an e-mail address such as ada@example.com")
    return address


def lower_case(value: object) -> object:
    """Return text in lower case and everything else as it is."""
    return value.lower() if isinstance(value, str) else value


Uuid = Annotated[str, BeforeValidator(lower_case), Field(pattern=UUID_PATTERN, json_schema_extra={"format": "uuid"})]
Timestamp = Annotated[
    str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-11-20T09:30:00.000Z"])
]  # fmt: skip
Moment = Annotated[str, AfterValidator(_moment), Field(json_schema_extra={"format": "date-time"})]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_one_line)]
Text = Annotated[str, StringConstraints(max_length=4000), AfterValidator(_printable)]
Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN), AfterValidator(_slug)]
Email = Annotated[
    str, StringConstraints(max_length=254), AfterValidator(_email), Field(json_schema_extra={"format": "email"})
]  # fmt: skip


class RecordOutput(Output):
    """What every record carries."""

    id: Uuid
    created_at: Timestamp
    updated_at: Timestamp
    version: int = Field(ge=1, description="1 when created; each change adds one.", examples=[1])


def slug_from(name: str) -> str:
    """Return a slug derived from a name, or an empty string if nothing of the name fits into one."""
    folded = unicodedata.normalize("NFKD", name.casefold())
    ascii_only = "".join(c for c in folded if not unicodedata.combining(c))
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_only)[:63].strip("-")
    return "" if slug in RESERVED_SLUGS else slug
