"""Settings of organizations and their invitations."""

from pydantic import Field

from chalicelib.kernel.core.settings import SettingsSection


class TenancySettings(SettingsSection):
    """Limits of organizations, and the page that invitations link to."""

    max_owned_organizations: int = Field(
        100, ge=1, le=10_000, description="Organizations that a user may own at a time; deleted ones don't count."
    )
    invitation_url: str = Field(
        "", description="Your page that invitations lead to, with `?token=`; empty: the service's own operation."
    )
