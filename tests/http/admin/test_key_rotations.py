"""Test rotations of each secret during operation, with processes from before and after a deployment side by side."""

from itertools import pairwise
from typing import Any

import pytest

from chalicelib.features.audit.exports.logic.verify_command import main
from chalicelib.kernel.core.encoding import to_base64url
from chalicelib.kernel.crypto.keyrings import KeyPurpose
from chalicelib.kernel.crypto.symmetric import DecryptionError, decrypt_bytes, encrypt_bytes
from local.tools.reencrypt import ReencryptionFailed, reencrypt_secrets
from local.tools.renew_seals import renew_entry_macs
from tests.harness import webhooks
from tests.harness.channels import create_channel, send_test_message
from tests.harness.data_keys import create_wrapped_key, public_keys_of, reset_key_cache
from tests.harness.erasures import complete_erasure
from tests.harness.invitations import create_invitation, open_invitation
from tests.harness.leads import create_lead, get_public_lead
from tests.harness.organizations import add_organization_member
from tests.harness.sites import create_draft_page
from tests.harness.stored_logs import StoredLog

INTACT = (None, None)
Settings = dict[str, str]

pytestmark = pytest.mark.usefixtures("private_targets_allowed", "scans_allowed")


@pytest.fixture
def restart(configure):
    """A function that restarts this process with new settings."""

    def restart_with(overrides: Settings) -> None:
        configure(**({"audit_former_public_keys": ""} | overrides))
        reset_key_cache()

    return restart_with


@pytest.fixture
def log(api, organization, workers):
    return StoredLog(api, workers, organization)


def build_rotation_steps(purpose):
    """Return the settings of a stage before a rotation and after its steps `begin`, `switch` and `finish`."""
    old, new = create_wrapped_key(purpose), create_wrapped_key(purpose)
    steps = [{purpose.setting_name: keys} for keys in (old, f"{old},{new}", f"{new},{old}", new)]
    if purpose is KeyPurpose.AUDIT_SIGNING_KEY:
        steps[-1]["audit_former_public_keys"] = public_keys_of(old)
    return steps


def pair_steps(steps):
    """Return pairs of a writer's and a reader's settings: both directions at each deployment."""
    return [pair for before, after in pairwise(steps) for pair in ((before, after), (after, before))]


def test_cursors_and_tokens_stay_valid_during_a_rotation(api, organization, site, restart, mailbox, workers):
    page, ada = create_draft_page(api, site, "Looms", blocks=[]), organization.owner
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


def test_encrypted_values_stay_readable_during_a_rotation(api, organization, restart, receiver, workers, capsys, clock):
    workers.deliver()  # Creates the log's head, by which the command finds it.
    webhooks_and_channels: list[tuple[Any, Any]] = []
    steps, ada = build_rotation_steps(KeyPurpose.DATA_KEY), organization.owner
    for number, (writer, reader) in enumerate(pair_steps(steps)):
        if number == 4:  # Before `finish`.
            restart(steps[2])
            for count in (6, 0):
                reencrypt_secrets(None)
                assert f"Webhooks, log streams and channels encrypted again: {count}" in capsys.readouterr().out
        restart(writer)
        options = {"caller": ada, "json": {"name": "Export"}, "headers": {"Idempotency-Key": f"key-{number}"}}
        answer = api.post(organization.api_keys_path, **options)
        webhook = webhooks.create_webhook(api, organization, receiver)
        assert api.post(f"{webhook.path}/rotate-secret", caller=ada, json={"graceHours": 100}).status == 200
        webhooks_and_channels.append((webhook, create_channel(api, organization, receiver, provider="webhook")))
        restart(reader)
        assert api.post(organization.api_keys_path, **options).json == answer.json
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


def test_logs_and_erasures_verify_during_a_rotation(api, log, restart, workers, clock, issuer, tmp_path, capsys):
    checkpoints: list[str] = []
    export_path, checkpoint_path = tmp_path / "export", tmp_path / "checkpoint"
    for number, (writer, reader) in enumerate(pair_steps(build_rotation_steps(KeyPurpose.AUDIT_SIGNING_KEY))):
        restart(writer)
        guest = issuer.create_person(f"guest{number}", "Gerty Cori")
        add_organization_member(log.organization, guest, "member")
        workers.deliver()
        log.append()
        if number % 2:
            complete_erasure(api, workers, clock, log.organization, userId=guest.id)
        checkpoints.append(log.verify()["checkpoint"])
        checkpoint_path.write_text(checkpoints[-1])
        for process in (reader, writer):
            restart(process)
            assert log.failure() == INTACT
            for checkpoint in (checkpoints[0], checkpoints[-1]):
                assert log.failure(checkpoint=to_base64url(checkpoint.encode())) == INTACT
            export_path.write_text(log.get("/export").text, encoding="utf-8", newline="")
            keys = [word for key in api.get("/status").json["auditPublicKeys"] for word in ("--public-key", key)]
            assert main([str(export_path), "--checkpoint", str(checkpoint_path), *keys]) == 0
            assert "erased" in capsys.readouterr().out


def test_altered_entries_are_detected_during_a_rotation_of_the_seal_key(log, restart, workers, capsys):
    steps = build_rotation_steps(KeyPurpose.SEAL_KEY)
    restart(steps[0])
    workers.deliver()
    for number, (writer, reader) in enumerate(pair_steps(steps)):
        if number == 4:  # Before `finish`.
            restart(steps[2])
            renew_entry_macs(None)
            assert " seals.\nAll seals use the current SEAL_KEY" in capsys.readouterr().out
        restart(writer)
        log.append()
        for process in (reader, writer):
            restart(process)
            assert log.failure() == INTACT
    log.alter(1, tree_size=log.entry(1)["tree_size"] + 1)
    assert log.failure() == ("modified", 1)
