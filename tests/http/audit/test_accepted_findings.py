"""Findings that an operator accepts after their investigation: an entry explains them from then on."""

from typing import Any, Final

import pytest

from chalicelib.features.notifications.logic.event_payloads import build_event_payload
from chalicelib.features.platforms.capabilities.entities import Capability
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.audit_log.entries import Event
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import outbox
from local.__main__ import main as local
from local.tools.audit_records import AuditFailed, RecordReference, accept_finding
from tests.harness import conformance, memory_aws
from tests.harness.api import ApiClient
from tests.harness.log_records import capture_log_records
from tests.harness.organizations import CreatedOrganization, create_api_key
from tests.harness.platforms import add_block_capability_and_module
from tests.harness.reconciliations import accept_findings, find_disagreements
from tests.harness.stored_records import load_item

HASH: Final = "0" * 64


pytestmark = pytest.mark.usefixtures("without_delay")


@pytest.fixture
def api_key_key(api: ApiClient, organization: CreatedOrganization) -> ItemKey:
    """The key of the item of an API key."""
    return ApiKey.make_item_key(organization_id=organization.id, id=create_api_key(api, organization, "read").id)


@pytest.fixture
def member_key(organization: CreatedOrganization) -> ItemKey:
    """The key of the item of the owner's membership."""
    return Member.make_item_key(organization_id=organization.id, user_id=organization.owner.id)


def alter(key: ItemKey, **changed: Any) -> None:
    memory_aws.put_item({**load_item(key), **changed})


def newest_entry(api, organization):
    return api.get_items(f"{organization.path}/audit-log", caller=organization.owner)[0]


class TestStoredRecords:
    def test_an_entry_explains_the_record_until_it_is_altered_again(self, organization, api_key_key):
        alter(api_key_key, digests={HASH: None}, name="Forged")
        accept_findings(organization.id)
        assert find_disagreements(organization.id) == []
        alter(api_key_key, digests={"1" * 64: None})
        assert [each["kind"] for each in find_disagreements(organization.id)] == ["differing"]

    def test_the_entry_shows_the_public_record_and_an_operator(self, api, workers, organization, api_key_key):
        alter(api_key_key, digests={HASH: None}, name="Forged")
        accept_findings(organization.id)
        workers.run_until_idle()
        entry = newest_entry(api, organization)
        key = api.get(f"{organization.path}/api-keys/{entry['target']['id']}", caller=organization.owner).json
        assert (entry["type"], entry["data"]) == ("organization.record.accepted", key)
        assert entry["actor"] == {"type": "operator", "id": None, "name": None}
        assert entry["target"] == {"type": "organization.api_key", "id": key["id"], "name": "Forged"}
        assert HASH not in str(entry)
        conformance.check_message(build_event_payload(entry, entry["sequence"]))

    def test_a_change_through_the_api_is_authentic_afterwards(self, api, organization, api_key_key):
        alter(api_key_key, digests={HASH: None})
        accept_findings(organization.id)
        path = f"{organization.path}/api-keys/{load_item(api_key_key)['id']}"
        api.post(f"{path}/rotate", caller=organization.owner).expect(200)
        assert find_disagreements(organization.id) == []

    def test_a_record_with_a_forged_time_can_be_accepted(self, organization, api_key_key):
        alter(api_key_key, updated_at="9999-12-31T23:59:59.999Z")
        accept_findings(organization.id)
        assert find_disagreements(organization.id) == []

    def test_an_inserted_record_can_be_accepted(self, organization, grace, member_key):
        inserted = Member.make_item_key(organization_id=organization.id, user_id=grace.id)
        item = load_item(member_key)
        memory_aws.put_item(
            {**item, "sk": inserted[1], "id": f"{item['id'][:-4]}beef", "user_id": grace.id, "role": "admin"}
        )
        assert [each["kind"] for each in find_disagreements(organization.id)] == ["unlogged"]
        accept_findings(organization.id)
        assert find_disagreements(organization.id) == []

    def test_an_older_copy_becomes_the_newest_version(self, api, organization, api_key_key):
        former = load_item(api_key_key)
        path = f"{organization.path}/api-keys/{former['id']}"
        api.delete(path, caller=organization.owner).expect(204)
        memory_aws.put_item(former)
        accept_findings(organization.id)
        assert find_disagreements(organization.id) == []
        memory_aws.put_item(former)
        assert [each["kind"] for each in find_disagreements(organization.id)] == ["differing"]

    def test_a_record_that_is_back_after_its_removal_can_be_accepted(self, api, workers, organization, edith, clock):
        key = Member.make_item_key(organization_id=organization.id, user_id=edith.id)
        former = load_item(key)
        clock.shift(minutes=2)
        api.delete(f"{organization.path}/members/{edith.id}", caller=organization.owner).expect(204)
        workers.run_until_idle()
        memory_aws.put_item(former)
        assert [each["id"] for each in find_disagreements(organization.id)] == [former["id"]]
        accept_findings(organization.id)
        assert find_disagreements(organization.id) == []

    def test_derived_items_and_index_keys_are_those_of_the_accepted_record(self, organization, platform, api_key_key):
        pointer = ApiKey.from_item(load_item(api_key_key)).derived_items[0]
        memory_aws.put_item({**pointer, "record_sk": "K#another"})
        platform_key = Platform.make_item_key(id=platform.id)
        original = load_item(platform_key)
        reservations = [each for each in memory_aws.all_items() if each.get("ref") == platform.id]
        for each in reservations:
            memory_aws.delete_item(each)
        alter(platform_key, index1sk="another", facet3pk="X")
        assert [each["fields"] for each in find_disagreements(organization.id)] == [["derivedItems"]] * 2
        accept_findings(organization.id)
        assert find_disagreements(organization.id) == []
        assert load_item((pointer["pk"], pointer["sk"])) == pointer
        assert reservations == [each for each in memory_aws.all_items() if each.get("ref") == platform.id] != []
        accepted = load_item(platform_key)
        assert (accepted["index1sk"], accepted.get("facet3pk")) == (original["index1sk"], original.get("facet3pk"))

    def test_a_record_without_a_public_form_can_be_accepted(self, api, organization, platform, space):
        add_block_capability_and_module(api, space, project_block_id="b", capability_key="c", module_id="m")
        (block,) = (each for each in memory_aws.all_items() if each.get("kind") == "platform.project_block")
        memory_aws.put_item({**block, "title": "Forged"})
        assert [each["type"] for each in find_disagreements(organization.id)] == ["platform.project_block"]
        accept_findings(organization.id)
        assert find_disagreements(organization.id) == []


class TestMissingRecords:
    def test_an_entry_explains_that_a_record_is_missing_until_it_is_back(
        self, api, workers, organization, edith, clock
    ):
        key = Member.make_item_key(organization_id=organization.id, user_id=edith.id)
        former = load_item(key)
        clock.shift(minutes=2)
        memory_aws.delete_item(former)
        accept_findings(organization.id)
        assert find_disagreements(organization.id) == []
        workers.run_until_idle()
        entry = newest_entry(api, organization)
        assert (entry["type"], entry["data"]["userId"]) == ("organization.record.absence_accepted", edith.id)
        conformance.check_message(build_event_payload(entry, entry["sequence"]))
        memory_aws.put_item(former)
        assert [each["kind"] for each in find_disagreements(organization.id)] == ["unlogged"]
        accept_findings(organization.id)
        assert find_disagreements(organization.id) == []

    def test_a_record_that_an_entry_about_a_set_names_can_be_missing(self, api, organization, space):
        add_block_capability_and_module(api, space, project_block_id="b", capability_key="c", module_id="m")
        memory_aws.delete_item(load_item(Capability.make_item_key(space_id=space.id, capability_key="c")))
        assert [each["kind"] for each in find_disagreements(organization.id)] == ["missing"]
        accept_findings(organization.id)
        assert find_disagreements(organization.id) == []


class TestRefusals:
    def refuse(self, organization: CreatedOrganization, type_name: str, record_id: str, match: str) -> None:
        before = memory_aws.all_items()
        with pytest.raises(AuditFailed, match=match):
            accept_finding(RecordReference(organization.id, type_name, record_id))
        assert memory_aws.all_items() == before

    def test_without_a_finding_nothing_is_accepted(self, organization):
        self.refuse(organization, "organization", organization.id, "agrees with the log")

    @pytest.mark.parametrize(
        "changed", [{"version": "x"}, {"shape": 99}, {"user_id": "another"}, {"version": 2**48 - 1}], ids=str
    )
    def test_an_item_that_no_release_stores_is_not_accepted(self, organization, member_key, changed):
        alter(member_key, **changed)
        (finding,) = find_disagreements(organization.id)
        self.refuse(organization, finding["type"], finding["id"], "Delete|delete|never stores")

    def test_a_record_of_another_organization_is_not_accepted(self, organization, platform):
        alter(Platform.make_item_key(id=platform.id), organization_id=f"{organization.id[:-4]}beef")
        self.refuse(organization, "platform", platform.id, "belongs to .*beef")

    def test_a_request_that_changes_the_record_meanwhile_wins(self, organization, api_key_key, monkeypatch):
        commit_events = outbox.commit_events

        def change_and_commit(changes: UnitOfWork, events: list[Event]) -> None:
            alter(api_key_key, version=7)
            commit_events(changes, events)

        monkeypatch.setattr(outbox, "commit_events", change_and_commit)
        alter(api_key_key, digests={HASH: None})
        record = RecordReference(organization.id, "organization.api_key", load_item(api_key_key)["id"])
        with pytest.raises(AuditFailed, match=r"A request changed the record\. Run the command again"):
            accept_finding(record)
        assert (load_item(api_key_key)["version"], len(find_disagreements(organization.id))) == (7, 1)

    def test_a_value_of_another_record_is_not_reserved(self, api, organization):
        other = api.post("/organizations", caller=organization.owner, json={"name": "Other", "slug": "other"})
        alter(Organization.make_item_key(id=organization.id), slug=other.expect(201).json["slug"])
        self.refuse(organization, "organization", organization.id, "slug")


def test_the_command_accepts_a_finding_and_tells_the_ledger(organization, api_key_key, workers, monkeypatch, capsys):
    monkeypatch.setattr("local.__main__._use_stage_or_run", lambda _chosen: None)
    alter(api_key_key, digests={HASH: None}, name="Forged")
    record = (organization.id, "organization.api_key", load_item(api_key_key)["id"])
    assert local(["audit-records", "--accept", *record]) == 0
    shown = capsys.readouterr().out
    assert f"{organization.id}: differing organization.api_key {record[2]}: name\n" in shown
    assert "organization.record.accepted" in shown
    assert '"name": "Forged"' in shown
    assert local(["audit-records", "--accept", *record]) == 1
    assert "agrees with the log" in capsys.readouterr().err
    with capture_log_records() as records:
        workers.deliver()
    assert any(each.get("kind") == "message" for each in records)
