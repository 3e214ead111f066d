"""An example of each task: what lets it be, and how much later its time has come."""

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
from tests.faults.table_shapes import Shape, shape
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
    """Let the minute's schedule tick."""
    world.workers.sweep()


def anchoring(world: World) -> None:
    """Let the hour's schedule tick."""
    world.workers.anchor()


@dataclass(frozen=True)
class TaskExample:
    """A task that waits to be done.

    `given` lets it be, and returns where the record stands that it is about. `later`: when its time has come; of one
    that is due at once it is empty. `tick`: the schedule that finds it if its message is lost.
    """

    given: Callable[[World], ItemKey]
    later: Mapping[str, float] = field(default_factory=dict)
    tick: Tick = sweeping


def a_key_expires(world: World) -> ItemKey:
    """Let an API key have a day to live."""
    key = world.key("read", expiresAt=after(now(), days=1))
    world.workers.settle()
    return f"O#{world.id}", f"K#{key.id}"


def more_keys_end_than_a_transaction_holds(world: World) -> ItemKey:
    """Let an admin be removed who made more API keys than are revoked in the same breath."""
    owner, admin = world.people.owner, world.people.admin
    for _ in range(MAX_KEYS_PER_TRANSACTION + 2):
        make_key(world.api, world.organization, "read", as_=admin)
    assert world.api.delete(f"{world.organization.path}/members/{admin.id}", as_=owner).status == 204
    return _only("organization.api_key_revocation")


def an_invitation_expires(world: World) -> ItemKey:
    """Let the invitation that is there wait."""
    return f"O#{world.id}", f"I#{world.invitation.id}"


def an_organization_is_deleted(world: World) -> ItemKey:
    """Let an organization with more in it than one transaction removes wait for its purge, and nothing else be due."""
    for place in (world.organization, world.rivals):
        assert world.api.delete(place.invitation.path, as_=place.owner).status == 204
    assert world.api.delete(world.organization.path, as_=world.people.owner).status == 204
    world.workers.settle()
    return Organization.make_item_key(id=world.id)


def a_member_has_gone(world: World) -> ItemKey:
    """Let somebody be removed with whom more ends than in the same breath: invitations, and memberships below."""
    admin = world.people.admin
    is_made(world.api, world.platform, admin, Role.EDITOR)
    is_made(world.api, world.space, admin, Role.EDITOR)
    for n in range(_INVITED):
        invite(world.api, world.organization, f"{n}@example.org", as_=admin)
    removed = world.api.delete(f"{world.organization.path}/members/{admin.id}", as_=world.people.owner)
    assert removed.status == 204
    world.workers.deliver()
    return _only("organization.departure")


def somebody_is_invited(world: World) -> ItemKey:
    """Let an invitation's mail be still to be sent."""
    invite(world.api, world.organization, "sophie@example.org")
    return _only("organization.invitation_mail")


def somebody_is_to_be_forgotten(world: World) -> ItemKey:
    """Let the editor, who has left traces, be still to be erased."""
    owner, editor = world.people.owner, world.people.editor
    member = f"{world.organization.path}/members/{editor.id}"
    assert world.api.patch(member, as_=owner, json={"role": "member"}).status == 200
    world.workers.settle()
    erasure = world.api.post(f"{world.organization.path}/erasures", as_=owner, json={"email": editor.email})
    return f"O#{world.id}", f"Z#{erasure.json['id']}"


def a_file_is_asked_for(world: World) -> ItemKey:
    """Let an export of the log be still to be made."""
    return begin_export(world.api, world.organization).key


def a_file_has_its_day(world: World) -> ItemKey:
    """Let the export that is there wait."""
    return f"O#{world.id}", f"X#{world.organization.export_id}"


def a_webhook_is_deleted(world: World) -> ItemKey:
    """Let the deliveries of a webhook be still to be removed that has more than one transaction removes."""
    notifications_deliveries.crowd(world, table.MAX_TRANSACT_ITEMS)
    assert world.api.delete(world.organization.webhook_path, as_=world.people.owner).status == 204
    return _only("organization.clearing")


def what_was_missed_is_asked_for(world: World) -> ItemKey:
    """Let some deliveries be still to be made once more."""
    notifications_deliveries.crowd(world, 2)
    body = {"from": world.organization.record["createdAt"], "status": "succeeded"}
    replay = world.api.post(f"{world.organization.webhook_path}/replay", as_=world.people.owner, json=body)
    return f"O#{world.id}", f"R#{world.organization.webhook_id}#{replay.json['id']}"


def a_log_has_grown(world: World) -> ItemKey:
    """Let one organization's log be longer than when all were anchored."""
    anchor(world.workers)
    assert world.api.patch(world.organization.path, as_=world.people.owner, json={"name": "Engines"}).status == 200
    world.workers.settle()
    return head_key(world.id)


def a_channel_is_to_be_told(world: World) -> ItemKey:
    """Let what a channel is to be told of still be on its way: the provider did not take it at once."""
    channel = room(world.api, world.organization, _ROOM, events=["organization.updated"])
    renamed = world.api.patch(world.organization.path, as_=world.people.owner, json={"name": "Engines"})
    assert renamed.status == 200
    with refusing():
        world.workers.deliver()
    return stored_room(channel).item_key


def an_event_is_on_its_way(world: World, url: str = "https://receiver.example/hooks") -> ItemKey:
    """Let the delivery of an event be still to be made: the endpoint did not take it at once."""
    made = hook(world.api, world.organization, url, events=["organization.updated"])
    world.workers.deliver()
    rename(world.api, world.organization, "Engines")
    with refusing():
        world.workers.deliver()
    (delivery,) = (item for item in cloud.stored() if item["pk"] == f"V#{made.id}")
    return delivery["pk"], delivery["sk"]


def a_webhook_is_to_be_told(world: World) -> ItemKey:
    """Let an event be still to be sent to a webhook that by then wants nothing any more."""
    pk, _ = an_event_is_on_its_way(world, GONE)
    return f"O#{world.id}", f"W#{pk.partition('#')[2]}"


def a_webhook_is_silent(world: World) -> ItemKey:
    """Let a webhook give no answer to an event, and another one wait for it to do so."""
    made = hook(world.api, world.organization, "https://receiver.example/hooks", events=["organization.updated"])
    with silent():
        for name in ("Engines", "More Engines"):
            rename(world.api, world.organization, name)
            world.workers.deliver()
    return f"O#{world.id}", f"W#{made.id}"


def a_webhook_wants_nothing_any_more(world: World) -> ItemKey:
    """Let a webhook be still to be disabled: it has answered that it is gone."""
    hook(world.api, world.organization, GONE, events=["organization.updated"])
    world.workers.deliver()
    rename(world.api, world.organization, "Engines")
    with later("webhooks.disable"):
        world.workers.deliver()
    return _only("organization.webhook.disabling")


def an_event_is_given_up(world: World) -> ItemKey:
    """Let it be still to be told that a delivery has failed for good."""
    hook(world.api, world.organization, "https://receiver.example/hooks", events=["organization.updated"])
    world.workers.deliver()
    rename(world.api, world.organization, "Engines")
    last = patch("chalicelib.features.notifications.webhooks.tasks.next_attempt_at", lambda *_: None)
    with refusing(), last, later("webhooks.exhaust"):
        world.workers.deliver()
    return _only("organization.webhook.exhaustion")


SENDING: Final = {"channels.send": "N", "webhooks.send": "V"}
"""Tasks that send, and in which partitions what they send stands."""


def start(name: str, key: ItemKey) -> None:
    """Queue the message of a task; one that sends something names what that is."""
    if name not in SENDING:
        return queues.enqueue(name, key)
    of_subscriber = f"{SENDING[name]}#{key[1].partition('#')[2]}"
    items = [item for item in cloud.stored() if item["pk"] == of_subscriber and item.get("status") == "pending"]
    deliveries = [record_from_item(item) for item in items]
    return batches.queue_batches([(key, [each for each in deliveries if isinstance(each, Delivery)])])


@contextmanager
def later(name: str) -> Iterator[None]:
    """Let the messages of a task be lost that are queued within the block: it is due all the same."""
    start = queues.enqueue

    def start_others(task: str, record: ItemKey) -> None:
        if task != name:
            start(task, record)

    with patch.object(queues, "enqueue", start_others):
        yield


def the_admins_are_to_be_told(world: World) -> ItemKey:
    """Let the mail be still to be sent that tells of a webhook that was disabled."""
    moment, key = now(), (f"O#{world.id}", f"W#{world.organization.webhook_id}")
    reason = {"enabled": False, "disabled_reason": "Every attempt has failed for 5 days.", "failing_since": moment}
    webhook = Webhook.from_item(table.get(key) or {}).replace(**reason)
    put([webhook, DisabledNotice.create(webhook, moment)])
    return _only("organization.webhook.disabled_notice")


def a_platform_is_deleted(world: World) -> ItemKey:
    """Let what a platform held be still to be removed: members of it, and spaces with members."""
    for space in (world.space, make_space(world.api, world.platform, name="Mills")):
        comes_in(space, world.people.member)
    assert world.api.delete(world.platform.path, as_=world.people.owner).status == 204
    return _only("purge")


def a_domain_is_never_proven(world: World) -> ItemKey:
    """Let a domain be claimed whose DNS holds nothing of what it has to."""
    claim(world.api, world.platform, "engines.example.com")
    world.workers.deliver()
    return stored_domain(world.platform).item_key


def a_branch_is_deleted(world: World) -> ItemKey:
    """Let a node be still to be removed, with one below it, and what it is put on."""
    root = world.organization.attachment.node
    assert world.api.delete(root.path, as_=world.people.owner, query={"strategy": "cascade"}).status == 204
    return _only("taxonomy.felling")


def a_page_has_its_day(world: World) -> ItemKey:
    """Let the draft of a page that is published be published at another path tomorrow."""
    body = {"slug": "mills", "publishAt": after(now(), days=1)}
    assert world.api.patch(world.page.path, as_=world.people.owner, json=body).status == 200
    world.workers.settle()
    return f"W#{world.site.id}", f"N#{world.page.id}"


def pages_are_deleted(world: World) -> ItemKey:
    """Let a page be still to be removed, with one below it, and one that is published there though its draft is not."""
    above = page_of(world.api, world.site, "Machines")
    page_of(world.api, world.site, "Engines", below=page_of(world.api, world.site, "Steam", below=above))
    edit(world.api, page_of(world.api, world.site, "Tools", below=above), parentId=None)
    world.workers.settle()
    assert world.api.delete(above.path, as_=world.people.owner, query={"strategy": "cascade"}).status == 204
    return _only("page.removal")


def a_page_is_stored_as_it_was_before(world: World) -> ItemKey:
    """Let a page be published that was not rendered when it was written: whoever looks at it lets that be done."""
    names = {"page_id": world.page.id, "id": str(world.page.record["publishedRevisionId"])}
    at = Content.make_item_key(**names)
    cloud.remove(_item(StoredRendering.make_item_key(**names)))
    before = _item(at)
    cloud.remove(before)
    cloud.put({name: value for name, value in before.items() if name != "titled"})
    return at


def looking(world: World) -> None:
    """Let somebody look at the page."""
    at = f"{world.site.path}/pages/by-path"
    answer = world.api.get(at, query={"path": "/looms"}, headers={"Accept": "text/html"})
    assert answer.status == 200, answer.text


def _item(key: ItemKey) -> Item:
    item = cloud.stored_at(*key)
    assert item is not None
    return item


def an_edition_is_asked_for(world: World) -> ItemKey:
    """Let an edition of a venue be still to be fetched and reconciled."""
    asked = world.api.post("/research/backfill/neurips-2025", as_=world.people.operator)
    return f"RJ#{asked.json['id']}", "#"


def _only(kind: str) -> ItemKey:
    (record,) = (item for item in cloud.stored() if item.get("kind") == kind)
    return record["pk"], record["sk"]


_INVITED: Final = 42
_ROOM: Final = "https://hooks.slack.com/services/T0/B0/room"
_ROUNDS: Final = 4

EXAMPLES: Final[Mapping[str, TaskExample]] = {
    "api_keys.expire": TaskExample(a_key_expires, {"days": 2}),
    "api_keys.revoke": TaskExample(more_keys_end_than_a_transaction_holds),
    "audit.anchor": TaskExample(a_log_has_grown, tick=anchoring),
    "audit_exports.clear": TaskExample(a_file_has_its_day, {"days": 8}),
    "audit_exports.run": TaskExample(a_file_is_asked_for),
    "channels.send": TaskExample(a_channel_is_to_be_told, {"seconds": 7}),
    "deliveries.clear": TaskExample(a_webhook_is_deleted),
    "deliveries.queue": TaskExample(an_event_is_on_its_way, {"seconds": 7}),
    "domains.check": TaskExample(a_domain_is_never_proven, {"days": 7}),
    "erasures.run": TaskExample(somebody_is_to_be_forgotten),
    "invitations.expire": TaskExample(an_invitation_expires, {"days": 8}),
    "invitations.mail": TaskExample(somebody_is_invited),
    "members.depart": TaskExample(a_member_has_gone, {"seconds": 6}),
    "organizations.purge": TaskExample(an_organization_is_deleted, {"days": RESTORABLE_DAYS, "minutes": 3}),
    "pages.remove": TaskExample(pages_are_deleted),
    "pages.render": TaskExample(a_page_is_stored_as_it_was_before, tick=looking),
    "pages.turn": TaskExample(a_page_has_its_day, {"days": 2}),
    "purges.purge": TaskExample(a_platform_is_deleted),
    "replays.run": TaskExample(what_was_missed_is_asked_for),
    "research.work": TaskExample(an_edition_is_asked_for),
    "taxonomy.remove": TaskExample(a_branch_is_deleted),
    "webhooks.disable": TaskExample(a_webhook_wants_nothing_any_more),
    "webhooks.exhaust": TaskExample(an_event_is_given_up),
    "webhooks.notify": TaskExample(the_admins_are_to_be_told),
    "webhooks.probe": TaskExample(a_webhook_is_silent, {"seconds": 7}),
    "webhooks.send": TaskExample(a_webhook_is_to_be_told, {"seconds": 7}),
}


def names() -> list[str]:
    """Return the name of every task of the service."""
    load_tasks()
    return [task.name for task in tasks.all_tasks()]


def finished(world: World, clock: Clock, tick: Tick, done: Shape | None = None) -> evidence.Items:
    """Return what the table holds when messages have come back and, leases over, the schedule has ticked."""
    for _ in range(_ROUNDS):
        clock.shift(minutes=2)
        tick(world)
        world.workers.deliver()
        items = snapshots.stored()
        if shape(items) == done:
            break
    return items
