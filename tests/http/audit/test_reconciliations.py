"""Reconciliations: their job, false suspicions, MACs during an upgrade, and the command for all organizations."""

from typing import Any

import pytest

from chalicelib.features.audit.reconciliations import tasks
from chalicelib.features.audit.reconciliations.entities import Reconciliation
from chalicelib.features.audit.reconciliations.logic import log_reader, walk
from chalicelib.features.audit.reconciliations.logic.log_reader import LogReader
from chalicelib.features.audit.reconciliations.logic.walk import Walk
from chalicelib.features.notifications.channels.logic.chat_messages import MessageContent
from chalicelib.features.platforms.capabilities.entities import Capability
from chalicelib.features.platforms.spaces.entities import SpaceMember
from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.invitations.entities import address_partition
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.permissions.roles import Role
from local.tools.audit_records import AuditFailed, audit_records
from tests.harness import memory_aws
from tests.harness.api import Json
from tests.harness.erasures import complete_erasure
from tests.harness.invitations import SOPHIE_EMAIL, create_invitation
from tests.harness.log_records import capture_log_records, embedded_metrics
from tests.harness.organizations import create_api_key
from tests.harness.platforms import add_block_capability_and_module, add_platform_member, create_space
from tests.harness.reconciliations import find_disagreements, reconcile
from tests.harness.sites import create_draft_page, create_site
from tests.harness.stored_records import load_item, new_id_and_time_fields


class TestStartReconciliation:
    def test_an_intact_organization_has_no_findings_and_the_result_is_an_entry(self, api, workers, organization):
        create_api_key(api, organization, "read")
        result = reconcile(api, workers, organization)
        assert (result["findings"], result["hasMore"], result["error"]) == ([], False, None)
        assert result["checkedRecords"] >= 4
        entry, *_ = api.get_items(f"{organization.path}/audit-log", caller=organization.owner)
        assert (entry["type"], entry["data"]) == ("organization.reconciliation.completed", result)

    def test_the_item_by_which_an_invited_person_finds_an_invitation_is_required_until_it_ends(
        self, api, workers, organization
    ):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        item = memory_aws.get_item(address_partition(SOPHIE_EMAIL), invitation.id)
        assert item
        memory_aws.delete_item(item)
        (finding,) = find_disagreements(organization.id)
        assert (finding["id"], finding["fields"]) == (invitation.id, ["derivedItems"])
        memory_aws.put_item(item)
        api.delete(invitation.path, caller=organization.owner).expect(204)
        workers.deliver()
        memory_aws.delete_item(item)  # as DynamoDB does at its time to live
        assert find_disagreements(organization.id) == []

    def test_a_forged_member_is_found_and_counted_by_a_metric(self, api, workers, organization, forged_member):
        with capture_log_records() as records:
            (finding,) = reconcile(api, workers, organization)["findings"]
        assert finding == {"kind": "unlogged", "type": "organization.member", "id": forged_member["id"], "fields": []}
        metrics = [embedded_metrics(each, "stage") for each in records if "ReconciliationFindings" in each]
        assert metrics == [{"ReconciliationFindings": 1}]

    def test_the_entry_and_the_chat_message_tell_the_number_of_findings_by_kind(
        self, api, workers, organization, forged_member, edith
    ):
        memory_aws.delete_item(load_item(Member.make_item_key(organization_id=organization.id, user_id=edith.id)))
        result = reconcile(api, workers, organization)
        assert result["findingCounts"] == {"unlogged": 1, "differing": 0, "missing": 1, "newer": 0}
        entry, *_ = api.get_items(f"{organization.path}/audit-log", caller=organization.owner)
        assert entry["data"]["findingCounts"] == result["findingCounts"]
        text = MessageContent.from_entry(entry, entry["sequence"], None).plain_text
        assert text.endswith("Records that do not agree with it: 2.")

    def test_a_record_that_a_newer_release_may_have_stored_is_named_and_stops_nothing(
        self, api, workers, organization, forged_member
    ):
        key = Member.make_item_key(organization_id=organization.id, user_id=organization.owner.id)
        original = load_item(key)
        memory_aws.put_item({**original, "shape": 99})
        found = find_disagreements(organization.id)
        assert [(each["kind"], each["type"], each["id"]) for each in found] == [
            ("newer", "organization.member", organization.owner.id),
            ("unlogged", "organization.member", forged_member["id"]),
        ]
        memory_aws.put_item(original)
        assert [each["kind"] for each in find_disagreements(organization.id)] == ["unlogged"]

    def test_only_the_owner_may_start_it_and_three_run_at_a_time(self, api, organization, grace):
        path = f"{organization.path}/audit-log/reconciliations"
        api.post(path, caller=grace).expect_problem("403 insufficient_role")
        for _ in range(3):
            api.post(path, caller=organization.owner).expect(202)
        api.post(path, caller=organization.owner).expect_problem("409 limit_exceeded")

    def test_it_reads_in_slices_with_pauses_and_continues_after_a_crash(
        self, api, workers, organization, clock, monkeypatch
    ):
        monkeypatch.setattr(tasks, "_MAX_READS_PER_SLICE", 1)
        monkeypatch.setattr(walk, "_PAGE_SIZE", 2)
        started = api.post(f"{organization.path}/audit-log/reconciliations", caller=organization.owner)
        for _ in range(40):
            workers.deliver()
            answer = api.get(started.location, caller=organization.owner).json
            if answer["status"] == "completed":
                break
            clock.shift(minutes=1)
            workers.run_sweep()
        assert (answer["status"], answer["findings"]) == ("completed", [])
        assert answer["checkedRecords"] >= 3

    def test_it_fails_if_the_database_fails_again_and_again(self, api, workers, organization, monkeypatch):
        started = api.post(f"{organization.path}/audit-log/reconciliations", caller=organization.owner)
        (item,) = (each for each in memory_aws.all_items() if each.get("kind") == "organization.reconciliation")
        memory_aws.put_item({**item, "failures": 6})
        workers.deliver()
        answer = api.get(started.location, caller=organization.owner).json
        assert (answer["status"], answer["error"] is None) == ("failed", False)


class TestAlteredReconciliations:
    @pytest.fixture
    def started(self, api, organization, forged_member):
        return api.post(f"{organization.path}/audit-log/reconciliations", caller=organization.owner).expect(202)

    def alter(self, changed):
        (item,) = (each for each in memory_aws.all_items() if each.get("kind") == "organization.reconciliation")
        memory_aws.put_item({**item, **changed, "version": item["version"] + 1})

    def test_a_job_with_altered_progress_fails(self, api, workers, organization, started):
        self.alter({"step": "confirmation", "pending_ranges": [{"pk": "X"}]})
        workers.run_until_idle()
        answer = api.get(started.location, caller=organization.owner).json
        assert (answer["status"], answer["checkedRecords"]) == ("failed", 0)

    def test_an_altered_result_is_a_finding_of_the_next_one(self, api, workers, organization, forged_member):
        assert reconcile(api, workers, organization)["findings"] != []
        self.alter({"findings": []})
        types = {each["type"] for each in find_disagreements(organization.id)}
        assert types == {"organization.reconciliation", "organization.member"}

    def test_findings_are_empty_until_it_is_completed(self, api, workers, organization, started, monkeypatch):
        monkeypatch.setattr(tasks, "CONFIRMATION_DELAY_SECONDS", 0)
        monkeypatch.setattr(tasks, "_MAX_READS_PER_SLICE", 1)
        seen: list[dict[str, Any]] = []
        while not seen or seen[-1]["status"] in ("queued", "running"):
            workers.run_until_idle()
            seen.append(api.get(started.location, caller=organization.owner).json)
        assert [len(each["findings"]) for each in seen] == [*[0] * (len(seen) - 1), 1]
        assert seen[-1]["status"] == "completed"


def test_pending_partitions_do_not_accumulate(api, organization, monkeypatch):
    monkeypatch.setattr(walk, "_PAGE_SIZE", 3)
    site = create_site(api, organization)
    for number in range(12):
        create_draft_page(api, site, f"Page {number}")
    reconciliation = Reconciliation(**new_id_and_time_fields(now()), organization_id=organization.id)
    progress, pending_counts = walk.Walk(reconciliation), list[int]()
    while progress.reconciliation.step == "records":
        progress.reconciliation = progress.reconciliation.replace(**progress.advance())
        pending_counts.append(len(progress.reconciliation.pending_ranges))
    assert progress.reconciliation.checked_records >= 24  # the pages and their contents
    assert max(pending_counts) <= 10


class TestMacs:
    def test_the_digest_of_an_api_key_is_authenticated(self, api, organization):
        key = create_api_key(api, organization, "read")
        item = load_item(ApiKey.make_item_key(organization_id=organization.id, id=key.id))
        (digest,) = item["digests"]
        memory_aws.put_item({**item, "digests": {digest: None, "0" * 64: None}})
        (finding,) = find_disagreements(organization.id)
        assert "digests" in finding["fields"]
        # A change by the service does not make the record authentic again.
        api.post(f"{organization.path}/api-keys/{key.id}/rotate", caller=organization.owner).expect(200)
        (finding,) = find_disagreements(organization.id)
        assert (finding["kind"], "digests" in finding["fields"]) == ("differing", True)


def test_records_that_an_erased_person_created_are_no_findings(api, organization, edith, workers, clock):
    member = f"{organization.path}/members/{edith.id}"
    api.patch(member, caller=organization.owner, json={"role": "admin"}).expect(200)
    create_api_key(api, organization, "read", caller=edith)
    api.post("/platforms", caller=edith, json={"organizationId": organization.id, "name": "Engines"}).expect(201)
    api.post(f"{organization.path}/audit-log/export-async", caller=edith, json={}).expect(202)
    workers.deliver()
    complete_erasure(api, workers, clock, organization, userId=edith.id)
    assert find_disagreements(organization.id) == []


def test_entries_that_contain_a_digest_of_a_large_set_explain_its_records(api, organization, platform, space):
    """Entries contain values above 4 KiB as digests. `changes` names the items."""
    owner, count = organization.owner, 40
    capabilities = {"capabilities": [{"capabilityKey": f"capability-{n}"} for n in range(count)]}
    api.put(f"{space.path}/capabilities", caller=owner, json=capabilities).expect(200)
    overrides = {"overrides": [{"moduleId": f"module-{n}"} for n in range(count)]}
    api.put(f"{space.path}/module-overrides", caller=owner, json=overrides).expect(200)
    blocks = {"projectBlocks": [{"projectBlockId": f"block-{n}", "title": "x" * 100} for n in range(count)]}
    api.patch(f"{platform.path}/project-blocks", caller=owner, json=blocks).expect(200)
    tags = {"tags": [f"{n}-tag-with-a-long-name" for n in range(15)]}
    api.post(f"{platform.path}/taxonomy-system-tags", caller=owner, json=tags).expect(200)
    entries = api.get_items(f"{organization.path}/audit-log", caller=owner)
    assert sum("sha256" in (each["data"] or {}).get("items", ()) for each in entries) == 4
    assert find_disagreements(organization.id) == []
    memory_aws.delete_item(load_item(Capability.make_item_key(space_id=space.id, capability_key="capability-7")))
    assert [(each["kind"], each["type"]) for each in find_disagreements(organization.id)] == [
        ("missing", "space.capability")
    ]


class TestMissingRecords:
    """What explains that a record is missing, and what does not."""

    @pytest.fixture
    def members(self, api, organization, platform, edith, grace):
        """A space that Edith has created, so that she is its member, on a platform with Grace."""
        for person in (edith, grace):
            add_platform_member(platform, person, Role.ADMIN)
        return create_space(api, platform, caller=edith)

    def test_the_removal_of_another_member_does_not(self, api, organization, platform, members, edith, grace, workers):
        memory_aws.delete_item(load_item(SpaceMember.make_item_key(space_id=members.id, user_id=edith.id)))
        api.delete(f"{platform.path}/members/{grace.id}", caller=organization.owner).expect(204)
        workers.run_until_idle()
        assert ("missing", "space.member", edith.id) in [
            (each["kind"], each["type"], each["id"]) for each in find_disagreements(organization.id)
        ]

    def test_a_failed_erasure_of_another_person_does_not(self, api, organization, edith, grace, workers):
        api.post(f"{organization.path}/erasures", caller=organization.owner, json={"userId": edith.id}).expect(202)
        (erasure,) = (each for each in memory_aws.all_items() if each.get("kind") == "organization.erasure")
        memory_aws.put_item({**erasure, "failures": 9})
        workers.run_until_idle()
        memory_aws.delete_item(load_item(Member.make_item_key(organization_id=organization.id, user_id=grace.id)))
        assert [each["kind"] for each in find_disagreements(organization.id)] == ["missing"]

    def test_its_removal_does_although_an_index_of_the_log_lags(
        self, api, organization, platform, members, edith, workers, monkeypatch
    ):
        monkeypatch.setattr(LogReader, "_query_index", lambda *_arguments, **_options: [])
        known = find_disagreements(organization.id)
        api.delete(f"{platform.path}/members/{edith.id}", caller=organization.owner).expect(204)
        workers.run_until_idle()
        assert [each for each in find_disagreements(organization.id) if each not in known] == []

    def test_each_step_of_the_search_reads_one_page(self, api, organization, grace, monkeypatch):
        monkeypatch.setattr(log_reader, "_PAGE_SIZE", 10)
        for number in range(40):
            api.patch(organization.path, caller=organization.owner, json={"name": f"Name {number}"}).expect(200)
        memory_aws.delete_item(load_item(Member.make_item_key(organization_id=organization.id, user_id=grace.id)))
        progress = Walk(Reconciliation(**new_id_and_time_fields(now()), organization_id=organization.id))
        reads: dict[str, list[int]] = {}
        while progress.reconciliation.step != "confirmation" or progress.reconciliation.suspects:
            step, before = progress.reconciliation.step, progress.reader.read_count
            progress.reconciliation = progress.reconciliation.replace(**progress.advance())
            reads.setdefault(step, []).append(progress.reader.read_count - before)
        assert [each["kind"] for each in progress.reconciliation.findings] == ["missing"]
        assert len(reads["search"]) >= 4
        assert max(*reads["search"], *reads["confirmation"]) < 40


class TestRestoredRecords:
    """Records that somebody puts back after the service removed them, also with an entry about another record."""

    @pytest.mark.parametrize("container", ["organization", "platform", "space"])
    def test_a_membership_is_found(self, api, organization, platform, edith, workers, clock, container):
        add_platform_member(platform, edith, Role.ADMIN)
        space = create_space(api, platform, caller=edith)
        member = load_item(SpaceMember.make_item_key(space_id=space.id, user_id=edith.id))
        clock.shift(minutes=2)
        path = {"organization": organization.path, "platform": platform.path, "space": space.path}[container]
        api.delete(f"{path}/members/{edith.id}", caller=organization.owner).expect(204)
        for _ in range(3):  # The job that removes dependent records looks again, because an index lags.
            workers.run_until_idle()
            clock.shift(hours=1)
            workers.run_sweep()
        known = find_disagreements(organization.id)
        memory_aws.put_item(member)
        found = [each for each in find_disagreements(organization.id) if each not in known]
        assert found == [{"kind": "unlogged", "type": "space.member", "id": member["id"], "fields": []}]

    def test_an_item_that_was_removed_from_a_set_is_found(self, api, organization, platform, space, clock):
        add_block_capability_and_module(api, space, project_block_id="b", capability_key="c", module_id="m")
        removed = [item for item in memory_aws.all_items() if item["sk"] in ("C#B#b", "C#c", "V#m")]
        assert len(removed) == 3
        clock.shift(minutes=2)
        requests = (
            (api.put, f"{space.path}/capabilities", "capabilities"),
            (api.put, f"{space.path}/module-overrides", "overrides"),
            (api.patch, f"{platform.path}/project-blocks", "projectBlocks"),
        )
        for request, path, name in requests:
            request(path, caller=organization.owner, json={name: []}).expect(200)
        assert find_disagreements(organization.id) == []
        for item in removed:
            memory_aws.put_item(item)
        found = {(each["kind"], each["type"]) for each in find_disagreements(organization.id)}
        assert found == {("unlogged", item["kind"]) for item in removed}


@pytest.mark.usefixtures("scans_allowed", "without_delay")
class TestUpgrade:
    @pytest.fixture
    def organization_without_macs(self, organization):
        """An organization that a release without record MACs stored."""
        for item in memory_aws.all_items():
            if "record_mac" in item:
                memory_aws.put_item({name: value for name, value in item.items() if name != "record_mac"})
        return organization

    def test_records_without_macs_are_accepted_until_a_time(self, organization_without_macs, configure):
        configure(unauthenticated_records_until=after(now(), seconds=60))
        assert find_disagreements(organization_without_macs.id) == []
        configure(unauthenticated_records_until=now())
        kinds = {each["type"] for each in find_disagreements(organization_without_macs.id)}
        assert kinds == {"organization", "organization.member"}

    def test_the_command_adds_macs_until_that_time(self, organization_without_macs, configure, capsys):
        organization = organization_without_macs
        with pytest.raises(AuditFailed):
            audit_records(renews_macs=True)
        assert "0 records got a MAC. Records without a valid MAC: 5." in capsys.readouterr().out
        configure(unauthenticated_records_until=after(now(), seconds=60))
        audit_records(renews_macs=True)
        configure(unauthenticated_records_until="")
        assert find_disagreements(organization.id) == []
        audit_records(renews_macs=False)
        assert capsys.readouterr().out.endswith("Compared 1 organization with the log: 0 findings.\n")


def test_the_reconciliations_of_an_organization_are_listed_newest_first(
    api, workers, organization, forged_member, grace, operator, clock
):
    results = list[Json]()
    for _ in range(3):
        clock.shift(seconds=1)
        results.insert(0, reconcile(api, workers, organization))
    assert all(each["findings"] for each in results)
    path = f"{organization.path}/audit-log/reconciliations"
    for caller in (organization.owner, operator):
        pages = api.get_pages(path, caller=caller, query={"limit": 2})
        assert [page["items"] for page in pages] == [results[:2], results[2:]]
    assert api.get(path, caller=grace).status_and_code == "403 insufficient_role"
