"""A data key that AWS KMS has wrapped is unwrapped when it is first needed, and then no more."""

import pytest

from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import SettingsError
from chalicelib.kernel.crypto.encryption import DecryptionError, decrypt, encrypt
from tests.conftest import Configure
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.calls import recorded
from tests.harness.data_keys import wrapped
from tests.harness.faults import Fault, failing
from tests.harness.organizations import Founded

PLACE = "webhook:an-id"

pytestmark = pytest.mark.usefixtures("aws")


def test_what_was_sealed_is_unsealed_and_the_key_service_asked_once_a_process(configure: Configure) -> None:
    configure(data_key=wrapped())
    with recorded() as calls:
        assert decrypt(encrypt(b"secret", PLACE), PLACE) == b"secret"
        assert decrypt(encrypt(b"another", PLACE), PLACE) == b"another"
    assert calls.names == ["kms:Decrypt"]


def test_another_key_opens_nothing(configure: Configure) -> None:
    configure(data_key=wrapped())
    sealed = encrypt(b"secret", PLACE)
    configure(data_key=wrapped())
    with pytest.raises(DecryptionError, match="another key"):
        decrypt(sealed, PLACE)


@pytest.mark.parametrize("context", [{}, {"service": "atrium"}, {"service": "another", "purpose": "data-key"}])
def test_what_was_wrapped_for_something_else_is_no_data_key(context: dict[str, str], configure: Configure) -> None:
    configure(data_key=wrapped(EncryptionContext=context))
    with pytest.raises(Exception, match="InvalidCiphertextException"):
        encrypt(b"secret", PLACE)


def test_an_altered_data_key_is_refused(configure: Configure) -> None:
    ciphertext = bytearray(from_base64(wrapped().removeprefix("kms:")))
    ciphertext[-1] ^= 1
    configure(data_key=f"kms:{to_base64(bytes(ciphertext))}")
    with pytest.raises(Exception, match="InvalidCiphertextException"):
        encrypt(b"secret", PLACE)


def test_a_key_of_another_length_is_refused_by_its_name(configure: Configure) -> None:
    configure(data_key=wrapped(KeySpec="AES_128"))
    with pytest.raises(SettingsError, match="DATA_KEY: what AWS KMS has wrapped is not 32 bytes long"):
        encrypt(b"secret", PLACE)


@pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.BROKEN, Fault.TIMED_OUT, Fault.UNANSWERED])
def test_a_key_service_that_fails_is_unavailable_and_asked_again_the_next_time(
    fault: Fault, configure: Configure
) -> None:
    configure(data_key=wrapped())
    with (
        failing(fault, name="kms:Decrypt", times=None) as injected,
        pytest.raises(Problem, match="key service") as said,
    ):
        encrypt(b"secret", PLACE)
    assert injected.hit
    assert (said.value.code, said.value.headers) == ("unavailable", {"Retry-After": "1"})
    assert decrypt(encrypt(b"secret", PLACE), PLACE) == b"secret"


def test_an_operation_that_has_to_seal_does_nothing_without_the_key_service(
    api: Api, ada: Person, organization: Founded, configure: Configure
) -> None:
    configure(data_key=wrapped())
    keys, asked = f"{organization.path}/api-keys", {"name": "Nightly export"}
    once = {"Idempotency-Key": "f3a7e1b4-1e6b-4d0c-8b4b-3b8f3a0a1f5a"}
    with failing(Fault.THROTTLED, name="kms:Decrypt", times=None):
        assert api.post(keys, json=asked, as_=ada, headers=once).code == "503 unavailable"
    assert api.get(keys, as_=ada).json["items"] == []
    made = api.post(keys, json=asked, as_=ada, headers=once)
    assert made.status == 201
    assert api.post(keys, json=asked, as_=ada, headers=once).json == made.json
