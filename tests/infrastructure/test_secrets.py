"""Secrets are made once, seen by nobody, and followed by others in three steps that can't be mixed up."""

import json
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.crypto.checkpoints import public_key
from chalicelib.kernel.crypto.keyrings import KeyPurpose
from infrastructure import account, secrets
from infrastructure.__main__ import main
from infrastructure.account import Refused
from infrastructure.names import Stage
from infrastructure.secrets import (
    ANEW,
    SECRETS,
    WAITS,
    awaits_resealing,
    create,
    note_resealed,
    public_keys,
    read,
    rotate,
)
from local.tools.reencrypt import NotResealed, reseal
from tests.conftest import SettingsOverride
from tests.harness.aws_calls import allow_scans, record_calls

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A stage that has its KMS key and nothing else."""
    account.client.cache_clear()
    made = Stage(f"dev{new_id('2026-11-22T00:00:00.000Z')[-6:]}", "123456789012", "us-east-1")
    kms = aws.client("kms")
    kms.create_alias(AliasName=made.key_alias, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    yield made
    account.client.cache_clear()


def unwrapped(text: str, purpose: str) -> bytes:
    """Return what a wrapped key is."""
    context = KeyPurpose(purpose).context
    answer = aws.client("kms").decrypt(CiphertextBlob=from_base64(text.removeprefix("kms:")), EncryptionContext=context)
    plain: bytes = answer["Plaintext"]
    return plain


def test_each_is_made_once_and_for_its_purpose(stage: Stage) -> None:
    with pytest.raises(Refused, match=f"Missing parameters: .*token-key. Run `make bootstrap STAGE={stage.name}`"):
        read(stage)
    assert create(stage) == list(SECRETS)
    made = read(stage)
    assert made.keys() == {*SECRETS.values(), "AUDIT_FORMER_PUBLIC_KEYS"}
    assert len({unwrapped(made[setting], secret) for secret, setting in SECRETS.items()}) == len(SECRETS) == 5
    assert create(stage) == []
    assert read(stage) == made


def test_what_was_interrupted_is_made_up_for_and_two_at_once_keep_the_first(stage: Stage) -> None:
    ssm = account.client("ssm")
    put = ssm.put_parameter

    def dying(**words: Any) -> None:
        put(**words)
        raise KeyboardInterrupt

    with patch.object(ssm, "put_parameter", dying), pytest.raises(KeyboardInterrupt):
        create(stage)
    assert create(stage) == [*SECRETS][1:]
    made = read(stage)
    with patch.object(ssm, "get_parameters", return_value={"Parameters": []}):
        assert create(stage) == []  # As it is for whoever looked before the other was done.
    assert read(stage) == made


def test_nobody_sees_a_key_when_it_is_made_and_begun_and_switched(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    kms = account.client("kms")
    kms.meta.events.register("before-call.kms", lambda model, **_: asked.append(model.name))
    create(stage)
    said = [rotate(stage, secret, step) for secret in SECRETS for step in ("begin", "switch")]
    assert set(asked) == {"GenerateDataKeyWithoutPlaintext"}
    assert "kms:" not in json.dumps([*said, *capsys.readouterr()])


@pytest.mark.parametrize("secret", SECRETS)
def test_three_steps_lead_to_another_key_and_each_may_be_repeated(stage: Stage, secret: str) -> None:
    create(stage)
    setting, others = SECRETS[secret], {*SECRETS.values()} - {SECRETS[secret]}
    before = read(stage)
    former = before[setting]

    def listed() -> list[str]:
        return read(stage)[setting].split(",")

    for step, message in (("switch", "no new key to switch to"), ("finish", "No rotation can be finished")):
        with pytest.raises(Refused, match=message):
            rotate(stage, secret, step)  # type: ignore[arg-type]
    assert rotate(stage, secret, "begin") == rotate(stage, secret, "begin")
    assert listed()[0] == former
    newer = listed()[1]
    with pytest.raises(Refused, match="No rotation can be finished"):
        rotate(stage, secret, "finish")
    assert rotate(stage, secret, "switch") == rotate(stage, secret, "switch")
    assert listed() == [newer, former]
    with pytest.raises(Refused, match=r"A rotation is in progress: .*next step is `finish`"):
        rotate(stage, secret, "begin")
    if secret in ANEW:
        with pytest.raises(Refused, match=f"local {ANEW[secret][0]} --stage {stage.name}"):
            rotate(stage, secret, "finish", at_once=True)
        assert awaits_resealing(stage, secret)
        note_resealed(stage, secret)
        note_resealed(stage, secret)
    assert not awaits_resealing(stage, secret) or secret not in ANEW
    if WAITS[secret][0]:
        with pytest.raises(Refused, match="now with --at-once"):
            rotate(stage, secret, "finish")
    assert "Finished" in rotate(stage, secret, "finish", at_once=True)
    assert "Already finished" in rotate(stage, secret, "finish")
    now = read(stage)
    assert now[setting] == newer
    assert {name: now[name] for name in others} == {name: before[name] for name in others}
    kept = to_base64(public_key(unwrapped(former, secret))) if secret == "audit-signing-key" else ""
    assert now["AUDIT_FORMER_PUBLIC_KEYS"] == kept
    with pytest.raises(Refused, match="No previous data key"):
        note_resealed(stage)
    with pytest.raises(Refused, match="No previous seal key"):
        note_resealed(stage, "seal-key")


def test_a_public_key_is_kept_before_its_key_is_dropped_and_those_before_it_stay(stage: Stage) -> None:
    create(stage)
    dropped: list[str] = []
    for _ in range(2):
        dropped.insert(0, to_base64(public_key(unwrapped(read(stage)["AUDIT_SIGNING_KEY"], "audit-signing-key"))))
        rotate(stage, "audit-signing-key", "begin")
        rotate(stage, "audit-signing-key", "switch")
        with patch.object(secrets, "_store_secret", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
            rotate(stage, "audit-signing-key", "finish")
        assert dropped[0] in read(stage)["AUDIT_FORMER_PUBLIC_KEYS"]
        rotate(stage, "audit-signing-key", "finish")
    assert read(stage)["AUDIT_FORMER_PUBLIC_KEYS"] == ",".join(dropped)


def test_public_keys_are_those_of_the_keys_that_sign_in_their_order(stage: Stage) -> None:
    create(stage)
    for step in ("begin", "switch", "finish"):
        rotate(stage, "audit-signing-key", step)
        keys = read(stage)["AUDIT_SIGNING_KEY"].split(",")
        halves = [to_base64(public_key(unwrapped(key, "audit-signing-key"))) for key in keys]
        assert public_keys(",".join(keys)) == ",".join(halves)
    assert read(stage)["AUDIT_FORMER_PUBLIC_KEYS"] not in halves


@pytest.mark.parametrize("secret", SECRETS)
def test_a_key_that_was_dropped_counts_again_and_goes_as_before(stage: Stage, secret: str) -> None:
    create(stage)
    first = read(stage)[SECRETS[secret]]
    with pytest.raises(Refused, match="No key was dropped"):
        rotate(stage, secret, "return")
    rotate(stage, secret, "begin")
    with pytest.raises(Refused, match="A rotation is in progress"):
        rotate(stage, secret, "return")
    for _ in range(2):
        rotate(stage, secret, "switch")
        if secret in ANEW:
            note_resealed(stage, secret)
        rotate(stage, secret, "finish", at_once=True)
        second = read(stage)[SECRETS[secret]]
        assert rotate(stage, secret, "return") == rotate(stage, secret, "return")
        assert read(stage)[SECRETS[secret]] == f"{second},{first}"
    former = read(stage)["AUDIT_FORMER_PUBLIC_KEYS"]
    assert len(former.split(",")) == 1


def test_whoever_rotates_at_the_same_time_is_told(stage: Stage) -> None:
    create(stage)
    real = secrets._load_secret  # noqa: SLF001

    def overtaken(*given: Any) -> Any:
        found = real(*given)
        with patch.object(secrets, "_load_secret", real):
            rotate(stage, "token-key", "begin")
        return found

    with patch.object(secrets, "_load_secret", overtaken), pytest.raises(Refused, match="at the same time"):
        rotate(stage, "token-key", "begin")
    assert len(read(stage)["TOKEN_KEY"].split(",")) == 2


def test_what_another_hand_has_changed_is_left_alone(stage: Stage) -> None:
    create(stage)
    name = stage.parameter("data-key")
    account.client("ssm").put_parameter(Name=name, Value="kms:AAAA,kms:BBBB", Type="String", Overwrite=True)
    with record_calls() as calls, pytest.raises(Refused, match=f"{name} was not changed by this command"):
        rotate(stage, "data-key", "begin")
    assert calls.call_names == []


def test_the_commands_lead_to_another_data_key(
    stage: Stage, configure: SettingsOverride, capsys: pytest.CaptureFixture[str]
) -> None:
    create(stage)

    def rotated(step: str) -> int:
        return main(["rotate", "--stage", "dev", "data-key", step, "--at-once"])

    with (
        patch("infrastructure.account.stage_here", return_value=stage),
        patch("local.tools.reencrypt.deployed") as deployed,
    ):
        deployed.return_value = stage
        assert (rotated("begin"), rotated("switch"), rotated("finish")) == (0, 0, 1)
        with pytest.raises(NotResealed, match=r"config\.json has other keys. Run `make bootstrap STAGE=dev`"):
            reseal("dev")
        configure(data_key=read(stage)["DATA_KEY"])
        with allow_scans():
            reseal("dev")
        assert rotated("finish") == 0
    said = capsys.readouterr()
    assert "0 webhooks and channels were encrypted again. All values use" in said.out
    assert "would be lost" in said.err
    assert "kms:" not in said.out + said.err
