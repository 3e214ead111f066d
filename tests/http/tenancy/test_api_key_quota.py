from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.kernel.core.clock import after, now
from tests.harness.organizations import (
    create_api_key,
    create_organization,
    post_api_key,
    revoke_api_key,
    rotate_api_key,
)
from tests.harness.stored_records import set_quota_count


def test_an_organization_has_at_most_100_active_keys(api, organization, ada):
    create_api_key(api, organization)
    set_quota_count(ApiKey, f"O#{organization.id}", 99)
    assert post_api_key(api, organization).status == 201
    assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"
    assert post_api_key(api, create_organization(api, ada)).status == 201


@pytest.fixture
def quota_of_three(monkeypatch):
    monkeypatch.setattr(ApiKey, "quota", replace(ApiKey.quota, limit=3))


@pytest.mark.usefixtures("quota_of_three")
class TestQuotaOfThree:
    def test_a_rotation_does_not_count_and_a_repeated_revocation_frees_the_quota_once(self, api, organization):
        key, *_ = [create_api_key(api, organization) for _ in range(3)]
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"
        assert rotate_api_key(api, organization, key).status == 200
        for _ in range(2):
            assert revoke_api_key(api, organization, key).status == 204
        assert post_api_key(api, organization).status == 201
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"

    def test_expired_keys_do_not_count_and_their_revocation_frees_nothing(self, api, organization, clock, workers):
        for _ in range(2):
            create_api_key(api, organization)
        expiring_key = create_api_key(api, organization, expiresAt=after(now(), hours=1))
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"
        clock.shift(hours=2)
        workers.run_until_idle()
        assert post_api_key(api, organization).status == 201
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"
        assert revoke_api_key(api, organization, expiring_key).status == 204
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"

    def test_concurrent_requests_respect_the_quota(self, api, organization, ada):
        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(lambda _: post_api_key(api, organization), range(6)))
        assert sorted(answer.status for answer in answers) == [201, 201, 201, 409, 409, 409]
        assert len(api.get_items(organization.api_keys_path, caller=ada)) == 3
