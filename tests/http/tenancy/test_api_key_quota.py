from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.kernel.core.clock import after, now
from tests.harness.organizations import create_organization, post_api_key


@pytest.fixture
def quota_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ApiKey, "quota", replace(ApiKey.quota, limit=3))


class TestQuota:
    def test_an_organization_has_at_most_100_active_keys(self, api, organization, ada):
        for _ in range(100):
            assert post_api_key(api, organization).status == 201
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"
        assert len(api.get_items(organization.api_keys_path, caller=ada, query={"limit": 100})) == 100
        assert post_api_key(api, create_organization(api, ada)).status == 201

    @pytest.mark.usefixtures("quota_of_three")
    def test_a_repeated_revocation_frees_the_quota_once(self, api, organization, ada):
        key_ids = [post_api_key(api, organization).json["id"] for _ in range(3)]
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"
        for _ in range(2):
            assert api.delete(f"{organization.api_keys_path}/{key_ids[0]}", caller=ada).status == 204
        assert post_api_key(api, organization).status == 201
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"

    @pytest.mark.usefixtures("quota_of_three")
    def test_expired_keys_do_not_count(self, api, organization, clock, workers):
        for _ in range(2):
            post_api_key(api, organization)
        post_api_key(api, organization, expiresAt=after(now(), hours=1))
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"
        clock.shift(hours=2)
        workers.run_until_idle()
        assert post_api_key(api, organization).status == 201
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"

    @pytest.mark.usefixtures("quota_of_three")
    def test_revoking_an_expired_key_does_not_free_the_quota_again(self, api, organization, ada, clock, workers):
        for _ in range(2):
            post_api_key(api, organization)
        expired = post_api_key(api, organization, expiresAt=after(now(), hours=1)).json["id"]
        clock.shift(hours=2)
        workers.run_until_idle()
        assert api.delete(f"{organization.api_keys_path}/{expired}", caller=ada).status == 204
        assert post_api_key(api, organization).status == 201
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"

    @pytest.mark.usefixtures("quota_of_three")
    def test_rotating_does_not_count(self, api, organization, ada):
        key_ids = [post_api_key(api, organization).json["id"] for _ in range(3)]
        assert api.post(f"{organization.api_keys_path}/{key_ids[0]}/rotate", caller=ada).status == 200

    @pytest.mark.usefixtures("quota_of_three")
    def test_concurrent_requests_respect_the_quota(self, api, organization, ada):
        with ThreadPoolExecutor(6) as threads:
            responses = list(threads.map(lambda _: post_api_key(api, organization), range(6)))
        assert sorted(a.status for a in responses) == [201, 201, 201, 409, 409, 409]
        assert len(api.get_items(organization.api_keys_path, caller=ada)) == 3
