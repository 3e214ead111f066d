"""Common types of fields, and their validation."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints
from pydantic.alias_generators import to_camel
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticKnownError, Url, ValidationError, to_json

from chalicelib.kernel.core.case_folding import ascii_lower, parse_email_address
from chalicelib.kernel.core.clock import timestamp, timestamp_ms
from chalicelib.kernel.core.event_patterns import (
    EVENT_TYPE_OR_PREFIX_PATTERN,
    EVENT_TYPE_PATTERN,
    MAX_EVENT_TYPE_CHARACTERS,
)
from chalicelib.kernel.core.problems import MAX_ERRORS

RESERVED_SLUGS: Final = frozenset(
    {
        "about",
        "acceptance",
        "account",
        "admin",
        "api",
        "app",
        "assets",
        "atrium",
        "audit",
        "auth",
        "autoconfig",
        "autodiscover",
        "billing",
        "blog",
        "by-path",
        "by-slug",
        "by-user",
        "by-username",
        "cdn",
        "cname",
        "config",
        "console",
        "dashboard",
        "docs",
        "domains",
        "ftp",
        "health",
        "help",
        "home",
        "imap",
        "internal",
        "invitations",
        "invite",
        "join",
        "leave",
        "localhost",
        "login",
        "logout",
        "mail",
        "me",
        "members",
        "mx",
        "new",
        "ns",
        "ns1",
        "ns2",
        "null",
        "openapi",
        "operator",
        "pages",
        "platforms",
        "pop",
        "public",
        "reference",
        "resolve",
        "root",
        "search",
        "security",
        "settings",
        "signin",
        "signup",
        "sites",
        "smtp",
        "spaces",
        "static",
        "status",
        "support",
        "system",
        "taxonomy",
        "undefined",
        "webmail",
        "wpad",
        "www",
    }
)
SLUG_PATTERN: Final = r"^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$"
UUID_PATTERN: Final = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
SLUG_ADVICE: Final = "must be 1 to 63 lower-case letters, digits and hyphens, with no hyphen first or last"
_TIME_ADVICE: Final = "must be a time with its offset from UTC, such as 2026-11-20T09:30:00Z"
_URL_ADVICE: Final = "must be a web address such as https://example.com/logo.svg"
LINK_ADVICE: Final = "must be a web address, `mailto:` and an e-mail address, or a path that begins with one /"
LINK: Final = re.compile(
    r"(?:https?://(?![^/]*@)[^/\s\\]|mailto:[^\s@]+@|/(?![/\\])|#)[^\x00-\x20\\<>\"]*|/", re.IGNORECASE
)
"""Links that pages may contain: web addresses, `mailto:`, paths of the same host, fragments."""
_NOT_IN_A_URL: Final = re.compile(r"[\x00-\x20\x7f\\<>\"{}|^`]|\s")
_LOST_PLUS: Final = re.compile(r".+[T ][0-9:.,]+ [0-9]{2}(:?[0-9]{2})?")
_MAX_JSON_OBJECT_BYTES: Final = 64 * 1024
"""Size of a free-form JSON object in a request."""

MAX_JSON_OBJECT_DEPTH: Final = 24
"""Maximum depth. With the levels that the log adds, it stays below the 32 levels that DynamoDB allows."""
_MIN_NUMBER: Final = 1e-100
"""Smallest number other than 0 in a free-form JSON object, without its sign."""

_MAX_NUMBER: Final = 2**53 - 1
"""Largest number in a free-form JSON object, without its sign."""

_UNSEEN_CATEGORIES: Final = ("Cc", "Cf", "Zl", "Zp", "Zs")
_UNSEEN_OTHERS: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that are invisible by themselves: Unicode's Default_Ignorable_Code_Point, and blank Braille."""

_PRINTABLE: Final = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
"""Pattern of text without control characters, for the OpenAPI document."""


def _reject_non_whitespace_controls(text: str) -> str:
    if any(unicodedata.category(c) == "Cc" and c not in "\n\r\t" for c in text):
        raise ValueError("must not contain control characters")
    return text


def _reject_line_breaks_and_controls(text: str) -> str:
    if any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in text):
        raise ValueError("must be one line without control characters")
    return text


def has_visible_character(text: str) -> bool:
    """Return whether a text contains a visible character."""
    return not all(unicodedata.category(c) in _UNSEEN_CATEGORIES or _UNSEEN_OTHERS.match(c) for c in text)


def require_visible_character(text: str) -> str:
    """Return the text if it contains a visible character. Otherwise raise the error for text that is too short."""
    if not has_visible_character(text):
        raise PydanticKnownError("string_too_short", {"min_length": 1})
    return text


def _normalize_datetime(text: str) -> str:
    try:
        return timestamp(timestamp_ms(text))
    except ValueError:
        hint = "; in a query `+` has to be sent as `%2B`" if _LOST_PLUS.fullmatch(text) else ""
        raise ValueError(f"{_TIME_ADVICE}{hint}") from None


def reject_double_hyphen_or_reserved_slug(text: str, reserved: frozenset[str] = RESERVED_SLUGS) -> str:
    """Return the slug. Raises ValueError if it contains two hyphens in a row or is a reserved word."""
    if "--" in text:
        raise ValueError("must not contain two hyphens in a row")
    if text in reserved:
        raise ValueError("is a reserved word; choose another")
    return text


def _validate_web_url(text: str) -> str:
    try:
        url = Url(text)
    except ValueError:
        raise ValueError(_URL_ADVICE) from None
    if url.scheme not in ("http", "https") or url.username or url.password or _NOT_IN_A_URL.search(text):
        raise ValueError(_URL_ADVICE)
    return text


def _require_web_mailto_or_path_link(text: str) -> str:
    if not LINK.fullmatch(text):
        raise ValueError(LINK_ADVICE)
    return text


def _validate_json_object(value: dict[str, Any]) -> dict[str, Any]:
    size = len(to_json(value))
    if size > _MAX_JSON_OBJECT_BYTES:
        raise PydanticCustomError("too_large", "", {"max_bytes": _MAX_JSON_OBJECT_BYTES, "size": size})
    if errors := [*islice(_iter_unsupported_json(value, (), MAX_JSON_OBJECT_DEPTH), MAX_ERRORS)]:
        raise ValidationError.from_exception_data("object", errors)
    return value


def _iter_unsupported_json(value: Any, location: tuple[int | str, ...], depth: int) -> Iterator[InitErrorDetails]:
    """Yield the errors of values that the table or other JSON parsers would change (RFC 7493), at their locations."""
    if isinstance(value, dict | list) and depth == 0:
        nested = out_of_range_error(f"must not be nested deeper than {MAX_JSON_OBJECT_DEPTH}")
        yield InitErrorDetails(type=nested, loc=location, input=None)
        return
    if isinstance(value, dict) and "" in value:
        unnamed = PydanticCustomError("value_error", "{error}", {"error": "must not contain members without a name"})
        yield InitErrorDetails(type=unnamed, loc=location, input=None)
    if isinstance(value, int | float) and value and not _MIN_NUMBER <= abs(value) <= _MAX_NUMBER:
        number = out_of_range_error(
            "must be within ±9007199254740991, and not closer to 0 than 1e-100; send it as text"
        )
        yield InitErrorDetails(type=number, loc=location, input=None)
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield from _iter_unsupported_json(member, (*location, name), depth - 1)


def out_of_range_error(message: str) -> PydanticCustomError:
    """Return the error to raise for a well-formed value outside of its range."""
    return PydanticCustomError("out_of_range", "{message}", {"message": message})


def ascii_lower_if_text(value: object) -> object:
    """Return text with its ASCII letters in lower case, and any other value unchanged."""
    return ascii_lower(value) if isinstance(value, str) else value


def pattern_validator_and_schema(pattern: str, advice: str) -> tuple[AfterValidator, Any]:
    """Return the metadata that requires text to match a pattern.

    Use it as `Annotated[str, *pattern_validator_and_schema(…)]`. `advice` is the message to the caller.
    """

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(advice)
        return text

    return AfterValidator(check), Field(json_schema_extra={"pattern": pattern})


Uuid = Annotated[
    str,
    BeforeValidator(ascii_lower_if_text),
    *pattern_validator_and_schema(UUID_PATTERN, "must be a UUID"),
    Field(json_schema_extra={"format": "uuid"}),
]
EventTypeName = Annotated[
    str,
    Field(max_length=MAX_EVENT_TYPE_CHARACTERS),
    *pattern_validator_and_schema(
        EVENT_TYPE_PATTERN,
        "must be an event type such as invoice.approved: two or more words of lower-case letters and _, joined by dots",
    ),
]
EventTypeOrPrefix = Annotated[
    str,
    Field(max_length=MAX_EVENT_TYPE_CHARACTERS),
    *pattern_validator_and_schema(
        EVENT_TYPE_OR_PREFIX_PATTERN,
        "must be an event type such as invoice.approved, or a prefix such as invoice.*: words of lower-case letters"
        " and _, joined by dots",
    ),
]
Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-11-20T09:30:00.000Z"])]
DateTime = Annotated[str, AfterValidator(_normalize_datetime), Field(json_schema_extra={"format": "date-time"})]
ONE_LINE: Final = (
    AfterValidator(_reject_line_breaks_and_controls),
    AfterValidator(require_visible_character),
    Field(json_schema_extra={"pattern": r"^\s*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"}),
)
"""The metadata that requires text to be one line with a visible character."""
Name = Annotated[str, StringConstraints(min_length=1, max_length=200), *ONE_LINE]
SEVERAL_LINES: Final = (
    AfterValidator(_reject_non_whitespace_controls),
    Field(json_schema_extra={"pattern": _PRINTABLE}),
)
"""The metadata that requires text without control characters other than line breaks and tabs."""
Text = Annotated[str, StringConstraints(max_length=4000), *SEVERAL_LINES]
LongText = Annotated[str, StringConstraints(strip_whitespace=False), *SEVERAL_LINES]
"""Text of any length. Leading and trailing spaces are kept."""
Slug = Annotated[
    str, *pattern_validator_and_schema(SLUG_PATTERN, SLUG_ADVICE), AfterValidator(reject_double_hyphen_or_reserved_slug)
]
Locale = Annotated[
    str,
    StringConstraints(max_length=100),
    *pattern_validator_and_schema(
        # Language with extended subtags, script, region, variants, extensions, private use (RFC 5646, section 2.1).
        r"^(?:[A-Za-z]{2,3}(?:-[A-Za-z]{3}){0,3}|[A-Za-z]{4,8})(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?"
        r"(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*(?:-[0-9A-WY-Za-wy-z](?:-[A-Za-z0-9]{2,8})+)*"
        r"(?:-[xX](?:-[A-Za-z0-9]{1,8})+)?$",
        "must be a language tag (BCP 47) such as en or pt-BR",
    ),
]
WebUrl = Annotated[
    str,
    StringConstraints(max_length=2000),
    AfterValidator(_validate_web_url),
    Field(json_schema_extra={"format": "uri"}),
]
Link = Annotated[str, StringConstraints(max_length=2000), AfterValidator(_require_web_mailto_or_path_link)]
Email = Annotated[
    str,
    StringConstraints(max_length=254),
    AfterValidator(parse_email_address),
    Field(json_schema_extra={"format": "email"}),
]


def deduplicate(values: list[str]) -> list[str]:
    """Return the values in their order, each once."""
    return list(dict.fromkeys(values))


def unique_by(field_name: str) -> AfterValidator:
    """Return the validator that rejects list elements whose field `field_name` repeats that of an earlier element."""

    def check(elements: list[Any]) -> list[Any]:
        values = [getattr(element, field_name) for element in elements]
        first_positions = {value: index for index, value in reversed([*enumerate(values)])}
        repeated = [
            InitErrorDetails(type=PydanticCustomError("repeated", ""), loc=(index, to_camel(field_name)), input=value)
            for index, value in enumerate(values)
            if index > first_positions[value]
        ]
        if repeated:
            raise ValidationError.from_exception_data("list", repeated)
        return elements

    return AfterValidator(check)


IDENTIFIER_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"
Identifier = Annotated[
    str,
    *pattern_validator_and_schema(
        IDENTIFIER_PATTERN, "must be 1 to 128 letters, digits, dots, _, : and hyphens, with a letter or a digit first"
    ),
]
"""An id that callers choose: of a module, a capability, an entity type, a project block. Any UUID is valid."""
ElementId = Identifier
"""An id that callers give to a part of a document: a block, an item of a menu."""
JsonObject = Annotated[dict[str, Any], AfterValidator(_validate_json_object)]
"""A JSON object of any shape, stored unchanged."""


def fold_case_accents_and_spaces(text: str) -> str:
    """Return text for comparisons that ignore case, accents and spaces."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return " ".join("".join(c for c in plain if not unicodedata.combining(c)).split())


def derive_slug(name: str) -> str:
    """Return a slug derived from a name, possibly a reserved word, or an empty string if nothing is left."""
    return re.sub(r"[^a-z0-9]+", "-", fold_case_accents_and_spaces(name))[:63].strip("-")
