"""The log in the console: its proof in the browser, filters, exports, reconciliations and files to verify."""

import gzip
import json
import re
import struct
from typing import Final

import pytest

from chalicelib.features.audit.exports.logic.verify_receipts import describe_receipt
from chalicelib.features.audit.reconciliations import tasks as reconciliation_tasks
from chalicelib.kernel.audit_log import ledger, redaction
from chalicelib.kernel.storage import table
from local.paths import ROOT
from local.seed.callers import Service
from tests.console.tabs import person
from tests.harness import memory_aws, snapshots
from tests.harness.browser import SCREENSHOTS_FOLDER
from tests.harness.exported_logs import KEY, build_exported_log, sign_checkpoint
from tests.harness.exports import download_file
from tests.harness.rfc6962 import tree_root

IMAGES: Final = ROOT / "docs" / "images"
"""The screenshots in README.md. To take them again, delete them and run the test that compares them."""

pytestmark = pytest.mark.xdist_group("browser")

ALTERED_SEQUENCE: Final = 17
NDJSON: Final = {"Content-Type": "application/x-ndjson"}
LONG_LOG_SIZE: Final = 2_100
"""More entries than are proven without a worker."""


@pytest.fixture
def organization_id(seeded_service: Service) -> str:
    """The sample organization, whose entries are in its log."""
    identifier: str = seeded_service.caller_for(person("maud")).list_all("/organizations")[0]["id"]
    append(identifier)
    return identifier


def append(organization_id):
    ledger.append_pending_and_return_longest_wait_ms(organization_id)


def entry_item(organization_id, sequence):
    items = (item for item in memory_aws.all_items() if item["pk"] == f"A#{organization_id}")
    return next(item for item in items if item.get("sequence") == sequence)


def size_of(service, organization_id):
    return service.caller_for(person("maud")).get(f"/organizations/{organization_id}/summary")["log"]["size"]


def add_entry(service, organization_id, name):
    path = f"/organizations/{organization_id}/invite"
    service.caller_for(person("maud")).post(path, {"email": f"{name}@example.com"})
    append(organization_id)


def check(page):
    """Check the log, and return what the badge says."""
    page.get_by_role("button", name=re.compile("Check the log|Check again")).click()
    page.locator(".proof-badge:not([aria-busy=true]) :is(.good, .bad, .warning)").wait_for()
    return page.locator(".proof-badge .status").inner_text()


def proven(size):
    return f"Proven in this browser: {size} of {size}"


class TestProof:
    def test_the_log_is_proven_and_the_overview_knows_it(self, open_tab, seeded_service, organization_id):
        size = size_of(seeded_service, organization_id)
        assert size > 100
        page = open_tab(user="maud").open(f"/o/{organization_id}/log")
        page.get_by_text("Not checked").wait_for()
        assert check(page) == proven(size)
        page.get_by_role("link", name="Overview").click()
        page.get_by_text(proven(size)).wait_for()

    def test_an_entry_that_was_altered_in_the_table_turns_the_badge_red(self, open_tab, organization_id):
        item = entry_item(organization_id, ALTERED_SEQUENCE)
        memory_aws.put_item({**item, "body": item["body"].replace(b'"name":"', b'"name":"Not ', 1)})
        target = json.loads(item["body"])["target"]["id"]
        page = open_tab(user="maud").open(f"/o/{organization_id}/log?targetId={target}")
        assert check(page) == f"Not proven: entry {ALTERED_SEQUENCE}"
        page.get_by_text(f"The entry with sequence {ALTERED_SEQUENCE} was altered").wait_for()
        page.get_by_text(f"{ALTERED_SEQUENCE}, not proven").wait_for()

    def test_a_log_with_an_erased_entry_is_proven(self, open_tab, seeded_service, organization_id):
        item = entry_item(organization_id, ALTERED_SEQUENCE)
        table.write_transaction(redaction.redaction_writes(organization_id, item, should_sign=True))
        page = open_tab(user="maud").open(f"/o/{organization_id}/log")
        assert check(page) == proven(size_of(seeded_service, organization_id))
        assert "Erased, with a signature\n1" in page.locator(".facts").inner_text()

    def test_a_longer_log_extends_the_one_that_was_proven_before(self, open_tab, seeded_service, organization_id):
        tab = open_tab(user="maud")
        page = tab.open(f"/o/{organization_id}/log")
        check(page)
        page.get_by_text("First check in this browser").wait_for()
        add_entry(seeded_service, organization_id, "wren")
        assert check(page) == proven(size_of(seeded_service, organization_id))
        page.get_by_text("First check in this browser").wait_for(state="detached")
        assert f"GET /organizations/{organization_id}/audit-log/consistency" in tab.requested

    def test_a_rewritten_history_turns_the_badge_red(self, open_tab, seeded_service, organization_id):
        before = snapshots.take_snapshot()
        add_entry(seeded_service, organization_id, "wren")
        page = open_tab(user="maud").open(f"/o/{organization_id}/log")
        size = size_of(seeded_service, organization_id)
        assert check(page) == proven(size)
        snapshots.restore_snapshot(before)
        for name in ("robin", "finch"):
            add_entry(seeded_service, organization_id, name)
        page.reload()
        assert check(page) == "Not proven"
        page.get_by_text(f"this browser proved a log with {size} entries. It no longer begins with them").wait_for()
        snapshots.restore_snapshot(before)
        page.reload()
        assert check(page) == "Not proven"
        page.get_by_text(f"It has only {size - 1} entries now").wait_for()

    def test_a_long_log_is_proven_in_a_worker(self, open_tab, organization_id):
        log = build_exported_log([LONG_LOG_SIZE], log_id=organization_id)
        note = sign_checkpoint(log.size, tree_root(log.leaf_hashes), f"atrium/{organization_id}", KEY)
        lines = [json.dumps({"checkpoint": note, "evidence": []}, separators=(",", ":")).encode() + b"\n", *log.lines]
        tab = open_tab(user="maud")
        path = f"GET /organizations/{organization_id}/audit-log/export"
        tab.failures[path] = (200, NDJSON, b"".join(lines).decode())
        page = tab.open(f"/o/{organization_id}/log")
        with page.expect_worker():
            assert check(page) == "Proven in this browser: 2,100 of 2,100"
        lines[ALTERED_SEQUENCE] = lines[ALTERED_SEQUENCE].replace(b"Engine", b"Motor")
        tab.failures[path] = (200, NDJSON, b"".join(lines).decode())
        assert check(page) == f"Not proven: entry {ALTERED_SEQUENCE}"

    def test_a_log_that_is_too_large_for_one_response_is_proven_in_parts(
        self, open_tab, seeded_service, organization_id
    ):
        page = open_tab(user="maud").open(f"/o/{organization_id}/log")
        body = json.dumps({"status": 422, "code": "export_too_large", "detail": "Start a background export."})
        problem = {"status": 422, "content_type": "application/problem+json", "body": body}
        page.route(re.compile("/export.*evidence=true"), lambda route: route.fulfill(**problem))
        assert check(page) == proven(size_of(seeded_service, organization_id))

    def test_a_failed_request_says_nothing_about_the_log(self, open_tab, organization_id):
        tab = open_tab(user="maud")
        problem = json.dumps({"status": 503, "code": "unavailable", "detail": "Not now."})
        headers = {"Content-Type": "application/problem+json"}
        tab.failures[f"GET /organizations/{organization_id}/audit-log/export"] = (503, headers, problem)
        assert check(tab.open(f"/o/{organization_id}/log")) == "The check did not finish"


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_the_screenshot_in_the_readme_shows_the_proven_log(open_tab, seeded_service, organization_id, color_scheme):
    page = open_tab(user="maud", color_scheme=color_scheme, height=800).open(f"/o/{organization_id}/log")
    assert check(page) == proven(size_of(seeded_service, organization_id))
    page.evaluate("document.activeElement.blur()")
    file = IMAGES / f"log-proven-{color_scheme}.png"
    taken = SCREENSHOTS_FOLDER / file.name
    page.screenshot(path=taken)
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(taken.read_bytes())
    assert image_size(file) == image_size(taken) == (1280, 800)
    assert file.stat().st_size < 200_000
    assert f"docs/images/{file.name}" in (ROOT / "README.md").read_text(encoding="utf-8")


def image_size(file):
    """Return the width and height in the header of a PNG."""
    return struct.unpack(">II", file.read_bytes()[16:24])


class TestEntry:
    def test_an_entry_is_proven_and_its_receipt_can_be_verified_elsewhere(
        self, open_tab, seeded_service, organization_id
    ):
        entry = entry_item(organization_id, ALTERED_SEQUENCE)["id"]
        page = open_tab(user="maud").open(f"/o/{organization_id}/log/{entry}")
        page.get_by_text("Proven in this browser").wait_for()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download the receipt").click()
        receipt = download.value.path().read_bytes()
        assert f"sequence {ALTERED_SEQUENCE}" in describe_receipt(receipt, [KEY.public_key().public_bytes_raw()])
        page = open_tab(user="hattie").open(f"/o/{organization_id}/verification")
        page.get_by_label("Or its text").fill(receipt.decode())
        page.get_by_role("button", name="Verify").click()
        page.get_by_text(f"with sequence {ALTERED_SEQUENCE} is proven").wait_for()
        page.get_by_label("Or its text").fill(receipt.decode().replace('"name": "', '"name": "Not ', 1))
        page.get_by_role("button", name="Verify").click()
        page.get_by_text("Not proven.").wait_for()

    def test_an_entry_that_differs_from_its_receipt_is_not_proven(self, open_tab, seeded_service, organization_id):
        path = f"/organizations/{organization_id}/audit-log/{entry_item(organization_id, ALTERED_SEQUENCE)['id']}"
        shown = seeded_service.caller_for(person("maud")).get(path)
        hostile = '<img src=x onerror="document.title=1">'
        shown["actor"]["name"] = hostile
        tab = open_tab(user="maud")
        tab.failures[f"GET {path}"] = (200, {"Content-Type": "application/json"}, json.dumps(shown))
        page = tab.open(f"/o/{path.split('/', 2)[2].replace('audit-log', 'log')}")
        page.get_by_text(f"Not proven: entry {ALTERED_SEQUENCE}").wait_for()
        page.get_by_text("The receipt is about another entry").wait_for()
        page.get_by_text(hostile).first.wait_for()
        assert page.locator("main img").count() == 0


def run_workers(workers):
    """Run the jobs in the queues. Deliveries to the webhooks of the sample company fail here."""
    for _ in range(2):
        workers.try_deliver(include_delayed=True)


class TestExports:
    def test_an_export_at_once_holds_the_entries_that_the_filters_select(self, open_tab, organization_id):
        page = open_tab(user="maud").open(f"/o/{organization_id}/log?type=taxonomy.node.*&dialog=export")
        with page.expect_download() as download:
            page.get_by_role("dialog").get_by_role("button", name="Download").click()
        file = download.value.path()
        head, *entries = map(json.loads, file.read_text().splitlines())
        assert entries
        assert all(entry["type"].startswith("taxonomy.node.") for entry in entries)
        assert head["evidence"]
        page = open_tab(user="maud").open(f"/o/{organization_id}/verification")
        page.get_by_label("File").set_input_files(file)
        page.get_by_role("button", name="Verify").click()
        page.get_by_text(f"{len(entries)} of ").wait_for()

    def test_an_export_in_the_background_is_downloaded_and_verified(self, open_tab, organization_id, workers):
        page = open_tab(user="maud").open(f"/o/{organization_id}/log?type=taxonomy.node.*&dialog=export")
        page.get_by_role("radio", name=re.compile("In the background")).check()
        page.get_by_role("button", name="Start the export").click()
        page.get_by_role("heading", name="Exports").wait_for()
        row = page.get_by_role("row", name=re.compile("taxonomy.node"))
        row.get_by_text("Queued").wait_for()
        run_workers(workers)
        row.get_by_text("Completed").wait_for()  # It is read again after five seconds.
        attachment = {"status": 200, "headers": {"Content-Disposition": "attachment"}, "body": ""}
        page.route(re.compile("X-Amz-Signature"), lambda route: route.fulfill(**attachment))
        with page.expect_download() as download:
            row.get_by_role("button", name="Download").click()
        content = download_file({"downloadUrl": download.value.url})
        row.get_by_role("button", name="Verify").click()
        for file, verdict in ((content, "Proven in this browser."), (gzip.compress(alter(content)), "Not proven.")):
            upload = {"name": "log.ndjson.gz", "mimeType": "application/gzip", "buffer": file}
            page.locator("dialog input[type=file]").set_input_files(files=[upload])
            page.get_by_role("dialog").get_by_role("button", name="Verify").click()
            page.get_by_role("dialog").get_by_text(verdict).wait_for()


def alter(content):
    return gzip.decompress(content).replace(b'"name":"', b'"name":"Not ', 1)


def test_a_reconciliation_finds_a_record_that_was_changed_without_the_service(
    open_tab, seeded_service, organization_id, workers, monkeypatch
):
    monkeypatch.setattr(reconciliation_tasks, "CONFIRMATION_DELAY_SECONDS", 0)
    member = next(item for item in memory_aws.all_items() if item.get("role") == "member")
    memory_aws.put_item({**member, "role": "admin"})
    page = open_tab(user="maud").open(f"/o/{organization_id}/reconciliations")
    page.get_by_role("heading", name="Nothing was compared yet").wait_for()
    page.get_by_role("button", name="Compare now").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Compare").click()
    page.get_by_text("Queued").wait_for()
    page.locator("td.primary-cell a").click()
    append(organization_id)
    for _ in range(2):
        run_workers(workers)
    page.get_by_text("The record is not as the service stored it last.").wait_for()
    page.get_by_role("cell", name="role").wait_for()


class TestFilters:
    def test_every_logged_type_can_be_chosen_and_the_filter_is_in_the_address(self, open_tab, organization_id):
        page = open_tab(user="maud").open(f"/o/{organization_id}/log")
        page.get_by_label("Event type").focus()
        page.locator("datalist option[value='organization.webhook.created']").wait_for(state="attached")
        page.get_by_label("Event type").fill("taxonomy.node.*")
        page.get_by_role("button", name="Event type: taxonomy.node.*").wait_for()
        assert "type=taxonomy.node.*" in page.url
        page.locator(".skeleton").first.wait_for(state="detached")
        types = page.locator("td.primary-cell a").all_inner_texts()
        assert types
        assert all(each.startswith("taxonomy.node.") for each in types)
        page.locator("td.primary-cell a").first.click()
        page.get_by_role("link", name="All entries by this actor").click()
        page.get_by_role("button", name=re.compile("Actor: .*Remove")).wait_for()

    def test_a_member_is_told_who_reads_the_log(self, open_tab, organization_id):
        tab = open_tab(user="hattie")
        tab.open(f"/o/{organization_id}/log").get_by_text("Needs admin; ask Maud Ellery").wait_for()
        tab.open(f"/o/{organization_id}/reconciliations").get_by_text("Needs owner; ask Maud Ellery").wait_for()
        assert not [each for each in tab.requested if "audit-log" in each]
