"""What a platform's config says, and to whom; which space a path names; what a host is to a platform. No effects."""

import re
from typing import Any, Final, Literal, TypeVar
from urllib.parse import unquote

from chalicelib.features.configs.models import ConfigDomainOut, ConfigModuleOut, PublicDomainOut
from chalicelib.features.domains.entities import CustomDomain
from chalicelib.features.modules.entities import ModuleOverride, PlatformModule
from chalicelib.features.modules.rules import effective, modules_of
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.models import PlatformSummary
from chalicelib.features.project_blocks.entities import ProjectBlock, in_order
from chalicelib.features.project_blocks.models import ProjectBlockOut
from chalicelib.features.spaces.entities import Space
from chalicelib.kernel.context import Records
from chalicelib.kernel.domain_names import host_name
from chalicelib.kernel.fields import SLUG_PATTERN

T = TypeVar("T", ConfigModuleOut, ProjectBlockOut)

HostMatch = Literal["customDomain", "subdomain"]

_SPACES: Final = "spaces"


def said(
    platform: Platform, found: Records, space: Space | None, *, public: bool, opens_home: bool
) -> dict[str, Any]:  # fmt: skip
    """Return what the config of a platform says, by the fields of `ConfigOut`.

    `found`: the records of the platform's sets and, with a space, those of that; `public`: whether it is for everybody;
    `opens_home`: whether it tells which space the platform opens.
    """
    custom = next(iter(found.of(CustomDomain)), None)
    modules = effective(modules_of(found.of(PlatformModule)), found.of(ModuleOverride))
    blocks = in_order(found.of(ProjectBlock))
    return {
        "platform": PlatformSummary.of(platform),
        "theme": platform.theme,
        "navigation": platform.navigation,
        "home": platform.home if opens_home else {**platform.home, "space_id": None},
        "modules": [_shown(ConfigModuleOut.of(module), public=public) for module in modules],
        "custom_domain": custom and _domain(custom, public=public),
        "project_blocks": [_shown(ProjectBlockOut.of(block), public=public) for block in blocks],
        "version": platform.version + (custom.version if custom else 0) + (space.version if space else 0),
    }


def _shown(part: T, *, public: bool) -> T:
    return part.model_copy(update={"settings": {}}) if public and not part.enabled else part


def _domain(custom: CustomDomain, *, public: bool) -> PublicDomainOut | None:
    if public:
        return PublicDomainOut.of(custom) if custom.status == "verified" else None
    return ConfigDomainOut.of(custom) if custom.domain else None


def slug_in(path: object) -> str | None:
    """Return the slug of the space that a path names, if it can: its first segment, or the one after `/spaces`."""
    if not isinstance(path, str):
        return None
    bare = re.split(r"[?#]", path, maxsplit=1)[0]
    segments = [unquote(segment).lower() for segment in bare.split("/") if segment]
    named = segments[1:] if segments[:1] == [_SPACES] else segments
    return named[0] if named and re.fullmatch(SLUG_PATTERN, named[0]) else None


def host_match(host: str | None, platform: Platform, custom: CustomDomain | None, service: str) -> HostMatch | None:
    """Return which of a platform's names a host is. `service`: the domain that its subdomain lies below."""
    name = host_name(host or "")
    if custom and custom.status == "verified" and name == custom.domain:
        return "customDomain"
    return "subdomain" if name == f"{platform.subdomain}.{service}" else None
