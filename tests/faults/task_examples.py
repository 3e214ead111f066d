"""An example of each task: a function that prepares its record, and the delay until it is due."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from unittest.mock import patch

from chalicelib.entrypoints.catalogue import register_tasks
from chalicelib.features.admin.chain_tests.logic import start_chain_test
from chalicelib.features.admin.dead_letters.entities import DeadLetterRedrive
from chalicelib.features.audit.log_verifications.entities import LogVerification
from chalicelib.features.audit.proofs.entities import TileBuild
from chalicelib.features.audit.witnesses.entities import Witness
from chalicelib.features.audit.witnesses.logic import anchored_checkpoints
from chalicelib.features.audit.witnesses.logic.anchor_log import HEAD_KEY
from chalicelib.features.audit.witnesses.tasks import COLLECTION_TASK
from chalicelib.features.notifications.entities import Delivery
from chalicelib.features.notifications.logic import batches
from chalicelib.features.sites.pages.entities.pages import Content
from chalicelib.features.sites.pages.entities.renderings import StoredRendering
from chalicelib.features.tenancy.api_keys.logic import key_revocation
from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS, Organization
from chalicelib.features.tenancy.members.logic import leaving
from chalicelib.kernel.audit_log.ledger import Head, head_key
from chalicelib.kernel.audit_log.tile_storage import log_tile_storage
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.crypto.tree_tiles import TILE_WIDTH
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.record_types import record_from_item
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import queues, tasks
from tests.catalogue import log_proof
from tests.catalogue.tenant_fixture import TenantFixture
from tests.faults import delivery_examples
from tests.faults.table_summaries import TableSummary, summarize
from tests.harness import memory_aws, snapshots
from tests.harness.anchors import run_anchoring
from tests.harness.application_events import commit_application_event
from tests.harness.clock import Clock
from tests.harness.dead_letters import put_dead_letter, start_redrive
from tests.harness.declared_types import declare_event_type
from tests.harness.domains import claim_domain, stored_custom_domain
from tests.harness.exports import append_entries, create_export
from tests.harness.invitations import create_invitation
from tests.harness.log_verifications import post_log_verification
from tests.harness.organizations import create_api_key, set_role
from tests.harness.platforms import add_space_member, create_space, set_member_role
from tests.harness.sites import create_published_page, update_page
from tests.harness.witnesses import ACCEPTING_WITNESS

RunSchedule = Callable[[TenantFixture], None]


def run_sweep(tenant: TenantFixture) -> None:
    """Run the schedule of every minute."""
    tenant.workers.run_sweep()


def run_anchoring_schedule(tenant: TenantFixture) -> None:
    """Run the schedule of every hour."""
    tenant.workers.run_hourly_anchoring()


MARKED_FIELD: Final = {"type": "string", "x-personal-data": True}


@dataclass(frozen=True)
class TaskExample:
    """A pending task.

    `prepare` creates the task's record and returns its key. `due_after` is the delay until it is due, and is empty if
    it is due at once. `run_schedule` runs the schedule that finds the task if its message is lost.
    """

    prepare: Callable[[TenantFixture], ItemKey]
    due_after: Mapping[str, float] = field(default_factory=dict)
    run_schedule: RunSchedule = run_sweep


def prepare_chain_test(tenant: TenantFixture) -> ItemKey:
    """Start a chain of two messages."""
    return start_chain_test(tenant.id, turns=2).item_key


def create_expiring_api_key(tenant: TenantFixture) -> ItemKey:
    """Create an API key that expires in a day."""
    key = tenant.create_api_key("read", expiresAt=after(now(), days=1))
    tenant.workers.run_until_idle()
    return f"O#{tenant.id}", f"K#{key.id}"


def create_expiring_service_key(tenant: TenantFixture) -> ItemKey:
    """Create a service key that expires in a day."""
    key = tenant.create_service_key(expiresAt=after(now(), days=1))
    tenant.workers.run_until_idle()
    return f"SERVICE-KEY#{key.id}", "#"


def remove_admin_with_many_api_keys(tenant: TenantFixture) -> ItemKey:
    """Remove an admin who created more API keys than one transaction revokes."""
    owner, admin = tenant.people.owner, tenant.people.admin
    for _ in range(3):
        create_api_key(tenant.api, tenant.organization, "read", caller=admin)
    with patch.object(key_revocation, "MAX_KEYS_PER_TRANSACTION", 1):
        assert tenant.api.delete(f"{tenant.organization.path}/members/{admin.id}", caller=owner).status == 204
    return memory_aws.get_only_item_key("organization.api_key_revocation")


def use_expiring_invitation(tenant: TenantFixture) -> ItemKey:
    """Return the key of the existing invitation."""
    return f"O#{tenant.id}", f"I#{tenant.invitation.id}"


def delete_organization(tenant: TenantFixture) -> ItemKey:
    """Delete an organization that contains more than one transaction removes, so that only its purge is due."""
    for organization in (tenant.organization, tenant.rivals):
        assert tenant.api.delete(organization.invitation.path, caller=organization.owner).status == 204
    assert tenant.api.delete(tenant.organization.path, caller=tenant.people.owner).status == 204
    tenant.workers.run_until_idle()
    return Organization.make_item_key(id=tenant.id)


def remove_member_with_many_dependents(tenant: TenantFixture) -> ItemKey:
    """Remove a member with more dependent invitations and memberships than one transaction revokes."""
    admin = tenant.people.admin
    set_member_role(tenant.api, tenant.platform, admin, Role.EDITOR)
    set_member_role(tenant.api, tenant.space, admin, Role.EDITOR)
    for n in range(3):
        create_invitation(tenant.api, tenant.organization, f"{n}@example.org", caller=admin)
    with patch.object(leaving, "_MAX_DEPENDENTS_PER_TRANSACTION", 1):
        removed = tenant.api.delete(f"{tenant.organization.path}/members/{admin.id}", caller=tenant.people.owner)
    assert removed.status == 204
    tenant.workers.deliver()
    return memory_aws.get_only_item_key("organization.departure")


def invite_person(tenant: TenantFixture) -> ItemKey:
    """Create an invitation whose email is not sent yet."""
    create_invitation(tenant.api, tenant.organization, "sophie@example.org")
    return memory_aws.get_only_item_key("organization.invitation_mail")


def change_role_with_notice(tenant: TenantFixture) -> ItemKey:
    """Change the role of the editor, whose mail about that is not sent yet."""
    set_role(tenant.api, tenant.organization, tenant.people.editor, "member").expect(200)
    return memory_aws.get_only_item_key("organization.membership_notice")


def create_erasure(tenant: TenantFixture) -> ItemKey:
    """Request the erasure of the editor, whom log entries name, also as a customer of the application."""
    owner, editor = tenant.people.owner, tenant.people.editor
    member = f"{tenant.organization.path}/members/{editor.id}"
    assert tenant.api.patch(member, caller=owner, json={"role": "member"}).status == 200
    declare_event_type("invoice.approved", "{actor} approved {target}.", {"properties": {"id": MARKED_FIELD}})
    for data in ({"id": "c-17"}, {"other": "c-17"}):
        commit_application_event(tenant.id, actor=None, data=data)
    tenant.workers.run_until_idle()
    person = {"email": editor.email, "actor": {"type": "customer", "id": "c-17"}}
    erasure = tenant.api.post(f"{tenant.organization.path}/erasures", caller=owner, json=person)
    return f"O#{tenant.id}", f"Z#{erasure.json['id']}"


def prepare_export(tenant: TenantFixture) -> ItemKey:
    """Request an export of the log."""
    return create_export(tenant.api, tenant.organization).item_key


def use_expiring_export(tenant: TenantFixture) -> ItemKey:
    """Return the key of the existing export."""
    return f"O#{tenant.id}", f"X#{tenant.organization.export_id}"


def grow_log(tenant: TenantFixture) -> ItemKey:
    """Append to one organization's log after all logs were anchored."""
    run_anchoring(tenant.workers)
    assert (
        tenant.api.patch(tenant.organization.path, caller=tenant.people.owner, json={"name": "Engines"}).status == 200
    )
    tenant.workers.run_until_idle()
    return head_key(tenant.id)


def collect_anchor(tenant: TenantFixture) -> ItemKey:
    """Anchor a log while there are witnesses, and the anchor of another log has been collected."""
    for organization in (tenant.rivals, tenant.organization):
        queue_collection(tenant)
        tenant.workers.deliver()
        head = Head.from_item_or_empty(table.get(head_key(organization.id)))
        anchored_checkpoints.store_if_absent(organization.id, head)
    return HEAD_KEY


def queue_collection(_tenant: TenantFixture) -> None:
    """Queue the collection of anchors, as the schedule of every hour does if there are witnesses."""
    queues.enqueue(COLLECTION_TASK, HEAD_KEY)


def publish_anchors(tenant: TenantFixture) -> ItemKey:
    """Publish the log of anchors to a witness that has not cosigned it yet."""
    queues.enqueue(COLLECTION_TASK, collect_anchor(tenant))
    tenant.workers.deliver()
    changes = UnitOfWork(now())
    times: dict[str, Any] = {"created_at": changes.now, "updated_at": changes.now, "lease_until": changes.now}
    key, url = ACCEPTING_WITNESS.verifier_key, ACCEPTING_WITNESS.url
    witness = changes.create(Witness(id="accepting", verifier_key=key, url=url, waiting_since=changes.now, **times))
    changes.commit()
    return witness.item_key


def remove_tiles(tenant: TenantFixture) -> ItemKey:
    """Remove the tiles of a log, as an earlier release left it, and request a proof that needs them."""
    append_entries(tenant.id, TILE_WIDTH)
    for item in memory_aws.all_items():
        if item["pk"] == log_tile_storage(tenant.id).partition:
            memory_aws.delete_item(item)
    path = f"{tenant.organization.path}/audit-log/consistency"
    tenant.api.get(path, caller=tenant.people.owner, query={"from": TILE_WIDTH}).expect(503)
    return TileBuild.make_item_key(log_id=tenant.id)


def start_reconciliation(tenant: TenantFixture) -> ItemKey:
    """Request a reconciliation."""
    path = f"{tenant.organization.path}/audit-log/reconciliations"
    started = tenant.api.post(path, caller=tenant.people.owner).expect(202)
    return f"O#{tenant.id}", f"RECONCILIATION#{started.json['id']}"


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


def delete_platform(tenant: TenantFixture) -> ItemKey:
    """Delete a platform that has members, and spaces with members."""
    for space in (tenant.space, create_space(tenant.api, tenant.platform, name="Mills")):
        add_space_member(space, tenant.people.member)
    assert tenant.api.delete(tenant.platform.path, caller=tenant.people.owner).status == 204
    return memory_aws.get_only_item_key("purge")


def claim_unverifiable_domain(tenant: TenantFixture) -> ItemKey:
    """Claim a domain without DNS records."""
    claim_domain(tenant.api, tenant.platform, "engines.example.com")
    tenant.workers.deliver()
    return stored_custom_domain(tenant.platform).item_key


def delete_taxonomy_subtree(tenant: TenantFixture) -> ItemKey:
    """Delete a taxonomy node with a child and attachments."""
    root = tenant.organization.attachment.node
    assert tenant.api.delete(root.path, caller=tenant.people.owner, query={"strategy": "cascade"}).status == 204
    return memory_aws.get_only_item_key("taxonomy.felling")


def schedule_page_publication(tenant: TenantFixture) -> ItemKey:
    """Schedule the publication of a published page's draft, which has another path."""
    body = {"slug": "mills", "publishAt": after(now(), days=1)}
    assert tenant.api.patch(tenant.page.path, caller=tenant.people.owner, json=body).status == 200
    tenant.workers.run_until_idle()
    return f"W#{tenant.site.id}", f"N#{tenant.page.id}"


def delete_page_subtree(tenant: TenantFixture) -> ItemKey:
    """Delete a page with children in the draft tree and others that are only published below it."""
    root_page = create_published_page(tenant.api, tenant.site, "Machines")
    create_published_page(
        tenant.api,
        tenant.site,
        "Engines",
        parent=create_published_page(tenant.api, tenant.site, "Steam", parent=root_page),
    )
    update_page(tenant.api, create_published_page(tenant.api, tenant.site, "Tools", parent=root_page), parentId=None)
    tenant.workers.run_until_idle()
    assert tenant.api.delete(root_page.path, caller=tenant.people.owner, query={"strategy": "cascade"}).status == 204
    return memory_aws.get_only_item_key("page.removal")


def remove_stored_rendering(tenant: TenantFixture) -> ItemKey:
    """Remove the stored rendering of a page, which the next request for the page enqueues."""
    names = {"page_id": tenant.page.id, "id": str(tenant.page.record["publishedRevisionId"])}
    item_key = Content.make_item_key(**names)
    memory_aws.delete_item(_get_item(StoredRendering.make_item_key(**names)))
    item = _get_item(item_key)
    memory_aws.delete_item(item)
    memory_aws.put_item({name: value for name, value in item.items() if name != "titled"})
    return item_key


def request_page(tenant: TenantFixture) -> None:
    """Request the page as HTML."""
    path = f"{tenant.site.path}/pages/by-path"
    tenant.api.get(path, query={"path": "/looms"}, headers={"Accept": "text/html"}).expect(200)


def _get_item(key: ItemKey) -> Item:
    item = memory_aws.get_item(*key)
    assert item is not None
    return item


def create_research_job(tenant: TenantFixture) -> ItemKey:
    """Request the backfill of a venue's edition."""
    response = tenant.api.post("/research/backfill/neurips-2025", caller=tenant.people.operator)
    return f"RJ#{response.json['id']}", "#"


_ROUNDS: Final = 4


def start_redrive_of_dead_letters(tenant: TenantFixture) -> ItemKey:
    """Start a redrive of messages whose record is gone, and of one that this release cannot process."""
    for task in ("erasures.run", "of.another.release", "erasures.run"):
        put_dead_letter("jobs", {"task": task, "pk": "O#gone", "sk": "#"})
    redrive_id = start_redrive(tenant.api, tenant.people.operator, "jobs").json["id"]
    return DeadLetterRedrive.make_item_key(id=redrive_id)


def verify_all_logs(tenant: TenantFixture) -> ItemKey:
    """Start a verification of all logs."""
    started = post_log_verification(tenant.api, tenant.people.operator).expect(202)
    return LogVerification.make_item_key(id=started.json["id"])


EXAMPLES: Final[Mapping[str, TaskExample]] = {
    "api_keys.expire": TaskExample(create_expiring_api_key, {"days": 2}),
    "api_keys.revoke": TaskExample(remove_admin_with_many_api_keys),
    "audit.anchor": TaskExample(grow_log, run_schedule=run_anchoring_schedule),
    "audit_exports.clear": TaskExample(use_expiring_export, {"days": 8}),
    "audit_exports.run": TaskExample(prepare_export),
    "audit_tiles.build": TaskExample(remove_tiles),
    "chain_tests.run": TaskExample(prepare_chain_test),
    "channels.send": TaskExample(delivery_examples.create_pending_channel_delivery, {"seconds": 7}),
    "deliveries.clear": TaskExample(delivery_examples.delete_webhook_with_deliveries),
    "deliveries.queue": TaskExample(delivery_examples.create_pending_delivery, {"seconds": 7}),
    "domains.check": TaskExample(claim_unverifiable_domain, {"days": 7}),
    "dead_letters.redrive": TaskExample(start_redrive_of_dead_letters),
    "erasures.run": TaskExample(create_erasure),
    "invitations.expire": TaskExample(use_expiring_invitation, {"days": 8}),
    "invitations.mail": TaskExample(invite_person),
    "log_verifications.run": TaskExample(verify_all_logs),
    "log_streams.notify": TaskExample(delivery_examples.create_stream_disabled_notice),
    "log_streams.send": TaskExample(delivery_examples.create_stream_with_waiting_entries),
    "log_streams.start": TaskExample(delivery_examples.create_stream_to_disable),
    "members.depart": TaskExample(remove_member_with_many_dependents, {"seconds": 6}),
    "members.notify": TaskExample(change_role_with_notice),
    "organizations.purge": TaskExample(delete_organization, {"days": RESTORABLE_DAYS, "minutes": 3}),
    "pages.remove": TaskExample(delete_page_subtree),
    "pages.render": TaskExample(remove_stored_rendering, run_schedule=request_page),
    "pages.turn": TaskExample(schedule_page_publication, {"days": 2}),
    "purges.purge": TaskExample(delete_platform),
    "reconciliations.run": TaskExample(start_reconciliation),
    "replays.run": TaskExample(delivery_examples.create_replay),
    "research.work": TaskExample(create_research_job),
    "service_keys.expire": TaskExample(create_expiring_service_key, {"days": 2}),
    "taxonomy.remove": TaskExample(delete_taxonomy_subtree),
    "webhooks.disable": TaskExample(delivery_examples.create_webhook_to_disable),
    "webhooks.exhaust": TaskExample(delivery_examples.create_exhausted_delivery),
    "webhooks.notify": TaskExample(delivery_examples.create_disabled_notice),
    "webhooks.probe": TaskExample(delivery_examples.create_unresponsive_webhook, {"seconds": 7}),
    "webhooks.send": TaskExample(delivery_examples.create_delivery_to_gone_webhook, {"seconds": 7}),
    "witnesses.collect": TaskExample(collect_anchor, run_schedule=queue_collection),
    "witnesses.submit": TaskExample(publish_anchors),
}


def list_task_names() -> list[str]:
    """Return the names of all tasks."""
    register_tasks()
    return [task.name for task in tasks.all_tasks()]


def run_until_done(
    tenant: TenantFixture, clock: Clock, run_schedule: RunSchedule, expected_summary: TableSummary | None = None
) -> log_proof.Items:
    """Deliver messages and run the schedule until the table has the expected summary, and return its items."""
    for _ in range(_ROUNDS):
        clock.shift(minutes=2)
        run_schedule(tenant)
        tenant.workers.deliver()
        items = snapshots.items_by_key()
        if summarize(items) == expected_summary:
            break
    return items
