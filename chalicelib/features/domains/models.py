"""What the operations on domains accept and answer."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from chalicelib.kernel.http.fields import Timestamp, Uuid
from chalicelib.kernel.http.models import Input, ListQuery, Output, RecordOutput
from chalicelib.kernel.outbound.domain_names import DomainName

VerificationStatus = Literal["none", "pending", "verified", "failed", "lapsed"]
Purpose = Literal["ownership", "routing"]
RecordType = Literal["TXT", "CNAME", "A", "AAAA", "ALIAS"]
Fault = Literal[
    "TXT_NOT_FOUND",
    "TXT_MISMATCH",
    "CNAME_MISMATCH",
    "APEX_NEEDS_A_OR_ALIAS",
    "DOMAIN_TAKEN",
    "DNS_TIMEOUT",
    "DNS_FAILURE",
]


class CustomDomainIn(Input):
    """A domain to be claimed."""

    domain: DomainName = Field(
        description="One that you own, or a name below it; internationalized names are taken as people write them.",
        examples=["engines.example.com"],
    )


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


class DnsRecordOut(Output):
    """A record that the domain's DNS has to hold, and what it held when it was last asked."""

    purpose: Purpose = Field(
        description="`ownership` proves whose the domain is, `routing` leads its visitors here.", examples=["ownership"]
    )
    type: RecordType = Field(
        description="`ALIAS` is what leads an apex to a name: some providers call it ANAME, or flatten a CNAME.",
        examples=["TXT"],
    )
    name: str = Field(description="Its whole name.", examples=["_atrium-challenge.engines.example.com"])
    relative_name: str = Field(
        description="Its name as most providers want it, without the registered domain; `@` is that itself.",
        examples=["_atrium-challenge.engines"],
    )
    expected: str = Field(examples=["atrium-verify=c2v5ofuzqmlx3dpbgyt6wn4ek7ra2sjh"])
    observed: list[str] = Field(description="What was there at the last check.", examples=[[]])
    ok: bool = Field(description="Whether nothing is left to be done about it.", examples=[False])


_CHECKED: Final = "2026-11-20T09:30:00.000Z"
_PROVEN: Final = {"verified_at": _CHECKED, "last_checked_at": _CHECKED, "last_error": None}
_NONE: Final[dict[str, Any]] = {
    "status": "none",
    "domain": None,
    "records": [],
    "last_checked_at": None,
    "last_error": None,
}
_UNCHECKED: Final = {"last_checked_at": None, "last_error": None}


class CustomDomainOut(RecordOutput):
    """The custom domain of a platform; its id is the platform's."""

    id_field: ClassVar[str] = ""
    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "platform.custom_domain.added": _UNCHECKED,
        "platform.custom_domain.removed": _NONE,
        "platform.custom_domain.verified": _PROVEN,
    }

    domain: str | None = Field(
        description="As DNS knows it: in lower case, and ASCII. Null if none is claimed.",
        examples=["engines.example.com"],
    )
    status: VerificationStatus = Field(
        description=(
            "`pending` for 7 days, then `failed` unless it is `verified`; `lapsed` when its ownership has not been"
            " proven for 72 hours."
        ),
        examples=["pending"],
    )
    records: list[DnsRecordOut] = Field(description="What the domain's DNS has to hold; none if none is claimed.")
    verified_at: Timestamp | None = Field(description="Since when it is verified; null if it is not.", examples=[None])
    last_checked_at: Timestamp | None = Field(description="It is checked once a day, and more often while pending.")
    last_error: Fault | None = Field(
        description="What the last check found wrong. `DNS_TIMEOUT` and `DNS_FAILURE` say nothing about the domain.",
        examples=["TXT_NOT_FOUND"],
    )
