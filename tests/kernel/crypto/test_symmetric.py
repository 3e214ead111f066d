"""Encrypted values and MACs are valid only unaltered, with their key and in their context. AWS KMS wraps the key."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import SettingsError
from chalicelib.kernel.crypto.keyrings import KeyPurpose, SecretKey
from chalicelib.kernel.crypto.symmetric import (
    TAG_BYTES,
    DecryptionError,
    authentication_tag_bytes,
    decrypt_bytes,
    encrypt_bytes,
    is_valid_tag,
)
from tests.harness.aws_calls import record_calls
from tests.harness.data_keys import create_wrapped_key
from tests.harness.faults import Fault, inject_fault

pytestmark = pytest.mark.usefixtures("aws")

KEY, OTHER_KEY = bytes(range(32)), bytes(32)
CONTEXT = "idempotency:I#user#key"

contexts = st.text(max_size=8)


@given(st.binary(), st.text())
def test_a_ciphertext_hides_its_value_and_decrypts_in_the_same_context(plaintext, context):
    ciphertext = encrypt_bytes(plaintext, context)
    assert decrypt_bytes(ciphertext, context) == plaintext
    assert len(plaintext) < 8 or plaintext not in ciphertext


@given(st.binary(max_size=20), st.data())
def test_any_altered_bit_of_a_ciphertext_is_detected(plaintext, data):
    ciphertext = bytearray(encrypt_bytes(plaintext, CONTEXT))
    ciphertext[data.draw(st.integers(0, len(ciphertext) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(DecryptionError):
        decrypt_bytes(bytes(ciphertext), CONTEXT)


def test_any_truncation_another_context_and_another_key_are_detected(configure):
    ciphertext = encrypt_bytes(b"secret", CONTEXT)
    for length in range(len(ciphertext)):
        with pytest.raises(DecryptionError):
            decrypt_bytes(ciphertext[:length], CONTEXT)
    with pytest.raises(DecryptionError):
        decrypt_bytes(ciphertext, "idempotency:I#somebody-else#key")
    configure(data_key=to_base64(OTHER_KEY))
    with pytest.raises(DecryptionError, match="another key"):
        decrypt_bytes(ciphertext, CONTEXT)
    configure(data_key=to_base64(KEY))
    assert decrypt_bytes(ciphertext, CONTEXT) == b"secret"


def test_each_encryption_has_another_ciphertext():
    assert len({encrypt_bytes(b"secret", CONTEXT) for _ in range(50)}) == 50


def test_a_tag_is_the_key_id_and_a_truncated_hmac_sha256_of_context_and_payload():
    mac = hmac.new(KEY, b"\x00\x00\x00\x06cursor" + b"payload", hashlib.sha256).digest()
    assert authentication_tag_bytes(b"payload", "cursor") == hashlib.sha256(KEY).digest()[:4] + mac[:16]


@given(st.tuples(st.binary(max_size=4), contexts), st.tuples(st.binary(max_size=4), contexts))
def test_a_tag_is_valid_exactly_for_its_payload_and_context(signed_pair, verified_pair):
    tag = authentication_tag_bytes(*signed_pair)
    assert len(tag) == TAG_BYTES
    assert is_valid_tag(signed_pair[0], tag, signed_pair[1])
    assert is_valid_tag(verified_pair[0], tag, verified_pair[1]) == (signed_pair == verified_pair)


def test_context_and_payload_are_delimited():
    assert not is_valid_tag(b"b", authentication_tag_bytes(b"", "ab"), "a")
    assert not is_valid_tag(b"", authentication_tag_bytes(b"b", "a"), "ab")


def test_an_altered_or_truncated_tag_and_that_of_another_key_are_invalid(configure):
    tag = authentication_tag_bytes(b"payload", "cursor")
    flipped = [tag[:at] + bytes([tag[at] ^ 1 << bit]) + tag[at + 1 :] for at in range(TAG_BYTES) for bit in range(8)]
    for invalid_tag in (*flipped, *(tag[:length] for length in range(TAG_BYTES))):
        assert not is_valid_tag(b"payload", invalid_tag, "cursor")
    configure(token_key=to_base64(OTHER_KEY))
    assert not is_valid_tag(b"payload", tag, "cursor")
    configure(token_key=to_base64(KEY))
    assert is_valid_tag(b"payload", tag, "cursor")


PURPOSE = "webhook:an-id"


def test_decryption_restores_the_data_and_calls_the_key_service_once_per_process(configure):
    configure(data_key=create_wrapped_key())
    with record_calls() as calls:
        for secret in (b"secret", b"another"):
            assert decrypt_bytes(encrypt_bytes(secret, PURPOSE), PURPOSE) == secret
    assert calls.call_names == ["kms:Decrypt"]


def test_another_data_key_cannot_decrypt(configure):
    configure(data_key=create_wrapped_key())
    ciphertext = encrypt_bytes(b"secret", PURPOSE)
    configure(data_key=create_wrapped_key())
    with pytest.raises(DecryptionError, match="another key"):
        decrypt_bytes(ciphertext, PURPOSE)


def create_altered_key():
    ciphertext = bytearray(from_base64(create_wrapped_key().removeprefix("kms:")))
    ciphertext[-1] ^= 1
    return f"kms:{to_base64(bytes(ciphertext))}"


@pytest.mark.parametrize(
    "create_key",
    [
        lambda: create_wrapped_key(EncryptionContext={}),
        lambda: create_wrapped_key(EncryptionContext={"service": "atrium"}),
        lambda: create_wrapped_key(EncryptionContext={"service": "another", "purpose": "data-key"}),
        create_altered_key,
    ],
)
def test_a_key_that_is_altered_or_wrapped_in_another_encryption_context_is_rejected(create_key, configure):
    configure(data_key=create_key())
    with pytest.raises(Exception, match="InvalidCiphertextException"):
        encrypt_bytes(b"secret", PURPOSE)


@pytest.mark.parametrize("length_in_bytes", [31, 33])
def test_a_data_key_of_another_length_is_rejected_with_the_settings_name(configure, length_in_bytes):
    configure(data_key=create_wrapped_key(NumberOfBytes=length_in_bytes))
    with pytest.raises(SettingsError, match="DATA_KEY: the decrypted key is not 32 bytes long"):
        encrypt_bytes(b"secret", PURPOSE)


@pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.INTERNAL_ERROR, Fault.TIMED_OUT, Fault.RESPONSE_LOST])
def test_a_failing_key_service_is_unavailable_and_called_again_later(fault, configure):
    configure(data_key=create_wrapped_key())
    failing = inject_fault(fault, call_name="kms:Decrypt", times=None)
    with failing as injected, pytest.raises(Problem, match="key service") as raised:
        encrypt_bytes(b"secret", PURPOSE)
    assert injected.failed_call
    assert (raised.value.code, raised.value.headers) == ("unavailable", {"Retry-After": "1"})
    assert decrypt_bytes(encrypt_bytes(b"secret", PURPOSE), PURPOSE) == b"secret"


def test_an_operation_that_encrypts_has_no_effect_without_the_key_service(api, ada, organization, configure):
    configure(data_key=create_wrapped_key())
    path, body = f"{organization.path}/api-keys", {"name": "Nightly export"}
    headers = {"Idempotency-Key": "f3a7e1b4-1e6b-4d0c-8b4b-3b8f3a0a1f5a"}
    with inject_fault(Fault.THROTTLED, call_name="kms:Decrypt", times=None):
        assert api.post(path, json=body, caller=ada, headers=headers).status_and_code == "503 unavailable"
    assert api.get(path, caller=ada).json["items"] == []
    created = api.post(path, json=body, caller=ada, headers=headers)
    assert created.status == 201
    assert api.post(path, json=body, caller=ada, headers=headers).json == created.json


def test_the_representation_of_a_key_does_not_contain_it():
    assert repr(KEY) not in repr(SecretKey.create(KeyPurpose.DATA_KEY, KEY))
