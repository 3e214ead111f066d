import pytest

from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.table import TransactionCancelled
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.organizations import Founded, make_key


@pytest.mark.parametrize(
    "fault", [TransactionCancelled({}, is_contended=True), unavailable("Busy.")], ids=["lost", "busy"]
)
def test_a_note_that_could_not_be_taken_is_taken_with_the_next_request(
    api: Api, organization: Founded, ada: Person, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    key = make_key(api, organization)

    def refuse(_: object) -> None:
        raise fault

    with monkeypatch.context() as broken:
        broken.setattr(table, "write_transaction", refuse)
        assert api.get(organization.path, as_=key).status == 200
    path = f"{organization.path}/api-keys/{key.id}"
    assert api.get(path, as_=ada).json["lastUsedAt"] is None
    assert api.get(organization.path, as_=key).status == 200
    assert api.get(path, as_=ada).json["lastUsedAt"] is not None
