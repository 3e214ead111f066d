import base64
import gzip
import json
from dataclasses import dataclass

import pytest

from chalicelib.features.audit.exports.logic import verify as offline
from chalicelib.kernel.core.encoding import to_base64url
from tests.catalogue.log_proof import PUBLIC_KEY
from tests.harness import memory_aws, rfc6962
from tests.harness.api import Json
from tests.harness.audit_logs import list_entries, verify_integrity
from tests.harness.cached_scenarios import extended_scenario
from tests.harness.erasures import complete_erasure, keys_of_items_containing
from tests.harness.exports import download_file, parse_csv, read_ndjson_entries
from tests.harness.invitations import create_invitation
from tests.harness.organizations import CreatedOrganization, create_api_key
from tests.harness.stored_logs import StoredLog

ERASED_SEQUENCES = [2, 5, 7, 8]


@dataclass(frozen=True)
class ErasedLog:
    """A log before and after the erasure of Grace, the oldest entry first.

    Four of nine entries named her, one of them long. The erasure added the tenth entry.
    """

    organization: CreatedOrganization
    before: list[Json]
    checkpoint_before: str
    after: list[Json]


@pytest.fixture
def erased(api, organization, grace, workers, clock):
    def create() -> ErasedLog:
        create_invitation(api, organization, "sophie@example.org", caller=grace)
        api.patch(organization.path, caller=organization.owner, json={"name": "Engines"})
        api.patch(organization.path, caller=grace, json={"companyAddress": "x" * 3900})
        create_api_key(api, organization, caller=grace)
        api.patch(organization.path, caller=organization.owner, json={"companyAddress": None})
        workers.run_until_idle()
        before, checkpoint = list_entries(api, organization)[::-1], verify_integrity(api, organization)["checkpoint"]
        assert len(before) == 9
        assert complete_erasure(api, workers, clock, organization, userId=grace.id)["erasedEntries"] == 4
        return ErasedLog(organization, before, checkpoint, list_entries(api, organization)[::-1])

    erased = extended_scenario("erased log", create)
    clock.shift(minutes=10)  # The erasure took some minutes.
    return erased


@pytest.fixture
def log(api, erased, workers):
    return StoredLog(api, workers, erased.organization)


def erased_form(entry, current):
    integrity = entry["integrity"] | {"erasureSignature": current["integrity"].get("erasureSignature")}
    removed: Json = {"actor": None, "target": None, "context": None, "changes": [], "data": None}
    return entry | removed | {"erased": True, "integrity": integrity}


class TestErasedEntries:
    def test_keep_their_sequence_while_others_are_unchanged(self, erased):
        *entries, last = erased.after
        assert entries == [
            erased_form(entry, current) if entry["sequence"] in ERASED_SEQUENCES else entry
            for entry, current in zip(erased.before, entries, strict=True)
        ]
        assert last["type"] == "organization.person_erased"
        assert "erased" not in last
        long_body_ids = [item["sk"] for item in memory_aws.all_items() if item["pk"] == f"B#{erased.organization.id}"]
        assert long_body_ids == [entry["id"] for entry in entries if entry["changes"] and entry["sequence"] == 9]

    def test_are_paginated(self, api, erased, log):
        pages = api.get_pages(log.path, caller=erased.organization.owner, query={"limit": 1})
        assert [page["items"] for page in pages if page["items"]] == [[entry] for entry in erased.after[::-1]]

    def test_are_found_only_by_type_and_time(self, erased, log, grace):
        assert log.entries(actorId=grace.id) == log.entries(targetId=erased.before[7]["target"]["id"]) == []
        for type_, sequences in (("organization.api_key.created", [8]), ("organization.invitation.*", [5, 4, 3, 2])):
            assert [entry["sequence"] for entry in log.entries(type=type_)] == sequences
        time_range = {"from": erased.after[6]["occurredAt"], "to": erased.after[7]["occurredAt"]}
        assert [entry["sequence"] for entry in log.entries(**time_range)] == [8, 7]

    def test_do_not_change_the_tree_and_earlier_checkpoints(self, api, erased, log, edith, workers, clock):
        for entries in (erased.before, erased.after[:9]):
            leaves = [bytes.fromhex(entry["integrity"]["leafHash"]) for entry in entries]
            rfc6962.check_checkpoint(erased.checkpoint_before, log.id, leaves, PUBLIC_KEY)
        assert log.verify()["treeSize"] == len(erased.after) == 10
        checkpoint_between = log.save_checkpoint()
        complete_erasure(api, workers, clock, erased.organization, userId=edith.id)
        checkpoint_before = to_base64url(erased.checkpoint_before.encode())
        for checkpoint in (checkpoint_before, checkpoint_between, log.save_checkpoint()):
            report = log.verify(checkpoint=checkpoint)
            assert (report["valid"], report["checkedEntries"]) == (True, 11)

    def test_are_in_inline_exports_as_in_the_list_and_verified_offline(self, erased, log):
        text = log.get("/export").text
        assert [json.loads(line) for line in text.splitlines()] == erased.after
        checkpoint = str(log.verify()["checkpoint"])
        head = offline.verify_checkpoint_note(checkpoint.encode(), base64.b64decode(PUBLIC_KEY))
        proven = offline.describe_proof(text.encode().splitlines(keepends=True), head)
        assert "10 of 10 entries are proven to be in the signed tree" in proven
        assert "6 unaltered, 4 erased" in proven

    def test_have_neither_actor_nor_data_in_csv_exports(self, log):
        file = gzip.decompress(download_file(log.export(format="csv")))
        for text in (log.get("/export", format="csv").text, file.decode()):
            rows = [row for row in parse_csv(text) if row["erased"]]
            assert [(row["sequence"], row["erased"]) for row in rows] == [(f"{n}", "true") for n in ERASED_SEQUENCES]
            assert {(row["actorId"], row["data"]) for row in rows} == {("", "")}
            assert rows[-1]["type"] == "organization.api_key.created"

    def test_are_in_async_exports_as_in_the_list_and_found_only_by_type(self, erased, log, grace):
        for filters, expected_entries in (
            ({"to": erased.after[-1]["occurredAt"]}, erased.after),
            ({"type": "organization.api_key.created"}, erased.after[7:8]),
            ({"actorId": grace.id}, []),
        ):
            assert read_ndjson_entries(log.export(filters=filters)) == expected_entries


class TestErasure:
    def test_erases_pending_entries_too(self, api, organization, grace, erase):
        create_api_key(api, organization, caller=grace)
        assert {entry["sequence"] for entry in list_entries(api, organization)} == {None}
        assert erase(email=grace.email)[1] == 2
        assert keys_of_items_containing(grace.id, grace.email) == []
        assert verify_integrity(api, organization)["valid"]

    def test_erases_an_entry_that_names_two_people_once(self, api, organization, grace, mary, erase):
        api.patch(f"{organization.path}/members/{mary.id}", caller=grace, json={"role": "editor"})
        assert [erase(userId=person.id)[1] for person in (grace, mary, mary)] == [2, 1, 0]
        assert keys_of_items_containing(grace.id, mary.id, grace.email, mary.email) == []

    def test_counts_each_entry_once_despite_a_concurrent_erasure(self, api, organization, grace, mary, erase):
        api.patch(f"{organization.path}/members/{mary.id}", caller=grace, json={"role": "editor"})
        paths = [erase.begin(userId=person.id) for person in (grace, mary)]
        erase.finish()
        assert sum(erase.get(path)["erasedEntries"] for path in paths) == 3
        assert keys_of_items_containing(grace.id, mary.id, grace.email, mary.email) == []

    def test_erases_nothing_for_the_id_of_an_organization(self, api, organization, workers, erase):
        api.patch(organization.path, caller=create_api_key(api, organization, "admin"), json={"name": "Engines"})
        workers.deliver()
        entries_before = list_entries(api, organization)
        assert erase(userId=organization.id) == (0, 0)
        newest, *older_entries = list_entries(api, organization)
        assert newest["type"] == "organization.person_erased"
        assert older_entries == entries_before

    @pytest.mark.parametrize("name", ["email", "userId"])
    def test_erases_entries_of_an_api_key_whose_name_holds_the_person(
        self, api, organization, grace, workers, erase, name
    ):
        personal_value = {"email": grace.email, "userId": grace.id}[name]
        personal_key, other_key = (
            create_api_key(api, organization, "admin", name=name) for name in (f"For {personal_value}", "For all")
        )
        api.patch(organization.path, caller=personal_key, json={"name": "By theirs"})
        api.patch(organization.path, caller=other_key, json={"name": "By another"})
        workers.deliver()
        entry_of_other_before, entry_before, *_ = list_entries(api, organization)
        assert erase(**{name: personal_value})[1] == 3
        assert keys_of_items_containing(personal_value) == []
        _, entry_of_other, erased_entry, *_ = list_entries(api, organization)
        assert (erased_entry["id"], erased_entry["erased"]) == (entry_before["id"], True)
        assert entry_of_other == entry_of_other_before
        assert verify_integrity(api, organization)["valid"]
