"""The response with the summary of an organization."""

from pydantic import Field

from chalicelib.kernel.http.fields import Timestamp
from chalicelib.kernel.http.models import Output

MAX_COUNTED = 1000
"""Members, and platforms with a domain in each status, that a summary counts."""

_IS_AT_LEAST = "Whether there may be more, because only some of them were counted."


class MemberCounts(Output):
    """How many people belong to an organization.

    The number is exact below 1,000. Show a larger one as "1,000+", because counting further would cost more with each
    person.
    """

    total: int = Field(ge=0, description="The number of members, 1,000 at most.", examples=[12])
    is_at_least: bool = Field(description=_IS_AT_LEAST, examples=[False])


class WebhookCounts(Output):
    """How many endpoints of yours receive the events of an organization.

    Those that fail need attention: the list of webhooks says since when, and why the service has disabled one.
    """

    total: int = Field(ge=0, description="All webhooks, including paused ones.", examples=[3])
    failing: int = Field(
        ge=0,
        description="Active webhooks whose last attempt has failed, and those that the service has disabled.",
        examples=[1],
    )


class DomainCounts(Output):
    """How many platforms of an organization have claimed a domain of their own, and how many of these do not work yet.

    The inventory of domains names them, and the custom domain of a platform has the DNS records that are missing.
    """

    total: int = Field(ge=0, description="Platforms that have claimed a domain.", examples=[4])
    unverified: int = Field(ge=0, description="Those whose domain is pending, failed or lapsed.", examples=[1])
    is_at_least: bool = Field(description=_IS_AT_LEAST, examples=[False])


class LogSummary(Output):
    """The state of an organization's audit log, as its last checkpoint states it.

    The service has not verified the checkpoint for this response. `verify-integrity` verifies the log, and `verify.py`
    does so without the service.
    """

    size: int = Field(ge=0, description="Entries that the checkpoint covers.", examples=[195])
    checkpoint: str | None = Field(description="The signed head of the log. Null before the first one.")
    latest_entry_at: Timestamp | None = Field(
        description="When the last entry that the checkpoint covers was committed. A checkpoint has no time of its own."
    )
    pending_entries: int = Field(
        ge=0,
        description="Committed entries that are not in the tree yet; a lower bound if there are very many.",
        examples=[0],
    )


class OrganizationSummary(Output):
    """The numbers that the start page of an organization shows, in one response.

    What the caller's role or the scopes of their key do not let them read is null.
    """

    members: MemberCounts | None
    pending_invitations: int | None = Field(
        ge=0,
        description="Invitations to the organization and its platforms that nobody has answered. An expired one counts "
        "until its expiry is in the log, some minutes later.",
        examples=[2],
    )
    webhooks: WebhookCounts | None
    domains: DomainCounts | None
    log: LogSummary | None
