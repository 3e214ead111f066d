"""Response models of signed links."""

from typing import ClassVar, Final, Literal

from pydantic import Field

from chalicelib.kernel.http.fields import Timestamp, Uuid
from chalicelib.kernel.http.models import Output

_EXPIRES_AT_DESCRIPTION: Final = (
    "An hour after the creation. The link ends earlier if its creator loses the right to it."
)


class NewSignedLink(Output):
    """A new signed link. It is not stored, so only this response contains it.

    Send `url` to the person who is to use it. Its fragment contains the token, which browsers never send to a server.
    """

    no_store: ClassVar[bool] = True
    id_field: ClassVar[str] = ""

    id: Uuid = Field(
        description="The id of the link. The log entry that records its creation has the same id, and so has the actor "
        "of the entries about what its holder does."
    )
    url: str = Field(
        description="The page for the holder, with the token behind `#token=`.",
        examples=["https://atrium.example/webhook-portal#token=d2ViaG9vaw"],
    )
    expires_at: Timestamp = Field(description=_EXPIRES_AT_DESCRIPTION)


class LinkedOrganization(Output):
    """The organization that owns the record of a signed link.

    Its name tells the holder who asks them to do something, before they act.
    """

    id: Uuid
    name: str = Field(examples=["Analytical Engines"])


class LinkCreator(Output):
    """The member who sent a signed link to its holder.

    The holder acts with the rights of this person, and can ask them if the task is not clear.
    """

    name: str | None = Field(
        description="The name, or else the username or e-mail address. Null if the service knows none.",
        examples=["Ada Lovelace"],
    )


class SignedLinkOut(Output):
    """What a signed link is about, and who created it. `platformId` or `webhookId` names the record, by its type."""

    no_store: ClassVar[bool] = True
    id_field: ClassVar[str] = ""

    type: Literal["custom_domain", "webhook"] = Field(examples=["webhook"])
    organization_id: Uuid
    platform_id: Uuid | None = Field(
        description="The platform whose custom domain the link is about. Null for a webhook.", examples=[None]
    )
    webhook_id: Uuid | None = Field(description="The webhook that the link is about. Null for a custom domain.")
    organization: LinkedOrganization
    created_by: LinkCreator
    expires_at: Timestamp = Field(description=_EXPIRES_AT_DESCRIPTION)
