"""One example of every schema: what its fields say of themselves or, failing that, the same small world everywhere."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from chalicelib.kernel.http.fields import UUID_PATTERN

Schema = Mapping[str, Any]

_LINK: Final = "https://api.example.com/organizations/invitations/acceptance"
_TICKET: Final = "AaH4SpXAevOKG7MSv4QwBQGh-EqVwHBPiJltp2O3qWkAAAABwbyC7zGdXcYZYc-Iew0o_g"

WORLD: Final[Mapping[str, str | None]] = {
    "acceptUrl": f"{_LINK}?token={_TICKET}",
    "auditPublicKey": "RCmTBlAEqh5MSPTdAVgZTAI0m8xmTNluQA6iaZGKjVE=",
    "auditPublicKeys": "RCmTBlAEqh5MSPTdAVgZTAI0m8xmTNluQA6iaZGKjVE=",
    "checkpoint": "atrium/01a1f84a-95c0-7af3-8a1b-b312bf843005\n2\n2cnjHMnhH8AtH26lCfSEJtgmWTY33L1UDy9+E3QpGHs=\n\n"
    "— atrium/01a1f84a-95c0-7af3-8a1b-b312bf843005 "
    "KpbWZWdH6JyRkShggDe4SIuJ2ks0Oko7cz+/ketrEJB6kvzHWu1LZ1y1rpUh5akIz36DfJ6Tp0Jdx4/jhSvGVD5vnw8=\n",
    "companyAddress": "12 St James's Square, London",
    "companyCountry": "GB",
    "companyId": "04271815",
    "companyLegalName": "Analytical Engines Ltd",
    "companyName": "Analytical Engines",
    "createdBy": "01a1f84a-95c0-704f-8899-6da763b7a969",
    "description": "Where the engines are drawn.",
    "detail": "It holds more than one word.",
    "email": "ada@example.com",
    "invitedBy": "01a1f84a-95c0-704f-8899-6da763b7a969",
    "key": "atr_EXAMPLEexampleEXAMPLEexample00002z8ged",
    "label": "Engines",
    "leadToken": "AaH4SpXAcXyKG7MSv4QwBQAAAZ8a3JkAfYZYc-Iew0o_gLzGdXcYZYc-",
    "leafHash": "677d1e972b1706438c8cfe27d6320aabdf9439cb0978b7be6ee9662130dd8cf6",
    "message": "Join us at the engines.",
    "name": "Analytical Engines",
    "nextCursor": None,
    "rootHash": "d9c9e31cc9e11fc02d1f6ea509f48426d826593637dcbd540f2f7e137429187b",
    "secret": "whsec_YW4gZXhhbXBsZSwgYW5kIG5ldmVyIGEgc2VjcmV0Li4=",
    "slug": "analytical-engines",
    "token": _TICKET,
    "title": "Notes on the engine",
    "username": "ada",
}
"""What a field is called → its example, where the field's own declaration gives none."""

_FORMATS: Final[Mapping[str, str]] = {
    "date-time": "2026-11-20T09:30:00.000Z",
    "date": "2026-11-20",
    "email": "ada@example.com",
    "uri": "https://example.com/engines",
}
_EXAMPLE_ID_PREFIX: Final = "01a1f84a-95c0"
"""The first 48 bits of every example's UUIDv7: 2026-11-20T09:30:00.000Z."""


def example_of(schema: Schema, components: Mapping[str, Schema], name: str = "", noun: str = "") -> Any:
    """Return a value that the schema accepts; `name` is the field's, `noun` that of the record it belongs to.

    Raises LookupError, naming the field, if a text's shape can't be guessed: give the field `examples`.
    """
    given = [*schema.get("examples", [])[:1], *(schema[key] for key in ("const", "default") if key in schema)]
    if given and given[0] != "":
        return given[0]
    if "$ref" in schema:
        target = str(schema["$ref"]).rsplit("/", 1)[-1]
        return example_of(components[target], components, name, target)
    alternatives = [a for a in schema.get("anyOf", schema.get("oneOf", [])) if a != {"type": "null"}]
    if alternatives:
        return example_of(alternatives[0], components, name, noun)
    return schema["enum"][0] if "enum" in schema else _of_type(schema, components, name, noun)


def _of_type(schema: Schema, components: Mapping[str, Schema], name: str, noun: str) -> Any:
    kinds = schema.get("type", "object")
    kind = kinds if isinstance(kinds, str) else next(k for k in kinds if k != "null")
    if kind == "object":
        fields = schema.get("properties", {}).items()
        shown = {key: example_of(field, components, key, noun) for key, field in fields}
        return {key: value for key, value in shown.items() if value is not None or key in schema.get("required", ())}
    if kind == "array":
        return [example_of(schema["items"], components, name, noun)]
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return True if kind == "boolean" else _text(schema, name, noun)


def _text(schema: Schema, name: str, noun: str) -> str | None:
    kind = schema.get("format", "")
    if kind == "uuid" or schema.get("pattern") == UUID_PATTERN:
        return uuid_of(noun if name == "id" else name)
    if name in WORLD:
        return WORLD[name]
    if kind in _FORMATS:
        return _FORMATS[kind]
    raise LookupError(f"{noun}.{name} has no example: give the field `examples`")


def uuid_of(name: str) -> str:
    """Return the example id of what a field or a record's name means: `organizationId` and `Organization` are one."""
    noun = re.sub(r"[^a-z]", "", name.lower()).removesuffix("id")
    digest = hashlib.sha256(noun.encode()).hexdigest()
    return f"{_EXAMPLE_ID_PREFIX}-7{digest[:3]}-8{digest[3:6]}-{digest[6:18]}"
