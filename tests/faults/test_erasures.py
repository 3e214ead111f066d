"""Erasures that fail, run twice or concurrently, or meet a damaged log are finished, or report an error.

`test_workers.py` and `test_tasks.py` test that faults in the first slice of any task are recovered.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

import pytest

from chalicelib.features.privacy.erasures import tasks as erasures
from chalicelib.features.privacy.erasures.entities import Erasure
from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS, Organization
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.work import jobs, queues
from tests.catalogue import log_proof
from tests.catalogue.conftest import RestoreTenant
from tests.catalogue.tenant_fixture import TenantFixture
from tests.faults.fault_variants import Variant, exhaustive_unless_essential
from tests.faults.table_summaries import TableSummary, summarize
from tests.harness import memory_aws, snapshots
from tests.harness.api import Json
from tests.harness.audit_logs import alter_item, entry_item, head_item, verification_failure, verify_integrity
from tests.harness.callers import Person
from tests.harness.clock import Clock, backdate
from tests.harness.erasures import create_erasure, get_erasure, keys_of_items_containing
from tests.harness.faults import Fault, ProcessDied, inject_fault, run_before_call
from tests.harness.invitations import create_invitation
from tests.harness.organizations import (
    CreatedOrganization,
    add_organization_member,
    create_api_key,
    create_organization,
)

VARIANTS: Final = [Variant(fault, is_repeated=False) for fault in (Fault.DIED_BEFORE, Fault.DIED_AFTER, Fault.CONFLICT)]
FAILED_ERROR: Final = "The erasure could not be finished. Verify the log, then create the erasure again."
SECOND_SEARCH_ERROR: Final = (
    "The second search, for records in flight at the completion, failed. Verify the log, then create the erasure again."
)


@dataclass(frozen=True)
class ErasureScenario:
    """A pending erasure with its organization, person and path."""

    organization: CreatedOrganization
    person: Person
    path: str

    @property
    def key(self) -> tuple[str, str]:
        """The key of its record."""
        return f"O#{self.organization.id}", f"Z#{self.path.rpartition('/')[2]}"

    @property
    def item(self) -> Json:
        """Its stored item."""
        return table.get(self.key) or {}

    def create_another(self, tenant: TenantFixture, **person_ids: str) -> "ErasureScenario":
        """Create another erasure of the same person."""
        return replace(self, path=create_erasure(tenant.api, self.organization, **person_ids))


def create_scenario(tenant: TenantFixture) -> ErasureScenario:
    """Create a pending erasure of an admin, whom several records and entries name."""
    owner, person = tenant.people.owner, tenant.people.issuer.create_person("lise", "Lise Meitner")
    with backdate(minutes=9):
        organization = create_organization(tenant.api, owner)
        add_organization_member(organization, person, "admin")
        message = f"Yours, {person.email}"
        create_invitation(tenant.api, organization, "sophie@example.org", caller=person, message=message)
        create_invitation(tenant.api, organization, person.email.replace("@", "@at."))
        create_api_key(tenant.api, organization, caller=person)
        tenant.api.patch(organization.path, caller=person, json={"companyAddress": f"{person.email} {'x' * 3900}"})
        tenant.api.patch(organization.path, caller=owner, json={"name": f"Friends of {person.email}"})
        tenant.workers.run_until_idle()
    path = create_erasure(tenant.api, organization, email=person.email)
    memory_aws.discard_queued_messages()  # run_erasure enqueues the message itself
    return ErasureScenario(organization, person, path)


def create_paused_erasure(tenant: TenantFixture) -> ErasureScenario:
    """Create a completed erasure that has to search a second time."""
    erasure = create_scenario(tenant)
    queues.enqueue(Erasure.task, erasure.key)
    tenant.workers.deliver()
    return erasure


@pytest.fixture(autouse=True)
def _in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the pages and transactions of erasures small."""
    monkeypatch.setattr(erasures, "_PAGE_SIZE", 8)
    monkeypatch.setattr(erasures, "_MAX_ENTRIES_PER_TRANSACTION", 2)


def run_erasure(tenant: TenantFixture, clock: Clock, erasure: ErasureScenario) -> None:
    """Run the erasure and, after its pause, its second search."""
    for minutes in (0, 2):
        clock.shift(minutes=minutes)
        with suppress(ProcessDied, Problem):
            queues.enqueue(Erasure.task, erasure.key)
            tenant.workers.try_deliver()


def run_until_done(tenant: TenantFixture, clock: Clock, erasure: ErasureScenario) -> Json:
    """Run an erasure without faults until it is finished, and return its item."""
    for _ in range(10):
        if "turn_at" not in erasure.item:
            return erasure.item
        clock.shift(minutes=4)
        tenant.workers.run_sweep()
        tenant.workers.try_deliver()
    raise AssertionError(erasure.item)


Outcome = tuple[tuple[object, ...], TableSummary]
"""The status, counts and error of a finished erasure, and the summary of the table."""


def outcome_of(item: Json) -> Outcome:
    fields = tuple(item.get(name) for name in ("status", "erased_records", "erased_entries", "error"))
    return fields, summarize(snapshots.items_by_key())


def run_until_all_is_erased(tenant: TenantFixture, clock: Clock, erasure: ErasureScenario) -> None:
    """Run an erasure until it is finished, and assert that it completed and nothing about its person remains."""
    assert run_until_done(tenant, clock, erasure)["status"] == "completed"
    assert keys_of_items_containing(erasure.person.id, erasure.person.email) == []


def run_until_given_up(tenant: TenantFixture, clock: Clock, erasure: ErasureScenario, *, at: int) -> bool:
    """Let every Query from the given one on fail until the erasure is given up, and return whether it was."""
    with inject_fault(Fault.THROTTLED, first_call=at, times=None, call_name="dynamodb:Query"):
        for _ in range(jobs.MAX_FAILURES + 3):
            queues.enqueue(Erasure.task, erasure.key)
            tenant.workers.try_deliver()
            clock.shift(minutes=4)
    return "error" in erasure.item


_expected_outcomes: list[Outcome] = []


@pytest.fixture
def expected_outcome(tenant: TenantFixture, restore_tenant: RestoreTenant, clock: Clock) -> Outcome:
    """The outcome of the erasure without faults."""
    if not _expected_outcomes:
        _expected_outcomes.append(outcome_of(run_until_done(tenant, clock, restore_tenant(create_scenario))))
        assert _expected_outcomes[0][0] == ("completed", 4, 5, None)
    return _expected_outcomes[0]


class TestErasure:
    @pytest.mark.parametrize("variant", exhaustive_unless_essential(VARIANTS))
    def test_fault_at_any_call_is_recovered_with_correct_counts(
        self, variant, tenant, restore_tenant, clock, expected_outcome
    ):
        for at in count(1):
            erasure: ErasureScenario = restore_tenant(create_scenario)
            with variant.inject(at) as injected:
                run_erasure(tenant, clock, erasure)
            outcome = outcome_of(run_until_done(tenant, clock, erasure))
            assert outcome == expected_outcome, f"{injected.failed_call}, call {at}"
            assert keys_of_items_containing(erasure.person.id, erasure.person.email) == []
            log_proof.assert_logs_are_proven()
            if not injected.failed_call:
                break
        assert at > (30 if variant.fault is Fault.DIED_BEFORE else 15)

    def test_two_concurrent_workers_finish_it_once(self, tenant, restore_tenant, clock, expected_outcome):
        for at in count(1):
            erasure: ErasureScenario = restore_tenant(create_paused_erasure)
            clock.shift(minutes=2)

            def run_other_worker(erasure: ErasureScenario = erasure) -> None:
                queues.enqueue(Erasure.task, erasure.key)
                tenant.workers.try_deliver()

            with run_before_call(run_other_worker, call_number=at) as overtaking:
                run_other_worker()
            outcome = outcome_of(run_until_done(tenant, clock, erasure))
            assert outcome == expected_outcome, f"{overtaking.interrupted_call}, call {at}"
            if not overtaking.interrupted_call:
                break
        assert at > 10

    def test_concurrent_transfer_to_the_erased_person_leaves_one_owner(self, tenant, restore_tenant, clock):
        outcomes = set[str]()
        for at in count(1):
            erasure: ErasureScenario = restore_tenant(create_scenario)
            organization, person = erasure.organization, erasure.person

            def transfer_ownership(organization: CreatedOrganization = organization, person: Person = person) -> None:
                path, body = f"{organization.path}/transfer-ownership", {"newOwnerId": person.id}
                tenant.api.post(path, caller=organization.owner, json=body)

            with run_before_call(transfer_ownership, call_number=at) as overtaking:
                run_erasure(tenant, clock, erasure)
            item = run_until_done(tenant, clock, erasure)
            outcomes.add(item["status"])
            members = [i for i in memory_aws.all_items() if i["pk"] == erasure.key[0] and i["sk"].startswith("M#")]
            (owner,) = (member["user_id"] for member in members if member["role"] == "owner")
            assert owner == (table.get(Organization.make_item_key(id=organization.id)) or {})["owner_id"]
            assert (owner == person.id) == (item["status"] == "failed"), f"{overtaking.interrupted_call}, call {at}"
            assert (item["user_ids"], item["emails"]) == ([], [])
            if not overtaking.interrupted_call:
                break
        assert outcomes == {"completed", "failed"}

    def test_concurrent_purge_of_the_organization_ends_the_erasure(self, tenant, restore_tenant, clock):
        for at in count(1, 4):
            erasure: ErasureScenario = restore_tenant(create_in_deleted_organization)
            organization_key = Organization.make_item_key(id=erasure.organization.id)

            def purge_organization(organization_key: tuple[str, str] = organization_key) -> None:
                queues.enqueue("organizations.purge", organization_key)
                tenant.workers.try_deliver()

            with clock.shift_temporarily(days=RESTORABLE_DAYS, minutes=3):
                with run_before_call(purge_organization, call_number=at) as overtaking:
                    queues.enqueue(Erasure.task, erasure.key)
                    with suppress(Problem):
                        tenant.workers.try_deliver()
                for _ in range(3):
                    clock.shift(minutes=4)
                    tenant.workers.run_sweep()
                    tenant.workers.try_deliver()
                remaining_keys = [key for key in snapshots.items_by_key() if key[0] == organization_key[0]]
                assert remaining_keys == [], f"{overtaking.interrupted_call}, call {at}"
                assert tenant.workers.try_deliver().failed_bodies == []
                log_proof.assert_logs_are_proven()
            if not overtaking.interrupted_call:
                break
        assert at > 5


def create_in_deleted_organization(tenant: TenantFixture) -> ErasureScenario:
    """Create a pending erasure in an organization that is deleted."""
    erasure = create_scenario(tenant)
    assert tenant.api.delete(erasure.organization.path, caller=erasure.organization.owner).status == 204
    return erasure


class TestFailedErasure:
    """A failed erasure may have erased what links a person's ids and addresses, so it stores them for the next one."""

    @pytest.fixture(autouse=True)
    def _in_smaller_steps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make pages so small that the records with only an id or an address are not on the page that has both."""
        monkeypatch.setattr(erasures, "_PAGE_SIZE", 4)

    @pytest.mark.parametrize("by", ["email", pytest.param("userId", marks=pytest.mark.exhaustive)])
    def test_next_erasure_after_a_failure_at_any_query_erases_everything(self, tenant, restore_tenant, clock, by):
        outcomes = list[str]()
        for at in count(1):
            erasure: ErasureScenario = restore_tenant(create_scenario)
            if not run_until_given_up(tenant, clock, erasure, at=at):
                break
            record = get_erasure(tenant.api, erasure.organization, erasure.path)
            outcomes.append(record["status"])
            assert record["error"] == {"failed": FAILED_ERROR, "completed": SECOND_SEARCH_ERROR}[record["status"]]
            assert (erasure.item["user_ids"], erasure.item["emails"]) == ([], [])
            identity = {"email": erasure.person.email, "userId": erasure.person.id}[by]
            another_erasure = erasure.create_another(tenant, **{by: identity})
            assert run_until_done(tenant, clock, another_erasure)["status"] == "completed"
            assert keys_of_items_containing(erasure.person.id, erasure.person.email) == [], f"Query {at}"
            assert erasure.item["accounts"] == another_erasure.item["accounts"] == []
            assert get_erasure(tenant.api, erasure.organization, erasure.path)["error"] == record["error"]
            log_proof.assert_logs_are_proven()
        assert outcomes == sorted(outcomes, reverse=True)
        assert set(outcomes) == {"failed", "completed"}

    def test_stores_the_link_between_id_and_address_without_showing_it(self, tenant, clock):
        erasure = create_scenario(tenant)
        fields = set(get_erasure(tenant.api, erasure.organization, erasure.path))
        assert run_until_given_up(tenant, clock, erasure, at=6)
        assert erasure.item["accounts"] == [[erasure.person.id, erasure.person.email]]
        assert set(get_erasure(tenant.api, erasure.organization, erasure.path)) == fields

    def test_next_erasure_ignores_people_that_it_does_not_name(self, tenant, clock):
        """Hedy has Lise's former address. The first erasure means both of them, the second one only Lise."""
        erasure = create_scenario(tenant)
        hedy = tenant.people.issuer.create_person("hedy", "Hedy Lamarr", email=erasure.person.email)
        owner, members = erasure.organization.owner, f"{erasure.organization.path}/members"
        assert tenant.api.delete(f"{members}/{erasure.person.id}", caller=owner).status == 204
        with backdate(minutes=3):
            add_organization_member(erasure.organization, hedy, "member")
        both_ids = {erasure.person.id, hedy.id}
        at = next(at for at in count(1) if self._known_user_ids(tenant, clock, erasure, at) == both_ids)
        assert at > 1
        another_erasure = erasure.create_another(tenant, userId=erasure.person.id)
        run_until_all_is_erased(tenant, clock, another_erasure)
        assert tenant.api.get(f"{members}/{hedy.id}", caller=owner).status == 200

    @staticmethod
    def _known_user_ids(tenant: TenantFixture, clock: Clock, erasure: ErasureScenario, at: int) -> set[str]:
        """Return the user ids that an erasure knows after it was given up."""
        before = snapshots.take_snapshot()
        assert run_until_given_up(tenant, clock, erasure, at=at)
        user_ids = {user_id for user_id, _ in erasure.item["accounts"]}
        if len(user_ids) < 2:
            snapshots.restore_snapshot(before)
        return user_ids


class TestDamagedLog:
    """Erasures work around damage in a log, or fail with an error for the owner."""

    @pytest.fixture
    def erasure(self, tenant: TenantFixture) -> ErasureScenario:
        return create_scenario(tenant)

    @pytest.mark.parametrize("sequence", [1, 5])
    def test_gap_does_not_stop_the_erasure(self, tenant, clock, erasure, sequence):
        memory_aws.delete_item(entry_item(erasure.organization, sequence))
        run_until_all_is_erased(tenant, clock, erasure)
        assert verification_failure(tenant.api, erasure.organization) == ("missing", sequence)

    @pytest.mark.parametrize(
        "removed_attributes", [["facet1pk"], ["leaf"], ["type", "actor"], ["id"], ["seal"], ["index1pk"]]
    )
    def test_entry_without_an_attribute_is_erased(self, tenant, clock, erasure, removed_attributes):
        item = entry_item(erasure.organization, 3)
        memory_aws.put_item({name: value for name, value in item.items() if name not in removed_attributes})
        run_until_all_is_erased(tenant, clock, erasure)
        assert verification_failure(tenant.api, erasure.organization)[1] == 3

    def test_missing_pending_entry_does_not_stop_the_erasure(self, tenant, clock, erasure):
        entries = [i for i in memory_aws.all_items() if i["pk"] == f"A#{erasure.organization.id}"]
        (item,) = (entry for entry in entries if "sequence" not in entry)
        memory_aws.delete_item(item)
        run_until_all_is_erased(tenant, clock, erasure)
        assert verify_integrity(tenant.api, erasure.organization)["suppressed"] == 1

    def test_entry_without_a_sequence_does_not_stop_the_erasure(self, tenant, clock, erasure):
        item = entry_item(erasure.organization, 3)
        removed_attributes = ("sequence", "index1pk", "index1sk")
        memory_aws.put_item({name: value for name, value in item.items() if name not in removed_attributes})
        run_until_all_is_erased(tenant, clock, erasure)
        assert verification_failure(tenant.api, erasure.organization) == ("missing", 3)

    def test_broken_head_fails_the_erasure_with_an_error_for_the_owner(self, tenant, clock, erasure):
        alter_item(head_item(erasure.organization), peaks=b"x")
        item = run_until_done(tenant, clock, erasure)
        assert (item["status"], item["failures"]) == ("failed", jobs.MAX_FAILURES + 1)
        assert get_erasure(tenant.api, erasure.organization, erasure.path)["error"] == FAILED_ERROR

    def test_erasure_succeeds_after_a_repair(self, tenant, clock, erasure):
        intact_head = head_item(erasure.organization)
        alter_item(intact_head, peaks=b"x")
        run_until_done(tenant, clock, erasure)
        memory_aws.put_item(intact_head)
        another_erasure = erasure.create_another(tenant, email=erasure.person.email)
        run_until_all_is_erased(tenant, clock, another_erasure)
        log_proof.assert_logs_are_proven()
