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
def mixed(api: Api, ada: Person, grace: Person, mary: Person, workers: Workers) -> Founded:
    """An organization whose log is of several kinds, long entries among them, appended in several batches."""
    return scene("mixed", lambda: _mixed(api, ada, grace, mary, workers))


def _mixed(api: Api, ada: Person, grace: Person, mary: Person, workers: Workers) -> Founded:
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


def sealed(api: Api, organization: Founded, **query: object) -> list[Json]:
    """The entries that have their place, in its order, but for those about exports."""
    entries = [e for e in log_of(api, organization, **query) if e["sequence"] and "export" not in e["type"]]
    return sorted(entries, key=lambda entry: int(entry["sequence"]))


class TestTheFile:
    def test_holds_all_entries_that_had_their_place(self, api: Api, mixed: Founded, workers: Workers) -> None:
        record = completed(api, workers, mixed)
        *before, requested = lines(record)
        assert before == sealed(api, mixed)
        assert requested["type"] == "organization.audit_export.requested"
        assert record["entryCount"] == len(before) + 1

    def test_is_what_its_record_says(self, api: Api, mixed: Founded, workers: Workers) -> None:
        record = completed(api, workers, mixed)
        file = fetched(record)
        assert (sha256(file).hexdigest(), len(file)) == (record["sha256"], record["sizeBytes"])

    def test_of_csv_says_the_same_as_that_in_one_answer(self, api: Api, mixed: Founded, workers: Workers) -> None:
        record = completed(api, workers, mixed, format="csv")
        text = gzip.decompress(fetched(record)).decode()
        at_once = exported(api, mixed, format="csv").text
        assert at_once.startswith(text)
        assert len(rows(text)) == record["entryCount"]

    def test_holds_nothing_that_came_after_its_checkpoint(self, api: Api, mixed: Founded, workers: Workers) -> None:
        size = len(sealed(api, mixed))
        started = begin_export(api, mixed)
        workers.deliver()
        api.patch(mixed.path, as_=mixed.owner, json={"name": "Later"})
        workers.deliver()
        record = started.now(api)
        assert record["entryCount"] == size + 1
        assert record["checkpoint"].split("\n")[1] == str(size + 1)

    def test_of_nothing_is_an_empty_one(self, api: Api, mixed: Founded, workers: Workers) -> None:
        record = completed(api, workers, mixed, filters={"actorId": "nobody"})
        assert (record["entryCount"], gzip.decompress(fetched(record))) == (0, b"")
        record = completed(api, workers, mixed, format="csv", filters={"actorId": "nobody"})
        assert rows(gzip.decompress(fetched(record)).decode()) == []

    def test_shows_erased_entries_as_the_log_does(
        self, api: Api, mixed: Founded, workers: Workers, clock: Clock, mary: Person
    ) -> None:
        before = completed(api, workers, mixed)
        erased(api, workers, clock, mixed, userId=mary.id)
        record = completed(api, workers, mixed)
        gone = [entry for entry in lines(record) if "erased" in entry]
        assert len(gone) >= 7
        assert all((entry["actor"], entry["data"], entry["changes"]) == (None, None, []) for entry in gone)
        was = {entry["sequence"]: entry["integrity"] for entry in lines(before)}
        for entry in gone:
            signature = entry["integrity"]["erasureSignature"]
            assert signature
            assert entry["integrity"] == was[entry["sequence"]] | {"erasureSignature": signature}
        assert f"{len(gone)} erased" in proven(record)
        table = rows(gzip.decompress(fetched(completed(api, workers, mixed, format="csv"))).decode())
        assert [row["sequence"] for row in table if row["erased"]] == [str(entry["sequence"]) for entry in gone]

    def test_shows_what_someone_altered_as_it_is_now(self, api: Api, mixed: Founded, workers: Workers) -> None:
        entry = logs.entry(mixed, 2)
        logs.alter(entry, body=entry["body"].replace(b"Grace", b"Merlin"))
        record = completed(api, workers, mixed)
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

    def wanted(self, mixed: Founded, grace: Person, mary: Person, api: Api) -> list[Json]:
        moments = [entry["occurredAt"] for entry in sealed(api, mixed)]
        return [
            *self.FILTERS,
            {"actorId": grace.id},
            {"targetId": mary.id},
            {"actorId": grace.id, "targetId": mixed.id},
            {"targetId": mixed.id, "type": "organization.updated"},
            {"from": moments[4]},
            {"to": moments[-4]},
            {"from": moments[4], "to": moments[-4]},
            {"type": "organization.*", "actorId": grace.id, "to": moments[-2]},
        ]

    def test_it_holds_what_the_list_with_these_filters_does(
        self, api: Api, mixed: Founded, workers: Workers, grace: Person, mary: Person
    ) -> None:
        for filters in self.wanted(mixed, grace, mary, api):
            record = completed(api, workers, mixed, filters=filters)
            found_ = [entry for entry in lines(record) if "export" not in entry["type"]]
            assert found_ == sealed(api, mixed, **filters), filters
            assert record["entryCount"] == len(lines(record))

    def test_what_it_leaves_out_is_proven_by_evidence(
        self, api: Api, mixed: Founded, workers: Workers, grace: Person, mary: Person
    ) -> None:
        for filters in self.wanted(mixed, grace, mary, api):
            record = completed(api, workers, mixed, filters=filters)
            count, size = record["entryCount"], record["checkpoint"].split("\n")[1]
            assert f"{count} of {size} entries are proven to be in the signed tree" in proven(record)

    def test_evidence_is_the_roots_of_the_largest_subtrees_left_out(
        self, api: Api, mixed: Founded, workers: Workers
    ) -> None:
        record = completed(api, workers, mixed, filters={"type": "organization.updated"})
        leaves = [bytes.fromhex(e["integrity"]["leafHash"]) for e in lines(completed(api, workers, mixed))]
        there = {entry["sequence"] for entry in lines(record)}
        covered = {n for run in record["evidence"] for n in range(run["from"], run["to"] + 1)}
        size = int(record["checkpoint"].split("\n")[1])
        assert there | covered == set(range(1, size + 1))
        assert there & covered == set()
        for run in record["evidence"]:
            roots = rfc6962.subtrees(leaves, run["from"] - 1, run["to"])
            assert run["hashes"] == [root.hex() for root in roots]

    def test_one_that_leaves_nothing_out_needs_no_evidence(self, api: Api, mixed: Founded, workers: Workers) -> None:
        for filters in ({}, {"type": "organization.*"}, {"from": "2000-01-01T00:00:00Z"}):
            assert completed(api, workers, mixed, filters=filters)["evidence"] == []

    def test_for_csv_there_is_none(self, api: Api, mixed: Founded, workers: Workers) -> None:
        record = completed(api, workers, mixed, format="csv", filters={"type": "organization.updated"})
        assert record["evidence"] is None

    def test_where_it_would_be_too_much_there_is_none(
        self, api: Api, mixed: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert omitted_runs.MAX_EVIDENCE_HASHES == 2_000
        asked: dict[str, Any] = {"filters": {"to": sealed(api, mixed)[4]["occurredAt"], "actorId": mixed.owner.id}}
        record = completed(api, workers, mixed, **asked)
        count = sum(len(run["hashes"]) for run in record["evidence"])
        monkeypatch.setattr(omitted_runs, "MAX_EVIDENCE_HASHES", count + 8)  # The log has grown since.
        assert completed(api, workers, mixed, **asked)["evidence"]
        monkeypatch.setattr(omitted_runs, "MAX_EVIDENCE_HASHES", count - 1)
        record = completed(api, workers, mixed, **asked)
        assert record["evidence"] is None
        assert lines(record)

    def test_the_entry_about_its_end_holds_long_evidence_by_its_hash(
        self, api: Api, mixed: Founded, workers: Workers
    ) -> None:
        fill(mixed.id, 300)
        for n in range(0, 300, 7):
            item = logs.entry(mixed, n + 20)
            logs.alter(item, type="page.created")
        record = completed(api, workers, mixed, filters={"type": "page.created"})
        assert len(record["evidence"]) > 40
        (ended,) = log_of(api, mixed, type="organization.audit_export.completed", targetId=record["id"])
        assert set(ended["data"]["evidence"]) == {"sha256", "size"}
