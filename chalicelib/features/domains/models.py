"""What the operations on domains accept and answer."""

from typing import Literal

from pydantic import Field

from chalicelib.kernel.fields import Timestamp, Uuid
from chalicelib.kernel.models import ListQuery, Output

VerificationStatus = Literal["none", "pending", "verified", "failed", "lapsed"]


class DomainInventoryQuery(ListQuery):
    """Which platforms."""

    verification_status: VerificationStatus | None = Field(
        None, description="Those whose custom domain is so; `none` are those without one.", examples=["verified"]
    )


class PlatformDomainOut(Output):
    """A platform, and the domain it has."""

    platform_id: Uuid
    platform_slug: str = Field(examples=["engines"])
    platform_name: str = Field(examples=["Analytical Engines"])
    custom_domain: str | None = Field(description="Null if none is claimed.", examples=["engines.example.com"])
    subdomain: str = Field(description="By which it is reached at any time.", examples=["engines"])
    verification_status: VerificationStatus = Field(
        description="Of the custom domain; `none` if none is claimed.", examples=["verified"]
    )
    verified_at: Timestamp | None
    last_checked_at: Timestamp | None
