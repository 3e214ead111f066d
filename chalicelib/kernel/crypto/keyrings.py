"""The secret keys: of each purpose a list, of which the first is used and the others are accepted as well.

Whatever is made with a key carries its id, so that it is tried with that key and with no other. A key is followed by
another without anybody noticing: first all processes accept it, then they use it, and at last the former is dropped.

On a deployed stage each key is wrapped by AWS KMS. A process has one unwrapped when it first needs it, and keeps it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from hashlib import sha256
from typing import Final

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.encoding import from_base64
from chalicelib.kernel.core.settings import WRAPPED, SettingsError, settings

KEY_ID_BYTES: Final = 4

KEY_CONTEXT: Final[Mapping[str, str]] = {"service": "atrium"}
"""What all keys are wrapped for; beside it stands the `purpose` of each."""

_KEY_BYTES: Final = 32


class KeyPurpose(StrEnum):
    """What a key is for. The setting that lists such keys has its name: `DATA_KEY` lists those of `data-key`."""

    AUDIT_SIGNING_KEY = "audit-signing-key"
    """Signs checkpoints and erasures (Ed25519, of which it is the seed)."""
    SEAL_KEY = "seal-key"
    """Seals entries at their place in their log's tree (HMAC-SHA256), and verifies that."""
    ENTRY_KEY = "entry-key"
    """Authenticates entries from their commit until they are in their log's tree (HMAC-SHA256)."""
    DATA_KEY = "data-key"
    """Encrypts what the table may hold and nobody may read there (AES-256-GCM)."""
    TOKEN_KEY = "token-key"  # noqa: S105 - the name of a secret is none
    """Authenticates tokens (HMAC-SHA256), encrypts cursors (AES-SIV)."""

    @property
    def setting(self) -> str:
        """The setting that lists its keys."""
        return self.value.replace("-", "_")

    @property
    def context(self) -> dict[str, str]:
        """What its keys are wrapped for: KMS unwraps one with the same words only, and policies can ask for them."""
        return {**KEY_CONTEXT, "purpose": self.value}


@dataclass(frozen=True, repr=False)
class SecretKey:
    """A key of 32 bytes; `id` is the beginning of its SHA-256, of one that signs of the public half's."""

    id: bytes
    secret: bytes

    @classmethod
    def of(cls, purpose: KeyPurpose, secret: bytes) -> "SecretKey":
        """Return a key with its id."""
        if purpose is KeyPurpose.AUDIT_SIGNING_KEY:
            from chalicelib.kernel.crypto.checkpoints import public_key

            return cls(key_id(public_key(secret)), secret)
        return cls(key_id(secret), secret)


def key_id(key: bytes) -> bytes:
    """Return the id that what was made with a key carries; of one that signs, `key` is the public half."""
    return sha256(key).digest()[:KEY_ID_BYTES]


def current_key(purpose: KeyPurpose) -> SecretKey:
    """Return the key that is used. Raises Problem `unavailable` if it is wrapped and can't be unwrapped now."""
    return next(all_keys(purpose))


def key_by_id(purpose: KeyPurpose, key_id: bytes) -> SecretKey | None:
    """Return the key that has an id, or None if none that is listed has it. Raises Problem as `present` does.

    Keys behind it stay wrapped.
    """
    return next((key for key in all_keys(purpose) if key.id == key_id), None)


def all_keys(purpose: KeyPurpose) -> Iterator[SecretKey]:
    """Yield the keys that are listed, the present one first. Raises Problem as `present` does."""
    for text in getattr(settings(), purpose.setting).split(","):
        yield _key(purpose, text)


@cache
def _key(purpose: KeyPurpose, text: str) -> SecretKey:
    return SecretKey.of(purpose, _unwrapped(purpose, text) if text.startswith(WRAPPED) else from_base64(text))


def _unwrapped(purpose: KeyPurpose, text: str) -> bytes:
    ciphertext = from_base64(text.removeprefix(WRAPPED))
    with aws.translate_errors("key service"):
        answer = aws.client("kms").decrypt(CiphertextBlob=ciphertext, EncryptionContext=purpose.context)
    secret: bytes = answer["Plaintext"]
    if len(secret) != _KEY_BYTES:
        raise SettingsError(f"{purpose.setting.upper()}: what AWS KMS has wrapped is not {_KEY_BYTES} bytes long")
    return secret
