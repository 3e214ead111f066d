"""Keys encrypted by AWS KMS, as on a deployed stage."""

from typing import Any, Final

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.core.settings import WRAPPED_KEY_PREFIX
from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.crypto.checkpoints import public_key
from chalicelib.kernel.crypto.keyrings import KeyPurpose

ALIAS: Final = "alias/atrium"

PLACEHOLDER_KEY_SETTINGS: Final = dict.fromkeys(
    (purpose.setting_name for purpose in KeyPurpose), "kms:d3JhcHBlZA=="
) | {"audit_public_keys": to_base64(bytes(32))}
"""Key settings of a deployed stage for tests that use no key."""


def create_wrapped_key(purpose: KeyPurpose = KeyPurpose.DATA_KEY, **options: Any) -> str:
    """Create a key and return it in the format of settings. `options` replace parameters of the call to KMS."""
    kms = aws.client("kms")
    if not any(alias["AliasName"] == ALIAS for alias in kms.list_aliases()["Aliases"]):
        kms.create_alias(AliasName=ALIAS, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    parameters = {"KeyId": ALIAS, "NumberOfBytes": 32, "EncryptionContext": purpose.kms_encryption_context} | options
    return f"kms:{to_base64(kms.generate_data_key_without_plaintext(**parameters)['CiphertextBlob'])}"


def create_wrapped_key_settings() -> dict[str, str]:
    """Create a key for each purpose, and return them and the public key of the signing key as settings."""
    made = {purpose.setting_name: create_wrapped_key(purpose) for purpose in KeyPurpose}
    return made | {"audit_public_keys": public_keys_of(made[KeyPurpose.AUDIT_SIGNING_KEY.setting_name])}


def public_keys_of(signing_keys: str) -> str:
    """Return the public keys of signing keys, encrypted or not, in the format of settings."""
    return ",".join(to_base64(public_key(_secret(key))) for key in signing_keys.split(","))


def _secret(text: str) -> bytes:
    if not text.startswith(WRAPPED_KEY_PREFIX):
        return from_base64(text)
    ciphertext, context = (
        from_base64(text.removeprefix(WRAPPED_KEY_PREFIX)),
        KeyPurpose.AUDIT_SIGNING_KEY.kms_encryption_context,
    )
    plain: bytes = aws.client("kms").decrypt(CiphertextBlob=ciphertext, EncryptionContext=context)["Plaintext"]
    return plain


def reset_key_cache() -> None:
    keyrings._load_listed_key.cache_clear()  # noqa: SLF001
