"""What the operations on suppressions accept and answer."""

from typing import ClassVar, Literal

from pydantic import Field

from chalicelib.kernel.http.models import Input, Output, Query, RecordOutput


class UnsubscribeQuery(Query):
    """Whose mail it is about."""

    token: str = Field(max_length=200, description="From the link in the mail.")


class OneClick(Input):
    """What mail programs send (RFC 8058)."""

    list_unsubscribe: Literal["One-Click"] = Field("One-Click", alias="List-Unsubscribe", examples=["One-Click"])


class SubscriptionOut(Output):
    """Whether an address gets mail of invitations. The address itself is told to nobody."""

    no_store: ClassVar[bool] = True

    unsubscribed: bool = Field(examples=[True])


class SuppressionOut(RecordOutput):
    """That some address wants no more mail of invitations, as the log tells it."""
