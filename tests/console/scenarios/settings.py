"""The screens that administer an organization: API keys, domains, erasures and settings."""

from typing import Final

from local.seed.callers import Service
from local.seed.organization import person_by_username
from tests.console.scenarios.organization import organization_ids
from tests.console.scenarios.scenario import Area, Scenario


def settings_ids(service: Service) -> dict[str, str]:
    """Return the ids of the sample organization, of an API key, and of a platform with a domain."""
    ids = organization_ids(service)
    maud = service.caller_for(person_by_username("maud"))
    organization = f"/organizations/{ids['organization']}"
    maud.post(f"{organization}/erasures", {"email": "nobody@example.com"})
    key = maud.list_all(f"{organization}/api-keys")[0]["id"]
    (platform,) = [
        each["platformId"] for each in maud.list_all(f"{organization}/domains/inventory") if each["customDomain"]
    ]
    return {**ids, "key": key, "platform": platform}


SETTINGS_AREA: Final = Area(
    scenarios={
        "/o/:organization/api-keys": Scenario(calls=1, dialogs=("create", "rotate:<key>", "revoke:<key>")),
        "/o/:organization/domains": Scenario(calls=1, dialogs=("records:<platform>",)),
        "/o/:organization/erasures": Scenario(calls=1, dialogs=("erase",)),
        "/o/:organization/settings": Scenario(calls=1, dialogs=("delete",)),
    },
    prepare=settings_ids,
)
