"""Where a provider takes messages: its own hosts and no others, however alike they look; and how that is shown."""

from typing import Final

import pytest

from chalicelib.features.notifications.channels.entities import mask_url
from chalicelib.features.notifications.channels.logic.provider_rules import url_mismatch_reason
from chalicelib.features.notifications.channels.models import Provider

TAKEN: Final[list[tuple[Provider, str]]] = [
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

REFUSED: Final[list[tuple[Provider, str]]] = [
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


@pytest.mark.parametrize(("provider", "url"), TAKEN)
def test_a_providers_own_url_fits(provider: Provider, url: str) -> None:
    assert url_mismatch_reason(provider, url) is None


@pytest.mark.parametrize(("provider", "url"), REFUSED)
def test_another_url_does_not_and_one_that_does_is_shown(provider: Provider, url: str) -> None:
    said = url_mismatch_reason(provider, url)
    assert said is not None
    assert "https://" in said


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://hooks.slack.com/services/T0/B0/XXXXwxyz", "https://hooks.slack.com/…wxyz"),
        ("https://chat.example.com:8443/hooks/0123456789", "https://chat.example.com:8443/…6789"),
        ("https://x.logic.azure.com:443/w?sp=1&sig=abcdefghij", "https://x.logic.azure.com:443/…ghij"),
        ("https://chat.example.com?token=0123456789", "https://chat.example.com/…6789"),
        ("https://chat.example.com/hooks/1234567", "https://chat.example.com/…"),
        ("https://chat.example.com", "https://chat.example.com/…"),
    ],
)
def test_of_a_url_its_host_is_shown_and_the_end_of_a_secret_that_is_long(url: str, shown: str) -> None:
    assert mask_url(url) == shown
