"""A log whose index lags: no entry is reported missing or omitted, and no reader waits for the index."""

import json

import pytest

from chalicelib.features.audit.exports.logic import inline_export
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.models import EntryFilters
from chalicelib.kernel.audit_log import ledger, redaction
from chalicelib.kernel.storage import table, writes
from chalicelib.kernel.work import queues
from tests.harness.application_events import commit_application_event
from tests.harness.exports import append_entries, verify_export_file
from tests.harness.external_servers import reject_deliveries
from tests.harness.index_lag import LAGS, lag_indexes
from tests.harness.stored_logs import INTACT
from tests.harness.webhooks import create_webhook, list_deliveries, rename_organization


@pytest.fixture(params=LAGS)
def lag(request, monkeypatch):
    """Indexes that lag. Nothing retries a read of them."""
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", ())
    with lag_indexes(request.param) as lag:
        yield lag


@pytest.fixture
def lagging_log(lag, short_log):
    return short_log


def test_an_untouched_log_is_valid_and_anchored(lagging_log, workers):
    lagging_log.append(3)
    lagging_log.append(2)
    assert lagging_log.failure() == INTACT
    assert lagging_log.head["size"] == 6
    queues.enqueue("audit.anchor", ledger.head_key(lagging_log.id))
    workers.deliver()
    assert lagging_log.anchored_sizes == [6]


def test_a_log_that_the_index_contains_in_part_is_valid(log, monkeypatch):
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", ())
    with lag_indexes(60) as lag:
        append_entries(log.id, 110)
        assert log.failure() == INTACT
    assert lag.queries


@pytest.mark.parametrize("sequence", [1, 4, 6])
def test_a_removed_entry_is_reported_missing(lagging_log, lag, sequence):
    lagging_log.append(5)
    removed_entry = lagging_log.entry(sequence)
    table.write_transaction([writes.Write("Delete", (removed_entry["pk"], removed_entry["sk"]))])
    lag.seconds = 0
    assert lagging_log.failure() == (("truncated" if sequence == 6 else "missing"), sequence)


def test_a_batch_with_forged_ids_hides_no_missing_entry(lagging_log, lag):
    lagging_log.append(2)
    first_id, second_id = lagging_log.entry(1)["sk"], lagging_log.entry(2)["sk"]
    key = ledger.sequence_index_or_batch_key(lagging_log.id, 3)
    forged = {"pk": key[0], "sk": key[1], "ids": [second_id, first_id]}
    removal = writes.Write("Delete", (f"A#{lagging_log.id}", second_id))
    table.write_transaction([writes.Write("Put", key, item=forged), removal])
    lag.seconds = 0
    assert lagging_log.failure() == ("missing", 2)


@pytest.mark.usefixtures("lag")
def test_events_are_fanned_out_without_a_retry(api, new_log, workers):
    webhook = create_webhook(api, new_log.organization, "https://hooks.example.com")
    for n in range(3):
        rename_organization(api, new_log.organization, f"Name {n}")
    with reject_deliveries():
        workers.deliver()  # No message fails.
    assert new_log.head["followed"] == new_log.head["size"]
    assert len(list_deliveries(api, webhook)) == 4


def build_filter(log, name):
    owner = log.organization.owner
    return {name: {"type": "organization.updated", "actorId": owner.id, "targetId": log.id}[name]}


def list_exported_sequences(log, monkeypatch, name):
    """Return the sequences of the entries that an export with a filter contains, which reads two at a time."""
    monkeypatch.setattr(inline_export, "MAX_ENTRIES", 1)
    query = EntryFilters.model_validate(build_filter(log, name))
    pages = inline_export.iter_matching_pages_newest_first([log.id], query)
    return [entry.sequence for page in pages for entry in page]


def test_an_export_by_target_contains_recent_entries_of_both_kinds_of_events(lagging_log):
    for _ in range(2):
        commit_application_event(lagging_log.id, targets=[{"type": "plan", "id": lagging_log.id, "name": None}])
        lagging_log.append(1)
    lines = lagging_log.get("/export", targetId=lagging_log.id).text.splitlines()
    assert [json.loads(line)["sequence"] for line in lines] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ["type", "actorId", "targetId"])
class TestFilteredExports:
    def test_contain_and_prove_all_matching_entries(self, lagging_log, name):
        lagging_log.append(3)
        filters = build_filter(lagging_log, name)
        lines = lagging_log.get("/export", **filters).text.splitlines()
        assert [json.loads(line)["sequence"] for line in lines] == ([2, 3, 4] if name == "type" else [1, 2, 3, 4])
        record = lagging_log.export(filters=filters)
        assert record["entryCount"] == {"type": 3, "actorId": 5, "targetId": 4}[name]
        assert "are proven" in verify_export_file(record)

    def test_contain_entries_that_the_index_lacks_for_ten_minutes(self, lagging_log, lag, monkeypatch, clock, name):
        lagging_log.append(4)
        lag.seconds = 2 * inline_export.MAX_INDEX_LAG_SECONDS
        clock.shift(seconds=inline_export.MAX_INDEX_LAG_SECONDS - 5)
        assert list_exported_sequences(lagging_log, monkeypatch, name) == [5, 4, 3, 2, 1][: 4 if name == "type" else 5]

    def test_are_complete_where_they_continue_with_the_index(self, lagging_log, monkeypatch, clock, name):
        lagging_log.append(4)
        clock.shift(seconds=inline_export.MAX_INDEX_LAG_SECONDS + 1)
        lagging_log.append(4)
        monkeypatch.setattr(inline_export, "MAX_RECENT_QUERIES", 3)
        sequences = [9, 8, 7, 6, 5, 4, 3, 2, 1][: 8 if name == "type" else 9]
        assert list_exported_sequences(lagging_log, monkeypatch, name) == sequences


def test_an_export_contains_all_entries(lagging_log):
    lagging_log.append(4)
    assert lagging_log.export()["entryCount"] == 6


def test_no_export_contains_data_that_has_just_been_erased(lagging_log, monkeypatch, clock):
    lagging_log.append(4)
    clock.shift(seconds=inline_export.MAX_INDEX_LAG_SECONDS + 1)
    table.write_transaction(redaction.redaction_writes(lagging_log.id, lagging_log.entry(2), should_sign=True))
    ((sequenced,),) = logs.iter_sequenced_entry_chunks(lagging_log.id, 1, 2, reread_from_table=True)
    assert "erased" in sequenced.item
    monkeypatch.setattr(inline_export, "MAX_ENTRIES", 1)  # Pages of two entries.
    query = EntryFilters(type="organization.updated")
    pages = inline_export.iter_matching_pages_newest_first([lagging_log.id], query)
    assert [entry.sequence for page in pages for entry in page if entry.erased] == [2]
