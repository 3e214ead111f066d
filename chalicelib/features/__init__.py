"""The features of the service, grouped by bounded context.

Importing this package registers the scopes and settings that features declare, without importing the features.
"""

from chalicelib.features.declarations import SCOPE_AREAS, SETTINGS_SECTIONS
from chalicelib.kernel.core.settings import register_sections
from chalicelib.kernel.permissions.scope_areas import register_scope_areas

register_scope_areas(SCOPE_AREAS)
register_sections(SETTINGS_SECTIONS)
