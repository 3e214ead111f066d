"""An example of each task: a function that prepares its record, and the delay until it is due."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from unittest.mock import patch

from chalicelib.entrypoints.catalogue import register_tasks
from chalicelib.features.notifications.entities import Delivery
from chalicelib.features.notifications.logic import batches
from chalicelib.features.notifications.webhooks.entities import DisabledNotice, Webhook
from chalicelib.features.sites.pages.entities.pages import Content
from chalicelib.features.sites.pages.entities.renderings import StoredRendering
from chalicelib.features.tenancy.api_keys.logic.key_revocation import MAX_KEYS_PER_TRANSACTION
from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS, Organization
from chalicelib.kernel.audit_log.ledger import head_key
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.record_types import record_from_item
from chalicelib.kernel.work import queues, tasks
from tests.catalogue import log_proof
from tests.catalogue.examples.registry import add_feature_neighbours
from tests.catalogue.tenant_fixture import TenantFixture, put_records
from tests.faults.table_summaries import TableSummary, summarize
from tests.harness import memory_aws, snapshots
from tests.harness.anchors import run_anchoring
from tests.harness.channels import create_channel
from tests.harness.channels import stored_channel as stored_room
from tests.harness.clock import Clock
from tests.harness.domains import claim_domain
from tests.harness.domains import stored_custom_domain as stored_domain
from tests.harness.exports import create_export
from tests.harness.external_servers import GONE_URL, reject_deliveries, time_out_deliveries
from tests.harness.invitations import create_invitation
from tests.harness.organizations import create_api_key
from tests.harness.platforms import add_space_member, create_space, set_member_role
from tests.harness.sites import create_published_page, update_page
from tests.harness.webhooks import create_webhook, rename_organization

RunSchedule = Callable[[TenantFixture], None]


def run_sweep(world: TenantFixture) -> None:
    """Run the schedule of every minute."""
    world.workers.run_sweep()


def run_anchoring_schedule(world: TenantFixture) -> None:
    """Run the schedule of every hour."""
    world.workers.run_hourly_anchoring()


@dataclass(frozen=True)
class TaskExample:
    """A pending task.

    `prepare` creates the task's record and returns its key. `due_after` is the delay until it is due, and is empty if
    it is due at once. `run_schedule` runs the schedule that finds the task if its message is lost.
    """

    prepare: Callable[[TenantFixture], ItemKey]
    due_after: Mapping[str, float] = field(default_factory=dict)
    run_schedule: RunSchedule = run_sweep


def create_expiring_api_key(world: TenantFixture) -> ItemKey:
    """Create an API key that expires in a day."""
    key = world.create_api_key("read", expiresAt=after(now(), days=1))
    world.workers.run_until_idle()
    return f"O#{world.id}", f"K#{key.id}"


def remove_admin_with_many_api_keys(world: TenantFixture) -> ItemKey:
    """Remove an admin who created more API keys than one transaction revokes."""
    owner, admin = world.people.owner, world.people.admin
    for _ in range(MAX_KEYS_PER_TRANSACTION + 2):
        create_api_key(world.api, world.organization, "read", caller=admin)
    assert world.api.delete(f"{world.organization.path}/members/{admin.id}", caller=owner).status == 204
    return _get_only_item_key("organization.api_key_revocation")


def use_expiring_invitation(world: TenantFixture) -> ItemKey:
    """Return the key of the existing invitation."""
    return f"O#{world.id}", f"I#{world.invitation.id}"


def delete_organization(world: TenantFixture) -> ItemKey:
    """Delete an organization that contains more than one transaction removes, so that only its purge is due."""
    for tenant in (world.organization, world.rivals):
        assert world.api.delete(tenant.invitation.path, caller=tenant.owner).status == 204
    assert world.api.delete(world.organization.path, caller=world.people.owner).status == 204
    world.workers.run_until_idle()
    return Organization.make_item_key(id=world.id)


def remove_member_with_many_dependents(world: TenantFixture) -> ItemKey:
    """Remove a member with more dependent invitations and memberships than one transaction revokes."""
    admin = world.people.admin
    set_member_role(world.api, world.platform, admin, Role.EDITOR)
    set_member_role(world.api, world.space, admin, Role.EDITOR)
    for n in range(_INVITATION_COUNT):
        create_invitation(world.api, world.organization, f"{n}@example.org", caller=admin)
    removed = world.api.delete(f"{world.organization.path}/members/{admin.id}", caller=world.people.owner)
    assert removed.status == 204
    world.workers.deliver()
    return _get_only_item_key("organization.departure")


def invite_person(world: TenantFixture) -> ItemKey:
    """Create an invitation whose email is not sent yet."""
    create_invitation(world.api, world.organization, "sophie@example.org")
    return _get_only_item_key("organization.invitation_mail")


def create_erasure(world: TenantFixture) -> ItemKey:
    """Request the erasure of the editor, whom log entries name."""
    owner, editor = world.people.owner, world.people.editor
    member = f"{world.organization.path}/members/{editor.id}"
    assert world.api.patch(member, caller=owner, json={"role": "member"}).status == 200
    world.workers.run_until_idle()
    erasure = world.api.post(f"{world.organization.path}/erasures", caller=owner, json={"email": editor.email})
    return f"O#{world.id}", f"Z#{erasure.json['id']}"


def prepare_export(world: TenantFixture) -> ItemKey:
    """Request an export of the log."""
    return create_export(world.api, world.organization).item_key


def use_expiring_export(world: TenantFixture) -> ItemKey:
    """Return the key of the existing export."""
    return f"O#{world.id}", f"X#{world.organization.export_id}"


def delete_webhook_with_deliveries(world: TenantFixture) -> ItemKey:
    """Delete a webhook with more deliveries than one transaction removes."""
    add_feature_neighbours("notifications.deliveries", world, table.MAX_TRANSACT_ITEMS)
    assert world.api.delete(world.organization.webhook_path, caller=world.people.owner).status == 204
    return _get_only_item_key("organization.clearing")


def create_replay(world: TenantFixture) -> ItemKey:
    """Request a replay of two deliveries."""
    add_feature_neighbours("notifications.deliveries", world, 2)
    body = {"from": world.organization.record["createdAt"], "status": "succeeded"}
    replay = world.api.post(f"{world.organization.webhook_path}/replay", caller=world.people.owner, json=body)
    return f"O#{world.id}", f"R#{world.organization.webhook_id}#{replay.json['id']}"


def grow_log(world: TenantFixture) -> ItemKey:
    """Append to one organization's log after all logs were anchored."""
    run_anchoring(world.workers)
    assert world.api.patch(world.organization.path, caller=world.people.owner, json={"name": "Engines"}).status == 200
    world.workers.run_until_idle()
    return head_key(world.id)


def create_pending_channel_delivery(world: TenantFixture) -> ItemKey:
    """Create a delivery to a channel whose first attempt the provider rejected."""
    channel = create_channel(world.api, world.organization, _CHANNEL_URL, events=["organization.updated"])
    renamed = world.api.patch(world.organization.path, caller=world.people.owner, json={"name": "Engines"})
    assert renamed.status == 200
    with reject_deliveries():
        world.workers.deliver()
    return stored_room(channel).item_key


def create_pending_delivery(world: TenantFixture, url: str = "https://receiver.example/hooks") -> ItemKey:
    """Create a delivery to a webhook whose first attempt the endpoint rejected."""
    created = create_webhook(world.api, world.organization, url, events=["organization.updated"])
    world.workers.deliver()
    rename_organization(world.api, world.organization, "Engines")
    with reject_deliveries():
        world.workers.deliver()
    (delivery,) = (item for item in memory_aws.all_items() if item["pk"] == f"V#{created.id}")
    return delivery["pk"], delivery["sk"]


def create_delivery_to_gone_webhook(world: TenantFixture) -> ItemKey:
    """Create a pending delivery to a webhook that will respond with 410."""
    pk, _ = create_pending_delivery(world, GONE_URL)
    return f"O#{world.id}", f"W#{pk.partition('#')[2]}"


def create_unresponsive_webhook(world: TenantFixture) -> ItemKey:
    """Create a webhook that timed out, with a further event that waits for it."""
    created = create_webhook(
        world.api, world.organization, "https://receiver.example/hooks", events=["organization.updated"]
    )
    with time_out_deliveries():
        for name in ("Engines", "More Engines"):
            rename_organization(world.api, world.organization, name)
            world.workers.deliver()
    return f"O#{world.id}", f"W#{created.id}"


def create_webhook_to_disable(world: TenantFixture) -> ItemKey:
    """Create a webhook that responded with 410 and is not disabled yet."""
    create_webhook(world.api, world.organization, GONE_URL, events=["organization.updated"])
    world.workers.deliver()
    rename_organization(world.api, world.organization, "Engines")
    with discard_messages("webhooks.disable"):
        world.workers.deliver()
    return _get_only_item_key("organization.webhook.disabling")


def create_exhausted_delivery(world: TenantFixture) -> ItemKey:
    """Create a delivery that has failed for good, of which no event tells yet."""
    create_webhook(world.api, world.organization, "https://receiver.example/hooks", events=["organization.updated"])
    world.workers.deliver()
    rename_organization(world.api, world.organization, "Engines")
    no_further_attempt = patch("chalicelib.features.notifications.webhooks.tasks.next_attempt_at", lambda *_: None)
    with reject_deliveries(), no_further_attempt, discard_messages("webhooks.exhaust"):
        world.workers.deliver()
    return _get_only_item_key("organization.webhook.exhaustion")


DELIVERY_PARTITION_PREFIXES: Final = {"channels.send": "N", "webhooks.send": "V"}
"""The partition prefixes of deliveries, by the task that sends them."""


def enqueue(name: str, key: ItemKey) -> None:
    """Enqueue the message of a task. The messages of sending tasks name their deliveries."""
    if name not in DELIVERY_PARTITION_PREFIXES:
        return queues.enqueue(name, key)
    delivery_partition = f"{DELIVERY_PARTITION_PREFIXES[name]}#{key[1].partition('#')[2]}"
    items = [
        item for item in memory_aws.all_items() if item["pk"] == delivery_partition and item.get("status") == "pending"
    ]
    deliveries = [record_from_item(item) for item in items]
    return batches.queue_delivery_batches([(key, [record for record in deliveries if isinstance(record, Delivery)])])


@contextmanager
def discard_messages(name: str) -> Iterator[None]:
    """Discard the messages of a task that are enqueued within the block. Its record remains due."""
    enqueue = queues.enqueue

    def enqueue_unless_discarded(task: str, record: ItemKey) -> None:
        if task != name:
            enqueue(task, record)

    with patch.object(queues, "enqueue", enqueue_unless_discarded):
        yield


def create_disabled_notice(world: TenantFixture) -> ItemKey:
    """Create the pending notice of a disabled webhook."""
    timestamp, key = now(), (f"O#{world.id}", f"W#{world.organization.webhook_id}")
    reason = {"enabled": False, "disabled_reason": "Every attempt has failed for 5 days.", "failing_since": timestamp}
    webhook = Webhook.from_item(table.get(key) or {}).replace(**reason)
    put_records([webhook, DisabledNotice.create(webhook, timestamp)])
    return _get_only_item_key("organization.webhook.disabled_notice")


def delete_platform(world: TenantFixture) -> ItemKey:
    """Delete a platform that has members, and spaces with members."""
    for space in (world.space, create_space(world.api, world.platform, name="Mills")):
        add_space_member(space, world.people.member)
    assert world.api.delete(world.platform.path, caller=world.people.owner).status == 204
    return _get_only_item_key("purge")


def claim_unverifiable_domain(world: TenantFixture) -> ItemKey:
    """Claim a domain without DNS records."""
    claim_domain(world.api, world.platform, "engines.example.com")
    world.workers.deliver()
    return stored_domain(world.platform).item_key


def delete_taxonomy_subtree(world: TenantFixture) -> ItemKey:
    """Delete a taxonomy node with a child and attachments."""
    root = world.organization.attachment.node
    assert world.api.delete(root.path, caller=world.people.owner, query={"strategy": "cascade"}).status == 204
    return _get_only_item_key("taxonomy.felling")


def schedule_page_publication(world: TenantFixture) -> ItemKey:
    """Schedule the publication of a published page's draft, which has another path."""
    body = {"slug": "mills", "publishAt": after(now(), days=1)}
    assert world.api.patch(world.page.path, caller=world.people.owner, json=body).status == 200
    world.workers.run_until_idle()
    return f"W#{world.site.id}", f"N#{world.page.id}"


def delete_page_subtree(world: TenantFixture) -> ItemKey:
    """Delete a page with children in the draft tree and others that are only published below it."""
    root_page = create_published_page(world.api, world.site, "Machines")
    create_published_page(
        world.api, world.site, "Engines", parent=create_published_page(world.api, world.site, "Steam", parent=root_page)
    )
    update_page(world.api, create_published_page(world.api, world.site, "Tools", parent=root_page), parentId=None)
    world.workers.run_until_idle()
    assert world.api.delete(root_page.path, caller=world.people.owner, query={"strategy": "cascade"}).status == 204
    return _get_only_item_key("page.removal")


def remove_stored_rendering(world: TenantFixture) -> ItemKey:
    """Remove the stored rendering of a page, which the next request for the page enqueues."""
    names = {"page_id": world.page.id, "id": str(world.page.record["publishedRevisionId"])}
    item_key = Content.make_item_key(**names)
    memory_aws.delete_item(_get_item(StoredRendering.make_item_key(**names)))
    item = _get_item(item_key)
    memory_aws.delete_item(item)
    memory_aws.put_item({name: value for name, value in item.items() if name != "titled"})
    return item_key


def request_page(world: TenantFixture) -> None:
    """Request the page as HTML."""
    path = f"{world.site.path}/pages/by-path"
    world.api.get(path, query={"path": "/looms"}, headers={"Accept": "text/html"}).expect(200)


def _get_item(key: ItemKey) -> Item:
    item = memory_aws.get_item(*key)
    assert item is not None
    return item


def create_research_job(world: TenantFixture) -> ItemKey:
    """Request the backfill of a venue's edition."""
    response = world.api.post("/research/backfill/neurips-2025", caller=world.people.operator)
    return f"RJ#{response.json['id']}", "#"


def _get_only_item_key(kind: str) -> ItemKey:
    (record,) = (item for item in memory_aws.all_items() if item.get("kind") == kind)
    return record["pk"], record["sk"]


_INVITATION_COUNT: Final = 42
_CHANNEL_URL: Final = "https://hooks.slack.com/services/T0/B0/room"
_ROUNDS: Final = 4

EXAMPLES: Final[Mapping[str, TaskExample]] = {
    "api_keys.expire": TaskExample(create_expiring_api_key, {"days": 2}),
    "api_keys.revoke": TaskExample(remove_admin_with_many_api_keys),
    "audit.anchor": TaskExample(grow_log, run_schedule=run_anchoring_schedule),
    "audit_exports.clear": TaskExample(use_expiring_export, {"days": 8}),
    "audit_exports.run": TaskExample(prepare_export),
    "channels.send": TaskExample(create_pending_channel_delivery, {"seconds": 7}),
    "deliveries.clear": TaskExample(delete_webhook_with_deliveries),
    "deliveries.queue": TaskExample(create_pending_delivery, {"seconds": 7}),
    "domains.check": TaskExample(claim_unverifiable_domain, {"days": 7}),
    "erasures.run": TaskExample(create_erasure),
    "invitations.expire": TaskExample(use_expiring_invitation, {"days": 8}),
    "invitations.mail": TaskExample(invite_person),
    "members.depart": TaskExample(remove_member_with_many_dependents, {"seconds": 6}),
    "organizations.purge": TaskExample(delete_organization, {"days": RESTORABLE_DAYS, "minutes": 3}),
    "pages.remove": TaskExample(delete_page_subtree),
    "pages.render": TaskExample(remove_stored_rendering, run_schedule=request_page),
    "pages.turn": TaskExample(schedule_page_publication, {"days": 2}),
    "purges.purge": TaskExample(delete_platform),
    "replays.run": TaskExample(create_replay),
    "research.work": TaskExample(create_research_job),
    "taxonomy.remove": TaskExample(delete_taxonomy_subtree),
    "webhooks.disable": TaskExample(create_webhook_to_disable),
    "webhooks.exhaust": TaskExample(create_exhausted_delivery),
    "webhooks.notify": TaskExample(create_disabled_notice),
    "webhooks.probe": TaskExample(create_unresponsive_webhook, {"seconds": 7}),
    "webhooks.send": TaskExample(create_delivery_to_gone_webhook, {"seconds": 7}),
}


def list_task_names() -> list[str]:
    """Return the names of all tasks."""
    register_tasks()
    return [task.name for task in tasks.all_tasks()]


def run_until_done(
    world: TenantFixture, clock: Clock, run_schedule: RunSchedule, expected_summary: TableSummary | None = None
) -> log_proof.Items:
    """Deliver messages and run the schedule until the table has the expected summary, and return its items."""
    for _ in range(_ROUNDS):
        clock.shift(minutes=2)
        run_schedule(world)
        world.workers.deliver()
        items = snapshots.items_by_key()
        if summarize(items) == expected_summary:
            break
    return items
