"""A channel accepts only URLs of its provider's own hosts, and shows them masked."""

from typing import Final

import pytest

from chalicelib.features.notifications.channels.entities import mask_url
from chalicelib.features.notifications.channels.logic.provider_rules import url_mismatch_reason
from chalicelib.features.notifications.channels.models import Provider

ACCEPTED_URLS: Final[list[tuple[Provider, str]]] = [
    ("slack", "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXwxyz"),
    ("slack", "https://hooks.slack.com/workflows/T0/A0/1/x"),
    ("slack", "https://hooks.slack-gov.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXwxyz"),
    ("discord", "https://discord.com/api/webhooks/1100000/to_ken-1"),
    ("discord", "https://discord.com/api/v10/webhooks/1100000/to_ken-1/"),
    ("discord", "https://discordapp.com/api/webhooks/1100000/to_ken-1?thread_id=7"),
    ("discord", "https://ptb.discord.com/api/webhooks/1100000/to_ken-1"),
    ("discord", "https://canary.discordapp.com/api/webhooks/1100000/to_ken-1"),
    ("teams", "https://prod-31.westus.logic.azure.com:443/workflows/1/triggers/manual/paths/invoke?sp=%2Frun&sig=x"),
    ("teams", "https://default12.57.environment.api.powerplatform.com/powerautomate/automations/direct/workflows/1"),
    ("teams", "https://example.webhook.office.com/webhookb2/1@2/IncomingWebhook/3/4"),
    ("webhook", "https://chat.example.com/hooks/1"),
    ("webhook", "https://hooks.slack.com/services/T0/B0/x"),
]

REJECTED_URLS: Final[list[tuple[Provider, str]]] = [
    ("slack", "https://slack.com/services/T0/B0/x"),
    ("slack", "https://hooks.slack.com.example.com/services/T0/B0/x"),
    ("slack", "https://evil-hooks.slack.com/services/T0/B0/x"),
    ("slack", "https://hooksxslack.com/services/T0/B0/x"),
    ("slack", "https://example.com/hooks.slack.com/services/T0/B0/x"),
    ("discord", "https://media.discord.com/api/webhooks/1/x"),
    ("discord", "https://discord.com.example.com/api/webhooks/1/x"),
    ("discord", "https://discord.com/api/webhooks/1/x/slack"),
    ("discord", "https://discord.com/api/webhooks/1/x/../../../users/@me"),
    ("discord", "https://discord.com/api/users"),
    ("discord", "https://discord.com/api/webhooks/name/x"),
    ("discord", "https://discord.gg/api/webhooks/1/x"),
    ("teams", "https://logic.azure.com/workflows/1"),
    ("teams", "https://evillogic.azure.com/workflows/1"),
    ("teams", "https://x.logic.azure.com.example.com/workflows/1"),
    ("teams", "https://x.office.com/webhookb2/1"),
    ("teams", "https://hooks.slack.com/services/T0/B0/x"),
]


@pytest.mark.parametrize(("provider", "url"), ACCEPTED_URLS)
def test_a_providers_own_url_is_accepted(provider, url):
    assert url_mismatch_reason(provider, url) is None


@pytest.mark.parametrize(("provider", "url"), REJECTED_URLS)
def test_another_url_is_rejected_with_an_example(provider, url):
    reason = url_mismatch_reason(provider, url)
    assert reason is not None
    assert "https://" in reason


@pytest.mark.parametrize(
    ("url", "masked_url"),
    [
        ("https://hooks.slack.com/services/T0/B0/XXXXwxyz", "https://hooks.slack.com/…wxyz"),
        ("https://chat.example.com:8443/hooks/0123456789", "https://chat.example.com:8443/…6789"),
        ("https://x.logic.azure.com:443/w?sp=1&sig=abcdefghij", "https://x.logic.azure.com:443/…ghij"),
        ("https://chat.example.com?token=0123456789", "https://chat.example.com/…6789"),
        ("https://chat.example.com/hooks/1234567", "https://chat.example.com/…"),
        ("https://chat.example.com", "https://chat.example.com/…"),
    ],
)
def test_a_masked_url_shows_the_host_and_the_end_of_a_long_secret(url, masked_url):
    assert mask_url(url) == masked_url
