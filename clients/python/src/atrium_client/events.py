"""The messages to webhooks. `make clients` writes this file."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeAlias, TypeVar

from atrium_client._base import Model
from atrium_client.models import (
    ActorReference,
    ApiKey,
    Attachment,
    AuditExport,
    Capability,
    CapabilitySet,
    Channel,
    CustomDomain,
    Delivery,
    Erasure,
    EventType,
    FieldChange,
    Invitation,
    Lead,
    LogStream,
    LogVerification,
    Member,
    Menu,
    ModuleSet,
    Node,
    Organization,
    Override,
    OverrideSet,
    Page,
    Platform,
    ProjectBlockSet,
    Reconciliation,
    Redirect,
    Redrive,
    Replay,
    ResearchJob,
    ServiceKey,
    Site,
    Space,
    Suppression,
    SystemTagSet,
    Webhook,
)

TypeT = TypeVar("TypeT", bound=str)
DataT = TypeVar("DataT")


class WebhookEvent(Model, Generic[TypeT, DataT]):
    """A message to a webhook: what happened, who did it, and the record after the change."""

    type: TypeT
    timestamp: str
    """When the event occurred."""
    organization_id: str
    """The organization whose log contains the event."""
    sequence: int
    """The position of the event in that log."""
    data: DataT
    actor: ActorReference
    changes: list[FieldChange]
    """Each public field of the record that changed, as in the log entry."""


Event: TypeAlias = (
    WebhookEvent[Literal["lead.created", "lead.status_changed"], Lead]
    | WebhookEvent[Literal["mail.suppression.created"], Suppression]
    | WebhookEvent[
        Literal["organization.api_key.created", "organization.api_key.revoked", "organization.api_key.rotated"], ApiKey
    ]
    | WebhookEvent[
        Literal[
            "organization.audit_export.completed",
            "organization.audit_export.downloaded",
            "organization.audit_export.failed",
            "organization.audit_export.requested",
        ],
        AuditExport,
    ]
    | WebhookEvent[
        Literal[
            "organization.created",
            "organization.deleted",
            "organization.ownership_transferred",
            "organization.purged",
            "organization.restored",
            "organization.updated",
        ],
        Organization,
    ]
    | WebhookEvent[
        Literal[
            "organization.integration_channel.created",
            "organization.integration_channel.deleted",
            "organization.integration_channel.tested",
            "organization.integration_channel.updated",
        ],
        Channel,
    ]
    | WebhookEvent[
        Literal[
            "organization.invitation.accepted",
            "organization.invitation.created",
            "organization.invitation.declined",
            "organization.invitation.expired",
            "organization.invitation.resent",
            "organization.invitation.revoked",
            "platform.invitation.accepted",
            "platform.invitation.created",
            "platform.invitation.declined",
            "platform.invitation.expired",
            "platform.invitation.resent",
            "platform.invitation.revoked",
        ],
        Invitation,
    ]
    | WebhookEvent[
        Literal[
            "organization.log_stream.created",
            "organization.log_stream.deleted",
            "organization.log_stream.disabled",
            "organization.log_stream.secret_rotated",
            "organization.log_stream.tested",
            "organization.log_stream.updated",
        ],
        LogStream,
    ]
    | WebhookEvent[
        Literal[
            "organization.member.removed",
            "organization.member.updated",
            "platform.member.added",
            "platform.member.removed",
            "platform.member.updated",
            "space.member.added",
            "space.member.removed",
            "space.member.updated",
        ],
        Member,
    ]
    | WebhookEvent[Literal["organization.person_erased"], Erasure]
    | WebhookEvent[
        Literal[
            "organization.reconciliation.completed",
            "organization.reconciliation.failed",
            "organization.reconciliation.requested",
        ],
        Reconciliation,
    ]
    | WebhookEvent[Literal["organization.record.absence_accepted", "organization.record.accepted"], dict[str, Any]]
    | WebhookEvent[
        Literal[
            "organization.webhook.created",
            "organization.webhook.deleted",
            "organization.webhook.disabled",
            "organization.webhook.link_created",
            "organization.webhook.secret_rotated",
            "organization.webhook.tested",
            "organization.webhook.updated",
        ],
        Webhook,
    ]
    | WebhookEvent[
        Literal["organization.webhook.delivery_exhausted", "organization.webhook.delivery_retried"], Delivery
    ]
    | WebhookEvent[Literal["organization.webhook.replayed"], Replay]
    | WebhookEvent[
        Literal["page.created", "page.deleted", "page.published", "page.restored", "page.unpublished", "page.updated"],
        Page,
    ]
    | WebhookEvent[
        Literal[
            "platform.created",
            "platform.deleted",
            "platform.home.updated",
            "platform.navigation.updated",
            "platform.published",
            "platform.theme.updated",
            "platform.unpublished",
            "platform.updated",
        ],
        Platform,
    ]
    | WebhookEvent[
        Literal[
            "platform.custom_domain.added",
            "platform.custom_domain.checked",
            "platform.custom_domain.failed",
            "platform.custom_domain.lapsed",
            "platform.custom_domain.link_created",
            "platform.custom_domain.removed",
            "platform.custom_domain.verified",
        ],
        CustomDomain,
    ]
    | WebhookEvent[Literal["platform.modules.updated"], ModuleSet]
    | WebhookEvent[Literal["platform.project_blocks.updated"], ProjectBlockSet]
    | WebhookEvent[
        Literal[
            "research.backfill.completed",
            "research.backfill.failed",
            "research.backfill.requested",
            "research.import.completed",
            "research.import.failed",
            "research.import.requested",
            "research.reconcile.completed",
            "research.reconcile.failed",
            "research.reconcile.requested",
        ],
        ResearchJob,
    ]
    | WebhookEvent[Literal["site.created", "site.deleted", "site.published", "site.unpublished", "site.updated"], Site]
    | WebhookEvent[Literal["site.navigation.updated"], Menu]
    | WebhookEvent[Literal["site.redirect.created", "site.redirect.deleted", "site.redirect.updated"], Redirect]
    | WebhookEvent[Literal["space.capabilities.replaced"], CapabilitySet]
    | WebhookEvent[Literal["space.capability.added", "space.capability.removed"], Capability]
    | WebhookEvent[Literal["space.created", "space.deleted", "space.updated"], Space]
    | WebhookEvent[Literal["space.module_override.removed", "space.module_override.set"], Override]
    | WebhookEvent[Literal["space.module_overrides.replaced"], OverrideSet]
    | WebhookEvent[
        Literal[
            "system.dead_letter_redrive.completed",
            "system.dead_letter_redrive.failed",
            "system.dead_letter_redrive.requested",
        ],
        Redrive,
    ]
    | WebhookEvent[Literal["system.event_type.created", "system.event_type.updated"], EventType]
    | WebhookEvent[
        Literal[
            "system.log_verification.completed", "system.log_verification.failed", "system.log_verification.requested"
        ],
        LogVerification,
    ]
    | WebhookEvent[
        Literal["system.service_key.created", "system.service_key.revoked", "system.service_key.rotated"], ServiceKey
    ]
    | WebhookEvent[Literal["taxonomy.attachment.created", "taxonomy.attachment.deleted"], Attachment]
    | WebhookEvent[Literal["taxonomy.node.created", "taxonomy.node.deleted", "taxonomy.node.updated"], Node]
    | WebhookEvent[Literal["taxonomy.system_tags.created"], SystemTagSet]
)
"""The built-in events. Comparing `type` tells which record `data` is."""

OtherEvent: TypeAlias = WebhookEvent[str, dict[str, Any]]
"""An event of a type of your own, or of one that is newer than this client."""
