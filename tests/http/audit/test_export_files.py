import gzip
from hashlib import sha256
from typing import Any

import pytest

from chalicelib.features.audit.exports.logic import omitted_runs
from chalicelib.features.audit.exports.logic.verify import InvalidInput
from tests.harness import audit_logs, rfc6962
from tests.harness.api import ApiClient, Json
from tests.harness.audit_logs import list_entries
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.callers import Person
from tests.harness.erasures import complete_erasure
from tests.harness.exports import (
    append_entries,
    create_completed_export,
    create_export,
    download_file,
    get_inline_export,
    parse_csv,
    read_ndjson_entries,
    verify_export_file,
)
from tests.harness.organizations import CreatedOrganization, add_organization_member, create_organization
from tests.harness.workers import Workers


@pytest.fixture
def organization_with_mixed_log(
    api: ApiClient, ada: Person, grace: Person, mary: Person, workers: Workers
) -> CreatedOrganization:
    """An organization whose log has entries of several types, some long, appended in several batches."""
    return cached_scenario("mixed", lambda: create_organization_with_mixed_log(api, ada, grace, mary, workers))


def create_organization_with_mixed_log(
    api: ApiClient, ada: Person, grace: Person, mary: Person, workers: Workers
) -> CreatedOrganization:
    organization = create_organization(api, ada, name="Zoë's Engines 🚂")
    add_organization_member(organization, grace, "admin")
    add_organization_member(organization, mary, "member")
    for n in range(6):
        api.patch(organization.path, caller=ada, json={"companyAddress": "x" * 3000 if n % 3 == 0 else f"Street {n}"})
        member = f"{organization.path}/members/{mary.id}"
        api.patch(member, caller=grace, json={"role": ("editor", "member")[n % 2]})
        if n % 2:
            workers.deliver()
    workers.deliver()
    return organization


def sequenced_entries(api: ApiClient, organization: CreatedOrganization, **query: object) -> list[Json]:
    """Return the entries with a sequence, in its order, except those about exports."""
    entries = [e for e in list_entries(api, organization, **query) if e["sequence"] and "export" not in e["type"]]
    return sorted(entries, key=lambda entry: int(entry["sequence"]))


class TestExportFile:
    def test_the_file_holds_all_sequenced_entries(self, api, organization_with_mixed_log, workers):
        record = create_completed_export(api, workers, organization_with_mixed_log)
        *before, requested = read_ndjson_entries(record)
        assert before == sequenced_entries(api, organization_with_mixed_log)
        assert requested["type"] == "organization.audit_export.requested"
        assert record["entryCount"] == len(before) + 1

    def test_size_and_hash_of_the_file_match_the_export(self, api, organization_with_mixed_log, workers):
        record = create_completed_export(api, workers, organization_with_mixed_log)
        file = download_file(record)
        assert (sha256(file).hexdigest(), len(file)) == (record["sha256"], record["sizeBytes"])

    def test_a_csv_file_equals_the_inline_export(self, api, organization_with_mixed_log, workers):
        record = create_completed_export(api, workers, organization_with_mixed_log, format="csv")
        text = gzip.decompress(download_file(record)).decode()
        inline = get_inline_export(api, organization_with_mixed_log, format="csv").text
        assert inline.startswith(text)
        assert len(parse_csv(text)) == record["entryCount"]

    def test_the_file_holds_no_entries_after_its_checkpoint(self, api, organization_with_mixed_log, workers):
        size = len(sequenced_entries(api, organization_with_mixed_log))
        started = create_export(api, organization_with_mixed_log)
        workers.deliver()
        api.patch(organization_with_mixed_log.path, caller=organization_with_mixed_log.owner, json={"name": "Later"})
        workers.deliver()
        record = started.get(api)
        assert record["entryCount"] == size + 1
        assert record["checkpoint"].split("\n")[1] == str(size + 1)

    def test_a_file_without_entries_is_empty(self, api, organization_with_mixed_log, workers):
        record = create_completed_export(api, workers, organization_with_mixed_log, filters={"actorId": "nobody"})
        assert (record["entryCount"], gzip.decompress(download_file(record))) == (0, b"")
        record = create_completed_export(
            api, workers, organization_with_mixed_log, format="csv", filters={"actorId": "nobody"}
        )
        assert parse_csv(gzip.decompress(download_file(record)).decode()) == []

    def test_erased_entries_appear_as_in_the_log(self, api, organization_with_mixed_log, workers, clock, mary):
        before = create_completed_export(api, workers, organization_with_mixed_log)
        complete_erasure(api, workers, clock, organization_with_mixed_log, userId=mary.id)
        record = create_completed_export(api, workers, organization_with_mixed_log)
        erased_entries = [entry for entry in read_ndjson_entries(record) if "erased" in entry]
        assert len(erased_entries) >= 7
        assert all((entry["actor"], entry["data"], entry["changes"]) == (None, None, []) for entry in erased_entries)
        integrity_before = {entry["sequence"]: entry["integrity"] for entry in read_ndjson_entries(before)}
        for entry in erased_entries:
            signature = entry["integrity"]["erasureSignature"]
            assert signature
            assert entry["integrity"] == integrity_before[entry["sequence"]] | {"erasureSignature": signature}
        assert f"{len(erased_entries)} erased" in verify_export_file(record)
        table = parse_csv(
            gzip.decompress(
                download_file(create_completed_export(api, workers, organization_with_mixed_log, format="csv"))
            ).decode()
        )
        assert [row["sequence"] for row in table if row["erased"]] == [
            str(entry["sequence"]) for entry in erased_entries
        ]

    def test_an_altered_entry_is_exported_and_fails_verification(self, api, organization_with_mixed_log, workers):
        entry = audit_logs.entry_item(organization_with_mixed_log, 2)
        audit_logs.alter_item(entry, body=entry["body"].replace(b"Grace", b"Merlin"))
        record = create_completed_export(api, workers, organization_with_mixed_log)
        assert "Merlin" in str(read_ndjson_entries(record)[1])
        with pytest.raises(InvalidInput, match="The entry with sequence 2 was altered"):
            verify_export_file(record)


class TestFilters:
    FILTERS: tuple[Json, ...] = (
        {},
        {"type": "organization.updated"},
        {"type": "organization.member.*"},
        {"type": "organization.*"},
        {"type": "organization.created"},
        {"type": "page.*"},
    )

    def filter_sets(
        self, organization_with_mixed_log: CreatedOrganization, grace: Person, mary: Person, api: ApiClient
    ) -> list[Json]:
        timestamps = [entry["occurredAt"] for entry in sequenced_entries(api, organization_with_mixed_log)]
        return [
            *self.FILTERS,
            {"actorId": grace.id},
            {"targetId": mary.id},
            {"actorId": grace.id, "targetId": organization_with_mixed_log.id},
            {"targetId": organization_with_mixed_log.id, "type": "organization.updated"},
            {"from": timestamps[4]},
            {"to": timestamps[-4]},
            {"from": timestamps[4], "to": timestamps[-4]},
            {"type": "organization.*", "actorId": grace.id, "to": timestamps[-2]},
        ]

    def test_the_file_equals_the_list_with_the_same_filters(
        self, api, organization_with_mixed_log, workers, grace, mary
    ):
        for filters in self.filter_sets(organization_with_mixed_log, grace, mary, api):
            record = create_completed_export(api, workers, organization_with_mixed_log, filters=filters)
            exported_entries = [entry for entry in read_ndjson_entries(record) if "export" not in entry["type"]]
            assert exported_entries == sequenced_entries(api, organization_with_mixed_log, **filters), filters
            assert record["entryCount"] == len(read_ndjson_entries(record))

    def test_evidence_proves_the_omitted_entries(self, api, organization_with_mixed_log, workers, grace, mary):
        for filters in self.filter_sets(organization_with_mixed_log, grace, mary, api):
            record = create_completed_export(api, workers, organization_with_mixed_log, filters=filters)
            count, size = record["entryCount"], record["checkpoint"].split("\n")[1]
            assert f"{count} of {size} entries are proven to be in the signed tree" in verify_export_file(record)

    def test_evidence_is_the_roots_of_the_largest_omitted_subtrees(self, api, organization_with_mixed_log, workers):
        record = create_completed_export(
            api, workers, organization_with_mixed_log, filters={"type": "organization.updated"}
        )
        leaves = [
            bytes.fromhex(e["integrity"]["leafHash"])
            for e in read_ndjson_entries(create_completed_export(api, workers, organization_with_mixed_log))
        ]
        exported_sequences = {entry["sequence"] for entry in read_ndjson_entries(record)}
        omitted_sequences = {n for run in record["evidence"] for n in range(run["from"], run["to"] + 1)}
        size = int(record["checkpoint"].split("\n")[1])
        assert exported_sequences | omitted_sequences == set(range(1, size + 1))
        assert exported_sequences & omitted_sequences == set()
        for run in record["evidence"]:
            roots = rfc6962.subtree_roots(leaves, run["from"] - 1, run["to"])
            assert run["hashes"] == [root.hex() for root in roots]

    def test_a_filter_that_omits_nothing_needs_no_evidence(self, api, organization_with_mixed_log, workers):
        for filters in ({}, {"type": "organization.*"}, {"from": "2000-01-01T00:00:00Z"}):
            assert create_completed_export(api, workers, organization_with_mixed_log, filters=filters)["evidence"] == []

    def test_csv_has_no_evidence(self, api, organization_with_mixed_log, workers):
        record = create_completed_export(
            api, workers, organization_with_mixed_log, format="csv", filters={"type": "organization.updated"}
        )
        assert record["evidence"] is None

    def test_evidence_over_the_limit_is_omitted(self, api, organization_with_mixed_log, workers, monkeypatch):
        assert omitted_runs.MAX_EVIDENCE_HASHES == 2_000
        body: dict[str, Any] = {
            "filters": {
                "to": sequenced_entries(api, organization_with_mixed_log)[4]["occurredAt"],
                "actorId": organization_with_mixed_log.owner.id,
            }
        }
        record = create_completed_export(api, workers, organization_with_mixed_log, **body)
        count = sum(len(run["hashes"]) for run in record["evidence"])
        monkeypatch.setattr(omitted_runs, "MAX_EVIDENCE_HASHES", count + 8)  # The log has grown meanwhile.
        assert create_completed_export(api, workers, organization_with_mixed_log, **body)["evidence"]
        monkeypatch.setattr(omitted_runs, "MAX_EVIDENCE_HASHES", count - 1)
        record = create_completed_export(api, workers, organization_with_mixed_log, **body)
        assert record["evidence"] is None
        assert read_ndjson_entries(record)

    def test_the_log_entry_holds_the_hash_of_long_evidence(self, api, organization_with_mixed_log, workers):
        append_entries(organization_with_mixed_log.id, 300)
        for n in range(0, 300, 7):
            item = audit_logs.entry_item(organization_with_mixed_log, n + 20)
            audit_logs.alter_item(item, type="page.created")
        record = create_completed_export(api, workers, organization_with_mixed_log, filters={"type": "page.created"})
        assert len(record["evidence"]) > 40
        (completion,) = list_entries(
            api, organization_with_mixed_log, type="organization.audit_export.completed", targetId=record["id"]
        )
        assert set(completion["data"]["evidence"]) == {"sha256", "size"}
