"""The erasure of people from the entries of application events."""

from collections import Counter
from itertools import count
from typing import Any, Final
from unittest.mock import Mock, call

import pytest

from chalicelib.features.events.types.logic.personal_data import PersonalDataFinder
from chalicelib.features.privacy.erasures import tasks
from chalicelib.features.privacy.erasures.logic.named_people import mentions_person
from chalicelib.kernel.work import jobs
from tests.harness import memory_aws
from tests.harness.application_events import ADA, INVOICE, NIGHTLY_EXPORT
from tests.harness.audit_logs import entry_item, list_entries, verification_failure
from tests.harness.declared_types import declare_event_type
from tests.harness.erasures import keys_of_items_containing, post_erasure
from tests.harness.exports import create_export, parse_csv, verify_export_file
from tests.harness.invitations import create_invitation
from tests.harness.organizations import roles_by_username
from tests.harness.stored_logs import StoredLog

SEARCHES: Final = 2
"""An erasure searches the log a second time, for entries that were in flight."""

PERSON: Final = {"type": "customer", "id": "C-17"}


@pytest.fixture
def erased_ids(api, organization):
    """A function that returns the ids of the erased entries."""
    return lambda: {entry["id"] for entry in list_entries(api, organization) if "erased" in entry}


class TestRequest:
    @pytest.mark.parametrize(
        ("actor", "pointer"),
        [
            ({"type": "customer"}, "/actor/id"),
            ({"id": "C-17"}, "/actor/type"),
            ({"type": "customer", "id": ""}, "/actor/id"),
            ({"type": "customer", "id": "x" * 129}, "/actor/id"),
            ({"type": "api_key", "id": "C-17"}, "/actor/type"),
            ({"type": "service_key", "id": "C-17"}, "/actor/type"),
            ("C-17", "/actor"),
        ],
    )
    def test_an_invalid_actor_is_rejected(self, api, organization, actor, pointer):
        assert [*post_erasure(api, organization, actor=actor).validation_errors] == [pointer]

    def test_the_owner_cannot_be_erased_as_an_actor(self, api, organization, ada):
        actor = {"type": "user", "id": ada.id}
        assert post_erasure(api, organization, actor=actor).status_and_code == "409 owner_must_transfer"


class TestActor:
    def test_entries_of_which_the_person_is_actor_or_target_are_erased_and_the_log_still_verifies(
        self, api, organization, report, workers, erase, erased_ids
    ):
        named = {
            report(occurred_at="2026-11-20T09:30:00.000Z"),
            report(actor=None, targets=[INVOICE, {**PERSON, "name": None}], data={"note": "é" * 5000}),
            report(targets=[{**PERSON, "name": None}, INVOICE]),
        }
        report(actor={**PERSON, "id": "c-17", "name": None}, targets=[{**INVOICE, "id": "C-17"}])
        report(actor={**ADA, "id": "C-170"}, targets=())
        workers.deliver()
        before = {entry["id"]: entry for entry in list_entries(api, organization)}
        assert erase(actor=PERSON) == (0, 3)
        assert erased_ids() == named
        for entry in list_entries(api, organization, type="invoice.approved"):
            was = before[entry["id"]]
            assert (entry["sequence"], entry["integrity"]["leafHash"]) == (
                was["sequence"],
                was["integrity"]["leafHash"],
            )
            if entry["id"] in named:
                assert entry["occurredAt"] == was["receivedAt"]
                assert not {"version", "receivedAt", "reportedBy", "targets"} & {*entry}
                assert (entry["actor"], entry["target"], entry["data"]) == (None, None, None)
        log = StoredLog(api, workers, organization)
        assert log.failure() == (None, None)
        assert "3 erased" in verify_export_file(log.export())
        assert sum(row["erased"] == "true" for row in parse_csv(log.get("/export", format="csv").text)) == 3
        assert erase(actor=PERSON) == (0, 0)

    def test_no_data_about_the_person_remains(self, api, organization, report, workers, erase):
        report(data={"note": "n" * 5000})
        export = create_export(api, organization, filters={"actorId": "c-17"})
        create_export(api, organization, filters={"targetId": "INV-42"})
        workers.run_until_idle()
        assert keys_of_items_containing("C-17") != []
        assert erase(actor=PERSON) == (1, 3)
        assert keys_of_items_containing("C-17") == []
        assert api.get(export.path, caller=organization.owner).status_and_code == "410 export_expired"

    def test_a_pending_entry_is_erased_once_it_has_a_sequence(
        self, organization, report, workers, erase, erased_ids, clock
    ):
        path = erase.begin(actor=PERSON)
        entry_id = report()
        erase.finish()
        assert erased_ids() == {entry_id}
        assert erase.get(path)["erasedEntries"] == 1
        clock.shift(minutes=5)
        report()
        workers.run_until_idle()
        assert erased_ids() == {entry_id}

    def test_an_altered_entry_is_erased_and_still_reported(self, api, organization, report, workers, erase):
        report(targets=())
        workers.deliver()
        (body,) = [item for item in memory_aws.all_items() if item["pk"] == f"B#{organization.id}"]
        memory_aws.put_item({**body, "body": body["body"].replace(b'"customer"', b'"consumer"')})
        assert erase(actor=PERSON) == (0, 1)
        assert verification_failure(api, organization) == ("modified", 5)
        assert "erased" in entry_item(organization, 5)


class TestPersonalData:
    SCHEMA: Final = {
        "type": "object",
        "properties": {
            "note": {"type": "string", "x-personal-data": True},
            "customer": {"$ref": "#/$defs/customer"},
            "people": {"type": "array", "items": {"type": "object", "x-personal-data": True}},
            "number": {"type": "integer", "x-personal-data": True},
            "public": {"type": "string", "x-personal-data": False},
        },
        "$defs": {"customer": {"type": "object", "properties": {"id": {"x-personal-data": True}}}},
    }

    def test_only_events_with_the_id_in_a_marked_field_are_erased(self, report, workers, erase, erased_ids):
        declare_event_type("invoice.approved", "{actor} approved {target}.", self.SCHEMA)
        named = {
            report(actor=None, data=data)
            for data in (
                {"note": "Customer no. 17."},
                {"customer": {"id": "17"}},
                {"people": [{"name": "Ada"}, {"ids": ["17"]}]},
                {"people": [{"17": "x"}]},
                {"number": 17},
            )
        }
        others: list[dict[str, Any]] = [{"note": "170 a17 17-b"}, {"public": "17", "count": 17, "other": "17"}]
        for data in (*others, {"customer": {"name": "17"}}, {"people": []}):
            report(actor=None, data=data)
        workers.deliver()
        assert erase(actor={"type": "customer", "id": "17"}) == (0, len(named))
        assert erased_ids() == named

    def test_without_a_declared_schema_all_data_is_personal(self, report, workers, erase, erased_ids):
        named = {report("patient.file_opened", actor=None, data={"count": 17})}
        report("patient.file_opened", actor=None, data={"count": 170})
        workers.deliver()
        assert erase(actor={"type": "customer", "id": "17"}) == (0, 1)
        assert erased_ids() == named

    def test_schemas_are_read_only_for_entries_that_contain_the_id(self, report, workers, erase, monkeypatch):
        load = Mock(return_value={})
        monkeypatch.setattr(tasks, "load_personal_values", load)
        report()
        report(actor=None, data={"note": "c-17"})
        workers.deliver()
        assert erase(actor=PERSON) == (0, 1)
        assert load.call_args_list == []
        report(actor=None, data={"note": "C-17"}, version=3)
        workers.deliver()
        assert erase(actor=PERSON) == (0, 1)
        assert load.call_args_list == [call({("invoice.approved", 3)})]

    def test_a_run_without_time_continues_after_the_last_entry_that_it_checked(
        self, report, workers, erase, erased_ids, monkeypatch
    ):
        named = {report("patient.file_opened", actor=None, data={"count": 17}) for _ in range(5)}
        report("patient.file_opened", actor=None, data={"count": 18})
        workers.deliver()
        ticks, checked = count(), Mock(side_effect=mentions_person)
        monkeypatch.setattr(tasks, "time", Mock(monotonic=ticks.__next__))
        monkeypatch.setattr(jobs, "slice_deadline_monotonic", lambda: next(ticks) + 2)
        monkeypatch.setattr(tasks, "mentions_person", checked)
        assert erase(actor={"type": "customer", "id": "17"}) == (0, len(named))
        assert erased_ids() == named
        ids = [each.args[0].item["sk"] for each in checked.call_args_list]
        assert max(Counter(ids).values()) == SEARCHES

    def test_schemas_are_evaluated_only_for_data_that_contains_the_id(self, report, workers, erase, monkeypatch):
        declare_event_type("invoice.approved", "{actor} approved {target}.", self.SCHEMA)
        find = Mock(return_value=[])
        monkeypatch.setattr(PersonalDataFinder, "find", find)
        report(actor=None, data={"note": "170"})
        report(actor=None, data={"note": "no. 7"})
        workers.deliver()
        assert erase(actor={"type": "customer", "id": "7"}) == (0, 0)
        assert find.call_args_list == [call({"note": "no. 7"})] * SEARCHES


class TestUser:
    def test_entries_that_contain_the_users_id_or_address_anywhere_are_erased(
        self, report, grace, workers, erase, erased_ids
    ):
        named = {
            report(actor={"type": "user", "id": grace.id, "name": None}),
            report(targets=[INVOICE, {"type": "person", "id": grace.email, "name": None}]),
            report(data={"id": grace.id.upper()}),
            report(data={"note": f"Sent to {grace.email.upper()}."}),
            report(actor=None, reported_by={"type": "user", "id": grace.id, "name": grace.name}),
        }
        report(data={"note": f"x{grace.email}"})
        workers.deliver()
        erase(email=grace.email, userId=grace.id)
        assert named <= erased_ids()
        assert keys_of_items_containing(grace.id) == []

    def test_the_id_of_a_key_is_not_that_of_a_person(self, report, workers, erase, erased_ids):
        key_id = "01939d3c-0000-4000-8000-00000000000e"
        service_key = {**NIGHTLY_EXPORT, "type": "service_key", "id": key_id}
        report(actor=None, reported_by=service_key)
        named = report(actor={"type": "person", "id": key_id, "name": None}, reported_by=service_key)
        workers.deliver()
        erase(userId=key_id)
        assert erased_ids() == {named}

    def test_an_application_event_does_not_connect_a_user_with_an_address(
        self, api, organization, report, grace, mary, workers, erase, erased_ids
    ):
        report(data={"userId": grace.id, "email": "sophie@example.org"})
        report("organization.member.added", data={"userId": grace.id, "email": "sophie@example.org"})
        workers.deliver()
        create_invitation(api, organization, "sophie@example.org")
        erase(email="sophie@example.org")
        assert grace.username in roles_by_username(api, organization)
        assert keys_of_items_containing(grace.id) != []
