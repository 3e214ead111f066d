"""Requests and responses of the operations on suppressions."""

from typing import ClassVar, Literal

from pydantic import Field

from chalicelib.kernel.http.models import Input, Output, Query, RecordOutput


class UnsubscribeQuery(Query):
    """Which recipient the request is about."""

    token: str = Field(max_length=200, description="From the link in the mail.")


class OneClick(Input):
    """The form that mail programs send when somebody clicks on their unsubscribe button (RFC 8058).

    Its presence confirms the intention.
    """

    list_unsubscribe: Literal["One-Click"] = Field("One-Click", alias="List-Unsubscribe", examples=["One-Click"])


class SubscriptionOut(Output):
    """Whether an address receives mails about invitations and memberships, from any organization.

    The response does not contain the address.
    """

    no_store: ClassVar[bool] = True

    unsubscribed: bool = Field(examples=[True])


class SuppressionOut(RecordOutput):
    """The suppression of an e-mail address, as the log shows it.

    It contains no address, only the fact that one was suppressed.
    """
