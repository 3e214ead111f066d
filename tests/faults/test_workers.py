"""The work of workers with a fault at any AWS call is finished by the redelivered message or the sweep."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import pytest

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.work import queues
from tests.catalogue import log_proof
from tests.catalogue.conftest import RestoreTenant
from tests.catalogue.tenant_fixture import TenantFixture
from tests.faults import task_examples
from tests.faults.fault_variants import WORK_VARIANTS, marks_of_variant
from tests.faults.table_summaries import TableSummary, summarize
from tests.harness import snapshots
from tests.harness.clock import Clock
from tests.harness.faults import CallSites, ProcessDied, record_call_sites


def create_pending_entries(tenant: TenantFixture) -> None:
    """Create pending entries in both organizations' logs, without messages to the ledger."""
    for organization, address_length in ((tenant.organization, 3000), (tenant.rivals, 30)):
        body = {"companyAddress": "x" * address_length}
        response = tenant.api.patch(organization.path, caller=organization.owner, json=body)
        assert response.status == 200


def create_all_due_work(tenant: TenantFixture) -> None:
    """Create pending entries and an expiring API key."""
    task_examples.create_expiring_api_key(tenant)
    create_pending_entries(tenant)


def append(tenant: TenantFixture, _prepared: object) -> None:
    """Deliver messages to the ledger for both organizations."""
    for organization in (tenant.organization, tenant.rivals):
        queues.notify_ledger(organization.id, new_id(now()))
    tenant.workers.try_deliver()


def start_sweep(tenant: TenantFixture, _prepared: object) -> None:
    """Run the schedule."""
    tenant.workers.run_sweep()


@dataclass(frozen=True)
class WorkExample:
    """Work of the workers: its preparation, the delay until it is due, its start, and the schedule that recovers it."""

    prepare: Callable[[TenantFixture], Any]
    due_after: Mapping[str, float]
    start: Callable[[TenantFixture, Any], None]
    run_schedule: task_examples.RunSchedule = task_examples.run_sweep

    @classmethod
    def from_task(cls, name: str, example: task_examples.TaskExample) -> "WorkExample":
        """Return the work of a task that its message starts."""

        def start(tenant: TenantFixture, record: Any) -> None:
            task_examples.enqueue(name, record)
            tenant.workers.try_deliver()

        return cls(example.prepare, example.due_after, start, example.run_schedule)


TASKS_WITH_OWN_TESTS: Final = ("audit_exports.run", "erasures.run")
"""Tasks with very many calls, which `test_exports.py` and `test_erasures.py` test."""

WORK_EXAMPLES: Final = {
    "append": WorkExample(create_pending_entries, {}, append),
    "sweep": WorkExample(create_all_due_work, {"days": 2}, start_sweep),
    **{
        name: WorkExample.from_task(name, example)
        for name, example in task_examples.EXAMPLES.items()
        if name not in TASKS_WITH_OWN_TESTS
    },
}
TYPICAL_WORK: Final = ("append", "sweep", "api_keys.revoke")
"""Work for which the default run tests all variants."""

for_each_work_example_and_variant = pytest.mark.parametrize(
    ("work_example", "variant"),
    [
        pytest.param(
            example, variant, id=f"{name}-{variant}", marks=[] if name in TYPICAL_WORK else marks_of_variant(variant)
        )
        for name, example in WORK_EXAMPLES.items()
        for variant in WORK_VARIANTS
    ],
)


@dataclass(frozen=True)
class FaultlessRun:
    """The calls of work without a fault, and the table after it."""

    call_sites: CallSites
    summary: TableSummary


_faultless_runs: dict[int, FaultlessRun] = {}


@for_each_work_example_and_variant
class TestWorker:
    def test_fault_at_any_call_is_recovered_once(self, work_example, variant, tenant, restore_tenant, clock):
        faultless = self._run_without_fault(work_example, tenant, restore_tenant, clock)
        failed_calls = []
        for at in variant.numbers_of_distinct_calls(faultless.call_sites):
            prepared = restore_tenant(work_example.prepare)
            with clock.shift_temporarily(**work_example.due_after):
                with variant.inject(at) as injected, suppress(ProcessDied, Problem):
                    work_example.start(tenant, prepared)
                failed_calls.append(injected.failed_call)
                items_after = task_examples.run_until_done(tenant, clock, work_example.run_schedule, faultless.summary)
            assert summarize(items_after) == faultless.summary
            log_proof.assert_logs_are_proven(items_after)
        assert any(failed_calls), "the fault was never injected"

    @staticmethod
    def _run_without_fault(
        work_example: WorkExample, tenant: TenantFixture, begin: RestoreTenant, clock: Clock
    ) -> FaultlessRun:
        if id(work_example) not in _faultless_runs:
            prepared = begin(work_example.prepare)
            before = snapshots.items_by_key()
            with clock.shift_temporarily(**work_example.due_after):
                with record_call_sites() as call_sites:
                    work_example.start(tenant, prepared)
                items_after = task_examples.run_until_done(tenant, clock, work_example.run_schedule)
            assert summarize(items_after) != summarize(before)
            _faultless_runs[id(work_example)] = FaultlessRun(call_sites, summarize(items_after))
        return _faultless_runs[id(work_example)]
