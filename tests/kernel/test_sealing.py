"""A sealed value tells nothing, and opens only unaltered, with its key, in its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto.encryption import DecryptionError, decrypt, encrypt

NEXT_KEY = to_base64(bytes(32))
PLACE = "idempotency:I#user#key"


@given(st.binary(), st.text())
def test_what_was_sealed_for_a_place_is_unsealed_there(plain: bytes, place: str) -> None:
    assert decrypt(encrypt(plain, place), place) == plain


@given(st.binary(min_size=8))
def test_the_plain_bytes_do_not_show(plain: bytes) -> None:
    assert plain not in encrypt(plain, PLACE)


def test_the_same_value_is_never_sealed_alike() -> None:
    assert len({encrypt(b"secret", PLACE) for _ in range(50)}) == 50


@given(st.binary(max_size=20), st.data())
def test_any_altered_bit_breaks_the_seal(plain: bytes, data: st.DataObject) -> None:
    sealed = bytearray(encrypt(plain, PLACE))
    sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(DecryptionError):
        decrypt(bytes(sealed), PLACE)


def test_every_cut_breaks_the_seal() -> None:
    sealed = encrypt(b"secret", PLACE)
    for length in range(len(sealed)):
        with pytest.raises(DecryptionError):
            decrypt(sealed[:length], PLACE)


def test_a_value_moved_elsewhere_stays_sealed() -> None:
    with pytest.raises(DecryptionError):
        decrypt(encrypt(b"secret", PLACE), "idempotency:I#somebody-else#key")


def test_another_key_opens_nothing_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = encrypt(b"secret", PLACE)
    monkeypatch.setenv("DATA_KEY", NEXT_KEY)
    settings.cache_clear()
    with pytest.raises(DecryptionError, match="another key"):
        decrypt(sealed, PLACE)
    monkeypatch.undo()
    settings.cache_clear()
    assert decrypt(sealed, PLACE) == b"secret"
