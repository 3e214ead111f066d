"""Secret keys. Each purpose has a list of keys: the first one is used, and all of them are accepted.

Everything made with a key contains the key's id, so only that key is tried. A key is replaced without interruption:
first all processes accept the new key, then they use it, and finally the old one is dropped.

On a deployed stage the keys are encrypted by AWS KMS. A process decrypts a key when it first needs it, and keeps it in
memory.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from hashlib import sha256
from typing import Final

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.encoding import from_base64
from chalicelib.kernel.core.settings import WRAPPED_KEY_PREFIX, SettingsError, settings

KEY_ID_BYTES: Final = 4
"""Length of the id of a key, which is the beginning of its SHA-256."""

KEY_CONTEXT: Final[Mapping[str, str]] = {"service": "atrium"}
"""KMS encryption context of all keys. The `purpose` of each is added to it."""

_KEY_BYTES: Final = 32


class KeyPurpose(StrEnum):
    """The purpose of a key. The setting of the same name lists its keys: `DATA_KEY` lists those of `data-key`."""

    AUDIT_SIGNING_KEY = "audit-signing-key"
    """Signs checkpoints and erasures (the seed of an Ed25519 key)."""
    SEAL_KEY = "seal-key"
    """Makes and verifies the MACs that bind entries to their position in the log's tree (HMAC-SHA256)."""
    ENTRY_KEY = "entry-key"
    """Authenticates pending entries (HMAC-SHA256)."""
    DATA_KEY = "data-key"
    """Encrypts stored secrets (AES-256-GCM)."""
    TOKEN_KEY = "token-key"  # noqa: S105 - the name of a secret is not a secret
    """Authenticates tokens (HMAC-SHA256) and encrypts cursors (AES-SIV)."""

    @property
    def setting_name(self) -> str:
        """Return the setting that lists the keys."""
        return self.value.replace("-", "_")

    @property
    def kms_encryption_context(self) -> dict[str, str]:
        """Return the KMS encryption context.

        KMS decrypts a key only with the same context, and policies can require it.
        """
        return {**KEY_CONTEXT, "purpose": self.value}


@dataclass(frozen=True, repr=False)
class SecretKey:
    """A key of 32 bytes. `id` is the beginning of the SHA-256 of the key or, for a signing key, of its public key."""

    id: bytes
    secret: bytes

    @classmethod
    def create(cls, purpose: KeyPurpose, secret: bytes) -> "SecretKey":
        """Return a key with its id."""
        if purpose is KeyPurpose.AUDIT_SIGNING_KEY:
            from chalicelib.kernel.crypto.checkpoints import public_key

            return cls(key_id(public_key(secret)), secret)
        return cls(key_id(secret), secret)


def key_id(key: bytes) -> bytes:
    """Return the id of a key. For a signing key, `key` is the public key."""
    return sha256(key).digest()[:KEY_ID_BYTES]


def current_key(purpose: KeyPurpose) -> SecretKey:
    """Return the key that is used. Raises Problem `unavailable` if AWS KMS cannot decrypt it now."""
    return next(iter_keys(purpose))


def key_by_id(purpose: KeyPurpose, key_id: bytes) -> SecretKey | None:
    """Return the key with an id, or None. Raises Problem as `current_key` does.

    Keys after it in the list are not decrypted.
    """
    return next((key for key in iter_keys(purpose) if key.id == key_id), None)


def iter_keys(purpose: KeyPurpose) -> Iterator[SecretKey]:
    """Yield the listed keys, the current one first. Raises Problem as `current_key` does."""
    for text in getattr(settings(), purpose.setting_name).split(","):
        yield _load_listed_key(purpose, text)


@cache
def _load_listed_key(purpose: KeyPurpose, text: str) -> SecretKey:
    return SecretKey.create(
        purpose, _decrypt_wrapped_key(purpose, text) if text.startswith(WRAPPED_KEY_PREFIX) else from_base64(text)
    )


def _decrypt_wrapped_key(purpose: KeyPurpose, text: str) -> bytes:
    ciphertext = from_base64(text.removeprefix(WRAPPED_KEY_PREFIX))
    with aws.raise_unavailable_on_aws_outage("key service"):
        response = aws.client("kms").decrypt(
            CiphertextBlob=ciphertext, EncryptionContext=purpose.kms_encryption_context
        )
    secret: bytes = response["Plaintext"]
    if len(secret) != _KEY_BYTES:
        raise SettingsError(f"{purpose.setting_name.upper()}: the decrypted key is not {_KEY_BYTES} bytes long")
    return secret
