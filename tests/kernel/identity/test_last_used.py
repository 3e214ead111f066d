"""The time of an API key's last use is stored with a later request when the write fails."""

import pytest

from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.table import TransactionCancelled
from tests.harness.organizations import create_api_key


@pytest.mark.parametrize(
    "fault", [TransactionCancelled({}, is_contended=True), unavailable("Busy.")], ids=["conflict", "unavailable"]
)
def test_a_failed_write_is_repeated_with_the_next_request(api, organization, ada, monkeypatch, fault):
    key = create_api_key(api, organization)

    def fail(_: object) -> None:
        raise fault

    with monkeypatch.context() as patched:
        patched.setattr(table, "write_transaction", fail)
        assert api.get(organization.path, caller=key).status == 200
    path = f"{organization.path}/api-keys/{key.id}"
    assert api.get(path, caller=ada).json["lastUsedAt"] is None
    assert api.get(organization.path, caller=key).status == 200
    assert api.get(path, caller=ada).json["lastUsedAt"] is not None
