"""The screens of an organization: members and invitations."""

from typing import Final

from local.seed.callers import Service
from local.seed.organization import person_by_username
from tests.console.scenarios.scenario import Area, Scenario


def organization_ids(service: Service) -> dict[str, str]:
    """Return the ids of the sample organization, and of the member Ines."""
    maud = service.caller_for(person_by_username("maud"))
    ines = service.caller_for(person_by_username("ines"))
    return {"organization": maud.list_all("/organizations")[0]["id"], "user": ines.get("/me")["id"]}


ORGANIZATION_AREA: Final = Area(
    scenarios={
        "/": Scenario(calls=1, dialogs=("create",)),
        "/o/:organization": Scenario(calls=2),
        "/o/:organization/members": Scenario(calls=1, dialogs=("role:<user>", "transfer:<user>", "remove:<user>")),
        "/o/:organization/invitations": Scenario(calls=1, dialogs=("invite",)),
    },
    prepare=organization_ids,
)
