"""The scope areas and settings sections of all features. Made by `make generate`."""

from chalicelib.kernel.permissions.scope_areas import ScopeArea

SCOPE_AREAS: tuple[ScopeArea, ...] = (
    ScopeArea("organizations", members_read_all=True, is_read_only=False),
    ScopeArea("members", members_read_all=False, is_read_only=False),
    ScopeArea("api-keys", members_read_all=False, is_read_only=False),
    ScopeArea("audit-log", members_read_all=False, is_read_only=True),
    ScopeArea("domains", members_read_all=True, is_read_only=False),
    ScopeArea("channels", members_read_all=False, is_read_only=False),
    ScopeArea("webhooks", members_read_all=False, is_read_only=False),
    ScopeArea("platforms", members_read_all=True, is_read_only=False),
    ScopeArea("spaces", members_read_all=False, is_read_only=False),
    ScopeArea("taxonomy", members_read_all=True, is_read_only=False),
    ScopeArea("research", members_read_all=True, is_read_only=False),
    ScopeArea("sites", members_read_all=True, is_read_only=False),
    ScopeArea("events", members_read_all=True, is_read_only=False),
    ScopeArea("log-streams", members_read_all=False, is_read_only=False),
)
"""The areas that scopes cover, in their public order."""

SETTINGS_SECTIONS: tuple[str, ...] = (
    "chalicelib.features.audit.witnesses.models.settings:WitnessSettings",
    "chalicelib.features.events.entries.models.settings:EventSettings",
    "chalicelib.features.notifications.webhooks.models.settings:WebhookSettings",
    "chalicelib.features.platforms.models.settings:PlatformSettings",
    "chalicelib.features.research.models.settings:ResearchSettings",
    "chalicelib.features.tenancy.models.settings:TenancySettings",
)
"""The classes of settings sections, as `module:Class`."""
