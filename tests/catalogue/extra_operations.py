"""Operations and events beyond the list of the interface (`interface.tsv`), with the reasons."""

from collections.abc import Mapping
from typing import Final

EXTRA_OPERATIONS: Final[Mapping[str, str]] = {
    "get_me": "Tells callers how the service sees them, and what their credential may do.",
    "get_service_links": "Leads people and programs that open the address of the service to its documentation.",
    "get_organization_member": "Returns the ETag for changes of the member, as each operation on a single record does.",
    "get_platform_member": "Returns the ETag for changes of the member.",
    "get_space_member": "Returns the ETag for changes of the member.",
    "get_invitation": "Returns the ETag for changes of the invitation.",
    "get_api_key": "Returns the ETag for changes of the key.",
    "get_webhook": "Returns the ETag for changes of the webhook.",
    "get_integration_channel": "Returns the ETag for changes of the channel.",
    "get_redirect": "Returns the ETag for changes of the redirect.",
    "get_module_override": "Serves the Location of the response to a POST.",
    "get_space_capability": "Serves the Location of the response to a POST.",
    "get_taxonomy_attachment": "Serves the Location of the response to a POST.",
    "get_webhook_delivery": "Serves the Location of the response to a retry.",
    "get_webhook_statistics": "Shows whether an endpoint works, without a look at its deliveries.",
    "list_webhook_replays": "Shows who works on a webhook which replays run, and how the last ones ended.",
    "get_webhook_replay": "Shows the progress of a replay to the caller who requested it.",
    "get_erasure": "Shows the caller who requested an erasure when it is completed.",
    "respond_to_invitation": "Lets a form answer an invitation, because a browser's GET should change nothing.",
    "describe_subscription": "Shows what the link in an e-mail does before it changes anything.",
    "unsubscribe": "Lets people who do not want invitations unsubscribe with one click (RFC 8058).",
    "rotate_api_key": "Keeps the old key valid for a while, so that programs run on while their key is replaced.",
    "erase_person": "Implements the right to erasure. The log must stay verifiable.",
    "start_reconciliation": "Finds records that somebody changed in the table without a log entry.",
    "get_reconciliation": "Shows the caller who requested a reconciliation what it found.",
    "test_webhook": "Lets the creator of a webhook test it before an event occurs.",
    "rotate_webhook_secret": "Replaces a leaked secret without losing events.",
    "retry_webhook_delivery": "Lets a repaired receiver get an event without waiting for the next attempt.",
    "replay_webhook_deliveries": "Lets a receiver get the events of a long outage.",
    "list_log_streams": "Shows where the log is sent, and which streams fall behind.",
    "create_log_stream": "Sends the log to a SIEM or an archive, in order, without a program that polls it.",
    "get_log_stream": "Returns the ETag for changes of the stream, and its lag.",
    "update_log_stream": "Pauses and restarts a stream, from any entry.",
    "delete_log_stream": "Ends a stream.",
    "test_log_stream": "Lets the creator of a stream test its destination before entries depend on it.",
    "get_research_job": "Shows the caller who requested an import when it is completed.",
    "list_system_audit_log": "Lists the log entries outside of organizations.",
    "list_event_types": "Lists the event types to which callers can subscribe.",
    "get_openapi_document": "Describes the interface to programs.",
    "get_docs": "Describes the interface to people.",
    "get_docs_asset": "Serves the assets of the documentation page.",
}
"""The reason for each additional operation, by operation id."""

EXTRA_EVENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "update_organization": ("organization.restored",),
    "accept_invitation": (
        "organization.invitation.declined",
        "platform.invitation.accepted",
        "platform.invitation.declined",
    ),
    "revoke_invitation": ("platform.invitation.revoked",),
    "resend_invitation": ("platform.invitation.resent",),
    "get_audit_export": ("organization.audit_export.downloaded",),
    "publish_platform": ("platform.unpublished",),
    "update_platform_member": ("platform.member.added",),
    "join_platform": ("platform.invitation.accepted",),
    "verify_custom_domain": ("platform.custom_domain.verified", "platform.custom_domain.lapsed"),
    "update_space_member": ("space.member.added",),
    "update_site": ("site.published", "site.unpublished"),
    "update_page": ("page.unpublished",),
}
"""Events that operations emit instead of the listed one if the request has another effect, by operation id."""
