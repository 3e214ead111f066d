"""The URLs that a channel of each provider may have on a deployed stage, which rejects private targets."""

import pytest

from tests.conftest import SettingsOverride
from tests.harness.channels import post_channel
from tests.harness.data_keys import create_wrapped_key_settings

SLACK_URL = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXwxyz"
DISCORD_URL = "https://discord.com/api/webhooks/110000000000000000/token-of-the-room-0123456789"
TEAMS_URL = (
    "https://default1.57.environment.api.powerplatform.com:443/powerautomate/workflows/1/triggers?sig=signature1"
)


@pytest.fixture(autouse=True)
def _deployed_stage(configure: SettingsOverride) -> None:
    configure(stage="dev", **create_wrapped_key_settings(), webhook_allow_private="0")


@pytest.mark.parametrize(
    ("provider", "url"),
    [
        ("slack", SLACK_URL),
        ("discord", DISCORD_URL),
        ("teams", TEAMS_URL),
        ("webhook", "https://chat.example.com/hooks/1"),
    ],
)
def test_urls_of_the_provider_are_accepted(api, organization, provider, url):
    assert post_channel(api, organization, url, provider=provider).status == 201


@pytest.mark.parametrize(
    ("provider", "url", "advice"),
    [
        ("slack", "https://hooks.slack.com.evil.example/services/1", "hooks.slack.com"),
        ("slack", DISCORD_URL, "hooks.slack.com"),
        ("discord", "https://discord.com/channels/1/2", "api/webhooks"),
        ("teams", "https://logic.azure.com.evil.example/", "logic.azure.com"),
        ("webhook", "http://chat.example.com/hooks/1", "https"),
        ("webhook", "https://127.0.0.1/hooks/1", "public"),
    ],
)
def test_other_urls_are_rejected(api, organization, provider, url, advice):
    response = post_channel(api, organization, url, provider=provider)
    assert response.errors == {"/config/webhookUrl": "malformed"}
    assert advice in response.json["errors"][0]["detail"]


def test_another_provider_needs_another_url(new_channel):
    channel = new_channel(SLACK_URL)
    for config in ({}, {"config": channel.record["config"]}):
        response = channel.patch("", {"provider": "discord", **config})
        assert response.errors == {"/config/webhookUrl": "malformed"}
    changed = channel.update(provider="discord", config={"webhookUrl": DISCORD_URL})
    assert (changed["provider"], changed["config"]) == ("discord", {"webhookUrl": "https://discord.com/…6789"})
