"""All event types, with their descriptions and the sentences of chat messages."""

from collections.abc import Mapping
from typing import Final

from chalicelib.features.notifications.models.event_type import EventType
from chalicelib.features.notifications.models.system_event_types import SYSTEM_EVENT_TYPES

EVENT_TYPES: Final[Mapping[str, EventType]] = {
    "lead.created": EventType(
        "Somebody submitted their email address, maybe again. Not sent to webhooks: leads belong to no organization.",
        "{actor} left the address of the lead {target}.",
    ),
    "lead.status_changed": EventType(
        "The status or the note of a lead was changed. Not sent to webhooks.",
        "{actor} changed the status of the lead {target}.",
    ),
    "mail.suppression.created": EventType(
        "An email address was unsubscribed from mails about invitations and memberships.",
        "{actor} unsubscribed an address from mails about invitations and memberships.",
    ),
    "organization.api_key.created": EventType(
        "An API key was created. The event does not contain the secret.", "{actor} created the API key {target}."
    ),
    "organization.api_key.revoked": EventType(
        "An API key was revoked and no longer works.", "{actor} revoked the API key {target}."
    ),
    "organization.api_key.rotated": EventType(
        "The secret of an API key was replaced. The event does not contain the secret.",
        "{actor} gave the API key {target} a new secret.",
    ),
    "organization.audit_export.completed": EventType(
        "An export of the audit log can be downloaded.", "An export of the audit log is ready to be downloaded."
    ),
    "organization.audit_export.downloaded": EventType(
        "Somebody received a URL to download an export of the audit log.",
        "{actor} downloaded an export of the audit log.",
    ),
    "organization.audit_export.failed": EventType(
        "An export of the audit log could not be made.", "An export of the audit log could not be made."
    ),
    "organization.audit_export.requested": EventType(
        "An export of the audit log was requested and is being made.", "{actor} asked for an export of the audit log."
    ),
    "organization.created": EventType("The organization was created.", "{actor} created the organization {target}."),
    "organization.deleted": EventType(
        "The organization was deleted; its owner can restore it until its purge.",
        "{actor} deleted the organization {target}.",
    ),
    "organization.integration_channel.created": EventType(
        "An integration channel was created.", "{actor} created the integration channel {target}."
    ),
    "organization.integration_channel.deleted": EventType(
        "An integration channel was deleted.", "{actor} deleted the integration channel {target}."
    ),
    "organization.integration_channel.tested": EventType(
        "A test message was sent to an integration channel.",
        "{actor} tested the integration channel {target}.",
    ),
    "organization.integration_channel.updated": EventType(
        "An integration channel was changed.", "{actor} changed the integration channel {target}."
    ),
    "organization.invitation.accepted": EventType(
        "An invitation was accepted, and the organization has a new member.",
        "{actor} accepted the invitation sent to {target}.",
    ),
    "organization.invitation.created": EventType("Somebody was invited.", "{actor} invited {target}."),
    "organization.invitation.declined": EventType(
        "An invitation was declined.", "{actor} declined the invitation sent to {target}."
    ),
    "organization.invitation.expired": EventType(
        "An invitation expired before anybody accepted it.", "The invitation sent to {target} has expired."
    ),
    "organization.invitation.resent": EventType(
        "An invitation was sent again, with a new link.", "{actor} sent the invitation to {target} again."
    ),
    "organization.invitation.revoked": EventType(
        "An invitation was revoked.", "{actor} revoked the invitation sent to {target}."
    ),
    "organization.log_stream.created": EventType(
        "A log stream was created. The event contains no credentials.", "{actor} created the log stream {target}."
    ),
    "organization.log_stream.deleted": EventType("A log stream was deleted.", "{actor} deleted the stream {target}."),
    "organization.log_stream.disabled": EventType(
        "The service disabled a failing log stream; `disabledReason` has the reason.",
        "The log stream {target} was disabled, because its destination accepts no entries.",
    ),
    "organization.log_stream.secret_rotated": EventType(
        "The secret of a log stream was replaced. The event does not contain the secret.",
        "{actor} gave the log stream {target} a new secret.",
    ),
    "organization.log_stream.tested": EventType("A log stream was tested.", "{actor} tested the stream {target}."),
    "organization.log_stream.updated": EventType("A log stream was changed.", "{actor} changed the stream {target}."),
    "organization.member.removed": EventType(
        "A member was removed or has left.", "{actor} ended the membership of {target}."
    ),
    "organization.member.updated": EventType("A member's role was changed.", "{actor} changed the role of {target}."),
    "organization.ownership_transferred": EventType(
        "The organization has a new owner. Two roles changed: the member in `from` of the change of `ownerId` is an "
        "admin now, and the one in `to` is the owner. Both are user ids, and the former owner is the actor.",
        "{actor} transferred the ownership of {target}.",
    ),
    "organization.person_erased": EventType(
        "The erasure of a person's data was requested.", "{actor} asked for the erasure of a person's data."
    ),
    "organization.purged": EventType(
        "The organization was purged; all of its data is deleted.", "The organization {target} was purged."
    ),
    "organization.reconciliation.completed": EventType(
        "The records of the organization were compared with the log. `findings` lists those that do not agree.",
        "The records of the organization were compared with the audit log. Records that do not agree with it: {count}.",
        counts_field="findingCounts",
    ),
    "organization.reconciliation.failed": EventType(
        "The comparison of the records with the log could not be finished.",
        "The comparison of the records with the audit log could not be finished.",
    ),
    "organization.reconciliation.requested": EventType(
        "A comparison of the organization's records with the log was requested.",
        "{actor} asked for a comparison of the records with the audit log.",
    ),
    "organization.record.absence_accepted": EventType(
        "An operator accepted that a record is missing, although the log said that it exists. The target of the log "
        "entry names its type. `data` is the record as the log knew it last.",
        "{actor} accepted that {target} is missing.",
    ),
    "organization.record.accepted": EventType(
        "An operator accepted a record as it is stored, although it did not agree with the log. The target of the log "
        "entry names its type. `data` is the record.",
        "{actor} accepted {target} as it is stored.",
    ),
    "organization.restored": EventType(
        "The organization was restored before its purge.", "{actor} restored the organization {target}."
    ),
    "organization.updated": EventType("The organization was changed.", "{actor} changed the organization {target}."),
    "organization.webhook.created": EventType(
        "A webhook was created. The event does not contain the secret.", "{actor} created the webhook {target}."
    ),
    "organization.webhook.deleted": EventType("A webhook was deleted.", "{actor} deleted the webhook {target}."),
    "organization.webhook.delivery_exhausted": EventType(
        "An event could not be delivered to a webhook: the last attempt failed.",
        "{target} could not be delivered to a webhook: every attempt has failed.",
    ),
    "organization.webhook.delivery_retried": EventType(
        "The delivery of an event to a webhook was requested again.",
        "{actor} asked for {target} to be delivered to a webhook once more.",
    ),
    "organization.webhook.disabled": EventType(
        "The service disabled a failing webhook; `disabledReason` has the reason.",
        "The webhook {target} was disabled, because it takes no events.",
    ),
    "organization.webhook.link_created": EventType(
        "A member created a signed link, by which its holder manages a webhook for an hour.",
        "{actor} created a link to manage the webhook {target}.",
    ),
    "organization.webhook.replayed": EventType(
        "The replay of a webhook's deliveries was requested.", "{actor} asked for a replay of deliveries to a webhook."
    ),
    "organization.webhook.secret_rotated": EventType(
        "The secret of a webhook was replaced. The event does not contain the secret.",
        "{actor} gave the webhook {target} a new secret.",
    ),
    "organization.webhook.tested": EventType(
        "A test message was sent to a webhook.", "{actor} tested the webhook {target}."
    ),
    "organization.webhook.updated": EventType("A webhook was changed.", "{actor} changed the webhook {target}."),
    "page.created": EventType("A page was created; it is a draft.", "{actor} created the page {target}."),
    "page.deleted": EventType("A page was deleted, with all pages below it.", "{actor} deleted the page {target}."),
    "page.published": EventType(
        "The draft or an earlier revision of a page was published, by a user or on schedule.",
        "{actor} published the page {target}.",
    ),
    "page.restored": EventType(
        "The draft of a page was replaced with an earlier revision.",
        "{actor} restored a revision of the page {target}.",
    ),
    "page.unpublished": EventType("A page is no longer public.", "{actor} unpublished the page {target}."),
    "page.updated": EventType(
        "The draft of a page, or the time of its publication, was changed.", "{actor} changed the page {target}."
    ),
    "platform.created": EventType("A platform was created.", "{actor} created the platform {target}."),
    "platform.custom_domain.added": EventType(
        "A custom domain was claimed for a platform; it is not verified yet.", "{actor} claimed the domain {target}."
    ),
    "platform.custom_domain.checked": EventType(
        "A DNS check of a custom domain was requested; `lastError` has the result if it failed.",
        "{actor} had the domain {target} checked.",
    ),
    "platform.custom_domain.failed": EventType(
        "A custom domain was not verified within 7 days.", "The domain {target} was not verified in time."
    ),
    "platform.custom_domain.lapsed": EventType(
        "The DNS record that verifies a custom domain was missing for 72 hours. Others can claim the domain now.",
        "The domain {target} has lapsed, because nothing proves any more whose it is.",
    ),
    "platform.custom_domain.link_created": EventType(
        "A member created a signed link, by which its holder sees and checks the DNS records of a domain for an hour.",
        "{actor} created a link to set up the domain {target}.",
    ),
    "platform.custom_domain.removed": EventType(
        "The custom domain of a platform was removed.", "{actor} removed the custom domain of {target}."
    ),
    "platform.custom_domain.verified": EventType("A custom domain was verified.", "The domain {target} is verified."),
    "platform.deleted": EventType(
        "A platform and everything in it was deleted.", "{actor} deleted the platform {target}."
    ),
    "platform.home.updated": EventType(
        "The home page of a platform was changed.", "{actor} changed the home of the platform {target}."
    ),
    "platform.invitation.accepted": EventType(
        "An invitation to a platform was accepted, and the platform has a new member.",
        "{actor} accepted the invitation to a platform sent to {target}.",
    ),
    "platform.invitation.created": EventType(
        "Somebody was invited to a platform.", "{actor} invited {target} to a platform."
    ),
    "platform.invitation.declined": EventType(
        "An invitation to a platform was declined.", "{actor} declined the invitation to a platform sent to {target}."
    ),
    "platform.invitation.expired": EventType(
        "An invitation to a platform expired before anybody accepted it.",
        "The invitation to a platform sent to {target} has expired.",
    ),
    "platform.invitation.resent": EventType(
        "An invitation to a platform was sent again, with a new link.",
        "{actor} sent the invitation to a platform to {target} again.",
    ),
    "platform.invitation.revoked": EventType(
        "An invitation to a platform was revoked.", "{actor} revoked the invitation to a platform sent to {target}."
    ),
    "platform.member.added": EventType(
        "Somebody became a member of a platform.", "{target} became a member of a platform, by {actor}."
    ),
    "platform.member.removed": EventType(
        "A member of a platform was removed or has left.", "{actor} ended the membership of {target} at a platform."
    ),
    "platform.member.updated": EventType(
        "The role of a platform's member was changed.", "{actor} changed the role of {target} at a platform."
    ),
    "platform.modules.updated": EventType(
        "Modules of a platform were enabled, disabled, locked or configured; `items` has all modules.",
        "{actor} changed the modules of the platform {target}.",
    ),
    "platform.navigation.updated": EventType(
        "The navigation of a platform was changed.", "{actor} changed the navigation of the platform {target}."
    ),
    "platform.project_blocks.updated": EventType(
        "The project blocks of a platform were replaced; `items` has the new ones.",
        "{actor} changed the project blocks of the platform {target}.",
    ),
    "platform.published": EventType("A platform was published.", "{actor} published the platform {target}."),
    "platform.theme.updated": EventType(
        "The theme of a platform was changed.", "{actor} changed the theme of the platform {target}."
    ),
    "platform.unpublished": EventType("A platform is a draft again.", "{actor} unpublished the platform {target}."),
    "platform.updated": EventType("A platform was changed.", "{actor} changed the platform {target}."),
    "research.backfill.completed": EventType(
        "An edition of a venue was fetched and reconciled.", "The edition {target} was backfilled."
    ),
    "research.backfill.failed": EventType(
        "An edition of a venue could not be fetched or reconciled.", "The edition {target} could not be backfilled."
    ),
    "research.backfill.requested": EventType(
        "An edition of a venue was requested and is being fetched.", "{actor} asked for the edition {target}."
    ),
    "research.import.completed": EventType(
        "A researcher's works were imported.", "The works of the researcher {target} were imported."
    ),
    "research.import.failed": EventType(
        "A researcher's works could not be imported.", "The works of the researcher {target} could not be imported."
    ),
    "research.import.requested": EventType(
        "The import of a researcher's works was requested.",
        "{actor} asked for the works of the researcher {target}.",
    ),
    "research.reconcile.completed": EventType("A research library was reconciled.", "Research was reconciled."),
    "research.reconcile.failed": EventType(
        "A research library could not be reconciled.", "Research could not be reconciled."
    ),
    "research.reconcile.requested": EventType(
        "The reconciliation of a research library was requested.", "{actor} let research be reconciled."
    ),
    "site.created": EventType("A site was created; it is a draft.", "{actor} created the site {target}."),
    "site.deleted": EventType("A site and everything in it was deleted.", "{actor} deleted the site {target}."),
    "site.navigation.updated": EventType(
        "A menu of a site was created or changed.", "{actor} changed the menu {target} of a site."
    ),
    "site.published": EventType("A site was published.", "{actor} published the site {target}."),
    "site.redirect.created": EventType("A redirect was created.", "{actor} created a redirect from {target}."),
    "site.redirect.deleted": EventType("A redirect was deleted.", "{actor} deleted the redirect from {target}."),
    "site.redirect.updated": EventType("A redirect was changed.", "{actor} changed the redirect from {target}."),
    "site.unpublished": EventType("A site is a draft again.", "{actor} unpublished the site {target}."),
    "site.updated": EventType("A site was changed.", "{actor} changed the site {target}."),
    "space.capabilities.replaced": EventType(
        "The capabilities of a space were replaced; `items` has the new ones.",
        "{actor} replaced the capabilities of the space {target}.",
    ),
    "space.capability.added": EventType(
        "A capability was added to a space.", "{actor} added the capability {target} to a space."
    ),
    "space.capability.removed": EventType(
        "A capability was removed from a space.", "{actor} removed the capability {target} from a space."
    ),
    "space.created": EventType("A space was created.", "{actor} created the space {target}."),
    "space.deleted": EventType("A space and everything in it was deleted.", "{actor} deleted the space {target}."),
    "space.member.added": EventType(
        "Somebody became a member of a space.", "{target} became a member of a space, by {actor}."
    ),
    "space.member.removed": EventType(
        "A member of a space was removed or has left.", "{actor} ended the membership of {target} of a space."
    ),
    "space.member.updated": EventType(
        "The role of a space's member was changed.", "{actor} changed the role of {target} in a space."
    ),
    "space.module_override.removed": EventType(
        "A space inherits a module from its platform again.",
        "{actor} removed a space's override of the module {target}.",
    ),
    "space.module_override.set": EventType(
        "A space overrides a module, or its override was changed.",
        "{actor} let a space override the module {target}.",
    ),
    "space.module_overrides.replaced": EventType(
        "All module overrides of a space were replaced; `items` has the new ones.",
        "{actor} replaced the module overrides of the space {target}.",
    ),
    "space.updated": EventType("A space was changed.", "{actor} changed the space {target}."),
    **SYSTEM_EVENT_TYPES,
    "taxonomy.attachment.created": EventType(
        "A taxonomy node was attached to a record.", "{actor} put a node of a taxonomy on the {target}."
    ),
    "taxonomy.attachment.deleted": EventType(
        "A taxonomy node was detached from a record.", "{actor} took a node of a taxonomy off the {target}."
    ),
    "taxonomy.node.created": EventType("A taxonomy node was created.", "{actor} created the node {target}."),
    "taxonomy.node.deleted": EventType(
        "A taxonomy node was deleted with its attachments. Its children were deleted too, or moved up one level.",
        "{actor} deleted the node {target}.",
    ),
    "taxonomy.node.updated": EventType(
        "A taxonomy node was changed. A new path also changes the paths of all nodes below it.",
        "{actor} changed the node {target}.",
    ),
    "taxonomy.system_tags.created": EventType(
        "System tags were created in a taxonomy.", "{actor} created system tags in a taxonomy."
    ),
}

EVENT_SUBJECTS: Final = ("organization", "platform", "space", "taxonomy", "site", "page", "lead", "research")
"""The first parts of event types. Subscriptions can name those that have no events yet."""

EVENT_PATTERNS: Final = frozenset(
    {
        "*",
        *EVENT_TYPES,
        *(f"{subject}.*" for subject in EVENT_SUBJECTS),
        *(f"{name[:end]}.*" for name in EVENT_TYPES for end, character in enumerate(name) if character == "."),
    }
)
"""All valid values in a subscriber's `events`: `*`, each type, and prefixes such as `page.*`."""
