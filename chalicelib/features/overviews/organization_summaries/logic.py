"""The parts of an organization's summary, with the right that each requires, and how they are counted."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from chalicelib.features.audit.log.logic.log_head import LogHead, load_time_of_last_entry_or_none
from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.features.overviews.organization_summaries.models import (
    MAX_COUNTED,
    DomainCounts,
    LogSummary,
    MemberCounts,
    OrganizationSummary,
    WebhookCounts,
)
from chalicelib.features.platforms.domains.entities import PlatformDomain
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.entities import PENDING_INVITATIONS_QUOTA
from chalicelib.kernel.audit_log.ledger import count_pending_in_one_read
from chalicelib.kernel.authorization.access import Access
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.query_results import ItemCount, QueryResult

_UNVERIFIED_STATUSES: Final = ("pending", "failed", "lapsed")
_CLAIMED_STATUSES: Final = ("verified", *_UNVERIFIED_STATUSES)
_WEBHOOK_ATTRIBUTES: Final = ("enabled", "disabled_reason", "failing_since")

Reads = Mapping[str, Callable[[], Any]]


class RequiredRight(NamedTuple):
    """The role and the scope with which a caller may list the records that a part counts."""

    role: Role
    scope: str


RIGHTS_BY_PART: Final[Mapping[str, RequiredRight]] = {
    "members": RequiredRight(Role.MEMBER, "members:read"),
    "pending_invitations": RequiredRight(Role.ADMIN, "members:read"),
    "webhooks": RequiredRight(Role.ADMIN, "webhooks:read"),
    "domains": RequiredRight(Role.MEMBER, "domains:read"),
    "log": RequiredRight(Role.ADMIN, "audit-log:read"),
}
"""The parts of a summary. Each requires what the operation that lists its records requires."""


class InvitationCounter(Prefetched):
    """The counter of the organization's pending invitations, which also limits them."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the key of the counter."""
        pk, _ = Organization.make_item_key(id=values.parameters["organization_id"])
        return [PENDING_INVITATIONS_QUOTA.counter_item_key(pk)]

    @property
    def count(self) -> int:
        """Return the number of pending invitations."""
        return int((self.first_item_or_none or {"n": 0})["n"])


def load_summary(
    access: Access, organization: Organization, counter: InvitationCounter, head: LogHead
) -> OrganizationSummary:
    """Return the summary of an organization as the caller may see it. All reads run in parallel.

    Members are counted by a Query of at most 1,000 items. A counter would be exact, but everybody who joins or leaves
    an organization at the same time would write to it and conflict. The last release would not count at all while a new
    one is deployed.
    """
    parts = [part for part, right in RIGHTS_BY_PART.items() if access.permits(*right)]
    reads = {name: read for part in parts for name, read in _reads_of_part(part, organization, head).items()}
    results = dict(zip(reads, table.gather(lambda read: read(), [*reads.values()]), strict=True))
    return OrganizationSummary(
        members=_describe_members(results["members"]) if "members" in parts else None,
        pending_invitations=counter.count if "pending_invitations" in parts else None,
        webhooks=_describe_webhooks(results["webhooks"]) if "webhooks" in parts else None,
        domains=_describe_domains(results) if "domains" in parts else None,
        log=LogSummary(
            size=head.log_size,
            checkpoint=head.checkpoint_or_none,
            latest_entry_at=results["latest_entry_at"],
            pending_entries=results["pending_entries"],
        )
        if "log" in parts
        else None,
    )


def _reads_of_part(part: str, organization: Organization, head: LogHead) -> Reads:
    """Return the reads of a part by name. The invitations and the head of the log have been read already."""
    pk, log_id = organization.item_key[0], organization.audit_log_id
    match part:
        case "members":
            _, prefix = Member.make_item_key(organization_id="", user_id="")
            return {part: partial(table.count_items_in_one_read, pk, prefix=prefix, limit=MAX_COUNTED)}
        case "webhooks":
            _, prefix = Webhook.make_item_key(organization_id="", id="")
            return {part: partial(table.query, pk, prefix=prefix, attributes=_WEBHOOK_ATTRIBUTES)}
        case "domains":
            partitions = {
                status: PlatformDomain.by_status.partition(organization_id=organization.id, verification_status=status)
                for status in _CLAIMED_STATUSES
            }
            count = partial(table.count_items_in_one_read, limit=MAX_COUNTED)
            return {status: partial(count, partition) for status, partition in partitions.items()}
        case "log":
            return {
                "pending_entries": partial(count_pending_in_one_read, log_id),
                "latest_entry_at": partial(load_time_of_last_entry_or_none, log_id, head.log_size),
            }
    return {}


def _describe_members(counted: ItemCount) -> MemberCounts:
    return MemberCounts(total=counted.number, is_at_least=not counted.is_complete)


def _describe_webhooks(result: QueryResult) -> WebhookCounts:
    return WebhookCounts(total=len(result.items), failing=sum(map(_is_failing_webhook, result.items)))


def _is_failing_webhook(item: Item) -> bool:
    """Return whether a webhook needs attention: it is disabled by the service, or active and its attempts fail."""
    return bool(item.get("disabled_reason") or (item["enabled"] and item.get("failing_since")))


def _describe_domains(counts_by_status: Mapping[str, ItemCount]) -> DomainCounts:
    return DomainCounts(
        total=sum(counts_by_status[status].number for status in _CLAIMED_STATUSES),
        unverified=sum(counts_by_status[status].number for status in _UNVERIFIED_STATUSES),
        is_at_least=not all(counts_by_status[status].is_complete for status in _CLAIMED_STATUSES),
    )
