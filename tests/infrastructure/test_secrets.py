"""Secrets are created once and never shown. A rotation has three steps, which run only in their order."""

import json
import re
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.crypto.checkpoints import public_key
from chalicelib.kernel.crypto.keyrings import KeyPurpose
from chalicelib.kernel.http.client_address import edge_secret_digest
from infrastructure import account, secrets
from infrastructure.__main__ import main
from infrastructure.account import CommandError
from infrastructure.names import Stage
from infrastructure.secrets import (
    FINISH_DELAYS,
    REPLACEMENT_COMMANDS,
    SECRETS,
    STORED_SECRETS,
    awaits_data_replacement,
    create_missing_secrets,
    edge_secret_digests_setting,
    public_keys_setting,
    read_edge_secrets,
    read_settings,
    record_data_replaced,
    rotate,
)
from local.tools.reencrypt import ReencryptionFailed, reencrypt_secrets
from tests.harness.aws_calls import allow_scans, record_calls

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture
def stage():
    """A stage that has a KMS key and no secrets."""
    account.client.cache_clear()
    stage = Stage(f"dev{new_id('2026-11-22T00:00:00.000Z')[-6:]}", "123456789012", "us-east-1")
    kms = aws.client("kms")
    kms.create_alias(AliasName=stage.key_alias, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    yield stage
    account.client.cache_clear()


def decrypt(wrapped_key, purpose):
    ciphertext, context = from_base64(wrapped_key.removeprefix("kms:")), KeyPurpose(purpose).kms_encryption_context
    return aws.client("kms").decrypt(CiphertextBlob=ciphertext, EncryptionContext=context)["Plaintext"]


def test_each_secret_is_created_once_for_its_purpose(stage):
    with pytest.raises(CommandError, match=f"Missing parameters: .*token-key. Run `make bootstrap STAGE={stage.name}`"):
        read_settings(stage)
    assert create_missing_secrets(stage) == list(STORED_SECRETS)
    settings = read_settings(stage)
    assert settings.keys() == {*SECRETS.values(), "AUDIT_FORMER_PUBLIC_KEYS"}
    assert len({decrypt(settings[setting], secret) for secret, setting in SECRETS.items()}) == len(SECRETS) == 5
    assert create_missing_secrets(stage) == []
    assert read_settings(stage) == settings


def test_the_secret_of_the_edge_is_rotated_and_the_functions_get_only_its_digests(stage):
    with pytest.raises(CommandError, match="There is no parameter"):
        read_edge_secrets(stage)
    create_missing_secrets(stage)
    (first,) = read_edge_secrets(stage)
    assert re.fullmatch("[0-9a-f]{64}", first)
    rotate(stage, "edge-secret", "begin")
    _, second = read_edge_secrets(stage)
    assert f"`make edge STAGE={stage.name}`" in rotate(stage, "edge-secret", "switch")
    assert read_edge_secrets(stage) == [second, first]
    assert edge_secret_digests_setting([second, first]) == ",".join(map(edge_secret_digest, (second, first)))
    rotate(stage, "edge-secret", "finish")
    assert read_edge_secrets(stage) == [second]
    assert read_settings(stage).keys() == {*SECRETS.values(), "AUDIT_FORMER_PUBLIC_KEYS"}


def test_an_interrupted_creation_is_completed_and_of_two_concurrent_ones_the_first_wins(stage):
    ssm = account.client("ssm")
    put_parameter = ssm.put_parameter

    def put_and_die(**options: Any) -> None:
        put_parameter(**options)
        raise KeyboardInterrupt

    with patch.object(ssm, "put_parameter", put_and_die), pytest.raises(KeyboardInterrupt):
        create_missing_secrets(stage)
    assert create_missing_secrets(stage) == [*STORED_SECRETS][1:]
    settings = read_settings(stage)
    with patch.object(ssm, "get_parameters", return_value={"Parameters": []}):
        assert create_missing_secrets(stage) == []  # As if the other process had created them after this one looked.
    assert read_settings(stage) == settings


def test_creation_and_rotation_never_see_a_key_in_plaintext(stage, capsys):
    kms_calls: list[str] = []
    kms = account.client("kms")
    kms.meta.events.register("before-call.kms", lambda model, **_: kms_calls.append(model.name))
    create_missing_secrets(stage)
    messages = [rotate(stage, secret, step) for secret in STORED_SECRETS for step in ("begin", "switch")]
    assert set(kms_calls) == {"GenerateDataKeyWithoutPlaintext"}
    assert "kms:" not in json.dumps([*messages, *capsys.readouterr()])


@pytest.mark.parametrize("secret", SECRETS)
def test_a_rotation_has_three_steps_each_of_which_may_be_repeated(stage, secret):
    create_missing_secrets(stage)
    setting, others = SECRETS[secret], {*SECRETS.values()} - {SECRETS[secret]}
    before = read_settings(stage)
    former = before[setting]

    def list_keys() -> list[str]:
        return read_settings(stage)[setting].split(",")

    for step, message in (("switch", "no new key to switch to"), ("finish", "No rotation can be finished")):
        with pytest.raises(CommandError, match=message):
            rotate(stage, secret, step)  # type: ignore[arg-type]
    assert rotate(stage, secret, "begin") == rotate(stage, secret, "begin")
    assert list_keys()[0] == former
    new = list_keys()[1]
    with pytest.raises(CommandError, match="No rotation can be finished"):
        rotate(stage, secret, "finish")
    assert rotate(stage, secret, "switch") == rotate(stage, secret, "switch")
    assert list_keys() == [new, former]
    with pytest.raises(CommandError, match=r"A rotation is in progress: .*next step is `finish`"):
        rotate(stage, secret, "begin")
    if secret in REPLACEMENT_COMMANDS:
        with pytest.raises(CommandError, match=f"local {REPLACEMENT_COMMANDS[secret][0]} --stage {stage.name}"):
            rotate(stage, secret, "finish", at_once=True)
        assert awaits_data_replacement(stage, secret)
        record_data_replaced(stage, secret)
        record_data_replaced(stage, secret)
    assert not awaits_data_replacement(stage, secret) or secret not in REPLACEMENT_COMMANDS
    if FINISH_DELAYS[secret][0]:
        with pytest.raises(CommandError, match="now with --at-once"):
            rotate(stage, secret, "finish")
    assert "Finished" in rotate(stage, secret, "finish", at_once=True)
    assert "Already finished" in rotate(stage, secret, "finish")
    after = read_settings(stage)
    assert after[setting] == new
    assert {name: after[name] for name in others} == {name: before[name] for name in others}
    former_public_key = to_base64(public_key(decrypt(former, secret))) if secret == "audit-signing-key" else ""
    assert after["AUDIT_FORMER_PUBLIC_KEYS"] == former_public_key
    for replaced in ("data-key", "seal-key"):
        with pytest.raises(CommandError, match=f"No previous {replaced.replace('-', ' ')}"):
            record_data_replaced(stage, replaced)


def test_a_public_key_is_stored_before_its_private_key_is_dropped_and_older_ones_remain(stage):
    create_missing_secrets(stage)
    former_public_keys: list[str] = []
    for _ in range(2):
        former_key = decrypt(read_settings(stage)["AUDIT_SIGNING_KEY"], "audit-signing-key")
        former_public_keys.insert(0, to_base64(public_key(former_key)))
        rotate(stage, "audit-signing-key", "begin")
        rotate(stage, "audit-signing-key", "switch")
        with patch.object(secrets, "_store_secret", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
            rotate(stage, "audit-signing-key", "finish")
        assert former_public_keys[0] in read_settings(stage)["AUDIT_FORMER_PUBLIC_KEYS"]
        rotate(stage, "audit-signing-key", "finish")
    assert read_settings(stage)["AUDIT_FORMER_PUBLIC_KEYS"] == ",".join(former_public_keys)


def test_public_keys_are_in_the_order_of_the_signing_keys(stage):
    create_missing_secrets(stage)
    for step in ("begin", "switch", "finish"):
        rotate(stage, "audit-signing-key", step)
        keys = read_settings(stage)["AUDIT_SIGNING_KEY"].split(",")
        expected = [to_base64(public_key(decrypt(key, "audit-signing-key"))) for key in keys]
        assert public_keys_setting(",".join(keys)) == ",".join(expected)
    assert read_settings(stage)["AUDIT_FORMER_PUBLIC_KEYS"] not in expected


@pytest.mark.parametrize("secret", SECRETS)
def test_a_dropped_key_can_be_restored_and_dropped_again(stage, secret):
    create_missing_secrets(stage)
    first = read_settings(stage)[SECRETS[secret]]
    with pytest.raises(CommandError, match="No key was dropped"):
        rotate(stage, secret, "return")
    rotate(stage, secret, "begin")
    with pytest.raises(CommandError, match="A rotation is in progress"):
        rotate(stage, secret, "return")
    for _ in range(2):
        rotate(stage, secret, "switch")
        if secret in REPLACEMENT_COMMANDS:
            record_data_replaced(stage, secret)
        rotate(stage, secret, "finish", at_once=True)
        second = read_settings(stage)[SECRETS[secret]]
        assert rotate(stage, secret, "return") == rotate(stage, secret, "return")
        assert read_settings(stage)[SECRETS[secret]] == f"{second},{first}"
    former = read_settings(stage)["AUDIT_FORMER_PUBLIC_KEYS"]
    assert len(former.split(",")) == 1


def test_a_concurrent_rotation_is_reported(stage):
    create_missing_secrets(stage)
    load_secret = secrets._load_secret  # noqa: SLF001

    def load_secret_before_another_rotation(*arguments: Any) -> Any:
        secret = load_secret(*arguments)
        with patch.object(secrets, "_load_secret", load_secret):
            rotate(stage, "token-key", "begin")
        return secret

    with (
        patch.object(secrets, "_load_secret", load_secret_before_another_rotation),
        pytest.raises(CommandError, match="at the same time"),
    ):
        rotate(stage, "token-key", "begin")
    assert len(read_settings(stage)["TOKEN_KEY"].split(",")) == 2


def test_a_parameter_that_was_edited_by_hand_is_left_unchanged(stage):
    create_missing_secrets(stage)
    name = stage.parameter_name("data-key")
    account.client("ssm").put_parameter(Name=name, Value="kms:AAAA,kms:BBBB", Type="String", Overwrite=True)
    with record_calls() as calls, pytest.raises(CommandError, match=f"{name} was not changed by this command"):
        rotate(stage, "data-key", "begin")
    assert calls.call_names == []


def test_the_commands_rotate_the_data_key(stage, configure, capsys):
    create_missing_secrets(stage)

    def run_step(step: str) -> int:
        return main(["rotate", "--stage", "dev", "data-key", step, "--at-once"])

    with (
        patch("infrastructure.account.current_stage", return_value=stage),
        patch("local.tools.reencrypt.load_stage") as deployed,
    ):
        deployed.return_value = stage
        assert (run_step("begin"), run_step("switch"), run_step("finish")) == (0, 0, 1)
        with pytest.raises(ReencryptionFailed, match=r"config\.json has other keys. Run `make bootstrap STAGE=dev`"):
            reencrypt_secrets("dev")
        configure(data_key=read_settings(stage)["DATA_KEY"])
        with allow_scans():
            reencrypt_secrets("dev")
        assert run_step("finish") == 0
    output = capsys.readouterr()
    assert "Webhooks, log streams and channels encrypted again: 0. All values use" in output.out
    assert "would be lost" in output.err
    assert "kms:" not in output.out + output.err
