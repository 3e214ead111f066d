"""Classes of operations with similar costs."""

from collections.abc import Mapping
from typing import Final

from chalicelib.kernel.operations.operation import Operation

READ: Final = "read one"
LIST: Final = "list, a short page"
CHANGE: Final = "change"
MAILED: Final = "change that sends mail"
SITE: Final = "visit of a site"
PUBLIC: Final = "reference data and documents"
VERIFY: Final = "verify a log, or export it"
WORK: Final = "change that starts long work"

CLASSES: Final[Mapping[str, str]] = {
    READ: "One record, by its id or its name.",
    LIST: "A page with the few records of the example. More records need more units: see *list of 100*.",
    CHANGE: "One record is created, changed or deleted, with its log entry. No webhook receives the event.",
    MAILED: "The same, with one email.",
    SITE: "Requests of a site's visitors: the site by its host, a page by its path, robots.txt, the sitemap.",
    PUBLIC: "Public data, and data that is cached in memory: countries, event types, OpenAPI, the status.",
    VERIFY: "The first window of a log of about 30 entries, or that log as a file. The cost grows with the log.",
    WORK: "A change whose work continues after the response: exports, erasures, purges, removals, replays, research.",
}

_OPERATIONS_BY_CLASS: Final[Mapping[str, tuple[str, ...]]] = {
    MAILED: ("invite_to_organization", "resend_invitation", "invite_to_platform"),
    SITE: (
        "resolve_site",
        "get_page_by_path",
        "get_home_page",
        "get_robots_txt",
        "get_sitemap",
        "preview_page",
        "preview_page_publicly",
        "resolve_taxonomy_path",
        "resolve_platform_config",
    ),
    VERIFY: ("verify_audit_integrity", "export_audit_log"),
    WORK: (
        "start_audit_export",
        "erase_person",
        "delete_organization",
        "delete_platform",
        "delete_site",
        "delete_page",
        "delete_taxonomy_node",
        "delete_webhook",
        "delete_integration_channel",
        "delete_space",
        "replay_webhook_deliveries",
        "retry_webhook_delivery",
        "test_webhook",
        "test_integration_channel",
        "import_research",
        "reconcile_research",
        "backfill_venue_edition",
        "remove_organization_member",
        "remove_platform_member",
        "remove_space_member",
        "leave_organization",
        "leave_platform",
        "leave_space",
        "set_custom_domain",
        "verify_custom_domain",
        "remove_custom_domain",
        "respond_to_invitation",
        "respond_to_my_invitation",
        "accept_invitation",
    ),
}
_PUBLIC_MODULES: Final = (
    "chalicelib.features.reference",
    "chalicelib.features.admin.status",
    "chalicelib.entrypoints.event_types",
)


def class_of(operation: Operation) -> str:
    """Return the class of an operation."""
    listed_class = next((name for name, ids in _OPERATIONS_BY_CLASS.items() if operation.id in ids), None)
    if listed_class:
        return listed_class
    in_public_module = operation.function.__module__.startswith(_PUBLIC_MODULES)
    if not operation.emits_events and (operation.allows_anonymous or in_public_module):
        return PUBLIC
    if operation.emits_events:
        return CHANGE
    return LIST if operation.is_list else READ
