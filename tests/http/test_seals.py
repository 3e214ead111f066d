"""Seals of entries: made with a key of their own, and before there was one with the signing key, until made anew."""

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
from local.tools.renew_seals import NotRenewed, renew_seals
from tests.conftest import Configure
from tests.harness import cloud
from tests.harness.anchors import anchor
from tests.harness.api import Api
from tests.harness.callers import Issuer, Person
from tests.harness.calls import recorded, scanning
from tests.harness.clock import Clock
from tests.harness.data_keys import all_wrapped, forget, public_halves
from tests.harness.erasures import erased
from tests.harness.logs import alter, entry, finding, grow, leaf_of
from tests.harness.organizations import Founded, found, joins
from tests.harness.workers import Workers

OTHER: Final = base64.b64encode(bytes(32)).decode()
THIRD: Final = base64.b64encode(bytes(range(32, 64))).decode()

pytestmark = pytest.mark.usefixtures("impatient")


@pytest.fixture(autouse=True)
def _scanning() -> Iterator[None]:
    """The command finds the logs by a scan."""
    with scanning():
        yield


@pytest.fixture
def old(api: Api, organization: Founded, workers: Workers, configure: Configure, clock: Clock) -> Founded:
    """An organization whose log was sealed with the signing key, in batches, which counts still."""
    configure(signing_key_seals_until=after(now(), seconds=600))
    workers.deliver()
    grow(api, workers, organization, 3)
    grow(api, workers, organization)
    clock.shift(minutes=26)
    return organization


def sealer(organization: Founded, sequence: int) -> bytes:
    """Return the id of the key that has sealed an entry."""
    seal: bytes = entry(organization, sequence)["seal"]
    return seal[:4]


def seals(organization: Founded) -> set[bytes]:
    """Return the ids of all keys that have sealed entries of a log."""
    return {item["seal"][:4] for item in cloud.stored() if item["pk"] == f"A#{organization.id}" and "seal" in item}


def id_of(setting: str) -> bytes:
    return key_id(base64.b64decode(setting))


def signing_id() -> bytes:
    return id_of(settings().audit_public_keys)


def test_an_entry_is_sealed_with_the_key_for_that(api: Api, organization: Founded, workers: Workers) -> None:
    workers.deliver()
    grow(api, workers, organization)
    assert seals(organization) == {id_of(settings().seal_key)}


def test_only_what_signs_unwraps_the_signing_key(api: Api, ada: Person, configure: Configure) -> None:
    configure(**all_wrapped())
    forget()
    organization = found(api, ada)

    def purposes(calls: Any) -> set[str]:
        return {call.parameters["EncryptionContext"]["purpose"] for call in calls.made if call.name == "kms:Decrypt"}

    with recorded() as calls:
        ledger.append_pending(organization.id)
    assert purposes(calls) >= {KeyPurpose.AUDIT_SIGNING_KEY, KeyPurpose.SEAL_KEY}
    forget()
    answer = api.get(f"{organization.path}/audit-log/verify-integrity", as_=organization.owner)
    assert answer.json["valid"]
    assert purposes(answer.calls) == {KeyPurpose.SEAL_KEY}
    forget()
    answer = api.get("/status")
    assert answer.json["auditPublicKeys"] == [settings().audit_public_keys]
    assert purposes(answer.calls) == set()


def test_nothing_is_signed_with_a_key_of_which_others_are_not_told(
    api: Api, organization: Founded, workers: Workers, configure: Configure
) -> None:
    configure(audit_public_keys=public_halves(OTHER))
    assert api.get("/status").json["auditPublicKey"] == public_halves(OTHER)
    with pytest.raises(SettingsError, match="AUDIT_PUBLIC_KEYS: its first key is not that of AUDIT_SIGNING_KEY"):
        ledger.append_pending(organization.id)
    configure(audit_public_keys=public_halves(settings().audit_signing_key))
    workers.deliver()
    assert finding(api, organization) == (None, None)


class TestTheReleaseThatBeginsWithAKeyForSeals:
    def test_seals_as_the_one_before_as_long_as_that_may_run(self, api: Api, old: Founded, workers: Workers) -> None:
        assert seals(old) == {signing_id()}
        assert finding(api, old) == (None, None)
        grow(api, workers, old)
        assert sealer(old, 9) == id_of(settings().seal_key)
        assert finding(api, old) == (None, None)

    def test_finds_that_something_was_altered_by_the_root(self, api: Api, old: Founded) -> None:
        item = entry(old, 6)
        body = item["body"].replace(b"Name", b"Game")
        alter(item, body=body)
        assert finding(api, old) == ("modified", 6)
        alter(item, body=body, leaf=leaf_of(body))
        assert finding(api, old) == ("forked", None)

    def test_takes_no_seal_of_a_key_that_was_never_listed(self, api: Api, old: Founded, configure: Configure) -> None:
        configure(audit_signing_key=OTHER)
        assert finding(api, old) == ("bad_signature", None)

    def test_takes_seals_of_a_signing_key_that_was_dropped(self, api: Api, old: Founded, configure: Configure) -> None:
        former = settings().audit_public_keys
        configure(audit_signing_key=OTHER, audit_former_public_keys=former)
        assert finding(api, old) == (None, None)

    def test_takes_none_of_a_signing_key_once_all_are_made_anew(
        self, api: Api, old: Founded, configure: Configure, capsys: pytest.CaptureFixture[str]
    ) -> None:
        renew_seals(None)
        assert capsys.readouterr().out == "8 seals were made anew.\nNothing is left that another key has sealed.\n"
        assert seals(old) == {id_of(settings().seal_key)}
        former = {**entry(old, 2)}
        configure(signing_key_seals_until="")
        assert finding(api, old) == (None, None)
        alter(former, seal=signing_id() + former["seal"][4:])
        assert finding(api, old) == ("modified", 2)


class TestRenewingSeals:
    def test_waits_until_the_ledger_uses_the_new_key(self, old: Founded, configure: Configure) -> None:
        configure(signing_key_seals_until=after(now(), seconds=-880))
        with pytest.raises(NotRenewed, match="Run it a quarter of an hour later"):
            renew_seals(None)
        assert seals(old) == {signing_id()}

    def test_may_be_repeated(self, old: Founded, capsys: pytest.CaptureFixture[str]) -> None:
        renew_seals(None)
        made = entry(old, 3)
        capsys.readouterr()
        renew_seals(None)
        assert capsys.readouterr().out.startswith("0 seals were made anew.")
        assert entry(old, 3) == made

    def test_goes_on_where_it_was_interrupted(
        self, api: Api, old: Founded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(ledger, "BATCH_SIZE", 2)
        write, left = table.write_transaction, iter([True, True])

        def dying(writes: Any) -> None:
            if next(left, False):
                write(writes)
            else:
                raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(table, "write_transaction", dying)
            with pytest.raises(KeyboardInterrupt):
                renew_seals(None)
        assert seals(old) == {signing_id(), id_of(settings().seal_key)}
        assert finding(api, old) == (None, None)
        renew_seals(None)
        assert capsys.readouterr().out.startswith("4 seals were made anew.")
        assert finding(api, old) == (None, None)

    @pytest.mark.usefixtures("old")
    def test_changes_nothing_but_seals(self) -> None:
        before = {(item["pk"], item["sk"]): item for item in cloud.stored()}
        renew_seals(None)
        changed = [item for item in cloud.stored() if item != before[item["pk"], item["sk"]]]
        assert len(changed) == 8
        assert all({**item, "seal": 0} == {**before[item["pk"], item["sk"]], "seal": 0} for item in changed)

    def test_leaves_what_was_erased(
        self, api: Api, old: Founded, workers: Workers, clock: Clock, issuer: Issuer
    ) -> None:
        guest = issuer.person("guest", "Gerty Cori")
        joins(old, guest, "member")
        workers.deliver()
        erased(api, workers, clock, old, userId=guest.id)
        renew_seals(None)
        assert seals(old) == {id_of(settings().seal_key)}
        assert finding(api, old) == (None, None)

    @pytest.mark.parametrize("what", ["leaf", "actor", "tree_size", "seal"])
    def test_blesses_no_log_that_was_altered(self, what: str, old: Founded, capsys: pytest.CaptureFixture[str]) -> None:
        item = entry(old, 6)
        altered = {"leaf": bytes(32), "actor": "user:another", "tree_size": 8, "seal": item["seal"][:12] + bytes(16)}
        alter(item, **{what: altered[what]})
        with pytest.raises(NotRenewed, match="1 logs are not as they were signed, and keep their seals"):
            renew_seals(None)
        assert f"{old.id}: modified at sequence 6" in capsys.readouterr().out
        assert seals(old) == {signing_id()}

    def test_blesses_no_tree_size_that_the_key_it_has_dropped_can_not_vouch_for(
        self, old: Founded, configure: Configure, capsys: pytest.CaptureFixture[str]
    ) -> None:
        former = settings().audit_public_keys
        configure(audit_signing_key=OTHER, audit_former_public_keys=former)
        for size in (5, 6, 8):
            alter(item := entry(old, 6), tree_size=size)
            with pytest.raises(NotRenewed):
                renew_seals(None)
            assert f"{old.id}: modified at sequence" in capsys.readouterr().out
            assert seals(old) == {key_id(base64.b64decode(former))}
            alter(item)
        renew_seals(None)
        assert seals(old) == {id_of(settings().seal_key)}

    def test_blesses_no_other_root_than_the_signed_one(self, old: Founded, capsys: pytest.CaptureFixture[str]) -> None:
        item = entry(old, 6)
        body = item["body"].replace(b"Name", b"Game")
        alter(item, body=body, leaf=leaf_of(body))
        with pytest.raises(NotRenewed):
            renew_seals(None)
        assert f"{old.id}: forked" in capsys.readouterr().out
        assert seals(old) == {signing_id()}

    def test_blesses_nothing_that_is_altered_after_it_was_verified(
        self, old: Founded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], configure: Configure
    ) -> None:
        configure(audit_signing_key=OTHER, audit_former_public_keys=settings().audit_public_keys)
        parts = module._parts  # noqa: SLF001

        def meanwhile(log: str) -> Any:
            found = parts(log)
            if log == old.id:
                item = entry(old, 6)
                body = item["body"].replace(b"Name", b"Game")
                alter(item, body=body, leaf=leaf_of(body))
            return found

        monkeypatch.setattr(module, "_parts", meanwhile)
        with pytest.raises(NotRenewed):
            renew_seals(None)
        assert f"{old.id}: forked" in capsys.readouterr().out
        assert id_of(settings().seal_key) not in seals(old)

    def test_holds_a_log_against_its_anchor(
        self, api: Api, old: Founded, workers: Workers, capsys: pytest.CaptureFixture[str]
    ) -> None:
        head = cloud.stored_at(f"Q#{old.id}", "!")
        grow(api, workers, old)
        anchor(workers)
        cloud.remove(entry(old, 9))
        cloud.put(head or {})
        with pytest.raises(NotRenewed):
            renew_seals(None)
        assert f"{old.id}: truncated at sequence 9" in capsys.readouterr().out
        assert seals(old) == {signing_id()}

    def test_looks_again_at_what_somebody_else_has_changed_meanwhile(
        self, old: Founded, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write, lost = table.write_transaction, iter([True])

        def contended(writes: Any) -> None:
            if next(lost, False):
                raise TransactionCancelled({}, is_contended=True)
            write(writes)

        monkeypatch.setattr(table, "write_transaction", contended)
        renew_seals(None)
        assert seals(old) == {id_of(settings().seal_key)}

    def test_gives_up_where_a_log_keeps_changing(self, old: Founded, monkeypatch: pytest.MonkeyPatch) -> None:
        def contended(_: Any) -> None:
            raise TransactionCancelled({}, is_contended=True)

        monkeypatch.setattr(table, "write_transaction", contended)
        with pytest.raises(NotRenewed, match=f"The log {old.id} keeps changing. Run it again: what is done is done."):
            renew_seals(None)

    def test_also_renews_what_a_former_key_for_seals_has_sealed(
        self, api: Api, old: Founded, configure: Configure
    ) -> None:
        renew_seals(None)
        was = settings().seal_key
        configure(signing_key_seals_until="", seal_key=f"{THIRD},{was}")
        forget()
        renew_seals(None)
        configure(seal_key=THIRD)
        forget()
        assert seals(old) == {id_of(THIRD)}
        assert finding(api, old) == (None, None)
