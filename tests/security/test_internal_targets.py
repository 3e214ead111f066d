"""URLs of webhooks and channels cannot target internal addresses, in any notation."""

from itertools import product
from typing import Final

from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.api import ApiResponse
from tests.harness.data_keys import create_wrapped_key_settings
from tests.harness.external_servers import forbid_deliveries

INTERNAL_HOSTS: Final = [
    "0.0.0.0",  # noqa: S104
    *("127.0.0.1", "127.1", "127.0.1", "0", "0x7f.0.0.1", "0x7f000001", "0177.0.0.1", "017700000001", "2130706433"),
    *("127.0.0.1.", "127\u30020\u30020\u30021", "\uff11\uff12\uff17.0.0.1", "\u2460\u2461\u2466.0.0.1"),
    *("169.254.169.254", "169.254.170.2", "169.254.169.253", "0xa9fea9fe", "2852039166", "0251.0376.0251.0376"),
    *("169.254.43518", "10.0.0.7", "172.16.0.1", "192.168.1.1", "100.64.0.1", "192.0.0.192", "198.18.0.1", "224.0.0.1"),
    *("255.255.255.255", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[0:0:0:0:0:ffff:7f00:1]"),
    *("[64:ff9b::7f00:1]", "[64:ff9b:1::a9fe:a9fe]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[2001:0:7f00:1::1]"),
    *("[fd00:ec2::254]", "[fe80::1]", "[fe80::1%25eth0]", "[fc00::1]", "[ff02::1]", "[::127.0.0.1]", "localhost"),
    *("LOCALHOST.", "api.localhost", "localhost\u3002", "\u24c1\u24deCALHOST", "intranet", "metadata", "kubernetes"),
    *("example.com@127.0.0.1", "127.0.0.1#@example.com", "example.com\\@127.0.0.1", "example.com:80@127.0.0.1"),
    *("127.0.0.1%2f@example.com", "example.com%00.127.0.0.1", "example.com\n.127.0.0.1", "[::1]example.com"),
    *("[127.0.0.1]", "127.0.0.1\u2044x", "127.0.0.1%20", "%31%32%37.0.0.1", "//127.0.0.1", "example.com:0"),
    *("example.com:99999", ""),
]
"""Hosts of the machine, its network and its cloud, and URLs that parsers read differently."""
UNSUPPORTED_URLS: Final = [
    *("file:///etc/passwd", "gopher://127.0.0.1:6379/_INFO", "dict://127.0.0.1:11211/", "ftp://example.com/"),
    *("ldap://x.example/", "javascript:alert(1)", "data:text/html,x", "//example.com/hooks", "https:/example.com"),
    *("https:example.com", "HTTPS://", "jar:https://example.com!/", "unix:/var/run/docker.sock", "s3://bucket/key"),
    *("https://example.com/\r\nHost: x", ""),
]
"""URLs with unsupported schemes or ports."""


URLS_OF_OTHERS: Final = (
    "https://hooks.slack.com.evil.example/services/T0/B0/x",
    "https://evil.example/hooks.slack.com/services/T0/B0/x",
    "https://hooks.slack.com@evil.example/services/T0/B0/x",
    "https://evil.example#hooks.slack.com/services/T0/B0/x",
    "https://hooks\u3002slack\u3002com.evil.example/services/T0/B0/x",
    "https://discord.com.evil.example/api/webhooks/1/x",
    "https://discordapp.com.evil.example/api/webhooks/1/x",
    "https://evil-discord.com/api/webhooks/1/x",
    "https://logic.azure.com.evil.example/workflows/x",
    "https://evil.example/?x=.logic.azure.com",
)
"""URLs that only look like those of the providers."""


def submit_url(tenant: TenantFixture, url: str) -> list[ApiResponse]:
    """Submit a URL to all operations that accept targets of deliveries."""
    owner, path = tenant.people.owner, tenant.organization.path
    channel = {"provider": "webhook", "name": "#engines", "config": {"webhookUrl": url}}
    return [
        tenant.api.post(f"{path}/webhooks", caller=owner, json={"url": url}),
        tenant.api.patch(tenant.organization.webhook_path, caller=owner, json={"url": url}),
        tenant.api.post(f"{path}/integration-channels", caller=owner, json=channel),
    ]


def test_internal_url_is_rejected_without_a_connection(tenant, unchanged):
    for url in [*(f"https://{host}/hooks" for host in INTERNAL_HOSTS), *UNSUPPORTED_URLS]:
        with forbid_deliveries():
            for response in submit_url(tenant, url):
                assert response.status_and_code == "422 validation_failed", (url, response.text)
                assert set(response.errors) <= {"/url", "/config/webhookUrl"}, url


def test_channel_url_must_belong_to_its_provider(tenant, configure):
    configure(stage="dev", **create_wrapped_key_settings(), webhook_allow_private="0")
    path, owner = f"{tenant.organization.path}/integration-channels", tenant.people.owner
    for provider, url in product(("slack", "discord", "teams"), URLS_OF_OTHERS):
        body = {"provider": provider, "name": "#engines", "config": {"webhookUrl": url}}
        response = tenant.api.post(path, caller=owner, json=body)
        assert response.status_and_code == "422 validation_failed", (provider, url)
