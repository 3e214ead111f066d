"""Seals: what says of an entry in the tree that the ledger gave it its place there, and of which entry it does not.

A seal is the id of its key (4 bytes), the sequence (8) and the beginning of an HMAC-SHA256 (16) over log, sequence,
size of the tree and leaf. Those from before there was a SEAL_KEY were made with a secret that follows from the signing
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

_NUMBER_BYTES: Final = 8
_MAC_BYTES: Final = 16


def make_entry_mac(log: str, sequence: int, tree_size: int, leaf: bytes, *, chained: bool) -> bytes:
    """Return the seal of an entry. `chained`: whether a statement of the log's chains is signed beside its tree.

    Raises Problem `unavailable` if the key is wrapped and can't be unwrapped now.
    """
    return _seal(_sealing_key(), sequence, _claim(log, sequence, tree_size, leaf, chained=chained))


def verify_entry_mac(seal: bytes, log: str, tree_size: int, leaf: bytes, *, chained: bool | None = None) -> int | None:
    """Return the sequence that the ledger gave to this leaf in a tree of this size, or None if it never did.

    The root alone would say that something was altered; the seal says which entry. Of one that was made with a signing
    key only its sequence is read, and as long as such seals count: the root has to tell then. `chained`: what it has to
    say of statements; None if that does not matter.
    """
    sealed_by, number = seal[:KEY_ID_BYTES], seal[KEY_ID_BYTES : KEY_ID_BYTES + _NUMBER_BYTES]
    sequence = int.from_bytes(number, "big")
    if key := keyrings.key_by_id(KeyPurpose.SEAL_KEY, sealed_by):
        either = (True, False) if chained is None else (chained,)
        claims = (_claim(log, sequence, tree_size, leaf, chained=each) for each in either)
        return sequence if any(seal == _seal(key, sequence, claim) for claim in claims) else None
    known = settings()
    former = f"{known.audit_public_keys},{known.audit_former_public_keys}" if known.signing_key_seals_until else ""
    return sequence if sealed_by in _key_ids(former) else None


def renew_entry_mac(
    seal: bytes, log: str, sequence: int, tree_size: int, leaf: bytes, *, chained: bool
) -> bytes | None:
    """Return the present key's seal of an entry that its log's root vouches for; None if its former seal is wrong.

    One of a signing key that is still listed is tried with it, so only functions that sign can ask.
    """
    claim = _claim(log, sequence, tree_size, leaf, chained=chained)
    former = keyrings.key_by_id(KeyPurpose.AUDIT_SIGNING_KEY, seal[:KEY_ID_BYTES])
    if former and seal != _seal(_sealing(former), sequence, claim):
        return None
    return _seal(keyrings.current_key(KeyPurpose.SEAL_KEY), sequence, claim)


def public_keys() -> list[bytes]:
    """Return the keys whose checkpoints and erasures count: the present one's, then all others."""
    known = settings()
    return list(dict.fromkeys([*_listed(known.audit_public_keys), *_listed(known.audit_former_public_keys)]))


def signing_key() -> keyrings.SecretKey:
    """Return the key that signs. Raises SettingsError if others are told of another, Problem `unavailable`."""
    key = keyrings.current_key(KeyPurpose.AUDIT_SIGNING_KEY)
    if key.id != key_id(public_keys()[0]):
        raise SettingsError(
            "AUDIT_PUBLIC_KEYS: its first key is not that of AUDIT_SIGNING_KEY. `make bootstrap` writes both."
        )
    return key


def _sealing_key() -> keyrings.SecretKey:
    # Functions of a release before SEAL_KEY, which may run beside this one for a while, know no other seal.
    until = settings().signing_key_seals_until
    if until and now_ms() < timestamp_ms(until):
        return _sealing(signing_key())
    return keyrings.current_key(KeyPurpose.SEAL_KEY)


def _claim(log: str, sequence: int, tree_size: int, leaf: bytes, *, chained: bool) -> bytes:
    said = f"{log}\n{sequence}\n{tree_size}\n" + ("chained\n" if chained else "")
    return said.encode() + leaf


def _seal(key: keyrings.SecretKey, sequence: int, claim: bytes) -> bytes:
    mac = hmac.digest(key.secret, claim, "sha256")[:_MAC_BYTES]
    return key.id + sequence.to_bytes(_NUMBER_BYTES, "big") + mac


@lru_cache(maxsize=2)
def _sealing(signing: keyrings.SecretKey) -> keyrings.SecretKey:
    return keyrings.SecretKey(signing.id, hmac.digest(signing.secret, b"atrium entry seal", "sha256"))


@lru_cache(maxsize=2)
def _key_ids(public_keys: str) -> frozenset[bytes]:
    return frozenset(map(key_id, _listed(public_keys)))


def _listed(public_keys: str) -> list[bytes]:
    return [from_base64(key.strip()) for key in public_keys.split(",") if key.strip()]
