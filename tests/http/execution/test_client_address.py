"""Behind an edge, the client's address is the one that the edge states, and only with the secret of the edge."""

from hashlib import sha256
from typing import Final

import pytest

from chalicelib.kernel.core.settings import SettingsError, settings
from chalicelib.kernel.http.client_address import client_address
from tests.harness import snapshots
from tests.harness.api import CLIENT_IP
from tests.harness.audit_logs import get_last_entry
from tests.harness.leads import post_lead
from tests.harness.log_records import capture_log_records
from tests.harness.organizations import create_api_key

SECRET: Final = "0" * 43
NEXT_SECRET: Final = "1" * 43
VISITOR: Final = "198.51.100.10"


def sha256_hex(secret):
    return sha256(secret.encode()).hexdigest()


DIGESTS: Final = f"{sha256_hex(SECRET)},{sha256_hex(NEXT_SECRET)}"


def edge_headers(secret, address=VISITOR, port=46532):
    return {"Edge-Secret": secret, "CloudFront-Viewer-Address": f"{address}:{port}"}


@pytest.fixture
def edge(configure):
    """The service accepts two secrets, as during a rotation."""
    configure(edge_secret_digests=DIGESTS)


@pytest.mark.parametrize(
    ("stated_address", "address"),
    [
        ("198.51.100.10:46532", VISITOR),
        ("2001:db8::7:46532", "2001:db8::7"),
        ("[2001:DB8:0::7]:46532", "2001:db8::7"),
        *((text, CLIENT_IP) for text in ("", ":", "198.51.100.10", "example.com:443", "198.51.100.10:", "1.2.3.4:x")),
        *((text, CLIENT_IP) for text in ("198.51.100.10:1, 192.0.2.1:2", "fe80::1%eth0:443", "1.2.3.4:٣", "a\nb:1")),
    ],
)
@pytest.mark.usefixtures("edge")
def test_an_address_with_a_port_is_parsed_and_an_invalid_one_is_ignored(stated_address, address):
    headers = {"edge-secret": SECRET, "cloudfront-viewer-address": stated_address}
    assert client_address(headers, CLIENT_IP) == address


@pytest.mark.parametrize("secret", [SECRET, NEXT_SECRET])
@pytest.mark.usefixtures("edge")
def test_entries_contain_the_visitors_address_and_the_secret_is_neither_stored_nor_logged(secret, api, organization):
    options = {"caller": organization.owner, "json": {"name": "Looms"}, "headers": edge_headers(secret)}
    with capture_log_records() as records:
        api.patch(organization.path, **options).expect(200)
    assert get_last_entry(api, organization)["context"]["ipAddress"] == VISITOR
    assert secret not in str(records) + str(snapshots.items_by_key())


@pytest.mark.parametrize(
    ("digests", "secret"),
    [
        (DIGESTS, None),
        *((DIGESTS, secret) for secret in ("", "2" * 43, SECRET[:-1], f"{SECRET} ", sha256_hex(SECRET), "\udfff")),
        *(("", secret) for secret in (None, "", SECRET)),
    ],
)
def test_without_a_listed_secret_the_address_is_that_of_the_connection(digests, secret, api, organization, configure):
    configure(edge_secret_digests=digests)
    key = create_api_key(api, organization, "read", allowedIps=[VISITOR])
    headers = {name: value for name, value in edge_headers(secret).items() if value is not None}
    api.patch(organization.path, caller=organization.owner, json={"name": "Looms"}, headers=headers).expect(200)
    assert get_last_entry(api, organization)["context"]["ipAddress"] == CLIENT_IP
    api.get(organization.path, caller=key, headers=headers).expect_problem("403 ip_not_allowed")


@pytest.mark.usefixtures("edge")
def test_an_api_key_is_limited_to_the_networks_of_its_callers_behind_the_edge(api, organization):
    key = create_api_key(api, organization, "read", allowedIps=[VISITOR])
    api.get(organization.path, caller=key, headers=edge_headers(SECRET)).expect(200)
    other_headers = edge_headers(SECRET, "198.51.100.11")
    api.get(organization.path, caller=key, ip=VISITOR, headers=other_headers).expect_problem("403 ip_not_allowed")


@pytest.mark.usefixtures("edge")
def test_visitors_have_their_own_budgets_behind_the_edge(api, configure, clock):
    clock.freeze()
    configure(edge_secret_digests=DIGESTS, network_requests_per_minute="2")
    for address in (VISITOR, "198.51.100.11", "2001:db8::7"):
        answers = [api.get("/event-types", headers=edge_headers(SECRET, address)) for _ in range(3)]
        assert [answer.status for answer in answers] == [200, 200, 429]
    configure(network_requests_per_minute="3000")
    for address in (VISITOR, "198.51.100.11"):
        leads = [post_lead(api, f"p{n}@example.org", headers=edge_headers(SECRET, address)) for n in range(11)]
        assert [lead.status for lead in leads] == [201] * 10 + [429]


def test_spoofed_addresses_do_not_give_a_caller_further_budgets(api, configure, clock):
    clock.freeze()
    configure(edge_secret_digests=DIGESTS, network_requests_per_minute="2")
    requests = [edge_headers(secret, f"198.51.100.{n}") for n, secret in enumerate(("", "2" * 43, sha256_hex(SECRET)))]
    assert [api.get("/event-types", headers=headers).status for headers in requests] == [200, 200, 429]


@pytest.mark.parametrize("value", ["secret", "A" * 64, "0" * 63, f"{'0' * 64},", f"{'0' * 64} {'0' * 64}"])
def test_a_setting_without_digests_is_rejected(value, configure):
    configure(edge_secret_digests=value)
    with pytest.raises(SettingsError, match="EDGE_SECRET_DIGESTS: must be SHA-256 digests"):
        settings()
