"""The secrets of a stage: AWS KMS generates them encrypted, parameters store them, three steps rotate them.

Each is a key from GenerateDataKeyWithoutPlaintext. Its parameter has the form of the setting: `kms:<ciphertext>`,
several separated by commas. A parameter is useless without access to KMS.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.core.settings import WRAPPED_KEY_PREFIX
from chalicelib.kernel.crypto.checkpoints import public_key
from chalicelib.kernel.crypto.keyrings import KEY_CONTEXT, KeyPurpose
from chalicelib.kernel.http.client_address import edge_secret_digest
from infrastructure.account import CommandError, client
from infrastructure.names import Stage

SECRETS: Final[Mapping[str, str]] = {purpose.value: purpose.setting_name.upper() for purpose in KeyPurpose}
"""The setting of each secret: `DATA_KEY` for `data-key`."""

EDGE_SECRET: Final = "edge-secret"  # noqa: S105 - the name of a secret is not a secret
"""The secret with which an edge proves to the API that it may state visitors' addresses. Functions know its digest."""

STORED_SECRETS: Final = (*SECRETS, EDGE_SECRET)
"""The secrets that `bootstrap` creates and that can be rotated."""

FORMER_PUBLIC_KEYS: Final = "audit-former-public-keys"
"""The parameter with the public keys of retired signing keys. It is created with the first of them."""

FINISH_DELAYS: Final[Mapping[str, tuple[timedelta, str]]] = {
    "audit-signing-key": (timedelta(0), ""),
    "seal-key": (timedelta(0), ""),
    "entry-key": (timedelta(days=1), "pending entries of a log that is not processed"),
    "data-key": (timedelta(days=2), "stored responses of an Idempotency-Key, which expire after a day"),
    EDGE_SECRET: (timedelta(0), ""),
    "token-key": (timedelta(days=91), "tokens of leads, which are valid for 90 days; all other tokens expire earlier"),
}
"""How long `finish` waits after `switch`, and for which data of the previous key. Includes a day to deploy."""

REPLACEMENT_COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "data-key": (
        "reseal",
        "Secrets of webhooks and channels may still be encrypted with the previous key, and would be lost",
    ),
    "seal-key": ("renew-seals", "Entries may still have MACs of the previous key, and would be reported as altered"),
}
"""The command that replaces permanent data of the previous key, which `finish` requires, and the reason."""


_LOCAL: Final = ".venv/bin/python -m local"


def format_days(wait: timedelta) -> str:
    """Return a wait in words, in whole days: `1 day`, `91 days`."""
    return f"{wait.days} day{'' if wait.days == 1 else 's'}"


Step = Literal["begin", "switch", "finish", "return"]

_CREATED: Final = "created"
_STARTED: Final = "begun"
_SWITCHED: Final = "switched"
_FINISHED: Final = "finished"
_DATA_REPLACED: Final = "sealed anew"


def create_missing_secrets(stage: Stage) -> list[str]:
    """Create the missing secrets of a stage, and return their names. Existing secrets stay unchanged.

    The stage's KMS key must exist. The function can be repeated, interrupted and run concurrently: the first stored
    value of a secret wins.
    """
    return [secret for secret in STORED_SECRETS if _create_if_missing(stage, secret)]


def read_settings(stage: Stage) -> dict[str, str]:
    """Return the encrypted secrets of a stage by environment variable. Raises CommandError if any are missing."""
    names = {stage.parameter_name(secret): setting for secret, setting in SECRETS.items()}
    former = stage.parameter_name(FORMER_PUBLIC_KEYS)
    answer = client("ssm").get_parameters(Names=[*names, former])
    values = {found["Name"]: str(found["Value"]) for found in answer["Parameters"]}
    if missing := sorted(names.keys() - values):
        raise CommandError(f"Missing parameters: {', '.join(missing)}. Run `make bootstrap STAGE={stage.name}`.")
    return {
        **{setting: values[name] for name, setting in names.items()},
        "AUDIT_FORMER_PUBLIC_KEYS": values.get(former, ""),
    }


def read_edge_secrets(stage: Stage) -> list[str]:
    """Return the listed secrets of the edge in plaintext, the current one first. Raises CommandError if it is missing.

    Each is a text of 64 hexadecimal digits, as the edge sends it.
    """
    return [_decrypt(EDGE_SECRET, key).hex() for key in _load_secret(stage, EDGE_SECRET).keys]


def edge_secret_digests_setting(edge_secrets: Iterable[str]) -> str:
    """Return the value of EDGE_SECRET_DIGESTS for the secrets of the edge."""
    return ",".join(map(edge_secret_digest, edge_secrets))


def public_keys_setting(signing_keys: str) -> str:
    """Return the value of AUDIT_PUBLIC_KEYS for encrypted signing keys, each of which is decrypted."""
    return ",".join(to_base64(_public_key_of(key)) for key in signing_keys.split(","))


def rotate(stage: Stage, secret: str, step: Step, *, at_once: bool = False) -> str:
    """Perform a step of a secret's rotation, and return a message with the next step. Steps can be repeated.

    `begin` adds a new key after the current one, `switch` moves it to the front, and `finish` drops the previous one.
    `return` adds the key that was dropped last again, as before `finish`. The stage must be deployed after each step.
    `at_once`: do not wait until data of the previous key expires. Raises CommandError if the step is not the next one,
    or if another rotation runs concurrently.
    """
    stored = _load_secret(stage, secret)
    if step == "finish":
        return _finish(stage, stored, at_once=at_once)
    return {"begin": _begin, "switch": _switch, "return": _return}[step](stage, stored)


def record_data_replaced(stage: Stage, secret: str = KeyPurpose.DATA_KEY.value) -> None:
    """Record that the table contains no more data of the previous key, so that `finish` can drop it.

    Raises CommandError if no rotation of that secret waits for this.
    """
    stored = _load_secret(stage, secret)
    if stored.state == _SWITCHED:
        _store_secret(stage, stored, stored.keys, _DATA_REPLACED)
    elif stored.state != _DATA_REPLACED:
        raise CommandError(
            f"No previous {secret.replace('-', ' ')} of {stage.name} can be dropped: {stored.state_description}"
        )


def awaits_data_replacement(stage: Stage, secret: str) -> bool:
    """Return whether `finish` of a secret requires its data to be replaced first. Raises CommandError."""
    return _load_secret(stage, secret).state == _SWITCHED


@dataclass(frozen=True)
class _StoredSecret:
    """A stored secret: its keys, the state of its rotation and since when, and the key that was dropped last."""

    secret: str
    keys: list[str]
    dropped: str | None
    state: str
    since: datetime
    version: int

    @property
    def state_description(self) -> str:
        """The state of the rotation, as a sentence."""
        since = f"since {self.since:%Y-%m-%d %H:%M} UTC"
        return {
            _CREATED: f"{self.secret} has had one key {since}, and was never rotated.",
            _STARTED: f"a new key of {self.secret} has been listed, but not used, {since}. The next step is `switch`.",
            _SWITCHED: f"the new key of {self.secret} has been used {since}. The next step is `finish`.",
            _DATA_REPLACED: f"all data has used the new key of {self.secret} {since}. The next step is `finish`.",
            _FINISHED: f"{self.secret} has had one key {since}. No rotation is in progress.",
        }[self.state]


def _begin(stage: Stage, stored: _StoredSecret) -> str:
    if stored.state in (_SWITCHED, _DATA_REPLACED):
        raise CommandError(f"A rotation is in progress: {stored.state_description}")
    if stored.state != _STARTED:
        _store_secret(stage, stored, [*stored.keys, _new_key(stage, stored.secret)], _STARTED)
    return f"Added a new key of {stored.secret}. {_deploy_advice(stage)}, then `switch`."


def _switch(stage: Stage, stored: _StoredSecret) -> str:
    if stored.state in (_CREATED, _FINISHED):
        raise CommandError(f"There is no new key to switch to: {stored.state_description} Start with `begin`.")
    if stored.state == _STARTED:
        _store_secret(stage, stored, stored.keys[::-1], _SWITCHED)
    wait, what = FINISH_DELAYS[stored.secret]
    until = f" It waits {format_days(wait)} for {what}." if what else ""
    command, _ = REPLACEMENT_COMMANDS.get(stored.secret, ("", ""))
    again = f" Then run `{_LOCAL} {command} --stage {stage.name}`." if command else ""
    if stored.secret == EDGE_SECRET:
        again = f" Then run `make edge STAGE={stage.name}`, or give your edge what `make edge-secret` prints."
    return (
        f"Switched to the new key of {stored.secret}. {_deploy_advice(stage)}.{again} The last step is `finish`.{until}"
    )


def _finish(stage: Stage, stored: _StoredSecret, *, at_once: bool) -> str:
    if stored.state == _FINISHED:
        return f"Already finished: {stored.state_description} {_deploy_advice(stage)}, unless it is done."
    if stored.state in (_CREATED, _STARTED):
        raise CommandError(f"No rotation can be finished: {stored.state_description}")
    command, why = REPLACEMENT_COMMANDS.get(stored.secret, ("", ""))
    if command and stored.state != _DATA_REPLACED:
        raise CommandError(f"{why}: {stored.state_description} First run `{_LOCAL} {command} --stage {stage.name}`.")
    wait, what = FINISH_DELAYS[stored.secret]
    over = stored.since + wait
    if datetime.now(UTC) < over and not at_once:
        raise CommandError(
            f"Data of the previous key is still valid: {what}. Finish after {over:%Y-%m-%d %H:%M} UTC. If the key"
            " leaked, finish now with --at-once, which invalidates this data."
        )
    if stored.secret == KeyPurpose.AUDIT_SIGNING_KEY:
        _add_retired_public_key(stage, stored.keys[1])
    _store_secret(stage, stored, stored.keys[:1], _FINISHED)
    return f"Finished: the previous key of {stored.secret} is dropped. {_deploy_advice(stage)}."


def _return(stage: Stage, stored: _StoredSecret) -> str:
    if stored.state == _STARTED:
        raise CommandError(f"A rotation is in progress: {stored.state_description} Continue to `finish` first.")
    if stored.state in (_CREATED, _FINISHED):
        if stored.dropped is None:
            raise CommandError(f"No key was dropped, so none can return: {stored.state_description}")
        _store_secret(stage, stored, [*stored.keys, stored.dropped], _SWITCHED)
    return f"Returned: the previous key of {stored.secret} is listed again. {_deploy_advice(stage)}. `finish` drops it."


def _deploy_advice(stage: Stage) -> str:
    return f"Now run `make bootstrap STAGE={stage.name}` and `make deploy STAGE={stage.name}`"


def _load_secret(stage: Stage, secret: str) -> _StoredSecret:
    """Return a stored secret. The description of its parameter contains the state of the rotation."""
    ssm, name = client("ssm"), stage.parameter_name(secret)
    try:
        pages = ssm.get_paginator("get_parameter_history").paginate(Name=name)
        versions = sorted((each for page in pages for each in page["Parameters"]), key=lambda each: each["Version"])
    except ssm.exceptions.ParameterNotFound:
        raise CommandError(f"There is no parameter {name}. Run `make bootstrap STAGE={stage.name}`.") from None
    last = versions[-1]
    keys, state = last["Value"].split(","), last.get("Description")
    if len(keys) != {_CREATED: 1, _STARTED: 2, _SWITCHED: 2, _DATA_REPLACED: 2, _FINISHED: 1}.get(state):
        raise CommandError(
            f"{name} was not changed by this command. Restore its last version with a description of the state."
        )
    former = [each["Value"].split(",")[-1] for each in versions if each.get("Description") == _SWITCHED]
    since = last["LastModifiedDate"].astimezone(UTC)
    return _StoredSecret(secret, keys, former[-1] if former else None, state, since, last["Version"])


def _store_secret(stage: Stage, stored: _StoredSecret, keys: list[str], state: str) -> None:
    answer = client("ssm").put_parameter(
        Name=stage.parameter_name(stored.secret), Value=",".join(keys), Type="String", Description=state, Overwrite=True
    )
    if answer["Version"] != stored.version + 1:
        raise CommandError(
            f"Another rotation of {stored.secret} ran at the same time. Run the command again to see the state."
        )


def _add_retired_public_key(stage: Stage, former: str) -> None:
    """List the public key of a dropped signing key, because its signatures stay valid."""
    key, name = to_base64(_public_key_of(former)), stage.parameter_name(FORMER_PUBLIC_KEYS)
    found = client("ssm").get_parameters(Names=[name])["Parameters"]
    listed = found[0]["Value"].split(",") if found else []
    if key not in listed:
        value = ",".join([key, *listed])
        client("ssm").put_parameter(Name=name, Value=value, Type="String", Description="public", Overwrite=bool(found))


def _public_key_of(signing: str) -> bytes:
    return public_key(_decrypt(KeyPurpose.AUDIT_SIGNING_KEY.value, signing))


def _decrypt(secret: str, wrapped_key: str) -> bytes:
    ciphertext = from_base64(wrapped_key.removeprefix(WRAPPED_KEY_PREFIX))
    answer = client("kms").decrypt(CiphertextBlob=ciphertext, EncryptionContext=_encryption_context(secret))
    plaintext: bytes = answer["Plaintext"]
    return plaintext


def _encryption_context(secret: str) -> dict[str, str]:
    return {**KEY_CONTEXT, "purpose": secret}


def _create_if_missing(stage: Stage, secret: str) -> bool:
    ssm = client("ssm")
    name = stage.parameter_name(secret)
    if ssm.get_parameters(Names=[name])["Parameters"]:
        return False  # Checked first, so that a repeated `bootstrap` generates no unused keys.
    try:
        ssm.put_parameter(Name=name, Type="String", Value=_new_key(stage, secret), Description=_CREATED)
    except ssm.exceptions.ParameterAlreadyExists:
        return False
    return True


def _new_key(stage: Stage, secret: str) -> str:
    answer = client("kms").generate_data_key_without_plaintext(
        KeyId=stage.key_alias, KeySpec="AES_256", EncryptionContext=_encryption_context(secret)
    )
    return WRAPPED_KEY_PREFIX + to_base64(answer["CiphertextBlob"])
