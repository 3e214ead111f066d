"""Entry MACs, which prove that the ledger assigned an entry its position in the tree.

A MAC, stored as `seal`, is the id of its key (4 bytes), the sequence (8) and the beginning of an HMAC-SHA256 (16) over
log, sequence, tree size and leaf. MACs from before SEAL_KEY existed were made with a secret derived from the signing
key.
"""

import hmac
from functools import lru_cache
from typing import Final

from chalicelib.kernel.core.clock import now_ms, timestamp_ms
from chalicelib.kernel.core.encoding import from_base64
from chalicelib.kernel.core.settings import SettingsError, settings
from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, KeyPurpose, key_id

_SEQUENCE_BYTES: Final = 8
_MAC_BYTES: Final = 16


def make_entry_mac(log: str, sequence: int, tree_size: int, leaf: bytes, *, chained: bool) -> bytes:
    """Return the MAC of an entry. `chained`: whether a statement of the log's chains is signed with its tree.

    Raises Problem `unavailable` if AWS KMS cannot decrypt the key now.
    """
    return _make_mac(
        _load_current_or_legacy_mac_key(), sequence, _mac_input(log, sequence, tree_size, leaf, chained=chained)
    )


def verified_sequence_or_none(
    seal: bytes, log: str, tree_size: int, leaf: bytes, *, chained: bool | None = None
) -> int | None:
    """Return the sequence that the ledger assigned to this leaf in a tree of this size, or None if it did not.

    The root alone proves that something was altered. The MAC proves which entry. A MAC made with a signing key is not
    verified: its sequence is returned while such MACs are valid, and the root must prove the rest. `chained`: the
    required value, or None if it does not matter.
    """
    mac_key_id, sequence_bytes = seal[:KEY_ID_BYTES], seal[KEY_ID_BYTES : KEY_ID_BYTES + _SEQUENCE_BYTES]
    sequence = int.from_bytes(sequence_bytes, "big")
    if key := keyrings.key_by_id(KeyPurpose.SEAL_KEY, mac_key_id):
        chained_values = (True, False) if chained is None else (chained,)
        mac_inputs = (_mac_input(log, sequence, tree_size, leaf, chained=each) for each in chained_values)
        return sequence if any(seal == _make_mac(key, sequence, mac_input) for mac_input in mac_inputs) else None
    config = settings()
    legacy_keys = (
        f"{config.audit_public_keys},{config.audit_former_public_keys}" if config.signing_key_seals_until else ""
    )
    return sequence if mac_key_id in _public_key_ids(legacy_keys) else None


def renewed_valid_mac_or_none(
    seal: bytes, log: str, sequence: int, tree_size: int, leaf: bytes, *, chained: bool
) -> bytes | None:
    """Return a MAC with the current key for an entry that the log's root proves; None if its former MAC is invalid.

    A MAC of a listed signing key is verified with that key, so only functions that sign can call this.
    """
    mac_input = _mac_input(log, sequence, tree_size, leaf, chained=chained)
    legacy_key = keyrings.key_by_id(KeyPurpose.AUDIT_SIGNING_KEY, seal[:KEY_ID_BYTES])
    if legacy_key and seal != _make_mac(_derive_legacy_mac_key(legacy_key), sequence, mac_input):
        return None
    return _make_mac(keyrings.current_key(KeyPurpose.SEAL_KEY), sequence, mac_input)


def current_and_former_public_keys() -> list[bytes]:
    """Return the public keys whose checkpoints and erasures are valid, the current one first."""
    config = settings()
    return list(dict.fromkeys([*_parse_keys(config.audit_public_keys), *_parse_keys(config.audit_former_public_keys)]))


def load_signing_key_matching_public_key() -> keyrings.SecretKey:
    """Return the signing key. Raises SettingsError if AUDIT_PUBLIC_KEYS does not match, and Problem `unavailable`."""
    key = keyrings.current_key(KeyPurpose.AUDIT_SIGNING_KEY)
    if key.id != key_id(current_and_former_public_keys()[0]):
        raise SettingsError(
            "AUDIT_PUBLIC_KEYS: its first key is not that of AUDIT_SIGNING_KEY. `make bootstrap` writes both."
        )
    return key


def _load_current_or_legacy_mac_key() -> keyrings.SecretKey:
    # During an upgrade, functions of a release before SEAL_KEY accept only these MACs.
    legacy_until = settings().signing_key_seals_until
    if legacy_until and now_ms() < timestamp_ms(legacy_until):
        return _derive_legacy_mac_key(load_signing_key_matching_public_key())
    return keyrings.current_key(KeyPurpose.SEAL_KEY)


def _mac_input(log: str, sequence: int, tree_size: int, leaf: bytes, *, chained: bool) -> bytes:
    text = f"{log}\n{sequence}\n{tree_size}\n" + ("chained\n" if chained else "")
    return text.encode() + leaf


def _make_mac(key: keyrings.SecretKey, sequence: int, mac_input: bytes) -> bytes:
    mac = hmac.digest(key.secret, mac_input, "sha256")[:_MAC_BYTES]
    return key.id + sequence.to_bytes(_SEQUENCE_BYTES, "big") + mac


@lru_cache(maxsize=2)
def _derive_legacy_mac_key(signing_key: keyrings.SecretKey) -> keyrings.SecretKey:
    return keyrings.SecretKey(signing_key.id, hmac.digest(signing_key.secret, b"atrium entry seal", "sha256"))


@lru_cache(maxsize=2)
def _public_key_ids(comma_separated_keys: str) -> frozenset[bytes]:
    return frozenset(map(key_id, _parse_keys(comma_separated_keys)))


def _parse_keys(comma_separated_keys: str) -> list[bytes]:
    return [from_base64(key.strip()) for key in comma_separated_keys.split(",") if key.strip()]
