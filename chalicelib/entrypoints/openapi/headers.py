"""The headers that requests may and responses do carry."""

from typing import Any, Final

from chalicelib.kernel.core.version import API_VERSION

Headers = dict[str, Any]

_TAG: Final = r'(?:W/)?"[\x21\x23-\x7e]*"'
_TAGS: Final = rf"^\s*(?:\*|{_TAG}(?:\s*,\s*{_TAG})*)\s*$"
"""As it stands in the document; what is sent is looked at tag by tag."""


def _text(description: str, **schema: Any) -> dict[str, Any]:
    return {"description": description, "schema": {"type": "string", **schema}}


_SEEN: Final = r"[^\s\x00-\x20\x7f-\xa0\xad]"
_KEY: Final = rf"^{_SEEN}(?:[^\x00-\x1f\x7f-\xa0\xad]*{_SEEN})?$"


REQUEST: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "ApiVersion": (
        "API-Version",
        _text("The version of the interface that is asked for; left out, this one.", enum=[API_VERSION]),
    ),
    "IdempotencyKey": (
        "Idempotency-Key",
        _text(
            "Any text, bare or quoted, the same on every try of one request: the effect happens once, and later tries "
            "get the first answer, with `Idempotency-Replayed: true`. Kept for 24 hours.",
            minLength=1,
            maxLength=255,
            pattern=_KEY,
        ),
    ),
    "IfMatch": (
        "If-Match",
        _text("The `ETag` that was read: what has changed since is left alone, with 412.", pattern=_TAGS),
    ),
    "IfNoneMatch": (
        "If-None-Match",
        _text("The `ETag` in hand: 304 without a body if it is still the present one.", pattern=_TAGS),
    ),
}
"""Component's name → header, what for."""

RESPONSE: Final[dict[str, dict[str, Any]]] = {
    "API-Version": _text("The version of the interface that answered.", format="date"),
    "Allow": _text("The methods that the path has."),
    "Cache-Control": _text("Who may keep it, and for how many seconds."),
    "ETag": _text("Names this state of the record; send it back as `If-Match`."),
    "Idempotency-Replayed": _text("`true` if this is the stored answer to an earlier try.", enum=["true"]),
    "Link": _text('The next page, if there is one: `<…>; rel="next"`.'),
    "Location": _text("Where it is.", format="uri-reference"),
    "RateLimit": _text(
        "What is left of each budget that applies, and in how many seconds it is refilled: a list by name. Requests "
        "without a credential are told of their network's when nothing of it is left, and of the operation's own."
    ),
    "RateLimit-Policy": _text("The same budgets: how many requests in how many seconds."),
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}},
    "WWW-Authenticate": _text("`Bearer`, and what is wrong with the credential."),
    "X-Request-Id": _text("Names this request in logs, problems and audit entries."),
}

_COMMON: Final = ("API-Version", "RateLimit", "RateLimit-Policy", "X-Request-Id")


def with_common(*names: str) -> Headers:
    """Return references to these response headers and to those that every response carries, or may carry."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in sorted({*_COMMON, *names})}


def parameters() -> dict[str, Any]:
    """Return the request headers as parameters, by component name."""
    return {name: {"name": header, "in": "header", **rest} for name, (header, rest) in REQUEST.items()}
