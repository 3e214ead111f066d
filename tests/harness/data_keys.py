"""Keys that AWS KMS has wrapped, as on a deployed stage."""

from typing import Any, Final

from chalicelib.kernel import aws, keyrings
from chalicelib.kernel.encoding import to_base64
from chalicelib.kernel.keyrings import Purpose

ALIAS: Final = "alias/atrium"

NEVER_UNWRAPPED: Final = dict.fromkeys((purpose.setting for purpose in Purpose), "kms:d3JhcHBlZA==")
"""Settings of a deployed stage that needs no key."""


def wrapped(purpose: Purpose = Purpose.DATA_KEY, **words: Any) -> str:
    """Return a new key as its setting takes it; `words` are of KMS's own call, if they should differ."""
    kms = aws.client("kms")
    if not any(found["AliasName"] == ALIAS for found in kms.list_aliases()["Aliases"]):
        kms.create_alias(AliasName=ALIAS, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    asked = {"KeyId": ALIAS, "KeySpec": "AES_256", "EncryptionContext": purpose.context} | words
    return f"kms:{to_base64(kms.generate_data_key_without_plaintext(**asked)['CiphertextBlob'])}"


def all_wrapped() -> dict[str, str]:
    """Return a new key of each purpose, by the setting that takes it."""
    return {purpose.setting: wrapped(purpose) for purpose in Purpose}


def forget() -> None:
    """Let this process be one that has not unwrapped its keys yet."""
    keyrings._key.cache_clear()  # noqa: SLF001
