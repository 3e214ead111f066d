"""Keys that AWS KMS has wrapped, as on a deployed stage."""

from typing import Any, Final

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.core.settings import WRAPPED_KEY_PREFIX
from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.crypto.checkpoints import public_key
from chalicelib.kernel.crypto.keyrings import KeyPurpose

ALIAS: Final = "alias/atrium"

NEVER_UNWRAPPED: Final = dict.fromkeys((purpose.setting for purpose in KeyPurpose), "kms:d3JhcHBlZA==") | {
    "audit_public_keys": to_base64(bytes(32))
}
"""Settings of a deployed stage that needs no key."""


def wrapped(purpose: KeyPurpose = KeyPurpose.DATA_KEY, **words: Any) -> str:
    """Return a new key as its setting takes it; `words` are of KMS's own call, if they should differ."""
    kms = aws.client("kms")
    if not any(found["AliasName"] == ALIAS for found in kms.list_aliases()["Aliases"]):
        kms.create_alias(AliasName=ALIAS, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    asked = {"KeyId": ALIAS, "KeySpec": "AES_256", "EncryptionContext": purpose.context} | words
    return f"kms:{to_base64(kms.generate_data_key_without_plaintext(**asked)['CiphertextBlob'])}"


def all_wrapped() -> dict[str, str]:
    """Return a new key of each purpose, by the setting that takes it, and the public half of the one that signs."""
    made = {purpose.setting: wrapped(purpose) for purpose in KeyPurpose}
    return made | {"audit_public_keys": public_halves(made[KeyPurpose.AUDIT_SIGNING_KEY.setting])}


def public_halves(signing_keys: str) -> str:
    """Return the public halves of signing keys, wrapped or not, as their setting takes them."""
    return ",".join(to_base64(public_key(_secret(key))) for key in signing_keys.split(","))


def _secret(text: str) -> bytes:
    if not text.startswith(WRAPPED_KEY_PREFIX):
        return from_base64(text)
    ciphertext, context = from_base64(text.removeprefix(WRAPPED_KEY_PREFIX)), KeyPurpose.AUDIT_SIGNING_KEY.context
    plain: bytes = aws.client("kms").decrypt(CiphertextBlob=ciphertext, EncryptionContext=context)["Plaintext"]
    return plain


def forget() -> None:
    """Let this process be one that has not unwrapped its keys yet."""
    keyrings._key.cache_clear()  # noqa: SLF001
