"""`docs/reference/table.md` says what the table holds: all of it, and nothing that it doesn't."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.features.notifications.logic import delivery_attempts
from chalicelib.features.notifications.webhooks.entities import (
    DisabledNotice,
    DisableJob,
    ExhaustionJob,
    Webhook,
    WebhookDelivery,
)
from chalicelib.features.research.entities import PUBLIC_LIBRARY_ID, Artefact, ResearchJob, count_edition_outputs
from chalicelib.features.research.logic import throttle
from chalicelib.features.tenancy.api_keys.entities import KeyRevocation
from chalicelib.features.tenancy.email_suppressions.logic import UNSUBSCRIBE_PATH, create_unsubscribe_token
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.identity import api_key_format, email_hashes
from chalicelib.kernel.identity.email_hashes import hash_email
from chalicelib.kernel.permissions import access_epochs
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from local.generators.generate import GENERATED
from local.generators.table_document import GUARD
from local.paths import ROOT
from tests.catalogue.tenant_fixture import put_records
from tests.conftest import SettingsOverride
from tests.docs.keys import pattern
from tests.harness import memory_aws, research_records
from tests.harness.api import ApiClient
from tests.harness.callers import Person
from tests.harness.channels import create_channel
from tests.harness.domains import set_domain_state
from tests.harness.exports import create_export
from tests.harness.external_servers import reject_deliveries
from tests.harness.invitations import create_invitation
from tests.harness.leads import create_lead
from tests.harness.mailbox import Mailbox
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
from tests.harness.stored_records import new_record_fields
from tests.harness.taxonomy import create_attachment, create_node_chain, delete_node, move_node
from tests.harness.webhooks import create_webhook
from tests.harness.workers import Workers

LINE = re.compile(r"^\| (.+) \|$")


@pytest.mark.parametrize("file", GENERATED)
def test_what_is_generated_is_committed(file: str) -> None:
    made, kept = GENERATED[file](), (ROOT / file).read_text()
    if file.endswith(".py"):  # Its format is ruff's: only the words are compared.
        made, kept = ("".join(text.split()).replace(",)", ")") for text in (made, kept))
    assert made == kept, "run `make generate`"


@pytest.fixture
def items(
    api: ApiClient,
    organization: CreatedOrganization,
    workers: Workers,
    ada: Person,
    edith: Person,
    mary: Person,
    mailbox: Mailbox,
    configure: SettingsOverride,
) -> list[dict[str, Any]]:
    """All that a life of an organization leaves in the table: sealed entries, a long one, and one that waits."""
    put_records(silent_webhook(organization.id))
    put_records([KeyRevocation(**new_record_fields(now()), organization_id=organization.id, lease_until=now())])
    one_waits(organization.id)
    platform = create_platform(api, organization)
    add_block_capability_and_module(
        api, create_space(api, platform), project_block_id="showcase", capability_key="chat", module_id="wiki"
    )
    api.patch(f"{platform.path}/modules", caller=ada, json={"modules": [{"moduleId": "wiki"}]})
    set_domain_state(platform, "verified", next_check_at=now())
    machines, looms = create_node_chain(api, platform, "Machines", "Looms")
    create_attachment(api, looms)
    assert (move_node(api, looms, None).status, create_attachment(api, machines).node) == (200, machines)
    add_platform_member(platform, ada)
    add_platform_member(platform, edith)
    assert api.post(f"{platform.path}/leave", caller=edith).status == 204
    publish_a_site(api, organization, platform)
    api.delete(create_platform(api, organization).path, caller=ada)
    key = create_api_key(api, organization, expiresAt="2099-01-01T00:00:00Z")
    api.patch(organization.path, caller=ada, json={"slug": "engines", "companyAddress": "x" * 3500})
    missing, gone = (create_webhook(api, organization, f"https://hooks.example.com/{n}") for n in range(2))
    create_channel(api, organization, "https://hooks.slack.com/services/T0/B0/x")
    with reject_deliveries():
        workers.deliver()
    api.post(f"{missing.path}/replay", caller=ada, json={"from": organization.record["createdAt"]})
    api.delete(gone.path, caller=ada)
    assert delete_node(api, machines, "cascade").status == 204
    email_hashes.reset()
    create_invitation(api, organization, "friend@example.com")
    unsubscribed = api.post(
        UNSUBSCRIBE_PATH, query={"token": create_unsubscribe_token(hash_email("friend@example.com").hex())}
    )
    assert unsubscribed.status == 200
    create_invitation(api, platform, "friend@example.com")
    create_export(api, organization)
    erased = api.post(f"{organization.path}/erasures", caller=ada, json={"email": "nobody@example.com"})
    left = api.post(f"{organization.path}/leave", caller=mary)
    assert (erased.status, left.status) == (202, 204)
    create_lead(api)
    assert api.post("/research/import", caller=ada, json=a_researcher(organization)).status == 202
    research_is_there(ada)
    headers = {"Idempotency-Key": "once"}
    api.post("/organizations", caller=ada, json={"name": "Difference Engines"}, headers=headers)
    workers.run_migrations()
    set_aside(organization.id)
    access_epochs.close_epochs(
        [access_epochs.Subject(access_epochs.log_partition(organization.id), access_epochs.EVERYONE)]
    )
    api.delete(organization.path, caller=ada)
    assert api.get(f"{organization.path}/api-keys", caller=key.credential).status == 404
    configure(requests_per_minute="600", network_requests_per_minute="3000")
    assert [api.get("/organizations", caller=ada).status for _ in range(request_quota.BATCH_SIZE)] == [
        200
    ] * request_quota.BATCH_SIZE
    unknown = api_key_format.generate_api_key()
    for credential, status in ((None, 200), (unknown, 401)):
        answers = [api.get("/public/leads/statuses", caller=credential) for _ in range(request_quota.BATCH_SIZE)]
        assert [answer.status for answer in answers] == [status] * request_quota.BATCH_SIZE
    assert mailbox.received_emails == []  # The mail waits, as the rest of the work does.
    return all_items()


def a_researcher(organization: CreatedOrganization) -> dict[str, str]:
    """Return whose works an organization imports."""
    return {"researcherId": "0000-0002-1825-0097", "organizationId": organization.id}


def set_aside(log: str) -> None:
    """Let the ledger find something in a log's outbox that nobody has committed."""
    memory_aws.put_item({"pk": f"Q#{log}", "sk": "forged"})
    ledger.append_pending(log)


def publish_a_site(api: ApiClient, organization: CreatedOrganization, platform: CreatedPlatform) -> None:
    """Let there be a site: with a page that has moved, one that waits for its time, and one that was deleted."""
    site = create_site(api, organization, platformId=platform.id)
    create_published_page(api, site, "Welcome")
    machines = create_published_page(api, site, "Machines")
    create_published_page(api, site, "Looms", parent=machines)
    update_page(api, machines, slug="engines")
    publish_page(api, machines)
    create_draft_page(api, site, "Soon", publishAt="2099-01-01T00:00:00Z")
    gone = api.delete(create_published_page(api, site, "Gone").path, caller=site.owner)
    led = api.post(f"{site.path}/redirects", caller=site.owner, json={"fromPath": "/old", "toPath": "/engines"})
    assert (gone.status, led.status) == (204, 201)
    put_menu(api, site, page_item(machines))
    published = api.patch(site.path, caller=site.owner, json={"status": "published"})
    assert (published.status, api.get(f"{site.path}/sitemap.xml").status) == (200, 200)


def research_is_there(ada: Person) -> None:
    """Let there be an artefact that is stale, its output, and what a source's pace and an edition's count are."""
    changes = UnitOfWork(now())
    known = {"researcher_ids": ["0000-0002-1825-0097"]}
    for record in research_records.build_research_records(ada):
        changes.create(record.replace(**known) if not isinstance(record, ResearchJob) else record)
    changes.add_write(count_edition_outputs(PUBLIC_LIBRARY_ID, "neurips-2025", 1))
    changes.commit()
    stale = Artefact.from_item(table.get(Artefact.make_item_key(id=research_records.ARTEFACT_ID)) or {})
    changes = UnitOfWork(now())
    changes.update(stale, is_stale=True)
    changes.commit()
    throttle.acquire("DBLP", 1000, max_wait_seconds=1)


def silent_webhook(organization_id: str) -> list[Entity]:
    """A webhook that has given no answer, and the mail that says so if it never does."""
    begun, moment = new_record_fields(now()), now()
    webhook = Webhook(
        **begun,
        organization_id=organization_id,
        url="https://hooks.example.com/silent",
        events=["*"],
        probe_at=moment,
    )
    failed = ExhaustionJob(
        **new_record_fields(now()),
        organization_id=organization_id,
        webhook_id=webhook.id,
        delivery_id=webhook.id,
        lease_until=moment,
        attempt=10,
        due_before=None,
        completed_at=moment,
    )
    return [webhook, DisabledNotice.create(webhook, moment), DisableJob.create(webhook, moment, moment), failed]


def one_waits(organization_id: str) -> None:
    """Let a delivery wait for its webhook to answer."""
    webhook = Webhook(
        **new_record_fields(now()), organization_id=organization_id, url="https://example.com", events=["*"]
    )
    delivery = WebhookDelivery.plan(
        webhook.id,
        event_id=str(new_record_fields(now())["id"]),
        event_type="organization.updated",
        organization_id=organization_id,
        sequence=1,
        occurred_at=now(),
        now=now(),
        attempt_at=now(),
    )
    put_records([delivery])
    delivery_attempts.defer(webhook, delivery, 60)


def section(title: str) -> Iterator[list[str]]:
    """Yield the rows of the table below a title, cell by cell."""
    text = (ROOT / "docs/reference/table.md").read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    rows = [found[1].split(" | ") for line in text.splitlines() if (found := LINE.match(line))]
    yield from rows[2:]


def documented_keys() -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Return what the document says of items: name, partition key, sort key."""
    records = [(kind, pk, sk) for kind, pk, sk, _ in section("Records")]
    limits = [("`counter`", pk, sk) for _, _, pk, sk in section("Limits")]
    guards = [(GUARD, pk, sk) for _, _, pk, sk, *_ in section("Unique values")]
    others = [(name, pk, sk) for name, pk, sk, _ in section("Other items") if name not in ("counter", GUARD)]
    return [
        (name.strip("`"), pattern(pk.strip("`")), pattern(sk.strip("`")))
        for name, pk, sk in [*records, *limits, *guards, *others]
    ]


def test_every_item_is_documented_once(items: list[dict[str, Any]]) -> None:
    keys = documented_keys()
    for item in items:
        found = [(name, pk, sk) for name, pk, sk in keys if pk.match(item["pk"]) and sk.match(item["sk"])]
        assert len({(pk, sk) for _, pk, sk in found}) == 1, item
        assert item.get("kind", found[0][0]) in [name for name, _, _ in found], item


def test_everything_documented_is_there(items: list[dict[str, Any]]) -> None:
    for name, pk, sk in documented_keys():
        assert any(pk.match(item["pk"]) and sk.match(item["sk"]) for item in items), name


def test_every_index_key_is_documented_and_used(items: list[dict[str, Any]]) -> None:
    documented = {
        (index.strip("`"), pattern(pk.strip("`"))) for _, _, index, pk, _ in section("Lists and filters") if index
    }
    stored_keys = [
        (index, item[f"{index}pk"]) for item in items for index in {i for i, _ in documented} if f"{index}pk" in item
    ]
    for index, value in stored_keys:
        assert sum(name == index and bool(pk.match(value)) for name, pk in documented) == 1, (index, value)
    for name, pk in documented:
        assert any(index == name and pk.match(value) for index, value in stored_keys), (name, pk)


def test_what_is_due_is_documented(items: list[dict[str, Any]]) -> None:
    documented = {name.strip("`") for name, _ in section("Scheduled tasks")}
    assert {item.get("kind", "outbox pointer") for item in items if "duepk" in item} == documented
