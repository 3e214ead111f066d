"""Test entry MACs (seals): made with their own key, formerly with the signing key until they are renewed."""

import base64
from typing import Any, Final

import pytest

from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.settings import SettingsError, settings
from chalicelib.kernel.crypto.keyrings import KeyPurpose, key_id
from local.tools import renew_seals as module
from local.tools.renew_seals import RenewalFailed, renew_entry_macs
from tests.harness import memory_aws
from tests.harness.audit_logs import alter_item
from tests.harness.aws_calls import record_calls
from tests.harness.data_keys import create_wrapped_key_settings, public_keys_of, reset_key_cache
from tests.harness.erasures import complete_erasure
from tests.harness.faults import Fault, ProcessDied, inject_fault
from tests.harness.organizations import add_organization_member, create_organization
from tests.harness.stored_logs import INTACT, StoredLog

OTHER_KEY: Final = base64.b64encode(bytes(32)).decode()
WRITE: Final = "dynamodb:TransactWriteItems"
THIRD_KEY: Final = base64.b64encode(bytes(range(32, 64))).decode()

pytestmark = pytest.mark.usefixtures("scans_allowed")


@pytest.fixture
def log(new_log, workers, configure, clock):
    """A log that is sealed, in batches, with the signing key, which is still accepted."""
    configure(signing_key_seals_until=after(now(), seconds=600))
    workers.deliver()
    new_log.append(3)
    new_log.append()
    clock.shift(minutes=26)
    return new_log


def seal_key_ids(log):
    return {item["seal"][:4] for item in memory_aws.all_items() if item["pk"] == f"A#{log.id}" and "seal" in item}


def key_id_of_setting(name: str) -> bytes:
    return key_id(base64.b64decode(getattr(settings(), name)))


def seal_key_id() -> bytes:
    return key_id_of_setting("seal_key")


def signing_key_id() -> bytes:
    return key_id_of_setting("audit_public_keys")


def replace_signing_key(configure):
    configure(audit_signing_key=OTHER_KEY, audit_former_public_keys=settings().audit_public_keys)


def test_an_entry_is_sealed_with_the_seal_key(short_log):
    short_log.append()
    assert seal_key_ids(short_log) == {seal_key_id()}


def test_only_signing_decrypts_the_signing_key(api, ada, workers, configure):
    configure(**create_wrapped_key_settings())
    reset_key_cache()
    log = StoredLog(api, workers, create_organization(api, ada))
    reset_key_cache()

    def get_decrypted_purposes(calls: Any) -> set[str]:
        reset_key_cache()
        decryptions = [call for call in calls.call_list if call.name == "kms:Decrypt"]
        return {call.parameters["EncryptionContext"]["purpose"] for call in decryptions}

    with record_calls() as calls:
        ledger.append_pending_and_return_longest_wait_ms(log.id)
    assert get_decrypted_purposes(calls) >= {KeyPurpose.AUDIT_SIGNING_KEY, KeyPurpose.SEAL_KEY}
    answer = log.get("/verify-integrity")
    assert (answer.json["valid"], get_decrypted_purposes(answer.calls)) == (True, {KeyPurpose.SEAL_KEY})
    answer = api.get("/status")
    assert answer.json["auditPublicKeys"] == [settings().audit_public_keys]
    assert get_decrypted_purposes(answer.calls) == set()


def test_a_signing_key_without_published_public_key_is_rejected(api, new_log, workers, configure):
    configure(audit_public_keys=public_keys_of(OTHER_KEY))
    assert api.get("/status").json["auditPublicKey"] == public_keys_of(OTHER_KEY)
    with pytest.raises(SettingsError, match="AUDIT_PUBLIC_KEYS: its first key is not that of AUDIT_SIGNING_KEY"):
        ledger.append_pending_and_return_longest_wait_ms(new_log.id)
    configure(audit_public_keys=public_keys_of(settings().audit_signing_key))
    workers.deliver()
    assert new_log.failure() == INTACT


class TestReleaseThatIntroducesTheSealKey:
    def test_seals_with_the_signing_key_while_the_former_release_may_run(self, log):
        assert seal_key_ids(log) == {signing_key_id()}
        assert log.failure() == INTACT
        log.append()
        assert log.entry(9)["seal"][:4] == seal_key_id()
        assert log.failure() == INTACT

    def test_detects_alterations_by_the_root(self, log):
        log.alter_body(6)
        assert log.failure() == ("modified", 6)
        log.alter_body(6, with_leaf=True)
        assert log.failure() == ("forked", None)

    def test_accepts_seals_of_a_retired_signing_key_but_not_of_an_unknown_key(self, log, configure):
        replace_signing_key(configure)
        assert log.failure() == INTACT
        configure(audit_former_public_keys="")
        assert log.failure() == ("bad_signature", None)

    def test_rejects_seals_of_a_signing_key_once_all_are_renewed(self, log, configure, capsys):
        renew_entry_macs(None)
        assert capsys.readouterr().out == "Replaced 8 seals.\nAll seals use the current SEAL_KEY.\n"
        assert seal_key_ids(log) == {seal_key_id()}
        configure(signing_key_seals_until="")
        assert log.failure() == INTACT
        log.alter(2, seal=signing_key_id() + log.entry(2)["seal"][4:])
        assert log.failure() == ("modified", 2)


class TestSealRenewal:
    @pytest.fixture
    def assert_rejected(self, log, capsys):
        """A function that asserts that the command reports a log and keeps its seals."""

        def assert_rejected(fault: str, key: bytes | None = None) -> None:
            with pytest.raises(RenewalFailed, match="1 log failed verification, with seals as before"):
                renew_entry_macs(None)
            assert f"{log.id}: {fault}" in capsys.readouterr().out
            assert seal_key_ids(log) == {key or signing_key_id()}

        return assert_rejected

    def test_waits_until_the_ledger_uses_the_new_key(self, log, configure):
        configure(signing_key_seals_until=after(now(), seconds=-880))
        with pytest.raises(RenewalFailed, match="Run the command 15 minutes after"):
            renew_entry_macs(None)
        assert seal_key_ids(log) == {signing_key_id()}

    def test_changes_nothing_but_seals_and_is_idempotent(self, log, capsys):
        items_before = {(item["pk"], item["sk"]): item for item in memory_aws.all_items()}
        renew_entry_macs(None)
        items = memory_aws.all_items()
        changed_items = [item for item in items if item != items_before[item["pk"], item["sk"]]]
        assert len(changed_items) == 8
        assert all({**item, "seal": 0} == {**items_before[item["pk"], item["sk"]], "seal": 0} for item in changed_items)
        capsys.readouterr()
        renew_entry_macs(None)
        assert capsys.readouterr().out.startswith("Replaced 0 seals.")
        assert memory_aws.all_items() == items

    def test_continues_after_an_interruption(self, log, monkeypatch, capsys):
        monkeypatch.setattr(ledger, "BATCH_SIZE", 2)
        with inject_fault(Fault.DIED_BEFORE, call_name=WRITE, first_call=3), pytest.raises(ProcessDied):
            renew_entry_macs(None)
        assert seal_key_ids(log) == {signing_key_id(), seal_key_id()}
        assert log.failure() == INTACT
        renew_entry_macs(None)
        assert capsys.readouterr().out.startswith("Replaced 4 seals.")
        assert log.failure() == INTACT

    def test_accepts_erased_entries(self, log, api, workers, clock, issuer):
        guest = issuer.create_person("guest", "Gerty Cori")
        add_organization_member(log.organization, guest, "member")
        workers.deliver()
        complete_erasure(api, workers, clock, log.organization, userId=guest.id)
        renew_entry_macs(None)
        assert seal_key_ids(log) == {seal_key_id()}
        assert log.failure() == INTACT

    def test_rejects_an_altered_log(self, log, assert_rejected):
        item = log.entry(6)
        seal = item["seal"][:12] + bytes(16)
        for altered in ({"leaf": bytes(32)}, {"actor": "user:another"}, {"tree_size": 8}, {"seal": seal}):
            alter_item(item, **altered)
            assert_rejected("modified at sequence 6")
        memory_aws.put_item(item)
        log.alter_body(6, with_leaf=True)
        assert_rejected("forked")

    def test_rejects_a_tree_size_that_the_retired_key_cannot_prove(self, log, configure, assert_rejected):
        former_key_id = signing_key_id()
        replace_signing_key(configure)
        item = log.entry(6)
        for size in (5, 6, 8):
            alter_item(item, tree_size=size)
            assert_rejected("modified at sequence", former_key_id)
        memory_aws.put_item(item)
        renew_entry_macs(None)
        assert seal_key_ids(log) == {seal_key_id()}

    def test_rejects_entries_altered_after_their_verification(self, log, monkeypatch, configure, assert_rejected):
        former_key_id = signing_key_id()
        replace_signing_key(configure)
        split_log = module._verify_in_windows  # noqa: SLF001

        def split_log_and_alter(log_id: str) -> Any:
            log_parts = split_log(log_id)
            log.alter_body(6, with_leaf=True)
            return log_parts

        monkeypatch.setattr(module, "_verify_in_windows", split_log_and_alter)
        assert_rejected("forked", former_key_id)

    def test_compares_a_log_with_its_anchor(self, log, assert_rejected):
        head = log.head
        log.append()
        log.anchor()
        log.remove(9)
        memory_aws.put_item(head)
        assert_rejected("truncated at sequence 9")

    def test_retries_after_a_concurrent_change_but_not_forever(self, log):
        message = f"Requests keep changing the log {log.id}. Run the command again: it continues"
        with inject_fault(Fault.CONFLICT, call_name=WRITE, times=None), pytest.raises(RenewalFailed, match=message):
            renew_entry_macs(None)
        with inject_fault(Fault.CONFLICT, call_name=WRITE) as injected_fault:
            renew_entry_macs(None)
        assert injected_fault.failed_call == WRITE
        assert seal_key_ids(log) == {seal_key_id()}

    def test_renews_seals_of_a_former_seal_key(self, log, configure):
        renew_entry_macs(None)
        configure(signing_key_seals_until="", seal_key=f"{THIRD_KEY},{settings().seal_key}")
        reset_key_cache()
        renew_entry_macs(None)
        configure(seal_key=THIRD_KEY)
        reset_key_cache()
        assert seal_key_ids(log) == {seal_key_id()}
        assert log.failure() == INTACT
