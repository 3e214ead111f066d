"""Test rotations of each secret during operation, with processes from before and after a deployment side by side."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from chalicelib.features.audit.exports.logic.verify import main
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.encoding import from_base64, to_base64, to_base64url
from chalicelib.kernel.crypto.checkpoints import public_key
from chalicelib.kernel.crypto.encryption import DecryptionError, decrypt_bytes, encrypt_bytes
from chalicelib.kernel.crypto.keyrings import KeyPurpose
from local.tools.reencrypt import ReencryptionFailed, reencrypt_secrets
from local.tools.renew_seals import renew_entry_macs
from tests.conftest import SettingsOverride
from tests.harness import audit_logs, webhooks
from tests.harness.aws_calls import allow_scans
from tests.harness.channels import create_channel, send_test_message
from tests.harness.data_keys import create_wrapped_key, reset_key_cache
from tests.harness.erasures import complete_erasure
from tests.harness.invitations import create_invitation, open_invitation
from tests.harness.leads import create_lead, get_public_lead
from tests.harness.organizations import add_organization_member
from tests.harness.sites import create_draft_page

Settings = dict[str, str]
Restart = Callable[[Settings], None]

pytestmark = pytest.mark.usefixtures("private_targets_allowed")


@pytest.fixture(autouse=True)
def _scanning() -> Iterator[None]:
    """Allow scans, by which the re-encryption command finds records."""
    with allow_scans():
        yield


@pytest.fixture
def restart(configure: SettingsOverride) -> Restart:
    """Return a function that restarts this process with new settings."""

    def restart_with(overrides: Settings) -> None:
        configure(**({"audit_former_public_keys": ""} | overrides))
        reset_key_cache()

    return restart_with


def build_rotation_steps(purpose: KeyPurpose) -> list[Settings]:
    """Return the settings of a stage before a rotation and after its steps `begin`, `switch` and `finish`."""
    old, new = create_wrapped_key(purpose), create_wrapped_key(purpose)
    steps = [{purpose.setting_name: keys} for keys in (old, f"{old},{new}", f"{new},{old}", new)]
    if purpose is KeyPurpose.AUDIT_SIGNING_KEY:
        steps[-1]["audit_former_public_keys"] = public_key_of(old)
    return steps


def public_key_of(text: str) -> str:
    """Return the public key of a wrapped signing key."""
    ciphertext, context = from_base64(text.removeprefix("kms:")), KeyPurpose.AUDIT_SIGNING_KEY.kms_encryption_context
    answer = aws.client("kms").decrypt(CiphertextBlob=ciphertext, EncryptionContext=context)
    return to_base64(public_key(answer["Plaintext"]))


def pair_steps(steps: list[Settings]) -> Iterator[tuple[Settings, Settings]]:
    """Yield pairs of a writer's and a reader's settings: both directions at each deployment."""
    for settings_before, settings_after in pairwise(steps):
        yield settings_before, settings_after
        yield settings_after, settings_before


def test_cursors_and_tokens_stay_valid_during_a_rotation(api, ada, organization, site, restart, mailbox, workers):
    page = create_draft_page(api, site, "Looms", blocks=[])
    for number, (writer, reader) in enumerate(pair_steps(build_rotation_steps(KeyPurpose.TOKEN_KEY))):
        restart(writer)
        list_path, query = f"{organization.path}/audit-log", {"limit": 1}
        cursor = api.get(list_path, caller=ada, query=query).json["nextCursor"]
        inquiry = create_lead(api, f"lead{number}@example.org")
        preview_token = api.get(f"{page.path}/preview", caller=ada).json["token"]
        invitation = create_invitation(api, organization, f"guest{number}@example.org")
        restart(reader)
        assert api.get(list_path, caller=ada, query={**query, "cursor": cursor}).json["items"]
        assert get_public_lead(api, inquiry)["id"] == inquiry.id
        assert api.get(f"{page.path}/preview-public", query={"token": preview_token}).status == 200
        assert open_invitation(api, invitation).status == 200
        workers.run_until_idle()  # Another process than the invitation's creator renders the e-mail.
        assert invitation.token in mailbox.emails[-1].text
    assert len(mailbox.emails) == 6


def test_an_email_whose_link_cannot_be_signed_any_more_is_not_sent(api, organization, restart, mailbox, workers):
    settings_before, *_, settings_after = build_rotation_steps(KeyPurpose.TOKEN_KEY)
    restart(settings_before)
    create_invitation(api, organization, "guest@example.org")
    restart(settings_after)
    workers.run_until_idle()
    assert mailbox.emails == []


def test_encrypted_values_stay_readable_during_a_rotation(
    api, ada, organization, restart, receiver, workers, capsys, clock
):
    workers.deliver()  # Creates the log's head, by which the command finds it.
    webhooks_and_channels: list[tuple[Any, Any]] = []
    steps = build_rotation_steps(KeyPurpose.DATA_KEY)
    for number, (writer, reader) in enumerate(pair_steps(steps)):
        if number == 4:  # Before `finish`.
            restart(steps[2])
            reencrypt_secrets(None)
            assert "6 webhooks and channels were encrypted again" in capsys.readouterr().out
            reencrypt_secrets(None)
            assert "0 webhooks and channels were encrypted again" in capsys.readouterr().out
        restart(writer)
        options: dict[str, Any] = {"caller": ada, "headers": {"Idempotency-Key": f"key-{number}"}}
        path = f"{organization.path}/api-keys"
        answer = api.post(path, json={"name": "Export"}, **options)
        webhook = webhooks.create_webhook(api, organization, receiver)
        rotation = api.post(f"{webhook.path}/rotate-secret", caller=ada, json={"graceHours": 100})
        assert rotation.status == 200
        webhooks_and_channels.append((webhook, create_channel(api, organization, receiver, provider="webhook")))
        restart(reader)
        assert api.post(path, json={"name": "Export"}, **options).json == answer.json
        for webhook, channel in webhooks_and_channels:
            clock.shift(minutes=1)  # An organization tests 10 webhooks and channels a minute.
            assert api.post(f"{webhook.path}/test", caller=ada).json["delivered"]
            assert send_test_message(api, channel)["delivered"]
            assert len(receiver.requests[-2].headers["webhook-signature"].split()) == 2


def test_values_not_reencrypted_are_lost_with_their_key_and_reported(api, organization, restart, receiver, workers):
    old_settings, _, both_settings, new_settings = build_rotation_steps(KeyPurpose.DATA_KEY)
    restart(old_settings)
    ciphertext = encrypt_bytes(b"secret", "a place")
    webhook = webhooks.create_webhook(api, organization, receiver)
    workers.run_until_idle()
    restart(new_settings)
    with pytest.raises(DecryptionError, match="another key"):
        decrypt_bytes(ciphertext, "a place")
    with pytest.raises(ReencryptionFailed, match=f"{webhook.id}: the value was encrypted with another key"):
        reencrypt_secrets(None)
    restart(both_settings)
    assert decrypt_bytes(ciphertext, "a place") == b"secret"
    reencrypt_secrets(None)
    restart(new_settings)
    assert api.post(f"{webhook.path}/test", caller=organization.owner).json["delivered"]


def test_logs_and_erasures_verify_during_a_rotation(
    api, organization, restart, workers, clock, issuer, tmp_path, capsys
):
    checkpoints = [""]
    people = [issuer.create_person(f"guest{number}", "Gerty Cori") for number in range(6)]
    for number, (writer, reader) in enumerate(pair_steps(build_rotation_steps(KeyPurpose.AUDIT_SIGNING_KEY))):
        restart(writer)
        add_organization_member(organization, people[number], "member")
        workers.deliver()
        audit_logs.add_entries(api, workers, organization)
        if number % 2:
            complete_erasure(api, workers, clock, organization, userId=people[number].id)
        checkpoints.append(audit_logs.verify_integrity(api, organization)["checkpoint"])
        for process in (reader, writer):
            restart(process)
            for checkpoint in checkpoints:
                parameters = {"checkpoint": to_base64url(checkpoint.encode())} if checkpoint else {}
                assert audit_logs.verification_failure(api, organization, **parameters) == (None, None)
            export = api.get(f"{organization.path}/audit-log/export", caller=organization.owner)
            (tmp_path / "export").write_text(export.text, encoding="utf-8", newline="")
            (tmp_path / "checkpoint").write_text(checkpoints[-1])
            keys = [
                argument for key in api.get("/status").json["auditPublicKeys"] for argument in ("--public-key", key)
            ]
            assert main([str(tmp_path / "export"), "--checkpoint", str(tmp_path / "checkpoint"), *keys]) == 0
            assert "erased" in capsys.readouterr().out


def test_altered_entries_are_detected_during_a_rotation_of_the_seal_key(api, organization, restart, workers, capsys):
    steps = build_rotation_steps(KeyPurpose.SEAL_KEY)
    restart(steps[0])
    workers.deliver()
    for number, (writer, reader) in enumerate(pair_steps(steps)):
        if number == 4:  # Before `finish`.
            restart(steps[2])
            renew_entry_macs(None)
            assert "seals were replaced.\nAll seals use the current SEAL_KEY" in capsys.readouterr().out
        restart(writer)
        audit_logs.add_entries(api, workers, organization)
        for process in (reader, writer):
            restart(process)
            assert audit_logs.verification_failure(api, organization) == (None, None)
    first = audit_logs.entry_item(organization, 1)
    audit_logs.alter_item(first, tree_size=first["tree_size"] + 1)
    assert audit_logs.verification_failure(api, organization) == ("modified", 1)
