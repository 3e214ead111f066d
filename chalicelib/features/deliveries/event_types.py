"""Every type of event: what it says has happened, and the sentence that a chat message tells it with."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class EventType:
    """A type of event. `description`: when it happens. `sentence`: `{actor}` is who did it, `{target}` to what."""

    description: str
    sentence: str


EVENT_TYPES: Final[Mapping[str, EventType]] = {
    "lead.created": EventType(
        "Somebody left their address, or did so again; no webhook is told, for leads belong to no organization.",
        "{actor} left the address of the lead {target}.",
    ),
    "lead.status_changed": EventType(
        "A lead was given another status, or a note; no webhook is told.",
        "{actor} changed the status of the lead {target}.",
    ),
    "mail.suppression.created": EventType(
        "An address was unsubscribed from invitations.",
        "{actor} unsubscribed an address from invitations.",
    ),
    "organization.api_key.created": EventType(
        "An API key was created; its secret is not told.", "{actor} created the API key {target}."
    ),
    "organization.api_key.revoked": EventType(
        "An API key was revoked: it works no more.", "{actor} revoked the API key {target}."
    ),
    "organization.api_key.rotated": EventType(
        "An API key was given a new secret, which is not told.", "{actor} gave the API key {target} a new secret."
    ),
    "organization.audit_export.completed": EventType(
        "An export of the audit log can be downloaded.", "An export of the audit log is ready to be downloaded."
    ),
    "organization.audit_export.downloaded": EventType(
        "Somebody was given an address to download an export of the audit log from.",
        "{actor} downloaded an export of the audit log.",
    ),
    "organization.audit_export.failed": EventType(
        "An export of the audit log could not be made.", "An export of the audit log could not be made."
    ),
    "organization.audit_export.requested": EventType(
        "An export of the audit log was asked for; it is being made.", "{actor} asked for an export of the audit log."
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
        "A message was sent to an integration channel, to see whether it arrives.",
        "{actor} tested the integration channel {target}.",
    ),
    "organization.integration_channel.updated": EventType(
        "An integration channel was changed.", "{actor} changed the integration channel {target}."
    ),
    "organization.invitation.accepted": EventType(
        "An invitation was accepted: there is a new member.", "{actor} accepted the invitation sent to {target}."
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
    "organization.member.removed": EventType(
        "A member was removed or has left.", "{actor} ended the membership of {target}."
    ),
    "organization.member.updated": EventType("A member's role was changed.", "{actor} changed the role of {target}."),
    "organization.ownership_transferred": EventType(
        "The organization has a new owner.", "{actor} transferred the ownership of {target}."
    ),
    "organization.person_erased": EventType(
        "The erasure of a person's data was asked for.", "{actor} asked for the erasure of a person's data."
    ),
    "organization.purged": EventType(
        "The organization was purged: all that was left of it is gone.", "The organization {target} was purged."
    ),
    "organization.restored": EventType(
        "The organization was restored before its purge.", "{actor} restored the organization {target}."
    ),
    "organization.updated": EventType("The organization was changed.", "{actor} changed the organization {target}."),
    "organization.webhook.created": EventType(
        "A webhook was created; its secret is not told.", "{actor} created the webhook {target}."
    ),
    "organization.webhook.deleted": EventType("A webhook was deleted.", "{actor} deleted the webhook {target}."),
    "organization.webhook.delivery_exhausted": EventType(
        "An event was not delivered to a webhook: the last of all attempts failed too.",
        "{target} could not be delivered to a webhook: every attempt has failed.",
    ),
    "organization.webhook.delivery_retried": EventType(
        "The delivery of an event to a webhook was asked for again.",
        "{actor} asked for {target} to be delivered to a webhook once more.",
    ),
    "organization.webhook.disabled": EventType(
        "The service disabled a webhook that takes no events; `disabledReason` says why.",
        "The webhook {target} was disabled, because it takes no events.",
    ),
    "organization.webhook.replayed": EventType(
        "The replay of a webhook's deliveries was asked for.", "{actor} asked for a replay of deliveries to a webhook."
    ),
    "organization.webhook.secret_rotated": EventType(
        "A webhook was given a new secret, which is not told.", "{actor} gave the webhook {target} a new secret."
    ),
    "organization.webhook.tested": EventType(
        "A message was sent to a webhook, to see whether it arrives.", "{actor} tested the webhook {target}."
    ),
    "organization.webhook.updated": EventType("A webhook was changed.", "{actor} changed the webhook {target}."),
    "page.created": EventType("A page was created; it is a draft.", "{actor} created the page {target}."),
    "page.deleted": EventType("A page was deleted, with all pages below it.", "{actor} deleted the page {target}."),
    "page.published": EventType(
        "A page was published: its draft or an earlier revision, by somebody or at its time.",
        "{actor} published the page {target}.",
    ),
    "page.restored": EventType(
        "The draft of a page is what an earlier revision was.", "{actor} restored a revision of the page {target}."
    ),
    "page.unpublished": EventType("A page is public no more.", "{actor} unpublished the page {target}."),
    "page.updated": EventType(
        "The draft of a page was changed, or when it is published.", "{actor} changed the page {target}."
    ),
    "platform.created": EventType("A platform was created.", "{actor} created the platform {target}."),
    "platform.custom_domain.added": EventType(
        "A custom domain was claimed for a platform; it is not verified yet.", "{actor} claimed the domain {target}."
    ),
    "platform.custom_domain.checked": EventType(
        "Somebody let the DNS of a custom domain be looked at; `lastError` says what was found wrong.",
        "{actor} had the domain {target} checked.",
    ),
    "platform.custom_domain.failed": EventType(
        "A custom domain was not verified within 7 days.", "The domain {target} was not verified in time."
    ),
    "platform.custom_domain.lapsed": EventType(
        "The proof of a verified custom domain was missing for 72 hours: the domain is free for others.",
        "The domain {target} has lapsed, because nothing proves any more whose it is.",
    ),
    "platform.custom_domain.removed": EventType(
        "A platform's custom domain was given up.", "{actor} removed the custom domain of {target}."
    ),
    "platform.custom_domain.verified": EventType("A custom domain was verified.", "The domain {target} is verified."),
    "platform.deleted": EventType("A platform was deleted, with all in it.", "{actor} deleted the platform {target}."),
    "platform.home.updated": EventType(
        "What a platform begins with was changed.", "{actor} changed the home of the platform {target}."
    ),
    "platform.invitation.accepted": EventType(
        "An invitation to a platform was accepted: it has a new member.",
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
        "Modules of a platform were switched on or off, locked or set; `items` are all of them.",
        "{actor} changed the modules of the platform {target}.",
    ),
    "platform.navigation.updated": EventType(
        "Where a platform leads to was changed.", "{actor} changed the navigation of the platform {target}."
    ),
    "platform.project_blocks.updated": EventType(
        "The project blocks of a platform were replaced; `items` are those it has now.",
        "{actor} changed the project blocks of the platform {target}.",
    ),
    "platform.published": EventType("A platform was published.", "{actor} published the platform {target}."),
    "platform.theme.updated": EventType(
        "What a platform looks like was changed.", "{actor} changed the theme of the platform {target}."
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
        "An edition of a venue was asked for; it is being fetched.", "{actor} asked for the edition {target}."
    ),
    "research.import.completed": EventType(
        "A researcher's works were imported.", "The works of the researcher {target} were imported."
    ),
    "research.import.failed": EventType(
        "A researcher's works could not be imported.", "The works of the researcher {target} could not be imported."
    ),
    "research.import.requested": EventType(
        "A researcher's works were asked for; they are being imported.",
        "{actor} asked for the works of the researcher {target}.",
    ),
    "research.reconcile.completed": EventType("A library of research was reconciled.", "Research was reconciled."),
    "research.reconcile.failed": EventType(
        "A library of research could not be reconciled.", "Research could not be reconciled."
    ),
    "research.reconcile.requested": EventType(
        "It was asked for that a library of research be reconciled.", "{actor} let research be reconciled."
    ),
    "site.created": EventType("A site was created; it is a draft.", "{actor} created the site {target}."),
    "site.deleted": EventType("A site was deleted, with all in it.", "{actor} deleted the site {target}."),
    "site.navigation.updated": EventType(
        "A menu of a site was made or changed.", "{actor} changed the menu {target} of a site."
    ),
    "site.published": EventType("A site was published.", "{actor} published the site {target}."),
    "site.redirect.created": EventType("A redirect was created.", "{actor} created a redirect from {target}."),
    "site.redirect.deleted": EventType("A redirect was deleted.", "{actor} deleted the redirect from {target}."),
    "site.redirect.updated": EventType("A redirect was changed.", "{actor} changed the redirect from {target}."),
    "site.unpublished": EventType("A site is a draft again.", "{actor} unpublished the site {target}."),
    "site.updated": EventType("A site was changed.", "{actor} changed the site {target}."),
    "space.capabilities.replaced": EventType(
        "The capabilities of a space were replaced; `items` are those it has now.",
        "{actor} replaced the capabilities of the space {target}.",
    ),
    "space.capability.added": EventType(
        "A space was given a capability.", "{actor} added the capability {target} to a space."
    ),
    "space.capability.removed": EventType(
        "A capability was taken from a space.", "{actor} removed the capability {target} from a space."
    ),
    "space.created": EventType("A space was created.", "{actor} created the space {target}."),
    "space.deleted": EventType("A space was deleted, with all in it.", "{actor} deleted the space {target}."),
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
        "A space overrides a module, or does so otherwise than before.",
        "{actor} let a space override the module {target}.",
    ),
    "space.module_overrides.replaced": EventType(
        "All that a space says of modules was replaced; `items` are what it says now.",
        "{actor} replaced the module overrides of the space {target}.",
    ),
    "space.updated": EventType("A space was changed.", "{actor} changed the space {target}."),
    "taxonomy.attachment.created": EventType(
        "A node of a taxonomy was put on something.", "{actor} put a node of a taxonomy on the {target}."
    ),
    "taxonomy.attachment.deleted": EventType(
        "A node of a taxonomy was taken off something.", "{actor} took a node of a taxonomy off the {target}."
    ),
    "taxonomy.node.created": EventType("A node of a taxonomy was created.", "{actor} created the node {target}."),
    "taxonomy.node.deleted": EventType(
        "A node of a taxonomy was deleted, with what it was attached to; its children too, or they have moved up.",
        "{actor} deleted the node {target}.",
    ),
    "taxonomy.node.updated": EventType(
        "A node of a taxonomy was changed; if its path was, so are those of all below it.",
        "{actor} changed the node {target}.",
    ),
    "taxonomy.system_tags.created": EventType(
        "System tags were created in a taxonomy.", "{actor} created system tags in a taxonomy."
    ),
}

SUBJECTS: Final = ("organization", "platform", "space", "taxonomy", "site", "page", "lead", "research")
"""What events are about, first of all; of some there are no events yet, but who wants them can say so."""

PATTERNS: Final = frozenset(
    {
        "*",
        *EVENT_TYPES,
        *(f"{subject}.*" for subject in SUBJECTS),
        *(f"{name[:end]}.*" for name in EVENT_TYPES for end, character in enumerate(name) if character == "."),
    }
)
"""All that `events` of a subscriber can hold: `*`, each type, and `page.*` for what begins so, now or later."""

_AREAS: Final = {
    "organization": "organizations",
    "organization.member": "members",
    "organization.invitation": "members",
    "organization.person_erased": "members",
    "organization.api_key": "api-keys",
    "organization.audit_export": "audit-log",
    "organization.webhook": "webhooks",
    "organization.integration_channel": "channels",
    "platform": "platforms",
    "platform.member": "members",
    "platform.invitation": "members",
    "platform.custom_domain": "domains",
    "space": "spaces",
    "space.member": "members",
    "taxonomy": "taxonomy",
    "research": "research",
    "site": "sites",
    "page": "sites",
    "lead": "leads",
    "mail": "mail",
}
"""The area of types of events that begin so; of two that fit, the longer counts.

No key has a scope of `leads` or `mail`.
"""


def area_of(event_type: str) -> str:
    """Return the area of scopes that a type of event belongs to: whoever may read it may be told of the event."""
    words = event_type.split(".")
    return next(_AREAS[".".join(words[:end])] for end in (2, 1) if ".".join(words[:end]) in _AREAS)


def within(event_type: str, areas: Container[str] | None) -> bool:
    """Return whether a type of event lies within some areas; None are all."""
    return areas is None or area_of(event_type) in areas
