"""A log whose index lags: no entry is reported missing or omitted, and no reader waits for the index."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from chalicelib.features.audit.exports.logic import inline_export
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.models import EntryFilters
from chalicelib.kernel.audit_log import ledger, redaction
from chalicelib.kernel.storage import table, writes
from chalicelib.kernel.work import queues
from tests.harness.anchors import anchored_sizes
from tests.harness.api import ApiClient
from tests.harness.audit_logs import add_entries, entry_item, head_item, verification_failure
from tests.harness.callers import Person
from tests.harness.exports import create_completed_export, create_export, get_inline_export, verify_export_file
from tests.harness.external_servers import reject_deliveries
from tests.harness.index_lag import LAGS, IndexLag, lag_indexes
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.webhooks import create_webhook, list_deliveries, rename_organization
from tests.harness.workers import Workers


@pytest.fixture(params=LAGS)
def lag(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[IndexLag]:
    """Indexes that lag. Nothing retries a read of them."""
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", ())
    with lag_indexes(request.param) as lag:
        yield lag


@pytest.fixture
def new_organization(api: ApiClient, ada: Person, workers: Workers, lag: IndexLag) -> CreatedOrganization:
    """An organization with the first entry in its log."""
    assert lag.changes is not None
    organization = create_organization(api, ada)
    workers.deliver()
    return organization


def test_an_untouched_log_is_valid(api, new_organization, workers):
    add_entries(api, workers, new_organization, 3)
    add_entries(api, workers, new_organization, 2)
    assert verification_failure(api, new_organization) == (None, None)
    assert head_item(new_organization)["size"] == 6


def test_a_log_that_the_index_contains_in_part_is_valid(api, organization_with_ten_entries, workers, monkeypatch):
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", ())
    with lag_indexes(60) as lag:
        add_entries(api, workers, organization_with_ten_entries, 120)
        assert verification_failure(api, organization_with_ten_entries) == (None, None)
    assert lag.queries


@pytest.mark.parametrize("sequence", [1, 4, 6])
def test_a_removed_entry_is_reported_missing(api, new_organization, workers, lag, sequence):
    add_entries(api, workers, new_organization, 5)
    removed_entry = entry_item(new_organization, sequence)
    table.write_transaction([writes.Write("Delete", (removed_entry["pk"], removed_entry["sk"]))])
    lag.seconds = 0
    assert verification_failure(api, new_organization) == (("truncated" if sequence == 6 else "missing"), sequence)


def test_a_batch_with_forged_ids_hides_no_missing_entry(api, new_organization, workers, lag):
    add_entries(api, workers, new_organization, 2)
    ids = [entry_item(new_organization, sequence)["sk"] for sequence in (1, 2, 3)]
    key = ledger.sequence_index_or_batch_key(new_organization.id, 3)
    forged = {"pk": key[0], "sk": key[1], "ids": [ids[1], ids[0]]}
    table.write_transaction(
        [writes.Write("Put", key, item=forged), writes.Write("Delete", (f"A#{new_organization.id}", ids[1]))]
    )
    lag.seconds = 0
    assert verification_failure(api, new_organization) == ("missing", 2)


@pytest.mark.usefixtures("lag")
def test_events_are_fanned_out_without_a_retry(api, organization, workers):
    webhook = create_webhook(api, organization, "https://hooks.example.com")
    for n in range(3):
        rename_organization(api, organization, f"Name {n}")
    with reject_deliveries():
        workers.deliver()  # No message fails.
    assert head_item(organization)["followed"] == head_item(organization)["size"]
    assert len(list_deliveries(api, webhook)) == 4


def test_an_export_contains_all_entries(api, new_organization, workers):
    add_entries(api, workers, new_organization, 4)
    export = create_export(api, new_organization)
    workers.deliver()
    assert export.get(api)["status"] == "completed"
    assert export.get(api)["entryCount"] == 6


FILTERS: Final = ("type", "actorId", "targetId")


def build_filter(organization: CreatedOrganization, name: str) -> dict[str, Any]:
    """Return a filter that the changes of an organization match."""
    values = {"type": "organization.updated", "actorId": organization.owner.id, "targetId": organization.id}
    return {name: values[name]}


@pytest.mark.parametrize("name", FILTERS)
def test_a_filtered_export_contains_all_matching_entries(api, new_organization, workers, name):
    add_entries(api, workers, new_organization, 3)
    match_count = {"type": 3, "actorId": 4, "targetId": 4}[name]
    lines = get_inline_export(api, new_organization, **build_filter(new_organization, name)).text.splitlines()
    assert len(lines) == match_count
    assert [json.loads(line)["sequence"] for line in lines] == [1, 2, 3, 4][-match_count:]


@pytest.mark.parametrize("name", FILTERS)
def test_a_filtered_export_in_the_background_contains_and_proves_all_matching_entries(
    api, new_organization, workers, name
):
    add_entries(api, workers, new_organization, 3)
    record = create_completed_export(api, workers, new_organization, filters=build_filter(new_organization, name))
    assert record["entryCount"] == {"type": 3, "actorId": 5, "targetId": 4}[name]
    assert "are proven" in verify_export_file(record)


@pytest.mark.parametrize("name", FILTERS)
def test_an_inline_export_is_complete_where_it_continues_with_the_index(
    api, new_organization, workers, monkeypatch, clock, name
):
    add_entries(api, workers, new_organization, 4)
    clock.shift(seconds=inline_export.MAX_INDEX_LAG_SECONDS + 1)
    add_entries(api, workers, new_organization, 4)
    monkeypatch.setattr(inline_export, "MAX_ENTRIES", 1)  # Pages of two entries.
    monkeypatch.setattr(inline_export, "MAX_RECENT_QUERIES", 3)
    query = EntryFilters.model_validate(build_filter(new_organization, name))
    sequences = [
        entry.sequence
        for page in inline_export.iter_matching_pages_newest_first(new_organization.id, query)
        for entry in page
    ]
    assert sequences == [9, 8, 7, 6, 5, 4, 3, 2, 1][: 8 if name == "type" else 9]


def test_an_inline_export_contains_no_data_that_has_just_been_erased(
    api, new_organization, workers, monkeypatch, clock
):
    add_entries(api, workers, new_organization, 4)
    clock.shift(seconds=inline_export.MAX_INDEX_LAG_SECONDS + 1)
    table.write_transaction(
        redaction.redaction_writes(new_organization.id, entry_item(new_organization, 2), should_sign=True)
    )
    monkeypatch.setattr(inline_export, "MAX_ENTRIES", 1)  # Pages of two entries.
    entries = [
        entry
        for page in inline_export.iter_matching_pages_newest_first(
            new_organization.id, EntryFilters(type="organization.updated")
        )
        for entry in page
    ]
    assert [entry.sequence for entry in entries if entry.erased] == [2]


def test_an_export_contains_no_data_that_has_just_been_erased(api, new_organization, workers):
    add_entries(api, workers, new_organization, 2)
    table.write_transaction(
        redaction.redaction_writes(new_organization.id, entry_item(new_organization, 2), should_sign=True)
    )
    ((sequenced,),) = logs.iter_sequenced_entry_chunks(new_organization.id, 1, 2, reread_from_table=True)
    assert "erased" in sequenced.item


def test_a_log_is_anchored(api, new_organization, workers):
    add_entries(api, workers, new_organization, 3)
    queues.enqueue("audit.anchor", ledger.head_key(new_organization.id))
    workers.deliver()
    assert anchored_sizes(new_organization.id) == [4]
