"""A data key that AWS KMS has wrapped is unwrapped once, when it is first needed."""

import pytest

from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import SettingsError
from chalicelib.kernel.crypto.encryption import DecryptionError, decrypt_bytes, encrypt_bytes
from tests.harness.aws_calls import record_calls
from tests.harness.data_keys import create_wrapped_key
from tests.harness.faults import Fault, inject_fault

PURPOSE = "webhook:an-id"

pytestmark = pytest.mark.usefixtures("aws")


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


def test_a_data_key_of_another_length_is_rejected_with_the_settings_name(configure):
    configure(data_key=create_wrapped_key(KeySpec="AES_128"))
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
