"""What the operations on the config of a platform accept and answer."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from chalicelib.features.domains.models import Purpose, RecordType, VerificationStatus
from chalicelib.features.modules.models import EffectiveModuleOut
from chalicelib.features.platforms.models import HomeOut, NavigationOut, PlatformSummary, ThemeOut
from chalicelib.features.project_blocks.models import ProjectBlockOut
from chalicelib.kernel.http.fields import Locale, Timestamp, Uuid
from chalicelib.kernel.http.models import Input, Output


class ConfigModuleOut(EffectiveModuleOut):
    """A module as it is in the end. The public is shown no settings of one that is off."""

    name: str = Field(examples=["Events"])
    depends_on: list[str] = Field(description="Which modules have to be on, or it is off.", examples=[[]])


class ConfigRecordOut(Output):
    """A record that the domain's DNS has to hold."""

    purpose: Purpose = Field(examples=["ownership"])
    type: RecordType = Field(examples=["TXT"])
    name: str = Field(examples=["_atrium-challenge.engines.example.com"])
    expected: str = Field(examples=["atrium-verify=c2v5ofuzqmlx3dpbgyt6wn4ek7ra2sjh"])


class PublicDomainOut(Output):
    """The custom domain of a platform as the public is shown it, once it is verified."""

    domain: str = Field(examples=["engines.example.com"])
    status: VerificationStatus = Field(examples=["verified"])


class ConfigDomainOut(PublicDomainOut):
    """The custom domain of a platform. What was found at its last check is not told here."""

    verified_at: Timestamp | None
    records: list[ConfigRecordOut]


class ConfigOut(Output):
    """All that a front end has to know of a platform to begin with."""

    content_etag = True

    platform: PlatformSummary
    theme: ThemeOut
    navigation: NavigationOut
    home: HomeOut
    modules: list[ConfigModuleOut]
    custom_domain: ConfigDomainOut | PublicDomainOut | None = Field(
        description="Null if none is claimed; the public is shown a verified one only."
    )
    project_blocks: list[ProjectBlockOut]
    version: int = Field(
        ge=1,
        description="Rises with every change of the platform, its sets, its custom domain and the space.",
        examples=[7],
    )


class ResolveRequest(Input):
    """What a front end knows of where it is."""

    host: Annotated[str, StringConstraints(max_length=1000)] | None = Field(
        None, description="As the browser names it, with a port or not.", examples=["engines.example.com"]
    )
    space_id: Uuid | None = Field(None, examples=[None])
    path: Annotated[str, StringConstraints(max_length=4000)] | None = Field(
        None, description="`/<slug>/…` or `/spaces/<slug>/…` names a space.", examples=["/spaces/looms/events"]
    )
    locale: Locale | None = Field(None, description="BCP 47.", examples=["en-GB"])


class MatchedSpaceOut(Output):
    """The space that the request names."""

    id: Uuid
    slug: str = Field(examples=["looms"])
    name: str = Field(examples=["Looms"])
    by: Literal["spaceId", "path"] = Field(description="What named it.", examples=["path"])


class MatchedOut(Output):
    """By what the document was resolved."""

    host: Literal["customDomain", "subdomain"] | None = Field(
        description="Which of the platform's names the host is; null if none.", examples=["customDomain"]
    )
    space: MatchedSpaceOut | None
    locale: str = Field(description="The one asked for, or else the platform's default.", examples=["en-GB"])


class ConfigCapabilityOut(Output):
    """A capability of the space."""

    capability_key: str = Field(examples=["video-calls"])
    settings: dict[str, Any] = Field(examples=[{"maxParticipants": 12}])


class ResolvedConfigOut(ConfigOut):
    """The config of a platform with what its space overrides and has."""

    capabilities: list[ConfigCapabilityOut] = Field(description="Those of the space; none without one.")
    matched: MatchedOut
