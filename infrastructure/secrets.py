"""The secrets of a stage: made once without being seen by anybody, kept as parameters, rotated in three steps.

Each is a key that AWS KMS made and wrapped at once (GenerateDataKeyWithoutPlaintext). A parameter holds it as the
setting takes it: `kms:<ciphertext>`, several separated by commas. Who has the parameter has nothing without KMS.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.core.settings import WRAPPED_KEY_PREFIX
from chalicelib.kernel.crypto.checkpoints import public_key
from chalicelib.kernel.crypto.keyrings import KeyPurpose
from infrastructure.account import Refused, client
from infrastructure.names import Stage

SECRETS: Final[Mapping[str, str]] = {purpose.value: purpose.setting.upper() for purpose in KeyPurpose}
"""Each secret, and the setting that takes it: `data-key`, `DATA_KEY`."""

FORMER_PUBLIC_KEYS: Final = "audit-former-public-keys"
"""The parameter with the public halves of signing keys that were dropped; there is none before the first was."""

WAITS: Final[Mapping[str, tuple[timedelta, str]]] = {
    "audit-signing-key": (timedelta(0), ""),
    "seal-key": (timedelta(0), ""),
    "entry-key": (timedelta(days=1), "entries that wait for their place in a log that stands still"),
    "data-key": (timedelta(days=2), "stored answers of an Idempotency-Key, which are kept for a day"),
    "token-key": (timedelta(days=91), "tokens of leads, which hold for 90 days; all others end before"),
}
"""How long `finish` waits after `switch`, and for what that the former key has made. A day is for the deployment."""

ANEW: Final[Mapping[str, tuple[str, str]]] = {
    "data-key": ("reseal", "Webhooks and channels may still be sealed by the former key, and would be lost with it"),
    "seal-key": ("renew-seals", "Entries may still be sealed by the former key, and would look altered without it"),
}
"""What the former key has made and lasts: the command that makes it anew, without which `finish` refuses, and why."""


def days(wait: timedelta) -> str:
    """Return a wait in words, in whole days: `1 day`, `91 days`."""
    return f"{wait.days} day{'' if wait.days == 1 else 's'}"


Step = Literal["begin", "switch", "finish", "return"]

_CREATED: Final = "created"
_STARTED: Final = "begun"
_SWITCHED: Final = "switched"
_FINISHED: Final = "finished"
_RESEALED: Final = "sealed anew"


def create(stage: Stage) -> list[str]:
    """Make the secrets that a stage lacks, and return their names; what is there stays as it is.

    The stage's KMS key has to be there. It may be repeated, die half way and run twice at once: only what was kept
    first counts.
    """
    return [secret for secret in SECRETS if _stored_first(stage, secret)]


def read(stage: Stage) -> dict[str, str]:
    """Return the settings that hold a stage's secrets, wrapped as they are, by their names in the environment.

    Raises Refused with the names of those that were never created.
    """
    names = {stage.parameter(secret): setting for secret, setting in SECRETS.items()}
    former = stage.parameter(FORMER_PUBLIC_KEYS)
    answer = client("ssm").get_parameters(Names=[*names, former])
    values = {found["Name"]: str(found["Value"]) for found in answer["Parameters"]}
    if missing := sorted(names.keys() - values):
        raise Refused(f"There is no parameter {', '.join(missing)}. Run `make bootstrap STAGE={stage.name}`.")
    return {
        **{setting: values[name] for name, setting in names.items()},
        "AUDIT_FORMER_PUBLIC_KEYS": values.get(former, ""),
    }


def public_keys(signing_keys: str) -> str:
    """Return the setting AUDIT_PUBLIC_KEYS, of the setting that holds the keys: each is unwrapped for that."""
    return ",".join(to_base64(_public_half(key)) for key in signing_keys.split(","))


def rotate(stage: Stage, secret: str, step: Step, *, at_once: bool = False) -> str:
    """Do a step of a secret's rotation, and return what it did and what is next. What was done is not done again.

    `begin` puts a new key behind the present one, `switch` in front of it, `finish` drops the former one; `return` puts
    the one that was dropped last behind the present one again, as it was before `finish`. After each the stage is to be
    deployed. `at_once`: don't wait for what the former key has made to end. Raises Refused if the step is not the next,
    or somebody else rotates at the same time.
    """
    stored = _load_secret(stage, secret)
    if step == "finish":
        return _finish(stage, stored, at_once=at_once)
    return {"begin": _begin, "switch": _switch, "return": _return}[step](stage, stored)


def note_resealed(stage: Stage, secret: str = KeyPurpose.DATA_KEY.value) -> None:
    """Keep in mind that nothing is left in the table that the former key of ANEW has made: it may be dropped.

    Raises Refused if no rotation of that key waits for that.
    """
    stored = _load_secret(stage, secret)
    if stored.state == _SWITCHED:
        _store_secret(stage, stored, stored.keys, _RESEALED)
    elif stored.state != _RESEALED:
        raise Refused(f"No former {secret.replace('-', ' ')} of {stage.name} waits to be dropped: {stored.standing}")


def awaits_resealing(stage: Stage, secret: str) -> bool:
    """Return whether `finish` of a secret waits until what the former key has made is made anew. Raises Refused."""
    return _load_secret(stage, secret).state == _SWITCHED


@dataclass(frozen=True)
class _StoredSecret:
    """A secret as its parameter holds it: its keys, how far its rotation is and since when; the key dropped last."""

    secret: str
    keys: list[str]
    dropped: str | None
    state: str
    since: datetime
    version: int

    @property
    def standing(self) -> str:
        """Where its rotation stands, as a sentence."""
        since = f"since {self.since:%Y-%m-%d %H:%M} UTC"
        return {
            _CREATED: f"{self.secret} has one key {since}, and was never rotated.",
            _STARTED: f"a new key of {self.secret} is listed {since} and not used yet; next is `switch`.",
            _SWITCHED: f"the new key of {self.secret} is used {since}, the former still listed; next is `finish`.",
            _RESEALED: f"all is sealed by the new key of {self.secret} {since}; next is `finish`.",
            _FINISHED: f"{self.secret} has one key {since}; no rotation is under way.",
        }[self.state]


def _begin(stage: Stage, stored: _StoredSecret) -> str:
    if stored.state in (_SWITCHED, _RESEALED):
        raise Refused(f"A rotation is under way: {stored.standing}")
    if stored.state != _STARTED:
        _store_secret(stage, stored, [*stored.keys, _new_key(stage, stored.secret)], _STARTED)
    return f"Begun: a new key of {stored.secret} is listed. {_deploy(stage)} and then `switch`."


def _switch(stage: Stage, stored: _StoredSecret) -> str:
    if stored.state in (_CREATED, _FINISHED):
        raise Refused(f"There is nothing to switch to: {stored.standing} Begin with `begin`.")
    if stored.state == _STARTED:
        _store_secret(stage, stored, stored.keys[::-1], _SWITCHED)
    wait, what = WAITS[stored.secret]
    until = f" It waits {days(wait)}, for {what}." if what else ""
    command, _ = ANEW.get(stored.secret, ("", ""))
    again = f" Then seal anew: `.venv/bin/python -m local {command} --stage {stage.name}`." if command else ""
    return f"Switched: the new key of {stored.secret} is used. {_deploy(stage)}.{again} At last `finish`.{until}"


def _finish(stage: Stage, stored: _StoredSecret, *, at_once: bool) -> str:
    if stored.state == _FINISHED:
        return f"Finished already: {stored.standing} {_deploy(stage)}, unless you have."
    if stored.state in (_CREATED, _STARTED):
        raise Refused(f"There is nothing to finish: {stored.standing}")
    command, why = ANEW.get(stored.secret, ("", ""))
    if command and stored.state != _RESEALED:
        raise Refused(f"{why}: {stored.standing} First run `.venv/bin/python -m local {command} --stage {stage.name}`.")
    wait, what = WAITS[stored.secret]
    over = stored.since + wait
    if datetime.now(UTC) < over and not at_once:
        raise Refused(
            f"The former key has made what still holds: {what}. Finish after {over:%Y-%m-%d %H:%M} UTC or, if the key "
            "leaked, now with --at-once: then these end."
        )
    if stored.secret == KeyPurpose.AUDIT_SIGNING_KEY:
        _keep_public_key(stage, stored.keys[1])
    _store_secret(stage, stored, stored.keys[:1], _FINISHED)
    return f"Finished: the former key of {stored.secret} is dropped. {_deploy(stage)}."


def _return(stage: Stage, stored: _StoredSecret) -> str:
    if stored.state == _STARTED:
        raise Refused(f"A rotation is under way: {stored.standing} Go on to `finish` first.")
    if stored.state in (_CREATED, _FINISHED):
        if stored.dropped is None:
            raise Refused(f"There is no key to return to: {stored.standing}")
        _store_secret(stage, stored, [*stored.keys, stored.dropped], _SWITCHED)
    return f"Returned: the former key of {stored.secret} is listed again. {_deploy(stage)}. It goes by `finish`."


def _deploy(stage: Stage) -> str:
    return f"Now `make bootstrap STAGE={stage.name}` and `make deploy STAGE={stage.name}`"


def _load_secret(stage: Stage, secret: str) -> _StoredSecret:
    """Return a secret with how far it is, which stands in the description of its parameter's present version."""
    ssm, name = client("ssm"), stage.parameter(secret)
    try:
        pages = ssm.get_paginator("get_parameter_history").paginate(Name=name)
        versions = sorted((each for page in pages for each in page["Parameters"]), key=lambda each: each["Version"])
    except ssm.exceptions.ParameterNotFound:
        raise Refused(f"There is no parameter {name}. Run `make bootstrap STAGE={stage.name}`.") from None
    last = versions[-1]
    keys, state = last["Value"].split(","), last.get("Description")
    if len(keys) != {_CREATED: 1, _STARTED: 2, _SWITCHED: 2, _RESEALED: 2, _FINISHED: 1}.get(state):
        raise Refused(f"{name} was changed by another hand. Put its last version back that says how far it is.")
    former = [each["Value"].split(",")[-1] for each in versions if each.get("Description") == _SWITCHED]
    since = last["LastModifiedDate"].astimezone(UTC)
    return _StoredSecret(secret, keys, former[-1] if former else None, state, since, last["Version"])


def _store_secret(stage: Stage, stored: _StoredSecret, keys: list[str], state: str) -> None:
    answer = client("ssm").put_parameter(
        Name=stage.parameter(stored.secret), Value=",".join(keys), Type="String", Description=state, Overwrite=True
    )
    if answer["Version"] != stored.version + 1:
        raise Refused(f"Somebody else rotated {stored.secret} at the same time. See where it stands: run it again.")


def _keep_public_key(stage: Stage, former: str) -> None:
    """List the public half of a signing key that is dropped: what it has signed counts for good."""
    key, name = to_base64(_public_half(former)), stage.parameter(FORMER_PUBLIC_KEYS)
    found = client("ssm").get_parameters(Names=[name])["Parameters"]
    listed = found[0]["Value"].split(",") if found else []
    if key not in listed:
        value = ",".join([key, *listed])
        client("ssm").put_parameter(Name=name, Value=value, Type="String", Description="public", Overwrite=bool(found))


def _public_half(signing: str) -> bytes:
    ciphertext = from_base64(signing.removeprefix(WRAPPED_KEY_PREFIX))
    seed = client("kms").decrypt(CiphertextBlob=ciphertext, EncryptionContext=KeyPurpose.AUDIT_SIGNING_KEY.context)
    return public_key(seed["Plaintext"])


def _stored_first(stage: Stage, secret: str) -> bool:
    ssm = client("ssm")
    name = stage.parameter(secret)
    if ssm.get_parameters(Names=[name])["Parameters"]:
        return False  # Asked first, so that a repeated `bootstrap` makes no key for nothing.
    try:
        ssm.put_parameter(Name=name, Type="String", Value=_new_key(stage, secret), Description=_CREATED)
    except ssm.exceptions.ParameterAlreadyExists:
        return False
    return True


def _new_key(stage: Stage, secret: str) -> str:
    answer = client("kms").generate_data_key_without_plaintext(
        KeyId=stage.key_alias, KeySpec="AES_256", EncryptionContext=KeyPurpose(secret).context
    )
    return WRAPPED_KEY_PREFIX + to_base64(answer["CiphertextBlob"])
