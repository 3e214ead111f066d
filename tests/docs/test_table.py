"""`docs/reference/table.md` documents exactly the items and index keys of the table."""

import re
from collections.abc import Iterator

import pytest

from chalicelib.features.notifications.logic import delivery_attempts
from chalicelib.features.notifications.webhooks.entities import (
    DisabledNotice,
    DisableJob,
    ExhaustionJob,
    Webhook,
    WebhookDelivery,
)
from chalicelib.features.research.entities import PUBLIC_LIBRARY_ID, Artefact, ResearchJob, edition_count_write
from chalicelib.features.research.logic import throttle
from chalicelib.features.tenancy.api_keys.entities import KeyRevocation
from chalicelib.features.tenancy.email_suppressions.logic import UNSUBSCRIBE_PATH, create_unsubscribe_token
from chalicelib.features.tenancy.logic import email_hashes
from chalicelib.features.tenancy.logic.email_hashes import email_hmac_bytes
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.permissions import access_epochs
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from local.generators.generate import GENERATED
from local.generators.table_document import GUARD
from local.paths import ROOT
from tests.catalogue.tenant_fixture import put_records
from tests.docs.keys import template_pattern
from tests.harness import memory_aws, research_records
from tests.harness.api import ApiClient
from tests.harness.callers import Person
from tests.harness.channels import create_channel
from tests.harness.domains import set_domain_state
from tests.harness.exports import create_export
from tests.harness.external_servers import reject_deliveries
from tests.harness.invitations import create_invitation
from tests.harness.leads import create_lead
from tests.harness.memory_aws import all_items
from tests.harness.menus import page_item, put_menu
from tests.harness.organizations import CreatedOrganization, create_api_key
from tests.harness.platforms import (
    CreatedPlatform,
    add_block_capability_and_module,
    add_platform_member,
    create_platform,
    create_space,
)
from tests.harness.sites import create_draft_page, create_published_page, create_site, publish_page, update_page
from tests.harness.stored_records import new_id_and_time_fields
from tests.harness.taxonomy import CreatedNode, create_attachment, create_node_chain, delete_node, move_node
from tests.harness.webhooks import create_webhook
from tests.harness.workers import Workers

TABLE_ROW = re.compile(r"^\| (.+) \|$")


@pytest.mark.parametrize("file", GENERATED)
def test_the_committed_file_equals_the_generated_one(file):
    generated, committed = GENERATED[file](), (ROOT / file).read_text()
    if file.endswith(".py"):  # Ruff formats it, so white space is not compared.
        generated, committed = ("".join(text.split()).replace(",)", ")") for text in (generated, committed))
    assert generated == committed, "run `make generate`"


@pytest.fixture
def items(api, organization, workers, ada, edith, mary, mailbox, configure):
    """Items of every kind: those of an organization with all its records, with appended, long and pending entries."""
    put_records(unresponsive_webhook(organization.id))
    put_records([KeyRevocation(**new_id_and_time_fields(now()), organization_id=organization.id, lease_until=now())])
    defer_delivery(organization.id)
    platform = create_platform(api, organization)
    deleted_node = fill_platform(api, platform, ada, edith)
    publish_a_site(api, organization, platform)
    api.delete(create_platform(api, organization).path, caller=ada)
    key = create_api_key(api, organization, expiresAt="2099-01-01T00:00:00Z")
    api.patch(organization.path, caller=ada, json={"slug": "engines", "companyAddress": "x" * 3500})
    fail_deliveries(api, organization, workers)
    assert delete_node(api, deleted_node, "cascade").status == 204
    invite_and_unsubscribe(api, organization)
    create_invitation(api, platform, "friend@example.com")
    create_export(api, organization)
    erasure = api.post(f"{organization.path}/erasures", caller=ada, json={"email": "nobody@example.com"})
    departure = api.post(f"{organization.path}/leave", caller=mary)
    assert (erasure.status, departure.status) == (202, 204)
    create_lead(api)
    assert api.post("/research/import", caller=ada, json=research_import(organization)).status == 202
    create_research(ada)
    headers = {"Idempotency-Key": "once"}
    api.post("/organizations", caller=ada, json={"name": "Difference Engines"}, headers=headers)
    workers.run_migrations()
    quarantine_forged_item(organization.id)
    access_epochs.mark_epochs_as_closing(
        [access_epochs.EpochSubject(access_epochs.organization_partition(organization.id), access_epochs.EVERYONE)]
    )
    api.delete(organization.path, caller=ada)
    assert api.get(f"{organization.path}/api-keys", caller=key.credential).status == 404
    configure(requests_per_minute="600", network_requests_per_minute="3000")
    count_requests(api, ada)
    assert mailbox.received_emails == []  # Sending mail is a pending task, like the other work.
    return all_items()


def fill_platform(api: ApiClient, platform: CreatedPlatform, ada: Person, edith: Person) -> CreatedNode:
    """Give a platform a space, a module, a domain, a taxonomy and members. Return a node of the taxonomy."""
    space = create_space(api, platform)
    add_block_capability_and_module(api, space, project_block_id="showcase", capability_key="chat", module_id="wiki")
    api.patch(f"{platform.path}/modules", caller=ada, json={"modules": [{"moduleId": "wiki"}]})
    set_domain_state(platform, "verified", next_check_at=now())
    machines, looms = create_node_chain(api, platform, "Machines", "Looms")
    create_attachment(api, looms)
    assert (move_node(api, looms, None).status, create_attachment(api, machines).node) == (200, machines)
    add_platform_member(platform, ada)
    add_platform_member(platform, edith)
    assert api.post(f"{platform.path}/leave", caller=edith).status == 204
    return machines


def fail_deliveries(api: ApiClient, organization: CreatedOrganization, workers: Workers) -> None:
    """Create two webhooks and a channel whose deliveries fail, replay one webhook and delete the other."""
    failing, deleted = (create_webhook(api, organization, f"https://hooks.example.com/{n}") for n in range(2))
    create_channel(api, organization, "https://hooks.slack.com/services/T0/B0/x")
    with reject_deliveries():
        workers.deliver()
    replay = {"from": organization.record["createdAt"]}
    api.post(f"{failing.path}/replay", caller=organization.owner, json=replay)
    api.delete(deleted.path, caller=organization.owner)


def invite_and_unsubscribe(api: ApiClient, organization: CreatedOrganization) -> None:
    """Send an invitation to an e-mail address that then unsubscribes."""
    email_hashes.reset()
    create_invitation(api, organization, "friend@example.com")
    token = create_unsubscribe_token(email_hmac_bytes("friend@example.com").hex())
    assert api.post(UNSUBSCRIBE_PATH, query={"token": token}).status == 200


def count_requests(api: ApiClient, ada: Person) -> None:
    """Send enough requests of each kind of caller to store their counts."""
    batch = range(request_quota.BATCH_SIZE)
    assert [api.get("/organizations", caller=ada).status for _ in batch] == [200] * len(batch)
    unknown_key = api_key_format.generate_api_key()
    for credential, status in ((None, 200), (unknown_key, 401)):
        responses = [api.get("/public/leads/statuses", caller=credential) for _ in batch]
        assert [response.status for response in responses] == [status] * len(batch)


def research_import(organization: CreatedOrganization) -> dict[str, str]:
    """Return the body of a request to import a researcher's works for an organization."""
    return {"researcherId": "0000-0002-1825-0097", "organizationId": organization.id}


def quarantine_forged_item(log: str) -> None:
    """Put a forged item into the outbox of a log, and let the ledger quarantine it."""
    memory_aws.put_item({"pk": f"Q#{log}", "sk": "forged"})
    ledger.append_pending_and_return_longest_wait_ms(log)


def publish_a_site(api: ApiClient, organization: CreatedOrganization, platform: CreatedPlatform) -> None:
    """Publish a site with a page that has moved, a scheduled page and a deleted one."""
    site = create_site(api, organization, platformId=platform.id)
    create_published_page(api, site, "Welcome")
    machines = create_published_page(api, site, "Machines")
    create_published_page(api, site, "Looms", parent=machines)
    update_page(api, machines, slug="engines")
    publish_page(api, machines)
    create_draft_page(api, site, "Soon", publishAt="2099-01-01T00:00:00Z")
    deletion = api.delete(create_published_page(api, site, "Gone").path, caller=site.owner)
    redirect = api.post(f"{site.path}/redirects", caller=site.owner, json={"fromPath": "/old", "toPath": "/engines"})
    assert (deletion.status, redirect.status) == (204, 201)
    put_menu(api, site, page_item(machines))
    publication = api.patch(site.path, caller=site.owner, json={"status": "published"})
    assert (publication.status, api.get(f"{site.path}/sitemap.xml").status) == (200, 200)


def create_research(ada: Person) -> None:
    """Create a stale artefact, its output, the throttle of a source and the count of an edition's outputs."""
    changes = UnitOfWork(now())
    fields = {"researcher_ids": ["0000-0002-1825-0097"]}
    for record in research_records.build_research_records(ada):
        changes.create(record.replace(**fields) if not isinstance(record, ResearchJob) else record)
    changes.add_write(edition_count_write(PUBLIC_LIBRARY_ID, "neurips-2025", 1))
    changes.commit()
    stale = Artefact.from_item(table.get(Artefact.make_item_key(id=research_records.ARTEFACT_ID)) or {})
    changes = UnitOfWork(now())
    changes.update(stale, is_stale=True)
    changes.commit()
    throttle.wait_for_slot("DBLP", 1000, max_wait_seconds=1)


def unresponsive_webhook(organization_id: str) -> list[Entity]:
    """Return a webhook that does not respond, and the jobs that disable it and notify its owners."""
    timestamp = now()
    common_fields = {"organization_id": organization_id, **new_id_and_time_fields(timestamp)}
    webhook = Webhook(**common_fields, url="https://hooks.example.com/silent", events=["*"], probe_at=timestamp)
    exhaustion_job = ExhaustionJob(
        **{**common_fields, **new_id_and_time_fields(timestamp)},
        webhook_id=webhook.id,
        delivery_id=webhook.id,
        lease_until=timestamp,
        attempt=10,
        due_before=None,
        completed_at=timestamp,
    )
    notice = DisabledNotice.create(webhook, timestamp)
    return [webhook, notice, DisableJob.create(webhook, timestamp, timestamp), exhaustion_job]


def defer_delivery(organization_id: str) -> None:
    """Store a delivery that waits until its webhook responds again."""
    webhook = Webhook(
        **new_id_and_time_fields(now()), organization_id=organization_id, url="https://example.com", events=["*"]
    )
    delivery = WebhookDelivery.create_pending_or_skipped(
        webhook.id,
        event_id=str(new_id_and_time_fields(now())["id"]),
        event_type="organization.updated",
        organization_id=organization_id,
        sequence=1,
        occurred_at=now(),
        now=now(),
        attempt_at=now(),
    )
    put_records([delivery])
    delivery_attempts.defer_until_subscriber_ready(webhook, delivery, 60)


def table_rows(title: str) -> Iterator[list[str]]:
    """Yield the cells of each row of the table in a section of the document."""
    text = (ROOT / "docs/reference/table.md").read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    rows = [match[1].split(" | ") for line in text.splitlines() if (match := TABLE_ROW.match(line))]
    yield from rows[2:]


def documented_keys() -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Return the name, partition key and sort key of each documented item."""
    records = [(kind, pk, sk) for kind, pk, sk, _ in table_rows("Records")]
    limits = [("`counter`", pk, sk) for _, _, pk, sk in table_rows("Limits")]
    guards = [(GUARD, pk, sk) for _, _, pk, sk, *_ in table_rows("Unique values")]
    others = [(name, pk, sk) for name, pk, sk, _ in table_rows("Other items") if name not in ("counter", GUARD)]
    return [
        (name.strip("`"), template_pattern(pk.strip("`")), template_pattern(sk.strip("`")))
        for name, pk, sk in [*records, *limits, *guards, *others]
    ]


def test_exactly_the_existing_items_are_documented_each_once(items):
    keys = documented_keys()
    for item in items:
        matches = [(name, pk, sk) for name, pk, sk in keys if pk.match(item["pk"]) and sk.match(item["sk"])]
        assert len({(pk, sk) for _, pk, sk in matches}) == 1, item
        assert item.get("kind", matches[0][0]) in [name for name, _, _ in matches], item
    for name, pk, sk in keys:
        assert any(pk.match(item["pk"]) and sk.match(item["sk"]) for item in items), name
    scheduled = {name.strip("`") for name, _ in table_rows("Scheduled tasks")}
    assert {item.get("kind", "outbox pointer") for item in items if "duepk" in item} == scheduled


def test_every_index_key_is_documented_and_used(items):
    documented = {
        (index.strip("`"), template_pattern(pk.strip("`")))
        for _, _, index, pk, _ in table_rows("Lists and filters")
        if index
    }
    stored_keys = [
        (index, item[f"{index}pk"]) for item in items for index in {i for i, _ in documented} if f"{index}pk" in item
    ]
    for index, value in stored_keys:
        assert sum(name == index and bool(pk.match(value)) for name, pk in documented) == 1, (index, value)
    for name, pk in documented:
        assert any(index == name and pk.match(value) for index, value in stored_keys), (name, pk)
