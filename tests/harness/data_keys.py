"""Data keys that AWS KMS has wrapped, as on a deployed stage."""

from typing import Any, Final

from chalicelib.kernel import aws, sealing
from chalicelib.kernel.encoding import to_base64

ALIAS: Final = "alias/atrium"


def wrapped(**words: Any) -> str:
    """Return a new data key as the setting DATA_KEY takes it; `words` are of KMS's own call, if they should differ."""
    kms = aws.client("kms")
    if not any(found["AliasName"] == ALIAS for found in kms.list_aliases()["Aliases"]):
        kms.create_alias(AliasName=ALIAS, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    asked = {"KeyId": ALIAS, "KeySpec": "AES_256", "EncryptionContext": sealing.KEY_CONTEXT} | words
    return f"kms:{to_base64(kms.generate_data_key_without_plaintext(**asked)['CiphertextBlob'])}"


def forget() -> None:
    """Let this process be one that has not unwrapped its data key yet."""
    sealing._unwrapped.cache_clear()  # noqa: SLF001
