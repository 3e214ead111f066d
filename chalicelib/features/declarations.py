"""The scope areas and settings sections of all features. Made by `make generate`."""

from chalicelib.kernel.permissions.scope_areas import ScopeArea

SCOPE_AREAS: tuple[ScopeArea, ...] = (
    ScopeArea("organizations", members_read_all=True),
    ScopeArea("members", members_read_all=False),
    ScopeArea("api-keys", members_read_all=False),
    ScopeArea("audit-log", members_read_all=False),
    ScopeArea("domains", members_read_all=True),
    ScopeArea("channels", members_read_all=False),
    ScopeArea("webhooks", members_read_all=False),
    ScopeArea("platforms", members_read_all=True),
    ScopeArea("spaces", members_read_all=False),
    ScopeArea("taxonomy", members_read_all=True),
    ScopeArea("research", members_read_all=True),
    ScopeArea("sites", members_read_all=True),
)
"""The areas that scopes cover, in their public order."""

SETTINGS_SECTIONS: tuple[str, ...] = (
    "chalicelib.features.notifications.webhooks.models.settings:WebhookSettings",
    "chalicelib.features.platforms.models.settings:PlatformSettings",
    "chalicelib.features.research.models.settings:ResearchSettings",
    "chalicelib.features.tenancy.models.settings:TenancySettings",
)
"""The classes of settings sections, as `module:Class`."""
