"""Request and response models of the domain operations."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from chalicelib.features.platforms.models.domain_names import DomainName
from chalicelib.kernel.http.fields import Timestamp, Uuid
from chalicelib.kernel.http.models import Input, ListQuery, Output, RecordOutput

VerificationStatus = Literal["none", "pending", "verified", "failed", "lapsed"]
RecordPurpose = Literal["ownership", "routing"]
DnsRecordType = Literal["TXT", "CNAME", "A", "AAAA", "ALIAS"]
VerificationError = Literal[
    "TXT_NOT_FOUND",
    "TXT_MISMATCH",
    "CNAME_MISMATCH",
    "APEX_NEEDS_A_OR_ALIAS",
    "DOMAIN_TAKEN",
    "DNS_TIMEOUT",
    "DNS_FAILURE",
]


class CustomDomainIn(Input):
    """A domain to claim for a platform, such as `community.example.com`.

    It is verified once its DNS records are found.
    """

    domain: DomainName = Field(
        description="A domain that you own, or a subdomain of it. Internationalized names may be sent in Unicode.",
        examples=["engines.example.com"],
    )


class DomainInventoryQuery(ListQuery):
    """Filters of the domain inventory."""

    verification_status: VerificationStatus | None = Field(
        None, description="Status of the custom domain; `none` selects platforms without one.", examples=["verified"]
    )


class PlatformDomainOut(Output):
    """A platform and the hosts at which it is found.

    Every platform has a subdomain of the service, and may have a custom domain.
    """

    platform_id: Uuid
    platform_slug: str = Field(examples=["engines"])
    platform_name: str = Field(examples=["Analytical Engines"])
    custom_domain: str | None = Field(description="Null if none is claimed.", examples=["engines.example.com"])
    subdomain: str = Field(description="The permanent subdomain of the platform.", examples=["engines"])
    verification_status: VerificationStatus = Field(
        description="Status of the custom domain; `none` if none is claimed.", examples=["verified"]
    )
    verified_at: Timestamp | None
    last_checked_at: Timestamp | None


class DnsRecordOut(Output):
    """A DNS record that the domain needs, and what the last check observed.

    `relativeName` is the name to enter in the form of a DNS provider.
    """

    purpose: RecordPurpose = Field(
        description="`ownership` proves who owns the domain, `routing` directs its visitors to the service.",
        examples=["ownership"],
    )
    type: DnsRecordType = Field(
        description="`ALIAS` points an apex to a name; some providers call it ANAME or CNAME flattening.",
        examples=["TXT"],
    )
    name: str = Field(description="The fully qualified name.", examples=["_atrium-challenge.engines.example.com"])
    relative_name: str = Field(
        description="The name relative to the registered domain, as most providers expect it; `@` is that domain.",
        examples=["_atrium-challenge.engines"],
    )
    expected: str = Field(examples=["atrium-verify=c2v5ofuzqmlx3dpbgyt6wn4ek7ra2sjh"])
    observed: list[str] = Field(description="Values observed at the last check.", examples=[[]])
    ok: bool = Field(description="Whether the record is as required.", examples=[False])


_CHECKED_AT: Final = "2026-11-20T09:30:00.000Z"
_DETAIL_EXAMPLE: Final = (
    "DNS has no TXT record at _atrium-challenge.engines.example.com. Add one with the value"
    " atrium-verify=c2v5ofuzqmlx3dpbgyt6wn4ek7ra2sjh. To route visitors, engines.example.com also has to point to"
    " cname.atrium.example (CNAME). The claim fails at 2026-11-27T09:30:00.000Z unless the domain is verified by then."
)
_NO_ERROR: Final = {"last_error": None, "last_error_detail": None}
_VERIFIED_EXAMPLE: Final = {"verified_at": _CHECKED_AT, "last_checked_at": _CHECKED_AT, "fails_at": None, **_NO_ERROR}
_REMOVED_EXAMPLE: Final[dict[str, Any]] = {
    "status": "none",
    "domain": None,
    "records": [],
    "last_checked_at": None,
    "next_check_at": None,
    "fails_at": None,
    **_NO_ERROR,
}
_LINKED_EXAMPLE: Final = {"status": "failed", "next_check_at": None, "fails_at": None}
_ADDED_EXAMPLE: Final = {"last_checked_at": None, **_NO_ERROR}


class CustomDomainOut(RecordOutput):
    """The custom domain of a platform, and the DNS records that verify it.

    Its id is the id of the platform, because a platform has at most one.
    """

    id_field: ClassVar[str] = ""
    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "platform.custom_domain.added": _ADDED_EXAMPLE,
        "platform.custom_domain.link_created": _LINKED_EXAMPLE,
        "platform.custom_domain.removed": _REMOVED_EXAMPLE,
        "platform.custom_domain.verified": _VERIFIED_EXAMPLE,
    }

    domain: str | None = Field(
        description="The domain in lower case and ASCII, as in DNS. Null if none is claimed.",
        examples=["engines.example.com"],
    )
    status: VerificationStatus = Field(
        description=(
            "`pending` for at most 7 days, then `verified` or `failed`; `lapsed` after 72 hours without proof of"
            " ownership."
        ),
        examples=["pending"],
    )
    records: list[DnsRecordOut] = Field(description="The DNS records that the domain needs; empty if none is claimed.")
    verified_at: Timestamp | None = Field(description="When it was verified; null if it is not.", examples=[None])
    last_checked_at: Timestamp | None = Field(
        description="Verified domains are checked once a day, pending ones more often."
    )
    last_error: VerificationError | None = Field(
        description=(
            "What the last check found, as a code. `TXT_NOT_FOUND`: no ownership record. `TXT_MISMATCH`: an ownership"
            " record with another value. `CNAME_MISMATCH`: no CNAME record, or one that leads elsewhere; `observed` of"
            " the record is empty if there is none. `APEX_NEEDS_A_OR_ALIAS`: the same for a domain without a subdomain."
            " `DOMAIN_TAKEN`: another platform has verified the domain. `DNS_TIMEOUT`, `DNS_FAILURE`: DNS did not"
            " answer. Errors of the ownership record come first."
        ),
        examples=["TXT_NOT_FOUND"],
    )
    last_error_detail: str | None = Field(
        description="Which record is missing or wrong, what it should be, what to do, and what happens at `failsAt`."
        " Null without an error.",
        examples=[_DETAIL_EXAMPLE],
    )
    next_check_at: Timestamp | None = Field(
        description=(
            "When the service checks the DNS next. Null if no domain is claimed, and after it failed or lapsed:"
            " `verify` then starts again."
        )
    )
    fails_at: Timestamp | None = Field(
        description=(
            "When a pending domain becomes `failed`, or a verified one without its ownership record `lapsed`. Null"
            " otherwise."
        )
    )
