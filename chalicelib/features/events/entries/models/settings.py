"""Settings of application events."""

from pydantic import Field

from chalicelib.kernel.core.settings import SettingsSection


class EventSettings(SettingsSection):
    """How much an organization can write."""

    events_per_second: int = Field(
        100,
        ge=0,
        le=100_000,
        description="Application events that an organization can write in a second, averaged over a minute. 0: no "
        "limit.",
    )
    event_bytes_per_second: int = Field(
        512 * 1024,
        ge=0,
        le=1 << 30,
        description="Bytes of application events, as JSON, that an organization can write in a second, averaged over a "
        "minute. 0: no limit.",
    )
