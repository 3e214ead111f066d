"""Verifications of all logs, which operators start over HTTP."""

from contextlib import suppress
from typing import Any

import pytest

from chalicelib.features.audit.log.logic import log_verification
from chalicelib.features.audit.log_verifications import logic
from chalicelib.features.audit.log_verifications.entities import LogVerification
from chalicelib.features.tenancy.entities.organizations import DIRECTORY_PARTITION, ID_KEY_PREFIX, RESTORABLE_DAYS
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage.log_ids import SYSTEM_LOGS
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.tasks import run_task
from tests.harness import memory_aws
from tests.harness.anchors import run_anchoring
from tests.harness.api import ApiClient, Json
from tests.harness.audit_logs import add_entries, alter_item, entry_item, head_item
from tests.harness.callers import Person
from tests.harness.faults import Fault, inject_fault
from tests.harness.log_verifications import PATH, post_log_verification
from tests.harness.organizations import create_organization
from tests.harness.sample_operations import create_notice
from tests.harness.workers import Workers


def verify_all(api: ApiClient, workers: Workers, operator: Person) -> Json:
    """Verify all logs, and return the result."""
    started = post_log_verification(api, operator).expect(202)
    assert started.json["status"] == "queued"
    workers.run_until_idle()
    return api.get(started.location, caller=operator).expect(200).json


@pytest.fixture
def organizations(api, ada, workers):
    """Three organizations with some entries each, which are in the tree."""
    created = [create_organization(api, ada, name=f"Engines {n}") for n in range(3)]
    workers.deliver()
    for organization in created:
        add_entries(api, workers, organization, 2)
    return created


def remove_log(log: str) -> None:
    for item in memory_aws.all_items():
        if item["pk"] in (f"A#{log}", f"Q#{log}") or item["pk"].startswith(f"V#{log}"):
            memory_aws.delete_item({"pk": item["pk"], "sk": item["sk"]})


def test_intact_logs_have_no_failure(api, operator, workers, organizations):
    create_notice(operator)
    workers.deliver()
    done = verify_all(api, workers, operator)
    assert (done["status"], done["failureCount"], done["failures"], done["error"]) == ("completed", 0, [], None)
    assert done["createdAt"] <= done["startedAt"] <= done["completedAt"]
    # The log of the notice, that of the request for the verification, and those of the organizations.
    logs = [item["pk"] for item in memory_aws.all_items() if item["pk"].startswith("Q#") and item["sk"] == "!"]
    assert done["logsChecked"] == len(logs)
    assert done["entriesChecked"] >= sum(head_item(each)["size"] for each in organizations)
    assert api.get_items(PATH, caller=operator) == [done]


def test_each_log_that_is_not_intact_is_named(api, operator, workers, organizations):
    first, second, third = organizations
    alter_item(entry_item(first, 2), body=b"{}")
    item = entry_item(third, 1)
    memory_aws.delete_item({"pk": item["pk"], "sk": item["sk"]})
    done = verify_all(api, workers, operator)
    assert done["status"] == "completed"
    assert {(each["logId"], each["failure"], each["firstInvalidSequence"]) for each in done["failures"]} == {
        (first.id, "modified", 2),
        (third.id, "missing", 1),
    }
    assert all(each["organizationId"] == each["logId"] for each in done["failures"])
    assert done["failureCount"] == 2
    assert second.id not in str(done["failures"])


def test_a_log_of_the_service_itself_is_verified(api, operator, workers):
    create_notice(operator)
    workers.deliver()
    (entry,) = [each for each in memory_aws.all_items() if str(each.get("log_id")) in SYSTEM_LOGS]
    alter_item(entry, body=b"{}")
    (failure,) = verify_all(api, workers, operator)["failures"]
    assert failure == {
        "logId": entry["log_id"],
        "organizationId": None,
        "failure": "modified",
        "firstInvalidSequence": entry["sequence"],
    }


def test_a_log_that_was_removed_with_its_organization_is_found_by_its_anchor(api, operator, workers, organizations):
    run_anchoring(workers)
    gone = organizations[1]
    remove_log(gone.id)
    for pk, sk in ((f"O#{gone.id}", "#"), (DIRECTORY_PARTITION, ID_KEY_PREFIX + gone.id)):
        memory_aws.delete_item({"pk": pk, "sk": sk})
    (failure,) = verify_all(api, workers, operator)["failures"]
    assert (failure["logId"], failure["failure"]) == (gone.id, "truncated")


def test_a_log_of_the_service_that_was_removed_is_found_by_its_anchor(api, operator, workers):
    create_notice(operator)
    workers.deliver()
    run_anchoring(workers)
    (log,) = {item["pk"][2:] for item in memory_aws.all_items() if item["pk"].startswith("Q#system-")}
    remove_log(log)
    # The request for the verification may be logged in the same log, which begins again.
    (failure,) = verify_all(api, workers, operator)["failures"]
    assert failure["logId"] == log


def test_the_log_of_a_purged_organization_is_verified_too(api, operator, workers, organizations, clock):
    run_anchoring(workers)
    purged = organizations[0]
    before = verify_all(api, workers, operator)
    api.delete(purged.path, caller=purged.owner).expect(204)
    clock.shift(days=RESTORABLE_DAYS + 1)
    workers.run_until_idle()
    after = verify_all(api, workers, operator)
    assert (after["failures"], after["logsChecked"] >= before["logsChecked"]) == ([], True)
    alter_item(entry_item(purged, 1), body=b"{}")
    (failure,) = verify_all(api, workers, operator)["failures"]
    assert (failure["logId"], failure["firstInvalidSequence"]) == (purged.id, 1)


class TestSlices:
    def test_a_verification_continues_in_windows_and_slices_with_the_same_result(
        self, api, operator, workers, organizations, monkeypatch
    ):
        alter_item(entry_item(organizations[2], 3), body=b"{}")
        expected = verify_all(api, workers, operator)
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 1)
        monkeypatch.setattr(logic, "_PAGE_SIZE", 1)
        ends = iter([-1.0] * 3)
        endless = jobs.slice_deadline_monotonic
        monkeypatch.setattr(jobs, "slice_deadline_monotonic", lambda: next(ends, None) or endless())
        done = verify_all(api, workers, operator)
        assert done["failures"] == expected["failures"]
        assert done["logsChecked"] >= expected["logsChecked"]

    def test_a_crash_repeats_at_most_a_step(self, api, operator, workers, organizations, clock, monkeypatch):
        started = post_log_verification(api, operator)
        message = {"task": LogVerification.task, "pk": "LOG-VERIFICATIONS", "sk": f"V#{started.json['id']}"}
        advance, calls = logic.advance, []

        def crash_at_step_five(verification: LogVerification) -> dict[str, Any]:
            calls.append(verification.pending_logs[:1])
            if len(calls) == 5:
                raise MemoryError
            return advance(verification)

        monkeypatch.setattr(logic, "advance", crash_at_step_five)
        with suppress(MemoryError):
            run_task(message)
        clock.shift(seconds=jobs.LEASE_SECONDS + 1)
        workers.run_until_idle()
        assert calls[5] == calls[4]
        done = api.get(started.location, caller=operator).json
        assert (done["status"], done["failures"]) == ("completed", [])
        assert organizations

    def test_it_fails_if_the_table_fails_again_and_again(self, api, operator, clock):
        started = post_log_verification(api, operator)
        message = {"task": LogVerification.task, "pk": "LOG-VERIFICATIONS", "sk": f"V#{started.json['id']}"}
        with inject_fault(Fault.TIMED_OUT, call_name="dynamodb:Query", times=None):
            for _ in range(jobs.MAX_FAILURES + 1):
                with suppress(Problem):
                    run_task(message)
                clock.shift(seconds=jobs.LEASE_SECONDS + 1)
        run_task(message)
        failed = api.get(started.location, caller=operator).json
        assert (failed["status"], "Start it again" in failed["error"]) == ("failed", True)


def test_the_failures_are_limited_and_all_are_counted(api, operator, workers, organizations, monkeypatch):
    monkeypatch.setattr(logic, "MAX_LOG_FAILURES", 2)
    for organization in organizations:
        alter_item(entry_item(organization, 1), body=b"{}")
    done = verify_all(api, workers, operator)
    assert (done["failureCount"], len(done["failures"])) == (3, 2)


def test_the_system_log_records_the_request_and_the_result(api, operator, workers, organizations):
    alter_item(entry_item(organizations[0], 1), body=b"{}")
    done = verify_all(api, workers, operator)
    entries = api.get_items("/system/audit-log", caller=operator, query={"targetId": done["id"]})
    completed, requested = entries
    assert (requested["type"], requested["actor"]["id"]) == ("system.log_verification.requested", operator.id)
    assert (completed["type"], completed["actor"]["type"]) == ("system.log_verification.completed", "system")
    assert completed["data"]["failures"] == done["failures"]


def test_one_runs_at_a_time_and_other_callers_are_refused(api, operator, workers, ada):
    post_log_verification(api, operator).expect(202)
    assert post_log_verification(api, operator).status_and_code == "409 limit_exceeded"
    workers.run_until_idle()
    post_log_verification(api, operator).expect(202)
    for caller, status in ((ada, 403), (None, 401)):
        api.post(PATH, caller=caller).expect(status)
        api.get(PATH, caller=caller).expect(status)
