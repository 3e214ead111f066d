"""The precedence of errors when a request has several: 401, 404, 422, 412, 409."""

from tests.harness.organizations import create_api_key

STALE_CONDITION = {"If-Match": '"000000000000.9.000000000000"'}
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


def test_a_revoked_key_takes_precedence_over_not_found(api, organization, ada):
    key = create_api_key(api, organization, "admin")
    api.delete(f"{organization.path}/api-keys/{key.id}", caller=ada)
    for path in ("/organizations/nonsense", "/organizations/by-slug/-", f"{organization.path}/members/nonsense"):
        assert api.get(path, caller=key).status_and_code == "401 api_key_revoked"


def test_a_validation_error_that_depends_on_records_takes_precedence_over_a_stale_condition(api, organization, ada):
    transfer_path = f"{organization.path}/transfer-ownership"
    assert (
        api.post(transfer_path, caller=ada, json={"newOwnerId": UNKNOWN_ID}, headers=STALE_CONDITION).status_and_code
        == "422 validation_failed"
    )
    answer = api.patch(organization.path, caller=ada, json={"status": "pending_deletion"}, headers=STALE_CONDITION)
    assert answer.status_and_code == "422 validation_failed"


def test_a_stale_condition_takes_precedence_over_a_conflict(api, organization, ada):
    owner_path = f"{organization.path}/members/{ada.id}"
    assert api.delete(owner_path, caller=ada, headers=STALE_CONDITION).status_and_code == "412 precondition_failed"
    assert api.delete(owner_path, caller=ada).status_and_code == "409 owner_must_transfer"


def test_a_response_with_a_secret_is_not_cached(api, organization, ada):
    created = api.post(f"{organization.path}/api-keys", caller=ada, json={"name": "Export"})
    assert created.headers["Cache-Control"] == "no-store"
    assert "Cache-Control" not in api.get(f"{organization.path}/api-keys/{created.json['id']}", caller=ada).headers
