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
from tests.catalogue.conftest import RestoreTenant
from tests.catalogue.tenant_fixture import TenantFixture
from tests.conftest import SettingsOverride
from tests.harness import memory_aws
from tests.harness.audit_logs import alter_item, entry_item, hash_leaf
from tests.harness.clock import backdate
from tests.harness.erasures import complete_erasure, create_erasure, keys_of_items_containing
from tests.harness.memory_aws import Item
from tests.harness.organizations import CreatedOrganization, add_organization_member, create_organization

SHORT, LONG, UNERASED = 2, 3, 5
"""Sequences of a log: a short and a long erased entry, and a short one that is not erased."""

OTHER_KEY: Final = base64.b64encode(bytes(range(32, 64))).decode()
ERASED_ATTRIBUTES: Final = ("body", "actor", "target", "seal", "facet1pk", "facet2pk")


@dataclass(frozen=True)
class ErasedLog:
    """A log with two erased entries: their items before the erasure, and the body item of the long one."""

    organization: CreatedOrganization
    items_before: dict[int, Item]
    body_item: Item

    def find_fault(self) -> Fault | None:
        """Return the fault that verification finds."""
        return verify_next_window(self.organization.id, None, None).fault

    def load_entry(self, sequence: int) -> Item:
        """Return the current item of an entry."""
        return entry_item(self.organization, sequence)


def create_erased_log(world: TenantFixture) -> ErasedLog:
    """Create an organization, let a member change it, and erase the member."""
    owner, member = world.people.owner, world.people.member
    with backdate(minutes=9):
        organization = create_organization(world.api, owner)
        add_organization_member(organization, member, "admin")
        world.api.patch(organization.path, caller=member, json={"companyAddress": "x" * 3900})
        for change in ({"companyAddress": None}, {"name": "Engines"}):
            world.api.patch(organization.path, caller=owner, json=change)
        world.workers.run_until_idle()
        items_before = {sequence: entry_item(organization, sequence) for sequence in (SHORT, LONG, UNERASED)}
        (body_item,) = (
            item
            for item in memory_aws.all_items()
            if item["sk"] == items_before[LONG]["sk"] and item["pk"].startswith("B#")
        )
        create_erasure(world.api, organization, userId=member.id)
        world.workers.run_until_idle()
    with backdate(minutes=6):
        world.workers.run_until_idle()
    return ErasedLog(organization, items_before, body_item)


@pytest.fixture(autouse=True)
def _no_index_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable retries of reads from the index, which does not lag here."""
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", ())


@pytest.fixture
def log(restore_tenant: RestoreTenant) -> ErasedLog:
    erased_log: ErasedLog = restore_tenant(create_erased_log)
    assert erased_log.find_fault() is None
    entries = [erased_log.load_entry(sequence) for sequence in (SHORT, LONG, UNERASED)]
    assert [entry_item.get("erased") is not None for entry_item in entries] == [1, 1, 0]
    return erased_log


class TestErasedEntry:
    @pytest.mark.parametrize("sequence", [SHORT, LONG])
    @pytest.mark.parametrize("name", [*ERASED_ATTRIBUTES, "outcome", "ttl", "index2pk", "duepk"])
    def test_an_added_or_changed_attribute_is_found(self, log, sequence, name):
        for value in (log.items_before[sequence].get(name, "x"), "x", b"x", None):
            alter_item(log.load_entry(sequence), **{name: value})
            assert log.find_fault() == Fault("modified", sequence)

    @pytest.mark.parametrize("sequence", [SHORT, LONG])
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("type", "organization.created"),
            ("created_at", "2020-01-01T00:00:00.000Z"),
            ("sequence", 1),
            ("updated_at", "2020-01-01T00:00:00.000Z"),
            ("id", "01939d3c-0000-7000-8000-00000000000a"),
            ("tree_size", 99),
            ("log_id", "01939d3c-0000-7000-8000-00000000000a"),
            ("leaf", bytes(32)),
            ("version", 2),
            ("kind", "x"),
            ("facet3pk", "x"),
            ("erased", bytes(64)),
            ("erased", b""),
            ("erased", True),
        ],
    )
    def test_an_altered_attribute_is_found(self, log, sequence, name, value):
        alter_item(log.load_entry(sequence), **{name: value})
        assert log.find_fault() == Fault("modified", sequence)

    def test_a_changed_type_is_found_even_with_its_index_key(self, log):
        event_type = "organization.updated"
        alter_item(log.load_entry(SHORT), type=event_type, facet3pk=f"A#{log.organization.id}#E#{event_type}")
        assert log.find_fault() == Fault("modified", SHORT)

    @pytest.mark.parametrize("sequence", [SHORT, LONG])
    def test_a_restored_body_is_found_even_if_it_is_authentic(self, log, sequence):
        remaining = {name: value for name, value in log.load_entry(sequence).items() if name != "erased"}
        original = log.items_before[sequence]
        memory_aws.put_item(remaining)
        assert log.find_fault() == Fault("missing", sequence)
        memory_aws.put_item(log.body_item)
        memory_aws.put_item(
            {**remaining, **{name: original[name] for name in ERASED_ATTRIBUTES if name in original and name != "seal"}}
        )
        assert log.find_fault() == Fault("modified", sequence)

    def test_another_body_is_found(self, log):
        original, body = log.items_before[UNERASED], log.items_before[UNERASED]["body"]
        remaining = {name: value for name, value in log.load_entry(SHORT).items() if name != "erased"}
        memory_aws.put_item({**remaining, "body": body, "leaf": hash_leaf(body), "seal": original["seal"]})
        assert log.find_fault() in (Fault("modified", SHORT), Fault("reordered", SHORT))

    def test_swapped_attributes_of_two_entries_are_found(self, log):
        first, second = log.load_entry(SHORT), log.load_entry(LONG)
        for names in (("sequence", "index1sk"), ("leaf",), ("erased",), ("leaf", "erased"), ("id",)):
            alter_item(first, **{name: second[name] for name in names})
            alter_item(second, **{name: first[name] for name in names})
            assert log.find_fault() == Fault("modified", SHORT), names

    def test_an_entry_of_another_log_is_found(self, log, tenant):
        other_log = create_erased_log(tenant)
        foreign_item = other_log.load_entry(SHORT)
        memory_aws.delete_item(log.load_entry(SHORT))
        memory_aws.put_item({**foreign_item, "index1pk": f"A#{log.organization.id}#S"})
        assert log.find_fault() == Fault("modified", SHORT)


class TestFalseErasure:
    """An attacker marks an entry as erased that was not."""

    def test_a_false_erasure_is_found(self, log, tenant):
        item = log.load_entry(UNERASED)
        remaining = {name: value for name, value in item.items() if name not in ERASED_ATTRIBUTES}
        signatures = [
            b"",
            b"x",
            bytes(64),
            item["seal"],
            item["leaf"],
            log.load_entry(SHORT)["erased"],
            log.load_entry(LONG)["erased"],
            create_erased_log(tenant).load_entry(SHORT)["erased"],
            True,
            "erased",
            None,
        ]
        for signature in signatures:
            for remaining_item in (item, remaining, {**remaining, "seal": item["seal"]}):
                memory_aws.put_item({**remaining_item, "erased": signature})
                assert log.find_fault() == Fault("modified", UNERASED), signature

    def test_an_erasure_signed_by_another_key_is_found(self, log, configure):
        configure(audit_signing_key=OTHER_KEY)
        table.write_transaction(
            redaction.redaction_writes(log.organization.id, log.load_entry(UNERASED), should_sign=True)
        )
        configure(audit_signing_key=base64.b64encode(bytes(range(32))).decode())
        assert log.find_fault() == Fault("modified", UNERASED)

    def test_a_forged_entry_that_was_then_erased_is_found(self, log, api, workers, clock):
        item = log.load_entry(UNERASED)
        alter_item(item, body=item["body"].replace(b"update_organization", b"sophie@example.org "))
        assert log.find_fault() == Fault("modified", UNERASED)
        assert complete_erasure(api, workers, clock, log.organization, email="sophie@example.org")["erasedEntries"] == 1
        assert keys_of_items_containing("sophie@example.org") == []
        assert log.find_fault() == Fault("modified", UNERASED)

    @pytest.mark.parametrize("body", [b"sophie@example.org", b'"sophie@example.org', b'{"a":"sophie@example.org"}'])
    def test_an_invalid_body_that_was_then_erased_is_found(self, log, api, workers, clock, body):
        memory_aws.put_item({**log.load_entry(UNERASED), "body": body, "leaf": hash_leaf(body)})
        assert complete_erasure(api, workers, clock, log.organization, email="sophie@example.org")["erasedEntries"] == 1
        assert keys_of_items_containing("sophie@example.org") == []
        assert log.find_fault() == Fault("modified", UNERASED)

    def test_a_forged_entry_does_not_change_whose_membership_is_erased(self, log, api, grace, edith, workers, clock):
        for person in (grace, edith):
            add_organization_member(log.organization, person, "member")
        workers.run_until_idle()
        (foreign_item,) = (
            pending
            for pending in log_proof.load_entries()
            if pending.log == log.organization.id and grace.email in str(pending.body)
        )
        item = log.load_entry(foreign_item.sequence or 0)
        alter_item(item, body=item["body"].replace(grace.email.encode(), edith.email.encode()))
        complete_erasure(api, workers, clock, log.organization, email=edith.email)
        members = api.get_items(f"{log.organization.path}/members", caller=log.organization.owner)
        assert [member["username"] for member in members] == ["ada", "grace"]


class TestReplacedSigningKey:
    @pytest.fixture(autouse=True)
    def _replace_signing_key(self, log: ErasedLog, configure: SettingsOverride) -> None:
        assert log.find_fault() is None
        configure(audit_signing_key=OTHER_KEY, audit_former_public_keys=log_proof.PUBLIC_KEY)

    def test_erased_entries_stay_valid(self, log):
        assert log.find_fault() is None

    def test_further_entries_can_be_erased(self, log, api, grace, workers, clock):
        add_organization_member(log.organization, grace, "member")
        assert complete_erasure(api, workers, clock, log.organization, userId=grace.id)["erasedEntries"] == 1
        assert log.find_fault() is None

    def test_a_false_erasure_is_found_with_either_key(self, log):
        item = log.load_entry(UNERASED)
        remaining = {name: value for name, value in item.items() if name not in ERASED_ATTRIBUTES}
        for signature in (item["seal"], item["seal"][:12] + bytes(16), item["seal"][:12] + bytes(52), bytes(64)):
            memory_aws.put_item({**remaining, "erased": signature})
            assert log.find_fault() == Fault("modified", UNERASED)

    def test_erased_entries_are_invalid_when_the_former_key_is_not_trusted(self, log, configure):
        configure(audit_former_public_keys="")
        assert not redaction.is_redacted_entry_intact(log.organization.id, SHORT, log.load_entry(SHORT))

    @pytest.mark.parametrize("body", [b"x", b"{}", b"[]", b'{"id":1}', b"\xff", b'{"id":"x","occurredAt":"x"}'])
    def test_invalid_bodies_are_found(self, log, body):
        alter_item(log.load_entry(UNERASED), body=body, leaf=hash_leaf(body))
        assert log.find_fault() == Fault("modified", UNERASED)
