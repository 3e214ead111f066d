"""Reconciliations after every operation: they find nothing, because the log explains everything that was stored."""

import pytest

from chalicelib.entrypoints import catalogue
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage.entity import RECORD_FIELDS
from chalicelib.kernel.storage.record_types import find_record_type
from tests.catalogue.conftest import RestoreTenant
from tests.catalogue.examples.registry import call_operation
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import memory_aws
from tests.harness.api import Json
from tests.harness.parametrize_operations import parametrize_operations
from tests.harness.reconciliations import find_disagreements


def is_about_record_with_unlogged_changes(event: str) -> bool:
    record_type = find_record_type(event.rpartition(".")[0])
    return record_type is not None and bool(record_type.log_rules.unlogged_changes)


@pytest.fixture
def baseline(tenant: TenantFixture, restore_tenant: RestoreTenant) -> list[Json]:
    """The findings for the members whom the fixture adds without entries."""
    return restore_tenant(find_initial_disagreements)


def find_initial_disagreements(tenant: TenantFixture) -> list[Json]:
    findings = find_disagreements(tenant.id)
    assert {(each["kind"], each["type"]) for each in findings} == {
        ("unlogged", "platform.member"),
        ("unlogged", "space.member"),
    }
    return findings


@parametrize_operations(lambda o: o.emits_events)
def test_the_log_explains_what_an_operation_stores(operation, tenant, baseline):
    call_operation(operation, tenant).expect(operation.success)
    tenant.workers.run_until_idle()
    assert [each for each in find_disagreements(tenant.id) if each not in baseline] == []


@parametrize_operations(lambda o: any(map(is_about_record_with_unlogged_changes, o.emits)))
def test_versions_without_an_entry_are_explained_also_after_an_entry_that_changes_nothing(operation, tenant, baseline):
    """Deliveries, for example, raise the version of a webhook, and cannot renew its MAC."""
    for item in memory_aws.all_items():
        if (record_type := find_record_type(str(item.get("kind")))) and record_type.log_rules.unlogged_changes:
            memory_aws.put_item({**item, "version": item["version"] + 1, "updated_at": now()})
    call_operation(operation, tenant).expect(operation.success)
    tenant.workers.run_until_idle()
    assert [each for each in find_disagreements(tenant.id) if each not in baseline] == []


@pytest.mark.parametrize("record_type", catalogue.list_record_types(), ids=lambda each: each.kind)
def test_rules_name_existing_events_and_fields_and_give_reasons(record_type):
    rules = record_type.log_rules
    assert {*rules.ended_by, *rules.changed_by, *rules.removed_by} <= {*catalogue.event_names()}
    assert {*record_type.unauthenticated_fields} <= {*record_type.stored_fields}
    reasons = (rules.exemption, rules.unlogged_changes, record_type.mac_exemption)
    assert all(text.endswith(".") for text in (*record_type.unauthenticated_fields.values(), *filter(None, reasons)))
    # Each stored field is in entries, covered by the MAC, or listed with a reason.
    covered = {*record_type.authenticated_fields(), *record_type.unauthenticated_fields, *RECORD_FIELDS, "record_mac"}
    assert record_type.mac_exemption or covered == {*record_type.stored_fields}
