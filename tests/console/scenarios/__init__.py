"""The screens of the console, as the tests open them. Each route of the console has a scenario here, in its area."""

import re
from typing import Final

from local.paths import ROOT
from tests.console.scenarios.log import LOG_AREA
from tests.console.scenarios.operations import OPERATIONS_AREA
from tests.console.scenarios.organization import ORGANIZATION_AREA
from tests.console.scenarios.platforms import PLATFORMS_AREA
from tests.console.scenarios.scenario import Area
from tests.console.scenarios.settings import SETTINGS_AREA
from tests.console.scenarios.sites import SITES_AREA
from tests.console.scenarios.webhooks import WEBHOOK_AREA

AREAS: Final[dict[str, Area]] = {
    "organization": ORGANIZATION_AREA,
    "log": LOG_AREA,
    "webhooks": WEBHOOK_AREA,
    "settings": SETTINGS_AREA,
    "platforms": PLATFORMS_AREA,
    "sites": SITES_AREA,
    "operations": OPERATIONS_AREA,
}

_ROUTES_FOLDER: Final = ROOT / "console" / "src" / "routes"


def read_routes() -> set[str]:
    """Return the paths of the console's routes."""
    texts = [each.read_text(encoding="utf-8") for each in _ROUTES_FOLDER.glob("*.ts")]
    return {path for text in texts for path in re.findall(r"^    path: '([^']+)'", text, re.MULTILINE)}
