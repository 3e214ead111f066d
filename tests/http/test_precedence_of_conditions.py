"""The precedence of errors when a request has several: 401, 404, 422, 412, 409."""

from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.organizations import Founded, make_key

STALE_CONDITION = {"If-Match": '"000000000000.9.000000000000"'}
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


def test_a_revoked_key_takes_precedence_over_not_found(api: Api, organization: Founded, ada: Person) -> None:
    key = make_key(api, organization, "admin")
    api.delete(f"{organization.path}/api-keys/{key.id}", as_=ada)
    for path in ("/organizations/nonsense", "/organizations/by-slug/-", f"{organization.path}/members/nonsense"):
        assert api.get(path, as_=key).code == "401 api_key_revoked"


def test_a_validation_error_that_depends_on_records_takes_precedence_over_a_stale_condition(
    api: Api, organization: Founded, ada: Person
) -> None:
    transfer_path = f"{organization.path}/transfer-ownership"
    assert (
        api.post(transfer_path, as_=ada, json={"newOwnerId": UNKNOWN_ID}, headers=STALE_CONDITION).code
        == "422 validation_failed"
    )
    answer = api.patch(organization.path, as_=ada, json={"status": "pending_deletion"}, headers=STALE_CONDITION)
    assert answer.code == "422 validation_failed"


def test_a_stale_condition_takes_precedence_over_a_conflict(api: Api, organization: Founded, ada: Person) -> None:
    owner_path = f"{organization.path}/members/{ada.id}"
    assert api.delete(owner_path, as_=ada, headers=STALE_CONDITION).code == "412 precondition_failed"
    assert api.delete(owner_path, as_=ada).code == "409 owner_must_transfer"


def test_a_response_with_a_secret_is_not_cached(api: Api, organization: Founded, ada: Person) -> None:
    created = api.post(f"{organization.path}/api-keys", as_=ada, json={"name": "Export"})
    assert created.headers["Cache-Control"] == "no-store"
    assert "Cache-Control" not in api.get(f"{organization.path}/api-keys/{created.json['id']}", as_=ada).headers
