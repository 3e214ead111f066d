"""Entries of application events in the log: their fields, filters, exports and verification, and reconciliations."""

import json
from typing import Any, Final

import pytest

from chalicelib.features.audit.reconciliations.logic.log_reader import LogReader
from chalicelib.features.audit.reconciliations.logic.record_checks import find_suspects
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.kernel.audit_log.entries import APPLICATION_ORIGIN, EntryItem
from chalicelib.kernel.core.clock import after, now, timestamp_ms
from chalicelib.kernel.core.ids import id_timestamp_prefix
from tests.harness import memory_aws, rfc6962
from tests.harness.application_events import ADA, INVOICE, NIGHTLY_EXPORT
from tests.harness.exports import parse_csv, read_ndjson_entries, verify_export_file
from tests.harness.organizations import set_role
from tests.harness.reconciliations import find_disagreements
from tests.harness.stored_records import load_item

APPLICATION_FIELDS: Final = ("version", "receivedAt", "reportedBy", "targets")


@pytest.fixture
def list_ids(new_log):
    """A function that lists the ids of the entries that match some filters, the newest first."""
    return lambda **query: [entry["id"] for entry in new_log.entries(**query)]


class TestFields:
    def test_an_asserted_actor_is_marked_and_the_reporter_is_named(self, new_log, report):
        report(version=3, occurred_at="2026-11-20T09:30:00.000Z", data={"amount": 12, "note": "x" * 9000})
        entry, *built_in = new_log.entries()
        assert entry["actor"] == {**ADA, "asserted": True}
        assert (entry["reportedBy"], entry["version"]) == (NIGHTLY_EXPORT, 3)
        assert (entry["target"], entry["targets"], entry["changes"]) == (INVOICE, [INVOICE], [])
        assert entry["occurredAt"] == "2026-11-20T09:30:00.000Z" < entry["receivedAt"]
        assert entry["data"] == {"amount": 12, "note": "x" * 9000}
        for each in built_in:
            assert not {*APPLICATION_FIELDS} & {*each}
            assert "asserted" not in each["actor"]

    def test_without_actor_and_targets_the_principal_is_the_actor_and_the_target_is_null(self, new_log, report):
        report(actor=None, targets=())
        entry = new_log.entries()[0]
        assert (entry["actor"], entry["reportedBy"]) == (NIGHTLY_EXPORT, NIGHTLY_EXPORT)
        assert (entry["target"], entry["targets"], entry["data"]) == (None, [], None)


class TestFilters:
    def test_a_target_has_its_built_in_entries_and_application_events_in_one_list(self, api, new_log, report, list_ids):
        about_log = [{"type": "plan", "id": new_log.id.upper(), "name": None}]
        reported = []
        for number in range(4):
            reported += [report(targets=about_log)]
            new_log.rename(f"Name {number}")
        listed = list_ids(targetId=new_log.id)
        assert listed == sorted(listed, reverse=True)
        assert {*reported} < {*listed}
        assert len(listed) == 4 + 4 + 1  # The renamings, and the creation of the organization.
        for limit in (1, 2, 3, 5):
            assert list_ids(targetId=new_log.id, limit=limit) == listed
        exported = map(json.loads, new_log.get("/export", targetId=new_log.id).text.splitlines())
        assert [entry["id"] for entry in exported] == listed[::-1]
        path, owner = f"{new_log.organization.path}/events", new_log.organization.owner
        response = api.get(path, caller=owner, query={"targetId": new_log.id, "limit": 2})
        assert [entry["id"] for entry in response.json["items"]] == reported[:1:-1]
        (query,) = [call.parameters for call in response.calls.call_list if call.name == "dynamodb:Query"]
        assert (query["Limit"], query["IndexName"]) == (2, "facet1")

    def test_type_actor_and_first_target_are_found_in_any_case(self, report, list_ids, clock):
        first = report()
        clock.shift(seconds=0.001)  # Ids have the order of their times.
        second = report("invoice.paid", actor=None, targets=[{**INVOICE, "id": "B"}, INVOICE])
        report("patient.file_opened", targets=())
        assert list_ids(type="invoice.*") == [second, first]
        assert list_ids(type="invoice.approved") == [first]
        assert list_ids(actorId="c-17", targetId="INV-42") == [first]
        assert list_ids(targetId="inv-42") == [first]
        assert list_ids(targetId="b", type="invoice.*") == [second]
        assert list_ids(actorId=NIGHTLY_EXPORT["id"]) == [second]

    def test_from_and_to_refer_to_the_time_of_receipt(self, report, list_ids):
        occurred_at = after(now(), days=-3)
        entry_id = report(occurred_at=occurred_at)
        assert entry_id in list_ids(**{"from": after(now(), seconds=-60)})
        assert entry_id not in list_ids(to=after(occurred_at, seconds=60))


class TestExports:
    def test_csv_has_columns_for_them_at_the_end_that_are_empty_for_built_in_events(self, new_log, report, workers):
        report(version=2, targets=[{**INVOICE, "name": "=1+1"}, {"type": "customer", "id": "c-9", "name": None}])
        report(actor=None, targets=())
        workers.deliver()
        text = new_log.get("/export", format="csv").text
        names = [
            "version",
            "receivedAt",
            "actorAsserted",
            "reportedByType",
            "reportedById",
            "reportedByName",
            "targets",
        ]
        assert text.partition("\r\n")[0].endswith(f'"erased",{",".join(map(json.dumps, names))}')
        *built_in, asserted, other = parse_csv(text)
        assert [each[name] for each in built_in for name in names] == [""] * (len(names) * len(built_in))
        assert [asserted[name] for name in (*names[:1], *names[2:6])] == ["2", "true", *NIGHTLY_EXPORT.values()]
        assert asserted["targetName"] == "'=1+1"
        assert [each["id"] for each in json.loads(asserted["targets"])] == ["INV-42", "c-9"]
        assert [other[name] for name in ("actorAsserted", "targetType", "targets", "data")] == ["", "", "[]", ""]

    def test_a_background_export_and_the_offline_verifier_accept_them(self, new_log, report, workers):
        report(data={"note": "é" * 5000})
        report(targets=())
        workers.deliver()
        record = new_log.export(filters={"type": "invoice.*"})
        listed = new_log.entries(type="invoice.*")[::-1]
        assert read_ndjson_entries(record) == listed
        assert "2 of 7 entries are proven" in verify_export_file(record)
        assert [each["integrity"]["leafHash"] for each in listed] == [rfc6962.leaf_hash(e).hex() for e in listed]
        assert new_log.get("/export", evidence="true", targetId="inv-42").text.count("\n") == 2


class TestVerification:
    def test_an_altered_attribute_of_an_entry_without_target_is_found(self, new_log, report, workers):
        report(targets=())
        workers.deliver()
        assert new_log.failure() == (None, None)
        entry = new_log.entry(5)
        keys = [f"A#{new_log.id}#T#x", f"A#{new_log.id}#O#application#T#x"]
        alterations = [{"target": "x"}, *({"facet1pk": key} for key in keys), {"actor": "x"}, {"origin": "other"}]
        for alteration in [*alterations, {"created_at": after(now(), days=-1)}]:
            memory_aws.put_item({**entry, **alteration})
            assert new_log.failure() == ("modified", 5), alteration
        new_log.remove_attributes(5, "origin")
        assert new_log.failure() == ("modified", 5)

    def test_an_entry_in_the_other_partition_of_its_target_is_found(self, new_log, report, workers):
        report()
        workers.deliver()
        for sequence, origin in ((5, ""), (1, "#O#application")):
            entry = new_log.entry(sequence)
            memory_aws.put_item({**entry, "facet1pk": f"A#{new_log.id}{origin}#T#{entry['target']}"})
            assert new_log.failure() == ("modified", sequence)


class TestReconciliation:
    def test_application_events_about_records_are_no_findings(self, api, organization, report, mary, workers):
        member = load_item(Member.make_item_key(organization_id=organization.id, user_id=mary.id))
        about_member = {"type": "organization.member", "id": member["id"], "name": "Mary"}
        report("member.praised", targets=[about_member], data={**member_data(member), "version": 99})
        report("member.left", targets=[{**about_member, "id": "gone"}], data={"id": "gone", "userId": "gone"})
        report(targets=())
        workers.deliver()
        assert find_disagreements(organization.id) == []
        set_role(api, organization, mary, "editor")
        workers.deliver()
        assert find_disagreements(organization.id) == []

    def test_an_application_event_does_not_explain_a_forged_record(self, organization, report, forged_member, workers):
        about_member = {"type": "organization.member", "id": forged_member["id"], "name": None}
        report("member.added", targets=[about_member], data=member_data(forged_member))
        workers.deliver()
        assert [each["id"] for each in find_disagreements(organization.id)] == [forged_member["id"]]

    def test_many_application_events_about_a_record_hide_no_entry_about_it(
        self, api, organization, report, mary, workers
    ):
        set_role(api, organization, mary, "editor")
        member = load_item(Member.make_item_key(organization_id=organization.id, user_id=mary.id))
        for _ in range(12):
            report(targets=[{"type": "organization.member", "id": member["id"], "name": None}])
        workers.deliver()
        newest = LogReader(organization.id).list_newest_about(member["id"])
        assert [entry["type"] for entry in newest] == [
            "organization.member.updated",
            "organization.invitation.accepted",
        ]


class TestReconciliationOfALogWithManyApplicationEvents:
    """2,000 application events about each record, of the time of its last change, before the entry about the change."""

    COUNT: Final = 2000

    @pytest.fixture
    def members(self, api, organization, mary, workers):
        """The owner, who was created with an entry about the organization, and Mary, about whom an entry is."""
        set_role(api, organization, mary, "editor")
        workers.deliver()
        people = (organization.owner, mary)
        keys = [Member.make_item_key(organization_id=organization.id, user_id=each.id) for each in people]
        members = [*map(load_item, keys)]
        for item in members:
            for number in range(self.COUNT):
                entry = build_application_entry(organization.id, item["updated_at"], item["id"], number)
                memory_aws.put_item(entry.item())
        return members

    def test_lookups_of_built_in_entries_read_few_of_them(self, organization, members):
        for item in members:
            reader = LogReader(organization.id)
            assert len(reader.list_newest_about(item["id"])) + 1 == reader.read_count <= 3
            for is_final in (False, True):
                reader = LogReader(organization.id)
                assert find_suspects(reader, [item], is_final=is_final) == []
                assert reader.read_count < 50

    def test_a_lagging_index_accuses_no_record(self, organization, members, monkeypatch):
        monkeypatch.setattr(LogReader, "_query_index", lambda *_arguments, **_options: [])
        reader = LogReader(organization.id)
        assert find_suspects(reader, members) == []
        assert reader.read_count > self.COUNT / 10

    def test_a_forged_record_is_found_after_reading_each_time_once(self, organization, members, forged_member):
        reader = LogReader(organization.id)
        (suspect,) = find_suspects(reader, [forged_member], is_final=True)
        assert (suspect["id"], suspect["kind"]) == (forged_member["id"], "unlogged")
        assert reader.read_count < 4 * self.COUNT / 10  # The minute after its change, and the time of its creation.


def build_application_entry(log_id: str, time: str, about: str, number: int) -> EntryItem:
    """Return an entry that precedes all others of its time."""
    return EntryItem(
        id=f"{id_timestamp_prefix(timestamp_ms(time))}-7000-8000-{number:012x}",
        created_at=time,
        updated_at=time,
        log_id=log_id,
        type="invoice.approved",
        target=about,
        actor="c-17",
        origin=APPLICATION_ORIGIN,
        leaf=b"\0" * 32,
    )


def member_data(item: dict[str, Any]) -> dict[str, Any]:
    return {"id": item["id"], "userId": item["user_id"], "role": item["role"], "version": int(item["version"])}
