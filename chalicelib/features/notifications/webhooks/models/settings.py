"""Settings of webhooks."""

from pydantic import Field

from chalicelib.kernel.core.settings import SettingsSection


class WebhookSettings(SettingsSection):
    """The rate limit of requests to the hosts of webhooks."""

    webhook_requests_per_second: int = Field(
        200,
        ge=1,
        le=100_000,
        description="Requests per second to one host by an organization's webhooks. Further ones wait.",
    )
