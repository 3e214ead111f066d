"""The contents of a platform's configuration, and the match of a host to a platform. Without I/O."""

from collections.abc import Mapping
from typing import Any, Literal

from chalicelib.features.platforms.configuration.models import ConfigDomainOut, ConfigModuleOut, PublicDomainOut
from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.models.schemas import PlatformSummary
from chalicelib.features.platforms.modules.entities import ModuleOverride, PlatformModule
from chalicelib.features.platforms.modules.logic.effective_modules import configured_modules, effective_modules
from chalicelib.features.platforms.project_blocks.entities import ProjectBlock, sort_by_position
from chalicelib.features.platforms.project_blocks.models import ProjectBlockOut
from chalicelib.features.platforms.spaces.entities import Space
from chalicelib.kernel.execution.context import Records
from chalicelib.kernel.outbound.domain_names import host_name_from_header

HostMatch = Literal["customDomain", "subdomain"]


def config_fields(
    platform: Platform,
    records: Records,
    space: Space | None,
    *,
    is_anonymous: bool,
    visible_navigation_and_home: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the fields of `ConfigOut` for a platform, or for one of its spaces.

    `records` holds the modules, project blocks and custom domain of the platform, and the module overrides of the
    space. `load_visible_navigation_and_home_fields` returns the navigation and home as the caller sees them. If
    `is_anonymous`, project blocks that are off are omitted.
    """
    custom_domain = next(iter(records.instances_of(CustomDomain)), None)
    modules = effective_modules(
        configured_modules(records.instances_of(PlatformModule)), records.instances_of(ModuleOverride)
    )
    blocks = [
        block for block in sort_by_position(records.instances_of(ProjectBlock)) if block.enabled or not is_anonymous
    ]
    versions = [platform.version, custom_domain.version if custom_domain else 0, space.version if space else 0]
    return {
        "platform": PlatformSummary.of(platform),
        "theme": platform.theme,
        **visible_navigation_and_home,
        "modules": [
            _without_settings_if_disabled(ConfigModuleOut.of(module), is_anonymous=is_anonymous) for module in modules
        ],
        "custom_domain": custom_domain and _visible_domain_output_or_none(custom_domain, is_anonymous=is_anonymous),
        "project_blocks": [ProjectBlockOut.of(block) for block in blocks],
        "version": sum(versions),
    }


def _without_settings_if_disabled(module: ConfigModuleOut, *, is_anonymous: bool) -> ConfigModuleOut:
    return module.model_copy(update={"settings": {}}) if is_anonymous and not module.enabled else module


def _visible_domain_output_or_none(custom_domain: CustomDomain, *, is_anonymous: bool) -> PublicDomainOut | None:
    if is_anonymous:
        return PublicDomainOut.of(custom_domain) if custom_domain.status == "verified" else None
    return ConfigDomainOut.of(custom_domain) if custom_domain.domain else None


def host_match_kind(
    host: str | None, platform: Platform, custom_domain: CustomDomain | None, base_domain: str
) -> HostMatch | None:
    """Return which domain of a platform a host is, or None. Subdomains of platforms are below `base_domain`."""
    name = host_name_from_header(host or "")
    if custom_domain and custom_domain.status == "verified" and name == custom_domain.domain:
        return "customDomain"
    return "subdomain" if name == f"{platform.subdomain}.{base_domain}" else None
