"""The operations as an OpenAPI 3.1 document: nothing in it is written twice."""

import json
from collections.abc import Iterable
from typing import Any, Final

from chalicelib.entrypoints import catalogue
from chalicelib.entrypoints.openapi import headers, problems, schemas
from chalicelib.entrypoints.openapi.operations import API_KEY, USER_TOKEN, described
from chalicelib.entrypoints.openapi.webhooks import public_models, webhooks
from chalicelib.kernel.core.version import API_VERSION
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.work.tasks import Task

_DESCRIPTION: Final = """\
A multi-tenant back end: organizations with their members, the API keys of their programs, a log of all that changed and
webhooks that tell of it; the platforms that organizations run, with spaces, modules, a domain and a taxonomy; the sites
they publish; leads; works of researchers; and countries, currencies, languages, time zones and cities.

**Credentials.** `Authorization: Bearer <credential>`: a user's token of the OpenID Connect issuer, or an
organization's API key. Each operation says who may call it, and which scope a key needs. What exists in a tenant you
have no part in answers 404, as what does not exist.

**Lists** are pages of `limit` items; go on with `cursor` until `nextCursor` is null.

**Changes.** PATCH is JSON Merge Patch: null clears a field, what is left out stays. In all other bodies null is the
same as left out. Send the `ETag` you read as `If-Match`, and what others changed meanwhile answers 412. Send an
`Idempotency-Key` with a POST, and it can be repeated safely. Every change makes one entry in the organization's audit
log, and one event.

**The audit log** is a Merkle tree (RFC 6962) with a signed head. Keep its checkpoints, and [verify.py](docs/verify.py)
proves without the service that what you have of the log was not altered.

**Problems** are `application/problem+json` (RFC 9457): `code` is for programs, `detail` for people, `errors` lists
every fault of the request at once.
"""

GROUPS: Final = {
    "leads": "People who left their address, and what became of it.",
    "organizations": "The tenants: their members, invitations and API keys, the webhooks and integration channels that "
    "are told of their events, the inventory of their domains, their audit log with its exports, and the erasure of "
    "people.",
    "platforms": "What an organization runs: pages, modules, domain, navigation and theme.",
    "reference": "Countries, currencies, languages, time zones and cities.",
    "research": "Works of researchers, fetched from public sources and reconciled.",
    "spaces": "Parts of a platform, with members and modules of their own.",
    "system": "The service itself.",
    "taxonomy": "A platform's tree of terms, and what is attached to it.",
    "sites": "What an organization publishes: pages with revisions and previews, menus, redirects.",
    "documentation": "The documentation: its page, the document that it shows, and the types of events.",
    "events": "What webhooks are sent, signed as Standard Webhooks say.",
}
"""What the operations of a route group are about."""


def document() -> dict[str, Any]:
    """Return the document of the whole interface: what is committed as `openapi.json` and served."""
    return described_together(catalogue.operations(), catalogue.emitting_tasks())


def as_text(described: dict[str, Any]) -> str:
    """Return a document as it is committed: two spaces deep, so that a change shows as its lines."""
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


def described_together(operations: Iterable[Operation], tasks: Iterable[Task] = ()) -> dict[str, Any]:
    """Return the document (OpenAPI 3.1) of these operations, in their order, and of what these tasks emit."""
    operations = list(operations)
    emitting: list[Operation | Task] = [*operations, *tasks]
    components = schemas.components(operations, public_models(emitting))
    components |= {"Problem": problems.SCHEMA, "FieldError": problems.FIELD_ERROR}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Atrium",
            "version": API_VERSION,
            "description": _DESCRIPTION,
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        # Relative to the document, so that it holds below an API Gateway stage too.
        "servers": [{"url": "."}],
        "tags": [{"name": name, "description": GROUPS[name]} for name in _tags(operations)],
        "paths": _paths(operations, components),
        "webhooks": webhooks(emitting, components),
        "components": {
            "schemas": dict(sorted(components.items())),
            "headers": headers.RESPONSE,
            "parameters": headers.parameters(),
            "responses": problems.components(),
            "securitySchemes": _security_schemes(),
        },
    }


def _tags(operations: Iterable[Operation]) -> list[str]:
    return list(dict.fromkeys([*(operation.group for operation in operations), "events"]))


def _paths(operations: Iterable[Operation], components: dict[str, Any]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = described(operation, components)
    return paths


def _security_schemes() -> dict[str, Any]:
    return {
        USER_TOKEN: {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "A user's token of the OpenID Connect issuer.",
        },
        API_KEY: {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "atr_…",
            "description": "An organization's API key; it reaches its own organization only.",
        },
    }
