import base64
import json

import pytest

from chalicelib.features.audit.exports.logic import verify as offline
from chalicelib.kernel.core.encoding import to_base64url
from tests.catalogue.log_proof import PUBLIC_KEY
from tests.harness import memory_aws, rfc6962
from tests.harness.api import ApiClient, Json
from tests.harness.audit_logs import list_entries, verify_integrity
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.erasures import (
    complete_erasure,
    create_erasure,
    finish_erasures,
    get_erasure,
    keys_of_items_containing,
)
from tests.harness.exports import create_completed_export, parse_csv, read_ndjson_entries
from tests.harness.invitations import create_invitation
from tests.harness.organizations import CreatedOrganization, create_api_key
from tests.harness.workers import Workers

ERASED_SEQUENCES = [2, 5, 7, 8]


@pytest.fixture
def entries_before(api: ApiClient, organization: CreatedOrganization, grace: Person, workers: Workers) -> list[Json]:
    """The log before the erasure of Grace, the oldest entry first. Four of nine entries name her, one of them long."""
    create_invitation(api, organization, "sophie@example.org", caller=grace)
    api.patch(organization.path, caller=organization.owner, json={"name": "Engines"})
    api.patch(organization.path, caller=grace, json={"companyAddress": "x" * 3900})
    create_api_key(api, organization, caller=grace)
    api.patch(organization.path, caller=organization.owner, json={"companyAddress": None})
    workers.run_until_idle()
    return list_entries(api, organization)[::-1]


@pytest.fixture
def checkpoint_before(api: ApiClient, organization: CreatedOrganization, entries_before: list[Json]) -> str:
    """The checkpoint of the log before Grace is erased."""
    assert len(entries_before) == 9
    return str(verify_integrity(api, organization)["checkpoint"])


@pytest.fixture
def entries_after(
    api: ApiClient,
    organization: CreatedOrganization,
    grace: Person,
    checkpoint_before: str,
    workers: Workers,
    clock: Clock,
) -> list[Json]:
    """The log after the erasure, the oldest entry first."""
    assert checkpoint_before
    assert complete_erasure(api, workers, clock, organization, userId=grace.id)["erasedEntries"] == 4
    return list_entries(api, organization)[::-1]


def erased_form(entry: Json, current: Json) -> Json:
    """Return the erased form of an entry, with the signature of the current one."""
    integrity = entry["integrity"] | {"erasureSignature": current["integrity"].get("erasureSignature")}
    removed: Json = {"actor": None, "target": None, "context": None, "changes": [], "data": None}
    return entry | removed | {"erased": True, "integrity": integrity}


class TestEntries:
    def test_erased_entries_keep_their_sequence_and_others_are_unchanged(self, entries_before, entries_after):
        *entries, last = entries_after
        assert entries == [
            erased_form(entry, current) if entry["sequence"] in ERASED_SEQUENCES else entry
            for entry, current in zip(entries_before, entries, strict=True)
        ]
        assert last["type"] == "organization.person_erased"
        assert "erased" not in last

    def test_long_bodies_of_erased_entries_are_removed(self, organization, entries_after):
        long_body_ids = [item["sk"] for item in memory_aws.all_items() if item["pk"] == f"B#{organization.id}"]
        assert long_body_ids == [entry["id"] for entry in entries_after if entry["changes"] and entry["sequence"] == 9]

    def test_erased_entries_are_paginated(self, api, organization, ada, entries_after):
        pages = api.get_pages(f"{organization.path}/audit-log", caller=ada, query={"limit": 1})
        assert [page["items"] for page in pages if page["items"]] == [[entry] for entry in entries_after[::-1]]

    def test_erased_entries_are_found_only_by_type_and_time(
        self, api, organization, grace, entries_before, entries_after
    ):
        target = entries_before[7]["target"]["id"]
        assert (
            list_entries(api, organization, actorId=grace.id) == list_entries(api, organization, targetId=target) == []
        )
        for type_, sequences in (("organization.api_key.created", [8]), ("organization.invitation.*", [5, 4, 3, 2])):
            assert [entry["sequence"] for entry in list_entries(api, organization, type=type_)] == sequences
        time_range = {"from": entries_after[6]["occurredAt"], "to": entries_after[7]["occurredAt"]}
        assert [entry["sequence"] for entry in list_entries(api, organization, **time_range)] == [8, 7]

    def test_pending_entries_are_erased_too(self, api, organization, grace, workers, clock):
        create_api_key(api, organization, caller=grace)
        assert {entry["sequence"] for entry in list_entries(api, organization)} == {None}
        assert complete_erasure(api, workers, clock, organization, email=grace.email)["erasedEntries"] == 2
        assert keys_of_items_containing(grace.id, grace.email) == []
        assert verify_integrity(api, organization)["valid"]

    def test_an_entry_that_names_two_people_is_erased_once(self, api, organization, grace, mary, workers, clock):
        api.patch(f"{organization.path}/members/{mary.id}", caller=grace, json={"role": "editor"})
        counts = [
            complete_erasure(api, workers, clock, organization, userId=person.id)["erasedEntries"]
            for person in (grace, mary, mary)
        ]
        assert counts == [2, 1, 0]
        assert keys_of_items_containing(grace.id, mary.id, grace.email, mary.email) == []

    def test_concurrent_erasures_count_each_entry_once(self, api, organization, grace, mary, workers, clock):
        api.patch(f"{organization.path}/members/{mary.id}", caller=grace, json={"role": "editor"})
        paths = [create_erasure(api, organization, userId=person.id) for person in (grace, mary)]
        finish_erasures(workers, clock)
        assert sum(get_erasure(api, organization, path)["erasedEntries"] for path in paths) == 3
        assert keys_of_items_containing(grace.id, mary.id, grace.email, mary.email) == []

    def test_the_id_of_an_organization_erases_nothing(self, api, organization, workers, clock):
        api.patch(organization.path, caller=create_api_key(api, organization, "admin"), json={"name": "Engines"})
        workers.deliver()
        log = list_entries(api, organization)
        record = complete_erasure(api, workers, clock, organization, userId=organization.id)
        assert (record["erasedRecords"], record["erasedEntries"]) == (0, 0)
        newest, *older_entries = list_entries(api, organization)
        assert newest["type"] == "organization.person_erased"
        assert older_entries == log

    @pytest.mark.parametrize("identified_by", ["email", "userId"])
    def test_entries_of_an_api_key_whose_name_holds_the_person_are_erased(
        self, api, organization, grace, workers, clock, identified_by
    ):
        personal_value = {"email": grace.email, "userId": grace.id}[identified_by]
        key_named_after_person, other_key = (
            create_api_key(api, organization, "admin", name=name) for name in (f"For {personal_value}", "For all")
        )
        api.patch(organization.path, caller=key_named_after_person, json={"name": "By theirs"})
        api.patch(organization.path, caller=other_key, json={"name": "By another"})
        workers.deliver()
        entries_before = list_entries(api, organization)
        record = complete_erasure(api, workers, clock, organization, **{identified_by: personal_value})
        assert record["erasedEntries"] == 3
        assert keys_of_items_containing(personal_value) == []
        _, entry_of_other, erased_entry, *_ = list_entries(api, organization)
        assert (erased_entry["id"], erased_entry["erased"], entry_of_other) == (
            entries_before[1]["id"],
            True,
            entries_before[0],
        )
        assert verify_integrity(api, organization)["valid"]

    def test_more_entries_than_fit_in_a_transaction_are_erased(self, api, organization, grace, workers, clock):
        for n in range(60):
            api.patch(organization.path, caller=grace, json={"name": f"Name {n}"})
        workers.run_until_idle()
        assert complete_erasure(api, workers, clock, organization, userId=grace.id)["erasedEntries"] == 61
        assert keys_of_items_containing(grace.id, grace.email) == []
        assert verify_integrity(api, organization)["valid"]


class TestProofs:
    def test_the_tree_is_unchanged(self, api, organization, checkpoint_before, entries_before, entries_after):
        for entries in (entries_before, entries_after[:9]):
            leaves = [bytes.fromhex(entry["integrity"]["leafHash"]) for entry in entries]
            rfc6962.check_checkpoint(checkpoint_before, organization.id, leaves, PUBLIC_KEY)
        assert verify_integrity(api, organization)["treeSize"] == len(entries_after) == 10

    @pytest.mark.usefixtures("entries_after")
    def test_the_log_verifies_against_earlier_checkpoints(
        self, api, organization, edith, checkpoint_before, workers, clock
    ):
        checkpoint_between = str(verify_integrity(api, organization)["checkpoint"])
        complete_erasure(api, workers, clock, organization, userId=edith.id)
        for checkpoint in (
            checkpoint_before,
            checkpoint_between,
            str(verify_integrity(api, organization)["checkpoint"]),
        ):
            report = verify_integrity(api, organization, checkpoint=to_base64url(checkpoint.encode()))
            assert (report["valid"], report["checkedEntries"]) == (True, 11)


@pytest.mark.usefixtures("entries_after")
class TestExports:
    def test_an_inline_export_equals_the_list_and_is_verified_offline(self, api, organization, ada, entries_after):
        text = api.get(f"{organization.path}/audit-log/export", caller=ada).text
        assert [json.loads(line) for line in text.splitlines()] == entries_after
        checkpoint = str(verify_integrity(api, organization)["checkpoint"])
        head = offline.verify_checkpoint_note(checkpoint.encode(), base64.b64decode(PUBLIC_KEY))
        proven = offline.describe_proof(text.encode().splitlines(keepends=True), head)
        assert "10 of 10 entries are proven to be in the signed tree" in proven
        assert "6 unaltered, 4 erased" in proven

    def test_an_async_export_equals_the_list(self, api, organization, entries_after, workers):
        record = create_completed_export(api, workers, organization)
        assert read_ndjson_entries(record)[:10] == entries_after

    def test_export_filters_find_erased_entries_only_by_type(self, api, organization, grace, entries_after, workers):
        by_type = create_completed_export(api, workers, organization, filters={"type": "organization.api_key.created"})
        assert read_ndjson_entries(by_type) == [entries_after[7]]
        assert (
            read_ndjson_entries(create_completed_export(api, workers, organization, filters={"actorId": grace.id}))
            == []
        )

    def test_csv_marks_erased_entries(self, api, organization, ada, entries_after):
        text = api.get(f"{organization.path}/audit-log/export", caller=ada, query={"format": "csv"}).text
        cells = [(row["sequence"], row["type"], row["actorId"], row["erased"]) for row in parse_csv(text)]
        assert cells[7] == ("8", "organization.api_key.created", "", "true")
        assert [row[3] for row in cells] == ["true" if "erased" in entry else "" for entry in entries_after]
