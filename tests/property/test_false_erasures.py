"""Verification distinguishes erased entries from altered ones, and detects false erasures."""

import base64
from dataclasses import dataclass
from typing import Final

import pytest

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import Fault
from chalicelib.features.audit.log.logic.log_verification import verify_next_window
from chalicelib.kernel.audit_log import redaction
from chalicelib.kernel.storage import table
from tests.catalogue import log_proof
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import memory_aws
from tests.harness.audit_logs import alter_item, entry_item, hash_leaf
from tests.harness.clock import backdate
from tests.harness.erasures import complete_erasure, create_erasure, keys_of_items_containing
from tests.harness.memory_aws import Item
from tests.harness.organizations import CreatedOrganization, add_organization_member, create_organization

SHORT, LONG, UNERASED = 2, 3, 5
"""Sequences of a log: a short and a long erased entry, and a short one that is not erased."""

KEY, OTHER_KEY = (base64.b64encode(bytes(range(start, start + 32))).decode() for start in (0, 32))
ERASED_ATTRIBUTES: Final = ("body", "actor", "target", "seal", "facet1pk", "facet2pk")
OTHER_ID: Final = "01939d3c-0000-7000-8000-00000000000a"
OTHER_TIME: Final = "2020-01-01T00:00:00.000Z"
SOPHIE: Final = "sophie@example.org"


@dataclass(frozen=True)
class ErasedLog:
    """A log with two erased entries: their items before the erasure, and the body item of the long one."""

    organization: CreatedOrganization
    items_before: dict[int, Item]
    body_item: Item

    def fault_with(self, *items: Item) -> Fault | None:
        """Return the fault that verification finds with these items in place of the current ones."""
        for item in items:
            memory_aws.put_item(item)
        return verify_next_window(self.organization.id, None, None).fault

    def load_entry(self, sequence: int) -> Item:
        return entry_item(self.organization, sequence)

    def load_fields(self, sequence: int, *excluded: str) -> Item:
        return {name: value for name, value in self.load_entry(sequence).items() if name not in excluded}


def create_erased_log(tenant: TenantFixture) -> ErasedLog:
    """Create an organization, let a member change it, and erase the member."""
    owner, member = tenant.people.owner, tenant.people.member
    with backdate(minutes=9):
        organization = create_organization(tenant.api, owner)
        add_organization_member(organization, member, "admin")
        tenant.api.patch(organization.path, caller=member, json={"companyAddress": "x" * 3900})
        for change in ({"companyAddress": None}, {"name": "Engines"}):
            tenant.api.patch(organization.path, caller=owner, json=change)
        tenant.workers.run_until_idle()
        items_before = {sequence: entry_item(organization, sequence) for sequence in (SHORT, LONG, UNERASED)}
        bodies = [item for item in memory_aws.all_items() if item["pk"].startswith("B#")]
        (body_item,) = (item for item in bodies if item["sk"] == items_before[LONG]["sk"])
        create_erasure(tenant.api, organization, userId=member.id)
        tenant.workers.run_until_idle()
    with backdate(minutes=6):
        tenant.workers.run_until_idle()
    return ErasedLog(organization, items_before, body_item)


@pytest.fixture
def log(restore_tenant, monkeypatch):
    """Return a log. Reads from the index, which does not lag here, are not retried."""
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", ())
    erased_log = restore_tenant(create_erased_log)
    assert erased_log.fault_with() is None
    assert ["erased" in erased_log.load_entry(sequence) for sequence in (SHORT, LONG, UNERASED)] == [1, 1, 0]
    return erased_log


@pytest.mark.parametrize("sequence", [SHORT, LONG])
def test_any_added_or_altered_attribute_of_an_erased_entry_is_found(log, sequence):
    item = log.load_entry(sequence)
    alterations: list[Item] = [
        *({name: value} for name in ("type", "kind", "facet3pk") for value in ("organization.created", "x")),
        *({name: OTHER_TIME} for name in ("created_at", "updated_at")),
        *({name: OTHER_ID} for name in ("id", "log_id")),
        *({"erased": value} for value in (bytes(64), b"", True)),
        *({"sequence": 1}, {"tree_size": 99}, {"version": 2}, {"leaf": bytes(32)}),
        {"type": "organization.deleted", "facet3pk": f"A#{log.organization.id}#E#organization.deleted"},
    ]
    for name in (*ERASED_ATTRIBUTES, "outcome", "ttl", "index2pk", "duepk"):
        alterations += [{name: value} for value in (log.items_before[sequence].get(name, "x"), "x", b"x", None)]
    for alteration in alterations:
        assert log.fault_with({**item, **alteration}) == Fault("modified", sequence), alteration
        memory_aws.put_item(item)


@pytest.mark.parametrize("sequence", [SHORT, LONG])
def test_a_restored_body_is_found_even_if_it_is_authentic(log, sequence):
    remaining, original = log.load_fields(sequence, "erased"), log.items_before[sequence]
    assert log.fault_with(remaining) == Fault("missing", sequence)
    restored = {name: original[name] for name in ERASED_ATTRIBUTES if name in original and name != "seal"}
    assert log.fault_with(log.body_item, {**remaining, **restored}) == Fault("modified", sequence)


def test_another_body_is_found(log):
    original = log.items_before[UNERASED]
    other = {name: original[name] for name in ("body", "seal")} | {"leaf": hash_leaf(original["body"])}
    faults = (Fault("modified", SHORT), Fault("reordered", SHORT))
    assert log.fault_with({**log.load_fields(SHORT, "erased"), **other}) in faults


def test_swapped_attributes_of_two_entries_are_found(log):
    first, second = log.load_entry(SHORT), log.load_entry(LONG)
    for names in (("sequence", "index1sk"), ("leaf",), ("erased",), ("leaf", "erased"), ("id",)):
        swapped = [{**a, **{name: b[name] for name in names}} for a, b in ((first, second), (second, first))]
        assert log.fault_with(*swapped) == Fault("modified", SHORT), names


def test_an_entry_of_another_log_is_found(log, tenant):
    foreign_item = create_erased_log(tenant).load_entry(SHORT)
    memory_aws.delete_item(log.load_entry(SHORT))
    item = {**foreign_item, "index1pk": f"A#{log.organization.id}#S"}
    assert log.fault_with(item) == Fault("modified", SHORT)


def test_a_false_erasure_is_found(log, tenant):
    item, remaining = log.load_entry(UNERASED), log.load_fields(UNERASED, *ERASED_ATTRIBUTES)
    other_signatures = [log.load_entry(SHORT)["erased"], log.load_entry(LONG)["erased"]]
    other_signatures += [create_erased_log(tenant).load_entry(SHORT)["erased"]]
    for signature in (b"", b"x", bytes(64), item["seal"], item["leaf"], *other_signatures, True, "erased", None):
        for fields in (item, remaining, {**remaining, "seal": item["seal"]}):
            assert log.fault_with({**fields, "erased": signature}) == Fault("modified", UNERASED), signature


def test_an_erasure_signed_by_another_key_is_found(log, configure):
    configure(audit_signing_key=OTHER_KEY)
    writes = redaction.redaction_writes(log.organization.id, log.load_entry(UNERASED), should_sign=True)
    table.write_transaction(writes)
    configure(audit_signing_key=KEY)
    assert log.fault_with() == Fault("modified", UNERASED)


@pytest.mark.parametrize("body", [None, SOPHIE, f'"{SOPHIE}', f'{{"a":"{SOPHIE}"}}'])
def test_a_forged_or_invalid_entry_that_was_then_erased_is_found(log, api, workers, clock, body):
    item = log.load_entry(UNERASED)
    forged = item["body"].replace(b"update_organization", f"{SOPHIE} ".encode())
    fields = {"body": body.encode(), "leaf": hash_leaf(body.encode())} if body else {"body": forged}
    assert log.fault_with({**item, **fields}) == Fault("modified", UNERASED)
    assert complete_erasure(api, workers, clock, log.organization, email=SOPHIE)["erasedEntries"] == 1
    assert keys_of_items_containing(SOPHIE) == []
    assert log.fault_with() == Fault("modified", UNERASED)


def test_a_forged_entry_does_not_change_whose_membership_is_erased(log, api, grace, edith, workers, clock):
    for person in (grace, edith):
        add_organization_member(log.organization, person, "member")
    workers.run_until_idle()
    own_entries = [entry for entry in log_proof.load_entries() if entry.log == log.organization.id]
    (foreign_entry,) = (entry for entry in own_entries if grace.email in str(entry.body))
    item = log.load_entry(foreign_entry.sequence or 0)
    alter_item(item, body=item["body"].replace(grace.email.encode(), edith.email.encode()))
    complete_erasure(api, workers, clock, log.organization, email=edith.email)
    members = api.get_items(f"{log.organization.path}/members", caller=log.organization.owner)
    assert [member["username"] for member in members] == ["ada", "grace"]


class TestReplacedSigningKey:
    @pytest.fixture(autouse=True)
    def replace_signing_key(self, log, configure):
        configure(audit_signing_key=OTHER_KEY, audit_former_public_keys=log_proof.PUBLIC_KEY)

    def test_a_false_erasure_is_found_with_either_key(self, log):
        seal, remaining = log.load_entry(UNERASED)["seal"], log.load_fields(UNERASED, *ERASED_ATTRIBUTES)
        for signature in (seal, seal[:12] + bytes(16), seal[:12] + bytes(52), bytes(64)):
            assert log.fault_with({**remaining, "erased": signature}) == Fault("modified", UNERASED)

    def test_invalid_bodies_are_found(self, log):
        for body in (b"x", b"{}", b"[]", b'{"id":1}', b"\xff", b'{"id":"x","occurredAt":"x"}'):
            item = {**log.load_entry(UNERASED), "body": body, "leaf": hash_leaf(body)}
            assert log.fault_with(item) == Fault("modified", UNERASED), body
