"""The names of operations in clients: a group of resources and a method, such as `organizations.members` and `list`.

The clients in `clients`, the samples of the reference and the console use these names. They follow from the path and
the verb of the operation's id, so a new operation does not change the names of others. The exceptions are operations
whose path does not say what they do.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from chalicelib.kernel.operations.operation import Operation

EXTENSION: Final = "x-atrium-client"
"""The extension of an operation in the OpenAPI document that contains its names."""


class ClientNames(NamedTuple):
    """The names of an operation: `client.organizations.members.list` is `list` in the group `organizations.members`."""

    group: str
    method: str


_VERBS: Final = frozenset(
    {
        "add",
        "change",
        "create",
        "delete",
        "get",
        "list",
        "put",
        "remove",
        "replace",
        "respond",
        "revoke",
        "set",
        "update",
    }
)
"""The verbs of operation ids that are names of methods. Other ids have the verb of their HTTP method."""

_VERBS_BY_HTTP_METHOD: Final[Mapping[str, str]] = {
    "GET": "get",
    "POST": "create",
    "PATCH": "update",
    "PUT": "replace",
    "DELETE": "delete",
}

_PARTS_OF_RECORDS: Final = frozenset(
    {"config", "health", "home", "navigation", "robots.txt", "role", "statistics", "status", "summary", "theme"}
)
"""The last segments of paths that name a part of a record. They belong to the method: `platforms.updateTheme`."""

_RESOURCES_BY_SEGMENT: Final[Mapping[str, str]] = {"export-async": "exports", "redrive": "redrives"}
"""The resources that have another name in paths."""

EXCEPTIONS: Final[Mapping[str, ClientNames]] = {
    "accept_invitation": ClientNames("organizations.invitations", "describe"),
    "respond_to_invitation": ClientNames("organizations.invitations", "respond"),
    "invite_to_organization": ClientNames("organizations.invitations", "create"),
    "describe_subscription": ClientNames("organizations.invitations", "getSubscription"),
    "prove_audit_entry": ClientNames("organizations.auditLog", "getProof"),
    "prove_audit_log_consistency": ClientNames("organizations.auditLog", "getConsistencyProof"),
    "create_events": ClientNames("organizations.events", "createBatch"),
    "create_webhook_link": ClientNames("organizations.webhooks", "createLink"),
    "list_domain_inventory": ClientNames("organizations.domains", "list"),
    "create_custom_domain_link": ClientNames("platforms.customDomain", "createLink"),
    "resolve_taxonomy_path": ClientNames("platforms.taxonomyNodes", "resolve"),
    "create_system_tags": ClientNames("platforms.taxonomyNodes", "createSystemTags"),
    "get_taxonomy_tree": ClientNames("platforms.taxonomyNodes", "getTree"),
    "get_sitemap": ClientNames("sites", "getSitemap"),
    "backfill_venue_edition": ClientNames("research", "backfill"),
    "list_dead_letters": ClientNames("system.deadLetters", "get"),
    "get_migrations_status": ClientNames("system.migrations", "list"),
    "get_status": ClientNames("status", "get"),
    "get_service_links": ClientNames("documentation", "getLinks"),
    "get_openapi_document": ClientNames("documentation", "getOpenapiDocument"),
    "get_docs": ClientNames("documentation", "get"),
    "get_docs_asset": ClientNames("documentation", "getAsset"),
    "get_llms_text": ClientNames("documentation", "getLlmsText"),
    "get_console_asset": ClientNames("console", "getAsset"),
    "get_invitation_page": ClientNames("console", "getInvitationPage"),
    "get_domain_setup_page": ClientNames("console", "getDomainSetupPage"),
    "get_webhook_portal_page": ClientNames("console", "getWebhookPortalPage"),
}
"""Names by the id of the operation."""


def client_names(operation: Operation) -> ClientNames:
    """Return the names of an operation in clients."""
    if operation.id in EXCEPTIONS:
        return EXCEPTIONS[operation.id]
    *parents, last = literals = [segment for segment in operation.path.strip("/").split("/") if segment[:1] != "{"]
    ends_in_literal = operation.path.endswith(last)
    first_word = operation.id.split("_")[0]
    if ends_in_literal and last.split("-")[0] == first_word:
        return ClientNames(_group_name(parents), _camel_case(last))
    usual_verb = "list" if operation.is_list and operation.method == "GET" else _VERBS_BY_HTTP_METHOD[operation.method]
    verb = first_word if first_word in _VERBS else usual_verb
    if last.startswith("by-") or (ends_in_literal and last in _PARTS_OF_RECORDS and verb != "list"):
        return ClientNames(_group_name(parents), _camel_case(f"{verb}-{last}"))
    return ClientNames(_group_name(literals), verb)


def _group_name(segments: list[str]) -> str:
    return ".".join(_camel_case(_RESOURCES_BY_SEGMENT.get(segment, segment)) for segment in segments)


def _camel_case(name: str) -> str:
    return re.sub(r"[-.](\w)", lambda match: match[1].upper(), name)
