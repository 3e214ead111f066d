"""Test entry MACs (seals): made with their own key, formerly with the signing key until they are renewed."""

import base64
from collections.abc import Iterator
from typing import Any, Final

import pytest

from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.settings import SettingsError, settings
from chalicelib.kernel.crypto.keyrings import KeyPurpose, key_id
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.table import TransactionCancelled
from local.tools import renew_seals as module
from local.tools.renew_seals import RenewalFailed, renew_entry_macs
from tests.conftest import SettingsOverride
from tests.harness import memory_aws
from tests.harness.anchors import run_anchoring
from tests.harness.api import ApiClient
from tests.harness.audit_logs import add_entries, alter_item, entry_item, hash_leaf, verification_failure
from tests.harness.aws_calls import allow_scans, record_calls
from tests.harness.clock import Clock
from tests.harness.data_keys import create_wrapped_key_settings, public_keys_of, reset_key_cache
from tests.harness.erasures import complete_erasure
from tests.harness.organizations import CreatedOrganization, add_organization_member, create_organization
from tests.harness.workers import Workers

OTHER_KEY: Final = base64.b64encode(bytes(32)).decode()
THIRD_KEY: Final = base64.b64encode(bytes(range(32, 64))).decode()

pytestmark = pytest.mark.usefixtures("no_index_retries")


@pytest.fixture(autouse=True)
def _scanning() -> Iterator[None]:
    """Allow scans, by which the command finds the logs."""
    with allow_scans():
        yield


@pytest.fixture
def sealed_with_signing_key(
    api: ApiClient, organization: CreatedOrganization, workers: Workers, configure: SettingsOverride, clock: Clock
) -> CreatedOrganization:
    """Return an organization whose log is sealed, in batches, with the signing key, which is still accepted."""
    configure(signing_key_seals_until=after(now(), seconds=600))
    workers.deliver()
    add_entries(api, workers, organization, 3)
    add_entries(api, workers, organization)
    clock.shift(minutes=26)
    return organization


def seal_key_id(organization: CreatedOrganization, sequence: int) -> bytes:
    """Return the id of the key that sealed an entry."""
    seal: bytes = entry_item(organization, sequence)["seal"]
    return seal[:4]


def seal_key_ids(organization: CreatedOrganization) -> set[bytes]:
    """Return the ids of all keys that sealed entries of a log."""
    return {
        item["seal"][:4] for item in memory_aws.all_items() if item["pk"] == f"A#{organization.id}" and "seal" in item
    }


def key_id_of_setting(setting: str) -> bytes:
    return key_id(base64.b64decode(setting))


def signing_key_id() -> bytes:
    return key_id_of_setting(settings().audit_public_keys)


def test_an_entry_is_sealed_with_the_seal_key(api, organization, workers):
    workers.deliver()
    add_entries(api, workers, organization)
    assert seal_key_ids(organization) == {key_id_of_setting(settings().seal_key)}


def test_only_signing_decrypts_the_signing_key(api, ada, configure):
    configure(**create_wrapped_key_settings())
    reset_key_cache()
    organization = create_organization(api, ada)

    def get_decrypted_purposes(calls: Any) -> set[str]:
        return {
            call.parameters["EncryptionContext"]["purpose"] for call in calls.call_list if call.name == "kms:Decrypt"
        }

    with record_calls() as calls:
        ledger.append_pending_and_return_longest_wait_ms(organization.id)
    assert get_decrypted_purposes(calls) >= {KeyPurpose.AUDIT_SIGNING_KEY, KeyPurpose.SEAL_KEY}
    reset_key_cache()
    answer = api.get(f"{organization.path}/audit-log/verify-integrity", caller=organization.owner)
    assert answer.json["valid"]
    assert get_decrypted_purposes(answer.calls) == {KeyPurpose.SEAL_KEY}
    reset_key_cache()
    answer = api.get("/status")
    assert answer.json["auditPublicKeys"] == [settings().audit_public_keys]
    assert get_decrypted_purposes(answer.calls) == set()


def test_a_signing_key_without_published_public_key_is_rejected(api, organization, workers, configure):
    configure(audit_public_keys=public_keys_of(OTHER_KEY))
    assert api.get("/status").json["auditPublicKey"] == public_keys_of(OTHER_KEY)
    with pytest.raises(SettingsError, match="AUDIT_PUBLIC_KEYS: its first key is not that of AUDIT_SIGNING_KEY"):
        ledger.append_pending_and_return_longest_wait_ms(organization.id)
    configure(audit_public_keys=public_keys_of(settings().audit_signing_key))
    workers.deliver()
    assert verification_failure(api, organization) == (None, None)


class TestReleaseThatIntroducesTheSealKey:
    def test_seals_with_the_signing_key_while_the_former_release_may_run(self, api, sealed_with_signing_key, workers):
        assert seal_key_ids(sealed_with_signing_key) == {signing_key_id()}
        assert verification_failure(api, sealed_with_signing_key) == (None, None)
        add_entries(api, workers, sealed_with_signing_key)
        assert seal_key_id(sealed_with_signing_key, 9) == key_id_of_setting(settings().seal_key)
        assert verification_failure(api, sealed_with_signing_key) == (None, None)

    def test_detects_alterations_by_the_root(self, api, sealed_with_signing_key):
        item = entry_item(sealed_with_signing_key, 6)
        body = item["body"].replace(b"Name", b"Game")
        alter_item(item, body=body)
        assert verification_failure(api, sealed_with_signing_key) == ("modified", 6)
        alter_item(item, body=body, leaf=hash_leaf(body))
        assert verification_failure(api, sealed_with_signing_key) == ("forked", None)

    def test_rejects_seals_of_an_unknown_key(self, api, sealed_with_signing_key, configure):
        configure(audit_signing_key=OTHER_KEY)
        assert verification_failure(api, sealed_with_signing_key) == ("bad_signature", None)

    def test_accepts_seals_of_a_retired_signing_key(self, api, sealed_with_signing_key, configure):
        former = settings().audit_public_keys
        configure(audit_signing_key=OTHER_KEY, audit_former_public_keys=former)
        assert verification_failure(api, sealed_with_signing_key) == (None, None)

    def test_rejects_seals_of_a_signing_key_once_all_are_renewed(self, api, sealed_with_signing_key, configure, capsys):
        renew_entry_macs(None)
        assert capsys.readouterr().out == "8 seals were replaced.\nAll seals use the current SEAL_KEY.\n"
        assert seal_key_ids(sealed_with_signing_key) == {key_id_of_setting(settings().seal_key)}
        former = {**entry_item(sealed_with_signing_key, 2)}
        configure(signing_key_seals_until="")
        assert verification_failure(api, sealed_with_signing_key) == (None, None)
        alter_item(former, seal=signing_key_id() + former["seal"][4:])
        assert verification_failure(api, sealed_with_signing_key) == ("modified", 2)


class TestSealRenewal:
    def test_waits_until_the_ledger_uses_the_new_key(self, sealed_with_signing_key, configure):
        configure(signing_key_seals_until=after(now(), seconds=-880))
        with pytest.raises(RenewalFailed, match="Run the command 15 minutes after"):
            renew_entry_macs(None)
        assert seal_key_ids(sealed_with_signing_key) == {signing_key_id()}

    def test_is_idempotent(self, sealed_with_signing_key, capsys):
        renew_entry_macs(None)
        renewed_entry = entry_item(sealed_with_signing_key, 3)
        capsys.readouterr()
        renew_entry_macs(None)
        assert capsys.readouterr().out.startswith("0 seals were replaced.")
        assert entry_item(sealed_with_signing_key, 3) == renewed_entry

    def test_continues_after_an_interruption(self, api, sealed_with_signing_key, monkeypatch, capsys):
        monkeypatch.setattr(ledger, "BATCH_SIZE", 2)
        write, remaining_writes = table.write_transaction, iter([True, True])

        def write_or_interrupt(writes: Any) -> None:
            if next(remaining_writes, False):
                write(writes)
            else:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(table, "write_transaction", write_or_interrupt)
            with pytest.raises(KeyboardInterrupt):
                renew_entry_macs(None)
        assert seal_key_ids(sealed_with_signing_key) == {signing_key_id(), key_id_of_setting(settings().seal_key)}
        assert verification_failure(api, sealed_with_signing_key) == (None, None)
        renew_entry_macs(None)
        assert capsys.readouterr().out.startswith("4 seals were replaced.")
        assert verification_failure(api, sealed_with_signing_key) == (None, None)

    @pytest.mark.usefixtures("sealed_with_signing_key")
    def test_changes_nothing_but_seals(self):
        items_before = {(item["pk"], item["sk"]): item for item in memory_aws.all_items()}
        renew_entry_macs(None)
        changed_items = [item for item in memory_aws.all_items() if item != items_before[item["pk"], item["sk"]]]
        assert len(changed_items) == 8
        assert all({**item, "seal": 0} == {**items_before[item["pk"], item["sk"]], "seal": 0} for item in changed_items)

    def test_accepts_erased_entries(self, api, sealed_with_signing_key, workers, clock, issuer):
        guest = issuer.create_person("guest", "Gerty Cori")
        add_organization_member(sealed_with_signing_key, guest, "member")
        workers.deliver()
        complete_erasure(api, workers, clock, sealed_with_signing_key, userId=guest.id)
        renew_entry_macs(None)
        assert seal_key_ids(sealed_with_signing_key) == {key_id_of_setting(settings().seal_key)}
        assert verification_failure(api, sealed_with_signing_key) == (None, None)

    @pytest.mark.parametrize("field", ["leaf", "actor", "tree_size", "seal"])
    def test_rejects_an_altered_log(self, field, sealed_with_signing_key, capsys):
        item = entry_item(sealed_with_signing_key, 6)
        altered_values = {
            "leaf": bytes(32),
            "actor": "user:another",
            "tree_size": 8,
            "seal": item["seal"][:12] + bytes(16),
        }
        alter_item(item, **{field: altered_values[field]})
        with pytest.raises(RenewalFailed, match="1 logs failed verification and keep their seals"):
            renew_entry_macs(None)
        assert f"{sealed_with_signing_key.id}: modified at sequence 6" in capsys.readouterr().out
        assert seal_key_ids(sealed_with_signing_key) == {signing_key_id()}

    def test_rejects_a_tree_size_that_the_retired_key_cannot_prove(self, sealed_with_signing_key, configure, capsys):
        former = settings().audit_public_keys
        configure(audit_signing_key=OTHER_KEY, audit_former_public_keys=former)
        for size in (5, 6, 8):
            alter_item(item := entry_item(sealed_with_signing_key, 6), tree_size=size)
            with pytest.raises(RenewalFailed):
                renew_entry_macs(None)
            assert f"{sealed_with_signing_key.id}: modified at sequence" in capsys.readouterr().out
            assert seal_key_ids(sealed_with_signing_key) == {key_id(base64.b64decode(former))}
            alter_item(item)
        renew_entry_macs(None)
        assert seal_key_ids(sealed_with_signing_key) == {key_id_of_setting(settings().seal_key)}

    def test_rejects_a_root_other_than_the_signed_one(self, sealed_with_signing_key, capsys):
        item = entry_item(sealed_with_signing_key, 6)
        body = item["body"].replace(b"Name", b"Game")
        alter_item(item, body=body, leaf=hash_leaf(body))
        with pytest.raises(RenewalFailed):
            renew_entry_macs(None)
        assert f"{sealed_with_signing_key.id}: forked" in capsys.readouterr().out
        assert seal_key_ids(sealed_with_signing_key) == {signing_key_id()}

    def test_rejects_entries_altered_after_their_verification(
        self, sealed_with_signing_key, monkeypatch, capsys, configure
    ):
        configure(audit_signing_key=OTHER_KEY, audit_former_public_keys=settings().audit_public_keys)
        split_log = module._verify_in_windows  # noqa: SLF001

        def split_log_and_alter(log: str) -> Any:
            log_parts = split_log(log)
            if log == sealed_with_signing_key.id:
                item = entry_item(sealed_with_signing_key, 6)
                body = item["body"].replace(b"Name", b"Game")
                alter_item(item, body=body, leaf=hash_leaf(body))
            return log_parts

        monkeypatch.setattr(module, "_verify_in_windows", split_log_and_alter)
        with pytest.raises(RenewalFailed):
            renew_entry_macs(None)
        assert f"{sealed_with_signing_key.id}: forked" in capsys.readouterr().out
        assert key_id_of_setting(settings().seal_key) not in seal_key_ids(sealed_with_signing_key)

    def test_compares_a_log_with_its_anchor(self, api, sealed_with_signing_key, workers, capsys):
        head = memory_aws.get_item(f"Q#{sealed_with_signing_key.id}", "!")
        add_entries(api, workers, sealed_with_signing_key)
        run_anchoring(workers)
        memory_aws.delete_item(entry_item(sealed_with_signing_key, 9))
        memory_aws.put_item(head or {})
        with pytest.raises(RenewalFailed):
            renew_entry_macs(None)
        assert f"{sealed_with_signing_key.id}: truncated at sequence 9" in capsys.readouterr().out
        assert seal_key_ids(sealed_with_signing_key) == {signing_key_id()}

    def test_retries_after_a_concurrent_change(self, sealed_with_signing_key, monkeypatch):
        write, conflicts = table.write_transaction, iter([True])

        def write_or_conflict(writes: Any) -> None:
            if next(conflicts, False):
                raise TransactionCancelled({}, is_contended=True)
            write(writes)

        monkeypatch.setattr(table, "write_transaction", write_or_conflict)
        renew_entry_macs(None)
        assert seal_key_ids(sealed_with_signing_key) == {key_id_of_setting(settings().seal_key)}

    def test_fails_if_a_log_keeps_changing(self, sealed_with_signing_key, monkeypatch):
        def raise_conflict(_: Any) -> None:
            raise TransactionCancelled({}, is_contended=True)

        monkeypatch.setattr(table, "write_transaction", raise_conflict)
        with pytest.raises(
            RenewalFailed,
            match=f"Requests keep changing the log {sealed_with_signing_key.id}. Run the command again: it continues",
        ):
            renew_entry_macs(None)

    def test_renews_seals_of_a_former_seal_key(self, api, sealed_with_signing_key, configure):
        renew_entry_macs(None)
        former_key = settings().seal_key
        configure(signing_key_seals_until="", seal_key=f"{THIRD_KEY},{former_key}")
        reset_key_cache()
        renew_entry_macs(None)
        configure(seal_key=THIRD_KEY)
        reset_key_cache()
        assert seal_key_ids(sealed_with_signing_key) == {key_id_of_setting(THIRD_KEY)}
        assert verification_failure(api, sealed_with_signing_key) == (None, None)
