"""Request and response models of the platform configuration."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from chalicelib.features.platforms.domains.models import DnsRecordType, RecordPurpose, VerificationStatus
from chalicelib.features.platforms.models.schemas import HomeOut, NavigationOut, PlatformSummary, ThemeOut
from chalicelib.features.platforms.modules.models.schemas import EffectiveModuleOut
from chalicelib.features.platforms.project_blocks.models import ProjectBlockOut
from chalicelib.kernel.http.fields import Locale, Timestamp, Uuid
from chalicelib.kernel.http.models import Input, Output


class ConfigModuleOut(EffectiveModuleOut):
    """The effective state of a module, which tells a front end whether to show it.

    Callers without a role do not see the settings of a module that is off.
    """

    name: str = Field(examples=["Events"])
    depends_on: list[str] = Field(description="Modules that must be on for this one to be on.", examples=[[]])


class ConfigRecordOut(Output):
    """A DNS record that the domain needs.

    One proves the ownership of the domain, the other leads its visitors to the platform.
    """

    purpose: RecordPurpose = Field(examples=["ownership"])
    type: DnsRecordType = Field(examples=["TXT"])
    name: str = Field(examples=["_atrium-challenge.engines.example.com"])
    expected: str = Field(examples=["atrium-verify=c2v5ofuzqmlx3dpbgyt6wn4ek7ra2sjh"])


class PublicDomainOut(Output):
    """The verified custom domain of a platform, as anonymous callers see it.

    A domain that is not verified is hidden from them.
    """

    domain: str = Field(examples=["engines.example.com"])
    status: VerificationStatus = Field(examples=["verified"])


class ConfigDomainOut(PublicDomainOut):
    """The custom domain of a platform, without the results of its last check.

    Members see it before it is verified, with the DNS records that it needs.
    """

    verified_at: Timestamp | None
    records: list[ConfigRecordOut]


class ConfigOut(Output):
    """The configuration that a front end needs to start: the platform, its theme, navigation, modules and blocks.

    Read it once and show what is enabled.
    """

    content_etag = True

    platform: PlatformSummary
    theme: ThemeOut
    navigation: NavigationOut
    home: HomeOut
    modules: list[ConfigModuleOut]
    custom_domain: ConfigDomainOut | PublicDomainOut | None = Field(
        description="Null if none is claimed. Anonymous callers see it only if it is verified."
    )
    project_blocks: list[ProjectBlockOut]
    version: int = Field(
        ge=1,
        description="Increases with every change of the platform, its modules, project blocks, domain and the space.",
        examples=[7],
    )


class ResolveRequest(Input):
    """The location of a front end: the host and path that a visitor entered, a space and a locale.

    All fields are optional.
    """

    host: Annotated[str, StringConstraints(max_length=1000)] | None = Field(
        None, description="The host in the browser, with or without a port.", examples=["engines.example.com"]
    )
    space_id: Uuid | None = Field(None, examples=[None])
    path: Annotated[str, StringConstraints(max_length=4000)] | None = Field(
        None, description="`/<slug>/…` or `/spaces/<slug>/…` selects a space.", examples=["/spaces/looms/events"]
    )
    locale: Locale | None = Field(None, description="BCP 47 language tag.", examples=["en-GB"])


class MatchedSpaceOut(Output):
    """The space that the request selects, and whether its id or the path selected it.

    Its module overrides and capabilities apply.
    """

    id: Uuid
    slug: str = Field(examples=["looms"])
    name: str = Field(examples=["Looms"])
    by: Literal["spaceId", "path"] = Field(
        description="The field of the request that selected the space.", examples=["path"]
    )


class MatchedOut(Output):
    """How the request was resolved: which domain the host is, which space was selected and which locale applies.

    Null means that a host or a path matched nothing.
    """

    host: Literal["customDomain", "subdomain"] | None = Field(
        description="Which domain of the platform the host is; null if none.", examples=["customDomain"]
    )
    space: MatchedSpaceOut | None
    locale: str = Field(description="The requested locale, or else the default of the platform.", examples=["en-GB"])


class ConfigCapabilityOut(Output):
    """A capability of the resolved space.

    Your front end decides what it means, for example whether to show a button for video calls.
    """

    capability_key: str = Field(examples=["video-calls"])
    settings: dict[str, Any] = Field(examples=[{"maxParticipants": 12}])


class ResolvedConfigOut(ConfigOut):
    """The configuration of a platform in a space, with the capabilities of the space.

    A front end shows what is enabled in it.
    """

    capabilities: list[ConfigCapabilityOut] = Field(
        description="Capabilities of the space; empty if no space was selected."
    )
    matched: MatchedOut
