"""What the catalogue has beyond the interface's list (`interface.tsv`), and why."""

from collections.abc import Mapping
from typing import Final

BEYOND: Final[Mapping[str, str]] = {
    "get_organization_member": "An ETag to change by is read somewhere; so it is with all that is got one by one.",
    "get_platform_member": "As of an organization.",
    "get_space_member": "As of an organization.",
    "get_invitation": "Its ETag.",
    "get_api_key": "Its ETag.",
    "get_webhook": "Its ETag.",
    "get_integration_channel": "Its ETag.",
    "get_redirect": "Its ETag.",
    "get_module_override": "What a POST makes has a Location, and something is there.",
    "get_space_capability": "What a POST makes has a Location, and something is there.",
    "get_taxonomy_attachment": "What a POST makes has a Location, and something is there.",
    "get_webhook_delivery": "What a retry answers has a Location, and something is there.",
    "get_webhook_replay": "Who asked for a replay wants to know how far it is.",
    "get_erasure": "Who asked for an erasure has to know when it is done.",
    "respond_to_invitation": "A browser's GET should change nothing: a form can send this instead.",
    "describe_subscription": "Whoever opens the link of a mail sees what it leads to before anything changes.",
    "unsubscribe": "Who was invited against their will ends that with one click (RFC 8058).",
    "rotate_api_key": "A program that has to go on while its key is replaced needs both for a while.",
    "erase_person": "People have the right to be forgotten, and the log must not forget that it was whole.",
    "test_webhook": "Whoever sets a webhook up wants to see it work before something happens.",
    "rotate_webhook_secret": "A secret that leaked is replaced, and no event is lost by that.",
    "retry_webhook_delivery": "A receiver that is mended does not have to wait for the next attempt.",
    "replay_webhook_deliveries": "A receiver that was away for days gets what it missed.",
    "get_research_job": "Who asked for an import has to know when it is done.",
    "list_system_audit_log": "What happens outside of any organization is logged; somebody has to be able to read it.",
    "list_event_types": "Who subscribes to events has to know which there are.",
    "get_openapi_document": "Programs read what the interface is.",
    "get_docs": "People read what the interface is.",
    "get_docs_asset": "What that page consists of.",
}
"""Operations by their ids."""

FURTHER_EVENTS: Final[Mapping[str, tuple[str, ...]]] = {
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
"""What operations of the list emit instead of the one event that it names for each, where they did something else by
the same request; by their ids."""
