import gzip
from hashlib import sha256
from typing import Any

import pytest

from chalicelib.features.audit.exports.logic import omitted_runs
from chalicelib.features.audit.exports.logic.verify import Broken
from tests.harness import logs, rfc6962
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.erasures import erased
from tests.harness.exports import begin_export, completed, exported, fetched, fill, lines, proven, rows
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found, joins
from tests.harness.scenes import scene
from tests.harness.workers import Workers


@pytest.fixture
def organization_with_mixed_log(api: Api, ada: Person, grace: Person, mary: Person, workers: Workers) -> Founded:
    """An organization whose log has entries of several types, some long, appended in several batches."""
    return scene("mixed", lambda: create_organization_with_mixed_log(api, ada, grace, mary, workers))


def create_organization_with_mixed_log(api: Api, ada: Person, grace: Person, mary: Person, workers: Workers) -> Founded:
    organization = found(api, ada, name="Zoë's Engines 🚂")
    joins(organization, grace, "admin")
    joins(organization, mary, "member")
    for n in range(6):
        api.patch(organization.path, as_=ada, json={"companyAddress": "x" * 3000 if n % 3 == 0 else f"Street {n}"})
        member = f"{organization.path}/members/{mary.id}"
        api.patch(member, as_=grace, json={"role": ("editor", "member")[n % 2]})
        if n % 2:
            workers.deliver()
    workers.deliver()
    return organization


def sequenced_entries(api: Api, organization: Founded, **query: object) -> list[Json]:
    """Return the entries with a sequence, in its order, except those about exports."""
    entries = [e for e in log_of(api, organization, **query) if e["sequence"] and "export" not in e["type"]]
    return sorted(entries, key=lambda entry: int(entry["sequence"]))


class TestExportFile:
    def test_the_file_holds_all_sequenced_entries(
        self, api: Api, organization_with_mixed_log: Founded, workers: Workers
    ) -> None:
        record = completed(api, workers, organization_with_mixed_log)
        *before, requested = lines(record)
        assert before == sequenced_entries(api, organization_with_mixed_log)
        assert requested["type"] == "organization.audit_export.requested"
        assert record["entryCount"] == len(before) + 1

    def test_size_and_hash_of_the_file_match_the_export(
        self, api: Api, organization_with_mixed_log: Founded, workers: Workers
    ) -> None:
        record = completed(api, workers, organization_with_mixed_log)
        file = fetched(record)
        assert (sha256(file).hexdigest(), len(file)) == (record["sha256"], record["sizeBytes"])

    def test_a_csv_file_equals_the_inline_export(
        self, api: Api, organization_with_mixed_log: Founded, workers: Workers
    ) -> None:
        record = completed(api, workers, organization_with_mixed_log, format="csv")
        text = gzip.decompress(fetched(record)).decode()
        inline = exported(api, organization_with_mixed_log, format="csv").text
        assert inline.startswith(text)
        assert len(rows(text)) == record["entryCount"]

    def test_the_file_holds_no_entries_after_its_checkpoint(
        self, api: Api, organization_with_mixed_log: Founded, workers: Workers
    ) -> None:
        size = len(sequenced_entries(api, organization_with_mixed_log))
        started = begin_export(api, organization_with_mixed_log)
        workers.deliver()
        api.patch(organization_with_mixed_log.path, as_=organization_with_mixed_log.owner, json={"name": "Later"})
        workers.deliver()
        record = started.now(api)
        assert record["entryCount"] == size + 1
        assert record["checkpoint"].split("\n")[1] == str(size + 1)

    def test_a_file_without_entries_is_empty(
        self, api: Api, organization_with_mixed_log: Founded, workers: Workers
    ) -> None:
        record = completed(api, workers, organization_with_mixed_log, filters={"actorId": "nobody"})
        assert (record["entryCount"], gzip.decompress(fetched(record))) == (0, b"")
        record = completed(api, workers, organization_with_mixed_log, format="csv", filters={"actorId": "nobody"})
        assert rows(gzip.decompress(fetched(record)).decode()) == []

    def test_erased_entries_appear_as_in_the_log(
        self, api: Api, organization_with_mixed_log: Founded, workers: Workers, clock: Clock, mary: Person
    ) -> None:
        before = completed(api, workers, organization_with_mixed_log)
        erased(api, workers, clock, organization_with_mixed_log, userId=mary.id)
        record = completed(api, workers, organization_with_mixed_log)
        erased_entries = [entry for entry in lines(record) if "erased" in entry]
        assert len(erased_entries) >= 7
        assert all((entry["actor"], entry["data"], entry["changes"]) == (None, None, []) for entry in erased_entries)
        integrity_before = {entry["sequence"]: entry["integrity"] for entry in lines(before)}
        for entry in erased_entries:
            signature = entry["integrity"]["erasureSignature"]
            assert signature
            assert entry["integrity"] == integrity_before[entry["sequence"]] | {"erasureSignature": signature}
        assert f"{len(erased_entries)} erased" in proven(record)
        table = rows(
            gzip.decompress(fetched(completed(api, workers, organization_with_mixed_log, format="csv"))).decode()
        )
        assert [row["sequence"] for row in table if row["erased"]] == [
            str(entry["sequence"]) for entry in erased_entries
        ]

    def test_an_altered_entry_is_exported_and_fails_verification(
        self, api: Api, organization_with_mixed_log: Founded, workers: Workers
    ) -> None:
        entry = logs.entry(organization_with_mixed_log, 2)
        logs.alter(entry, body=entry["body"].replace(b"Grace", b"Merlin"))
        record = completed(api, workers, organization_with_mixed_log)
        assert "Merlin" in str(lines(record)[1])
        with pytest.raises(Broken, match="The entry with sequence 2 was altered"):
            proven(record)


class TestFilters:
    FILTERS: tuple[Json, ...] = (
        {},
        {"type": "organization.updated"},
        {"type": "organization.member.*"},
        {"type": "organization.*"},
        {"type": "organization.created"},
        {"type": "page.*"},
    )

    def filter_sets(self, organization_with_mixed_log: Founded, grace: Person, mary: Person, api: Api) -> list[Json]:
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
        self, api: Api, organization_with_mixed_log: Founded, workers: Workers, grace: Person, mary: Person
    ) -> None:
        for filters in self.filter_sets(organization_with_mixed_log, grace, mary, api):
            record = completed(api, workers, organization_with_mixed_log, filters=filters)
            exported_entries = [entry for entry in lines(record) if "export" not in entry["type"]]
            assert exported_entries == sequenced_entries(api, organization_with_mixed_log, **filters), filters
            assert record["entryCount"] == len(lines(record))

    def test_evidence_proves_the_omitted_entries(
        self, api: Api, organization_with_mixed_log: Founded, workers: Workers, grace: Person, mary: Person
    ) -> None:
        for filters in self.filter_sets(organization_with_mixed_log, grace, mary, api):
            record = completed(api, workers, organization_with_mixed_log, filters=filters)
            count, size = record["entryCount"], record["checkpoint"].split("\n")[1]
            assert f"{count} of {size} entries are proven to be in the signed tree" in proven(record)

    def test_evidence_is_the_roots_of_the_largest_omitted_subtrees(
        self, api: Api, organization_with_mixed_log: Founded, workers: Workers
    ) -> None:
        record = completed(api, workers, organization_with_mixed_log, filters={"type": "organization.updated"})
        leaves = [
            bytes.fromhex(e["integrity"]["leafHash"])
            for e in lines(completed(api, workers, organization_with_mixed_log))
        ]
        exported_sequences = {entry["sequence"] for entry in lines(record)}
        omitted_sequences = {n for run in record["evidence"] for n in range(run["from"], run["to"] + 1)}
        size = int(record["checkpoint"].split("\n")[1])
        assert exported_sequences | omitted_sequences == set(range(1, size + 1))
        assert exported_sequences & omitted_sequences == set()
        for run in record["evidence"]:
            roots = rfc6962.subtrees(leaves, run["from"] - 1, run["to"])
            assert run["hashes"] == [root.hex() for root in roots]

    def test_a_filter_that_omits_nothing_needs_no_evidence(
        self, api: Api, organization_with_mixed_log: Founded, workers: Workers
    ) -> None:
        for filters in ({}, {"type": "organization.*"}, {"from": "2000-01-01T00:00:00Z"}):
            assert completed(api, workers, organization_with_mixed_log, filters=filters)["evidence"] == []

    def test_csv_has_no_evidence(self, api: Api, organization_with_mixed_log: Founded, workers: Workers) -> None:
        record = completed(
            api, workers, organization_with_mixed_log, format="csv", filters={"type": "organization.updated"}
        )
        assert record["evidence"] is None

    def test_evidence_over_the_limit_is_omitted(
        self, api: Api, organization_with_mixed_log: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert omitted_runs.MAX_EVIDENCE_HASHES == 2_000
        body: dict[str, Any] = {
            "filters": {
                "to": sequenced_entries(api, organization_with_mixed_log)[4]["occurredAt"],
                "actorId": organization_with_mixed_log.owner.id,
            }
        }
        record = completed(api, workers, organization_with_mixed_log, **body)
        count = sum(len(run["hashes"]) for run in record["evidence"])
        monkeypatch.setattr(omitted_runs, "MAX_EVIDENCE_HASHES", count + 8)  # The log has grown meanwhile.
        assert completed(api, workers, organization_with_mixed_log, **body)["evidence"]
        monkeypatch.setattr(omitted_runs, "MAX_EVIDENCE_HASHES", count - 1)
        record = completed(api, workers, organization_with_mixed_log, **body)
        assert record["evidence"] is None
        assert lines(record)

    def test_the_log_entry_holds_the_hash_of_long_evidence(
        self, api: Api, organization_with_mixed_log: Founded, workers: Workers
    ) -> None:
        fill(organization_with_mixed_log.id, 300)
        for n in range(0, 300, 7):
            item = logs.entry(organization_with_mixed_log, n + 20)
            logs.alter(item, type="page.created")
        record = completed(api, workers, organization_with_mixed_log, filters={"type": "page.created"})
        assert len(record["evidence"]) > 40
        (completion,) = log_of(
            api, organization_with_mixed_log, type="organization.audit_export.completed", targetId=record["id"]
        )
        assert set(completion["data"]["evidence"]) == {"sha256", "size"}
