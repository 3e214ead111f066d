"""An example of each task: a function that prepares its record, and the delay until it is due."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from unittest.mock import patch

from chalicelib.entrypoints.catalogue import load_tasks
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
from tests.catalogue import evidence
from tests.catalogue.examples import notifications_deliveries
from tests.catalogue.tenant_fixture import World, put
from tests.faults.table_shapes import TableSummary, summarize
from tests.harness import cloud, snapshots
from tests.harness.anchors import anchor
from tests.harness.channels import room
from tests.harness.channels import stored as stored_room
from tests.harness.clock import Clock
from tests.harness.domains import claim
from tests.harness.domains import stored as stored_domain
from tests.harness.exports import begin_export
from tests.harness.external_servers import GONE, refusing, silent
from tests.harness.invitations import invite
from tests.harness.organizations import make_key
from tests.harness.platforms import comes_in, is_made, make_space
from tests.harness.sites import edit, page_of
from tests.harness.webhooks import hook, rename

Tick = Callable[[World], None]


def sweeping(world: World) -> None:
    """Run the schedule of every minute."""
    world.workers.sweep()


def anchoring(world: World) -> None:
    """Run the schedule of every hour."""
    world.workers.anchor()


@dataclass(frozen=True)
class TaskExample:
    """A pending task.

    `given` prepares the task's record and returns its key. `later` is the delay until it is due, and is empty if it is
    due at once. `tick` is the schedule that finds the task if its message is lost.
    """

    given: Callable[[World], ItemKey]
    later: Mapping[str, float] = field(default_factory=dict)
    tick: Tick = sweeping


def create_expiring_api_key(world: World) -> ItemKey:
    """Create an API key that expires in a day."""
    key = world.key("read", expiresAt=after(now(), days=1))
    world.workers.settle()
    return f"O#{world.id}", f"K#{key.id}"


def remove_admin_with_many_api_keys(world: World) -> ItemKey:
    """Remove an admin who created more API keys than one transaction revokes."""
    owner, admin = world.people.owner, world.people.admin
    for _ in range(MAX_KEYS_PER_TRANSACTION + 2):
        make_key(world.api, world.organization, "read", as_=admin)
    assert world.api.delete(f"{world.organization.path}/members/{admin.id}", as_=owner).status == 204
    return _get_only_item_key("organization.api_key_revocation")


def use_expiring_invitation(world: World) -> ItemKey:
    """Return the key of the existing invitation."""
    return f"O#{world.id}", f"I#{world.invitation.id}"


def delete_organization(world: World) -> ItemKey:
    """Delete an organization that contains more than one transaction removes, so that only its purge is due."""
    for tenant in (world.organization, world.rivals):
        assert world.api.delete(tenant.invitation.path, as_=tenant.owner).status == 204
    assert world.api.delete(world.organization.path, as_=world.people.owner).status == 204
    world.workers.settle()
    return Organization.make_item_key(id=world.id)


def remove_member_with_many_dependents(world: World) -> ItemKey:
    """Remove a member with more dependent invitations and memberships than one transaction revokes."""
    admin = world.people.admin
    is_made(world.api, world.platform, admin, Role.EDITOR)
    is_made(world.api, world.space, admin, Role.EDITOR)
    for n in range(_INVITATION_COUNT):
        invite(world.api, world.organization, f"{n}@example.org", as_=admin)
    removed = world.api.delete(f"{world.organization.path}/members/{admin.id}", as_=world.people.owner)
    assert removed.status == 204
    world.workers.deliver()
    return _get_only_item_key("organization.departure")


def invite_person(world: World) -> ItemKey:
    """Create an invitation whose email is not sent yet."""
    invite(world.api, world.organization, "sophie@example.org")
    return _get_only_item_key("organization.invitation_mail")


def create_erasure(world: World) -> ItemKey:
    """Request the erasure of the editor, whom log entries name."""
    owner, editor = world.people.owner, world.people.editor
    member = f"{world.organization.path}/members/{editor.id}"
    assert world.api.patch(member, as_=owner, json={"role": "member"}).status == 200
    world.workers.settle()
    erasure = world.api.post(f"{world.organization.path}/erasures", as_=owner, json={"email": editor.email})
    return f"O#{world.id}", f"Z#{erasure.json['id']}"


def create_export(world: World) -> ItemKey:
    """Request an export of the log."""
    return begin_export(world.api, world.organization).key


def use_expiring_export(world: World) -> ItemKey:
    """Return the key of the existing export."""
    return f"O#{world.id}", f"X#{world.organization.export_id}"


def delete_webhook_with_deliveries(world: World) -> ItemKey:
    """Delete a webhook with more deliveries than one transaction removes."""
    notifications_deliveries.add_neighbours(world, table.MAX_TRANSACT_ITEMS)
    assert world.api.delete(world.organization.webhook_path, as_=world.people.owner).status == 204
    return _get_only_item_key("organization.clearing")


def create_replay(world: World) -> ItemKey:
    """Request a replay of two deliveries."""
    notifications_deliveries.add_neighbours(world, 2)
    body = {"from": world.organization.record["createdAt"], "status": "succeeded"}
    replay = world.api.post(f"{world.organization.webhook_path}/replay", as_=world.people.owner, json=body)
    return f"O#{world.id}", f"R#{world.organization.webhook_id}#{replay.json['id']}"


def grow_log(world: World) -> ItemKey:
    """Append to one organization's log after all logs were anchored."""
    anchor(world.workers)
    assert world.api.patch(world.organization.path, as_=world.people.owner, json={"name": "Engines"}).status == 200
    world.workers.settle()
    return head_key(world.id)


def create_pending_channel_delivery(world: World) -> ItemKey:
    """Create a delivery to a channel whose first attempt the provider rejected."""
    channel = room(world.api, world.organization, _CHANNEL_URL, events=["organization.updated"])
    renamed = world.api.patch(world.organization.path, as_=world.people.owner, json={"name": "Engines"})
    assert renamed.status == 200
    with refusing():
        world.workers.deliver()
    return stored_room(channel).item_key


def create_pending_delivery(world: World, url: str = "https://receiver.example/hooks") -> ItemKey:
    """Create a delivery to a webhook whose first attempt the endpoint rejected."""
    created = hook(world.api, world.organization, url, events=["organization.updated"])
    world.workers.deliver()
    rename(world.api, world.organization, "Engines")
    with refusing():
        world.workers.deliver()
    (delivery,) = (item for item in cloud.stored() if item["pk"] == f"V#{created.id}")
    return delivery["pk"], delivery["sk"]


def create_delivery_to_gone_webhook(world: World) -> ItemKey:
    """Create a pending delivery to a webhook that will respond with 410."""
    pk, _ = create_pending_delivery(world, GONE)
    return f"O#{world.id}", f"W#{pk.partition('#')[2]}"


def create_unresponsive_webhook(world: World) -> ItemKey:
    """Create a webhook that timed out, with a further event that waits for it."""
    created = hook(world.api, world.organization, "https://receiver.example/hooks", events=["organization.updated"])
    with silent():
        for name in ("Engines", "More Engines"):
            rename(world.api, world.organization, name)
            world.workers.deliver()
    return f"O#{world.id}", f"W#{created.id}"


def create_webhook_to_disable(world: World) -> ItemKey:
    """Create a webhook that responded with 410 and is not disabled yet."""
    hook(world.api, world.organization, GONE, events=["organization.updated"])
    world.workers.deliver()
    rename(world.api, world.organization, "Engines")
    with discard_messages("webhooks.disable"):
        world.workers.deliver()
    return _get_only_item_key("organization.webhook.disabling")


def create_exhausted_delivery(world: World) -> ItemKey:
    """Create a delivery that has failed for good, of which no event tells yet."""
    hook(world.api, world.organization, "https://receiver.example/hooks", events=["organization.updated"])
    world.workers.deliver()
    rename(world.api, world.organization, "Engines")
    no_further_attempt = patch("chalicelib.features.notifications.webhooks.tasks.next_attempt_at", lambda *_: None)
    with refusing(), no_further_attempt, discard_messages("webhooks.exhaust"):
        world.workers.deliver()
    return _get_only_item_key("organization.webhook.exhaustion")


DELIVERY_PARTITION_PREFIXES: Final = {"channels.send": "N", "webhooks.send": "V"}
"""The partition prefixes of deliveries, by the task that sends them."""


def start(name: str, key: ItemKey) -> None:
    """Enqueue the message of a task. The messages of sending tasks name their deliveries."""
    if name not in DELIVERY_PARTITION_PREFIXES:
        return queues.enqueue(name, key)
    delivery_partition = f"{DELIVERY_PARTITION_PREFIXES[name]}#{key[1].partition('#')[2]}"
    items = [item for item in cloud.stored() if item["pk"] == delivery_partition and item.get("status") == "pending"]
    deliveries = [record_from_item(item) for item in items]
    return batches.queue_batches([(key, [record for record in deliveries if isinstance(record, Delivery)])])


@contextmanager
def discard_messages(name: str) -> Iterator[None]:
    """Discard the messages of a task that are enqueued within the block. Its record remains due."""
    enqueue = queues.enqueue

    def enqueue_unless_discarded(task: str, record: ItemKey) -> None:
        if task != name:
            enqueue(task, record)

    with patch.object(queues, "enqueue", enqueue_unless_discarded):
        yield


def create_disabled_notice(world: World) -> ItemKey:
    """Create the pending notice of a disabled webhook."""
    timestamp, key = now(), (f"O#{world.id}", f"W#{world.organization.webhook_id}")
    reason = {"enabled": False, "disabled_reason": "Every attempt has failed for 5 days.", "failing_since": timestamp}
    webhook = Webhook.from_item(table.get(key) or {}).replace(**reason)
    put([webhook, DisabledNotice.create(webhook, timestamp)])
    return _get_only_item_key("organization.webhook.disabled_notice")


def delete_platform(world: World) -> ItemKey:
    """Delete a platform that has members, and spaces with members."""
    for space in (world.space, make_space(world.api, world.platform, name="Mills")):
        comes_in(space, world.people.member)
    assert world.api.delete(world.platform.path, as_=world.people.owner).status == 204
    return _get_only_item_key("purge")


def claim_unverifiable_domain(world: World) -> ItemKey:
    """Claim a domain without DNS records."""
    claim(world.api, world.platform, "engines.example.com")
    world.workers.deliver()
    return stored_domain(world.platform).item_key


def delete_taxonomy_subtree(world: World) -> ItemKey:
    """Delete a taxonomy node with a child and attachments."""
    root = world.organization.attachment.node
    assert world.api.delete(root.path, as_=world.people.owner, query={"strategy": "cascade"}).status == 204
    return _get_only_item_key("taxonomy.felling")


def schedule_page_publication(world: World) -> ItemKey:
    """Schedule the publication of a published page's draft, which has another path."""
    body = {"slug": "mills", "publishAt": after(now(), days=1)}
    assert world.api.patch(world.page.path, as_=world.people.owner, json=body).status == 200
    world.workers.settle()
    return f"W#{world.site.id}", f"N#{world.page.id}"


def delete_page_subtree(world: World) -> ItemKey:
    """Delete a page with children in the draft tree and others that are only published below it."""
    root_page = page_of(world.api, world.site, "Machines")
    page_of(world.api, world.site, "Engines", below=page_of(world.api, world.site, "Steam", below=root_page))
    edit(world.api, page_of(world.api, world.site, "Tools", below=root_page), parentId=None)
    world.workers.settle()
    assert world.api.delete(root_page.path, as_=world.people.owner, query={"strategy": "cascade"}).status == 204
    return _get_only_item_key("page.removal")


def remove_stored_rendering(world: World) -> ItemKey:
    """Remove the stored rendering of a page, which the next request for the page enqueues."""
    names = {"page_id": world.page.id, "id": str(world.page.record["publishedRevisionId"])}
    item_key = Content.make_item_key(**names)
    cloud.remove(_get_item(StoredRendering.make_item_key(**names)))
    item = _get_item(item_key)
    cloud.remove(item)
    cloud.put({name: value for name, value in item.items() if name != "titled"})
    return item_key


def request_page(world: World) -> None:
    """Request the page as HTML."""
    path = f"{world.site.path}/pages/by-path"
    response = world.api.get(path, query={"path": "/looms"}, headers={"Accept": "text/html"})
    assert response.status == 200, response.text


def _get_item(key: ItemKey) -> Item:
    item = cloud.stored_at(*key)
    assert item is not None
    return item


def create_research_job(world: World) -> ItemKey:
    """Request the backfill of a venue's edition."""
    response = world.api.post("/research/backfill/neurips-2025", as_=world.people.operator)
    return f"RJ#{response.json['id']}", "#"


def _get_only_item_key(kind: str) -> ItemKey:
    (record,) = (item for item in cloud.stored() if item.get("kind") == kind)
    return record["pk"], record["sk"]


_INVITATION_COUNT: Final = 42
_CHANNEL_URL: Final = "https://hooks.slack.com/services/T0/B0/room"
_ROUNDS: Final = 4

EXAMPLES: Final[Mapping[str, TaskExample]] = {
    "api_keys.expire": TaskExample(create_expiring_api_key, {"days": 2}),
    "api_keys.revoke": TaskExample(remove_admin_with_many_api_keys),
    "audit.anchor": TaskExample(grow_log, tick=anchoring),
    "audit_exports.clear": TaskExample(use_expiring_export, {"days": 8}),
    "audit_exports.run": TaskExample(create_export),
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
    "pages.render": TaskExample(remove_stored_rendering, tick=request_page),
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


def names() -> list[str]:
    """Return the names of all tasks."""
    load_tasks()
    return [task.name for task in tasks.all_tasks()]


def run_until_done(
    world: World, clock: Clock, tick: Tick, expected_summary: TableSummary | None = None
) -> evidence.Items:
    """Deliver messages and run the schedule until the table has the expected summary, and return its items."""
    for _ in range(_ROUNDS):
        clock.shift(minutes=2)
        tick(world)
        world.workers.deliver()
        items = snapshots.stored()
        if summarize(items) == expected_summary:
            break
    return items
