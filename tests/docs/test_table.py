"""`docs/reference/table.md` documents exactly the items and index keys of the table."""

import re
from collections.abc import Iterator

import pytest

from chalicelib.features.admin.chain_tests.logic import start_chain_test
from chalicelib.features.audit.proofs.logic.tree_reading import start_build_unless_exists
from chalicelib.features.audit.witnesses.logic import anchored_checkpoints
from chalicelib.features.audit.witnesses.logic.anchor_log import HEAD_KEY
from chalicelib.features.audit.witnesses.tasks import COLLECTION_TASK, collect_anchored_checkpoints
from chalicelib.features.notifications.log_streams.entities import StreamNotice
from chalicelib.features.tenancy.logic import email_hashes
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.ledger import Head
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.crypto.tree_tiles import TILE_WIDTH
from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.identity.claims import Profile
from chalicelib.kernel.permissions import access_epochs
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.item_json import item_from_dynamodb_json
from local.generators.generate import GENERATED
from local.generators.table_items import GUARD
from local.paths import ROOT
from tests.docs.keys import template_pattern
from tests.harness import memory_aws, research_records
from tests.harness.application_events import commit_application_event
from tests.harness.callers import Caller
from tests.harness.dead_letters import start_redrive
from tests.harness.domains import set_domain_state
from tests.harness.event_types import declare_event_type
from tests.harness.exports import append_entries
from tests.harness.invitations import create_invitation
from tests.harness.log_streams import create_log_stream
from tests.harness.log_verifications import post_log_verification
from tests.harness.organizations import set_role
from tests.harness.platforms import create_platform
from tests.harness.service_keys import create_service_key
from tests.harness.sites import create_site
from tests.harness.stored_records import committed_changes
from tests.harness.webhooks import create_webhook, rename_organization
from tests.harness.witnesses import ACCEPTING_WITNESS
from tests.stored_forms import forms as stored_forms

RESEARCHER_ID = "0000-0002-1825-0097"
TABLE_ROW = re.compile(r"^\| (.+) \|$")


@pytest.mark.parametrize("file", GENERATED)
def test_the_committed_file_equals_the_generated_one(file):
    generated, committed = GENERATED[file](), (ROOT / file).read_text()
    if file.endswith(".py"):  # Ruff formats it, so white space is not compared.
        generated, committed = ("".join(text.split()).replace(",)", ")") for text in (generated, committed))
    is_current = generated == committed
    assert is_current, "run `make generate`"


def create_witness_items(log_id, configure):
    """Create the items of the log of anchors and a witness, and an anchored checkpoint that is not in the log yet."""
    ledger.append_pending_and_return_longest_wait_ms(log_id)
    head = Head.from_item_or_empty(table.get(ledger.head_key(log_id)))
    configure(witnesses=ACCEPTING_WITNESS.setting)
    anchored_checkpoints.store_if_absent(log_id, head)
    collect_anchored_checkpoints({"task": COLLECTION_TASK, "pk": HEAD_KEY[0], "sk": HEAD_KEY[1]})
    configure(witnesses="")
    anchored_checkpoints.store_if_absent("other", head)


@pytest.fixture
def attempt_and_notice(api, workers, organization, edith, configure, receiver, mailbox):
    """An attempt of a webhook, which is counted, and notices that are not sent yet."""
    configure(webhook_allow_private="true")
    create_webhook(api, organization, receiver)
    create_log_stream(api, organization, {"type": "https", "url": receiver.url})
    rename_organization(api, organization, "Looms")
    workers.run_until_idle()
    set_role(api, organization, edith, "member").expect(200)
    stream = create_log_stream(api, organization, {"type": "https", "url": receiver.url})  # Not started yet.
    with committed_changes() as changes:
        changes.create(StreamNotice.create(stream.stored, None, now()))


@pytest.fixture
def items(api, organization, ada, operator, configure, userinfo_profile, issuer, attempt_and_notice):
    """Items of every kind: those of the recorded walk through the API, and those of what it leaves out."""
    platform = create_platform(api, organization)
    set_domain_state(platform, "verified", next_check_at=now())
    create_site(api, organization, platformId=platform.id)
    create_service_key(api, operator)
    declare_event_type(api, operator)
    commit_application_event(organization.id)
    api.patch(organization.path, caller=ada, json={"companyAddress": "x" * 3500}).expect(200)
    api.post(f"{organization.path}/audit-log/reconciliations", caller=ada).expect(202)
    start_redrive(api, operator, "jobs")
    post_log_verification(api, operator).expect(202)
    start_chain_test(organization.id, turns=2)
    create_witness_items(organization.id, configure)
    append_entries(organization.id, TILE_WIDTH)
    start_build_unless_exists(organization.id)
    email_hashes.reset()
    create_invitation(api, organization, "friend@example.com")
    research_import = {"researcherId": RESEARCHER_ID, "organizationId": organization.id}
    api.post("/research/import", caller=ada, json=research_import).expect(202)
    artefact, output, _ = research_records.build_research_records(ada.id)
    with committed_changes() as changes:
        changes.create(artefact.replace(researcher_ids=[RESEARCHER_ID], is_stale=True))
        changes.create(output.replace(researcher_ids=[RESEARCHER_ID]))
    memory_aws.put_item({"pk": f"Q#{organization.id}", "sk": "forged"})
    ledger.append_pending_and_return_longest_wait_ms(organization.id)  # Quarantines the forged item.
    partition = access_epochs.organization_partition(organization.id)
    access_epochs.mark_epochs_as_closing([access_epochs.EpochSubject(partition, access_epochs.EVERYONE)])
    configure(requests_per_minute="600", network_requests_per_minute="3000")
    requests = (("/organizations", ada, 200), ("/public/leads/statuses", None, 200))
    for path, caller, status in (*requests, ("/public/leads/statuses", api_key_format.generate_api_key(), 401)):
        for _ in range(request_quota.BATCH_SIZE):  # Enough requests of the caller to store their count.
            api.get(path, caller=caller).expect(status)
    userinfo_profile(Profile("zoe"))
    api.post("/organizations", caller=Caller("", issuer.issue_token(sub="zoe")), json={"name": "Looms"}).expect(201)
    recorded = {str(item): item_from_dynamodb_json(item) for item in stored_forms.load().items()}
    return [*recorded.values(), *memory_aws.all_items()]


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
