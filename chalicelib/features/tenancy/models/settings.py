"""Settings of organizations and their invitations."""

from pydantic import Field

from chalicelib.kernel.core.settings import SettingsSection


class TenancySettings(SettingsSection):
    """Limits of organizations, and the page to which invitations link."""

    max_owned_organizations: int = Field(
        100, ge=1, le=10_000, description="Organizations that a user can own at a time. Deleted ones do not count."
    )
    invitation_url: str = Field(
        "",
        description="Your page to which invitations link, with `?token=`. Empty: the console's page.",
    )
