"""The OpenAPI 3.1 document, generated from the operations, their models and the tasks that emit events."""

import json
from collections.abc import Iterable
from typing import Any, Final

from chalicelib.entrypoints import catalogue
from chalicelib.entrypoints.openapi import headers, interoperability, problems, schemas
from chalicelib.entrypoints.openapi.client_samples import iter_sample_calls
from chalicelib.entrypoints.openapi.examples import with_example
from chalicelib.entrypoints.openapi.operations import (
    API_KEY,
    LINK_TOKEN,
    SERVICE_KEY,
    USER_TOKEN,
    build_operation_object,
)
from chalicelib.entrypoints.openapi.python_samples import build_python_sample
from chalicelib.entrypoints.openapi.typescript_samples import build_typescript_sample
from chalicelib.entrypoints.openapi.webhooks import Emitter, build_webhook_path_items, message_models
from chalicelib.kernel.core.version import API_VERSION, VERSION
from chalicelib.kernel.identity.signed_links import LINK_TOKEN_HEADER
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.work.commands import Command
from chalicelib.kernel.work.tasks import Task

_DESCRIPTION: Final = """\
A multi-tenant back end. Organizations have members, API keys, and an audit log of all changes and of your application's
events, which webhooks, channels and log streams receive. They run platforms with spaces, modules, a domain and a
taxonomy, and publish sites. The service also has leads, the works of researchers, and reference data: countries,
currencies, languages, time zones and cities.

**Credentials.** Send `Authorization: Bearer <credential>`. The credential is a user's token of the OpenID Connect
issuer, an API key of an organization, or a service key, which can only write and read your application's events. Each
operation states who may call it, and which scope an API key needs. Without access to a tenant, you get 404 for
everything in it, whether it exists or not. A 401 has the header `WWW-Authenticate`. API Gateway renames it to
`x-amzn-Remapped-WWW-Authenticate`, so read both.

**Lists** have pages of `limit` items. To get the next page, send `nextCursor` as `cursor`, until it is null.

**Unknown query parameters** are ignored, and named in `Ignored-Parameters`. With `Prefer: handling=strict`, the
response is 422 instead. Send this preference, so that a misspelled filter can't return records that it should not.

**Compression.** Responses of 1,024 bytes or more are compressed if `Accept-Encoding` names gzip or deflate. Their
`ETag` is that of the uncompressed response. A request can have `Content-Encoding: gzip` or `deflate`. The limits apply
to the decompressed body.

**Changes.** PATCH is JSON Merge Patch: null clears a field, and omitted fields stay as they are. `{}` changes nothing.
A field that the service sets is rejected, unless it has its present value, so a record can be sent back as it was read.
In all other bodies null is the same as an omitted field. If you send the `ETag` of a record as `If-Match`, and the
record has changed since, the response is 412. A POST with an `Idempotency-Key` can be repeated safely. Every change
makes one entry in the organization's audit log, and one event.

**The audit log** is a Merkle tree (RFC 6962) with a signed head. Store its checkpoints: with one, the script
[verify.py](docs/verify.py) proves without the service that an export of the log was not altered. It also verifies the
proof of a single entry.

**Problems** are `application/problem+json` (RFC 9457). `code` is for programs, `detail` is for people, and `errors`
lists the errors of the request. Rules for the request as a whole, such as unique ids of blocks, are checked once each
field is valid, so their errors can follow in the next response.
"""

GROUP_DESCRIPTIONS: Final = {
    "leads": "People who submitted their e-mail address, and the status of each.",
    "organizations": "The tenants: their members, invitations and API keys, the events of your application, the "
    "webhooks, integration channels and log streams that receive events, the list of their domains, their audit log "
    "with its proofs and exports, and the erasure of people.",
    "me": "The caller of the service, with their organizations and invitations.",
    "platforms": "The platforms of organizations: modules, domain, home page, navigation and theme.",
    "reference": "Countries, currencies, languages, time zones and cities.",
    "research": "The works of researchers, fetched from public sources and reconciled.",
    "spaces": "Parts of a platform, with their own members and modules.",
    "system": "The status of the service, its migrations, its own audit log, the types of your application's events, "
    "and service keys.",
    "taxonomy": "The taxonomy of a platform, and the attachments of its nodes to records.",
    "sites": "The websites of organizations: pages with revisions and previews, menus, redirects.",
    "documentation": "The documentation, the OpenAPI document, the event types, and links to them.",
    "console": "The console, in which people use this API in a browser.",
    "events": "The messages to webhooks, signed as Standard Webhooks specifies.",
}
"""Descriptions of the route groups, and of the events."""


def build_document() -> dict[str, Any]:
    """Return the document of the whole API, which is committed as `openapi.json` and served."""
    return build_document_for(catalogue.all_operations(), catalogue.event_emitting_tasks_and_commands())


def document_to_indented_json(openapi_document: dict[str, Any]) -> str:
    """Return a document as indented JSON, so that diffs are readable."""
    return json.dumps(openapi_document, indent=2, ensure_ascii=False) + "\n"


def build_document_for(operations: Iterable[Operation], others: Iterable[Task | Command] = ()) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of some operations, in their order, and of the events of tasks and commands."""
    operations = list(operations)
    emitters: list[Emitter] = [*operations, *others]
    components = schemas.build_schemas(operations, message_models(emitters))
    components |= {"Problem": problems.PROBLEM_SCHEMA, "FieldError": problems.FIELD_ERROR_SCHEMA}
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Atrium",
            "version": VERSION,
            "x-api-version": API_VERSION,
            "description": _DESCRIPTION,
            "contact": {"name": "The operators of this service"},
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        # Relative to the document's URL, so it is also right below the path of an API Gateway stage.
        "servers": [{"url": "."}],
        "tags": [
            {"name": name, "description": GROUP_DESCRIPTIONS[name]} for name in _group_and_event_tag_names(operations)
        ],
        "paths": _build_path_items(operations, components),
        "webhooks": build_webhook_path_items(emitters, components),
        "components": {
            "schemas": {name: _finish_schema(name, components) for name in sorted(components)},
            "headers": headers.RESPONSE_HEADERS,
            "parameters": headers.build_header_parameters(),
            "responses": problems.build_shared_problem_responses(),
            "securitySchemes": _security_schemes(),
        },
    }
    _add_client_samples(document, operations)
    return interoperability.prune_unused_components(interoperability.remove_examples_like_schemas(document))


def _add_client_samples(document: dict[str, Any], operations: Iterable[Operation]) -> None:
    for described, call in iter_sample_calls(document, operations):
        described["x-codeSamples"] += [
            build_typescript_sample(call),
            build_python_sample(call, document["components"]["schemas"]),
        ]


def _finish_schema(name: str, components: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a component with an example, in the form that generators of clients need."""
    titled = interoperability.title_nullable_enums_and_objects(with_example(name, components))
    return interoperability.describe_defaults_in_words(titled)


def _group_and_event_tag_names(operations: Iterable[Operation]) -> list[str]:
    return list(dict.fromkeys([*(operation.group for operation in operations), "events"]))


def _build_path_items(operations: Iterable[Operation], schemas_by_name: dict[str, Any]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = build_operation_object(
            operation, schemas_by_name
        )
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
            "description": "An API key of an organization. It only has access to that organization.",
        },
        SERVICE_KEY: {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "atr_…",
            "description": "A service key of the deployment. It has access to application events only.",
        },
        LINK_TOKEN: {
            "type": "apiKey",
            "in": "header",
            "name": LINK_TOKEN_HEADER,
            "description": "The token of a signed link, which is behind `#token=` in its URL. It has access to the "
            "record of the link only, with the rights of the member who created it, for an hour.",
        },
    }
