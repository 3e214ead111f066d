"""What a platform's config says, and to whom; what a host is to a platform. No effects."""

from collections.abc import Mapping
from typing import Any, Literal

from chalicelib.features.configs.models import ConfigDomainOut, ConfigModuleOut, PublicDomainOut
from chalicelib.features.domains.entities import CustomDomain
from chalicelib.features.modules.entities import ModuleOverride, PlatformModule
from chalicelib.features.modules.rules import effective, modules_of
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.models import PlatformSummary
from chalicelib.features.project_blocks.entities import ProjectBlock, in_order
from chalicelib.features.project_blocks.models import ProjectBlockOut
from chalicelib.features.spaces.entities import Space
from chalicelib.kernel.execution.context import Records
from chalicelib.kernel.outbound.domain_names import host_name

HostMatch = Literal["customDomain", "subdomain"]


def said(
    platform: Platform, found: Records, space: Space | None, *, public: bool, parts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the config of a platform says, by the fields of `ConfigOut`.

    `found`: the records of the platform's sets and, with a space, those of that; `public`: whether it is for everybody,
    who is shown nothing of project blocks that are off; `parts`: the navigation and the home as the caller sees them.
    """
    custom = next(iter(found.instances_of(CustomDomain)), None)
    modules = effective(modules_of(found.instances_of(PlatformModule)), found.instances_of(ModuleOverride))
    blocks = [block for block in in_order(found.instances_of(ProjectBlock)) if block.enabled or not public]
    return {
        "platform": PlatformSummary.of(platform),
        "theme": platform.theme,
        **parts,
        "modules": [_shown(ConfigModuleOut.of(module), public=public) for module in modules],
        "custom_domain": custom and _domain(custom, public=public),
        "project_blocks": [ProjectBlockOut.of(block) for block in blocks],
        "version": platform.version + (custom.version if custom else 0) + (space.version if space else 0),
    }


def _shown(module: ConfigModuleOut, *, public: bool) -> ConfigModuleOut:
    return module.model_copy(update={"settings": {}}) if public and not module.enabled else module


def _domain(custom: CustomDomain, *, public: bool) -> PublicDomainOut | None:
    if public:
        return PublicDomainOut.of(custom) if custom.status == "verified" else None
    return ConfigDomainOut.of(custom) if custom.domain else None


def host_match(host: str | None, platform: Platform, custom: CustomDomain | None, service: str) -> HostMatch | None:
    """Return which of a platform's names a host is. `service`: the domain that its subdomain lies below."""
    name = host_name(host or "")
    if custom and custom.status == "verified" and name == custom.domain:
        return "customDomain"
    return "subdomain" if name == f"{platform.subdomain}.{service}" else None
