"""The screens of sites: pages, revisions, menus and redirects."""

from typing import Final

from local.seed.callers import Service
from local.seed.organization import person_by_username
from tests.console.scenarios.organization import organization_ids
from tests.console.scenarios.scenario import Area, Scenario


def site_ids(service: Service) -> dict[str, str]:
    """Return the ids of the sample site."""
    ids = organization_ids(service)
    sunniva = service.caller_for(person_by_username("sunniva"))
    site = sunniva.list_all(f"/organizations/{ids['organization']}/sites")[0]["id"]
    pages = {page["path"]: page["id"] for page in sunniva.list_all(f"/sites/{site}/pages")}
    page = pages["/gauges/dipper"]  # Its draft differs from what is published.
    newer, older = sunniva.list_all(f"/sites/{site}/pages/{page}/revisions")[:2]
    redirect = sunniva.list_all(f"/sites/{site}/redirects")[0]["id"]
    revisions = {"newer": newer["id"], "older": older["id"]}
    return {**ids, **revisions, "site": site, "page": page, "menu": "main", "redirect": redirect}


SITES_AREA: Final = Area(
    scenarios={
        "/o/:organization/sites": Scenario(calls=1, dialogs=("create",)),
        "/s/:site": Scenario(calls=1, dialogs=("edit", "robots", "crawlers", "status", "delete")),
        "/s/:site/pages": Scenario(calls=1, dialogs=("create", "move:<page>", "delete:<page>")),
        "/s/:site/pages/:page": Scenario(
            calls=1,
            dialogs=("preview", "revoke-previews", "publish", "unpublish", "schedule", "settings"),
        ),
        "/s/:site/pages/:page/revisions": Scenario(
            calls=2, dialogs=("preview:<older>", "restore:<older>", "publish:<newer>")
        ),
        "/s/:site/menus": Scenario(calls=1, dialogs=("create",)),
        "/s/:site/menus/:menu": Scenario(calls=2),
        "/s/:site/redirects": Scenario(calls=1, dialogs=("create", "edit:<redirect>", "delete:<redirect>", "try")),
    },
    prepare=site_ids,
)
